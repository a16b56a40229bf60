"""Pooling and resampling."""

import torch
from torch import nn
from torch.nn import functional as F


def _image():
    return torch.randn(2, 3, 6, 6, requires_grad=True)


def max_pool():
    return nn.MaxPool2d(2), (_image(),)


def avg_pool():
    return nn.AvgPool2d(3, stride=2, padding=1), (_image(),)


def adaptive_avg_pool():
    return nn.AdaptiveAvgPool2d(1), (_image(),)


def max_pool_1d():
    return nn.MaxPool1d(3, stride=1), (torch.randn(2, 3, 8, requires_grad=True),)


def upsample_nearest():
    return nn.Upsample(scale_factor=2), (_image(),)


def upsample_bilinear():
    return (lambda x: F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)), (_image(),)


def pixel_shuffle():
    return nn.PixelShuffle(2), (torch.randn(1, 8, 3, 3, requires_grad=True),)
