"""Attention, written out and by PyTorch's function."""

import math

import torch
from torch import nn
from torch.nn import functional as F


def _heads(*shape):
    return tuple(torch.randn(*shape, requires_grad=True) for _ in range(3))


def written_out():
    def attention(q, k, v):
        return torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1]), -1) @ v

    return attention, _heads(2, 2, 5, 4)


def causal():
    def attention(q, k, v):
        n = q.shape[-2]
        mask = torch.ones(n, n, dtype=torch.bool).tril()
        scores = (q @ k.transpose(-2, -1)).masked_fill(~mask, float("-inf"))
        return torch.softmax(scores, -1) @ v

    return attention, _heads(2, 5, 4)


def fused():
    return F.scaled_dot_product_attention, _heads(2, 2, 5, 4)


def fused_causal():
    return (lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True)), _heads(2, 2, 5, 4)


def multihead():
    return nn.MultiheadAttention(8, 2, batch_first=True), tuple(torch.randn(2, 5, 8) for _ in range(3))


def rotary():
    """Rotary positions: pairs of features turned by an angle that grows with the position."""
    angle = torch.outer(torch.arange(5.0), 1.0 / 100 ** (torch.arange(0, 4, 2) / 4))

    def turn(x):
        a, b = x[..., ::2], x[..., 1::2]
        return torch.stack((a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()), -1).flatten(-2)

    return turn, (torch.randn(2, 5, 4, requires_grad=True),)
