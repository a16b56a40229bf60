"""Normalisation: over channels, layers, groups, instances; in training and in inference."""

import torch
from torch import nn
from torch.nn import functional as F


class RMSNorm(nn.Module):
    """As transformers write it."""

    def __init__(self, n):
        super().__init__()
        self.weight = nn.Parameter(torch.linspace(0.5, 1.5, n))

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


def batch_norm():
    return nn.BatchNorm1d(6), (torch.randn(4, 6, requires_grad=True),)


def batch_norm_2d():
    return nn.BatchNorm2d(3), (torch.randn(2, 3, 4, 4, requires_grad=True),)


def batch_norm_eval():
    return nn.Sequential(nn.Linear(6, 5), nn.BatchNorm1d(5)).eval(), (torch.randn(4, 6),)


def layer_norm():
    return nn.LayerNorm(8), (torch.randn(3, 5, 8, requires_grad=True),)


def group_norm():
    return nn.GroupNorm(2, 4), (torch.randn(2, 4, 3, 3, requires_grad=True),)


def instance_norm():
    return nn.InstanceNorm2d(3, affine=True), (torch.randn(2, 3, 4, 4, requires_grad=True),)


def rms_norm():
    return RMSNorm(8), (torch.randn(4, 8, requires_grad=True),)


def unit_length():
    return (lambda x: F.normalize(x, dim=-1)), (torch.randn(4, 8, requires_grad=True),)
