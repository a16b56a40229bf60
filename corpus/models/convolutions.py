"""Convolutions: 1 to 3 dimensions, grouped, dilated, transposed, channels last."""

import torch
from torch import nn


def conv_1d():
    return nn.Conv1d(3, 4, 3, padding=1), (torch.randn(2, 3, 8),)


def conv_2d():
    return nn.Conv2d(3, 4, 3), (torch.randn(2, 3, 6, 6, requires_grad=True),)


def conv_2d_strided():
    return nn.Conv2d(3, 4, 3, stride=2, padding=1, dilation=2, bias=False), (torch.randn(2, 3, 9, 9, requires_grad=True),)


def conv_depthwise():
    return nn.Sequential(nn.Conv2d(4, 4, 3, groups=4), nn.Conv2d(4, 2, 1)), (torch.randn(1, 4, 5, 5),)


def conv_3d():
    return nn.Conv3d(2, 3, 2), (torch.randn(1, 2, 4, 4, 4),)


def conv_transposed():
    return nn.ConvTranspose2d(3, 2, 3, stride=2, output_padding=1), (torch.randn(1, 3, 4, 4, requires_grad=True),)


def conv_channels_last():
    x = torch.randn(2, 3, 6, 6).to(memory_format=torch.channels_last).requires_grad_()
    return nn.Conv2d(3, 4, 3).to(memory_format=torch.channels_last), (x,)
