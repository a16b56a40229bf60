"""Losses, each of a small model's output, so that their gradients go somewhere."""

import torch
from torch import nn
from torch.nn import functional as F


def _loss(fn, target, classes=5):
    model = nn.Linear(6, classes)

    def step(x):
        return fn(model(x), target)

    return step, (torch.randn(4, 6),)


def cross_entropy():
    return _loss(F.cross_entropy, torch.tensor([0, 4, 2, 2]))


def cross_entropy_smoothed():
    return _loss(lambda y, t: F.cross_entropy(y, t, label_smoothing=0.1, ignore_index=2), torch.tensor([0, 4, 2, 1]))


def mse():
    return _loss(F.mse_loss, torch.randn(4, 5))


def huber():
    return _loss(F.huber_loss, torch.randn(4, 5))


def smooth_l1():
    return _loss(F.smooth_l1_loss, torch.randn(4, 5))


def bce_with_logits():
    return _loss(F.binary_cross_entropy_with_logits, torch.rand(4, 5))


def kl_div():
    return _loss(lambda y, t: F.kl_div(F.log_softmax(y, -1), t, reduction="batchmean"), torch.softmax(torch.randn(4, 5), -1))


def hinge():
    return _loss(lambda y, t: F.multi_margin_loss(y, t), torch.tensor([0, 4, 2, 2]))


def triplet():
    model = nn.Linear(6, 4)

    def step(a, b, c):
        return F.triplet_margin_loss(model(a), model(b), model(c))

    return step, tuple(torch.randn(3, 6) for _ in range(3))
