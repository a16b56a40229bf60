"""Activations, alone and between two linear layers. Each function gives (module, inputs), as `check FILE.py:NAME` takes it."""

import torch
from torch import nn


def _between(activation):
    """What a user has: the activation's input and output are matrix products'."""
    return nn.Sequential(nn.Linear(6, 8), activation, nn.Linear(8, 3)), (torch.randn(4, 6),)


def relu():
    return _between(nn.ReLU())


def gelu():
    return _between(nn.GELU())


def gelu_tanh():
    return _between(nn.GELU(approximate="tanh"))


def silu():
    return _between(nn.SiLU())


def sigmoid_tanh():
    return _between(nn.Sequential(nn.Sigmoid(), nn.Tanh()))


def leaky_relu():
    return _between(nn.LeakyReLU(0.1))


def elu_selu():
    return _between(nn.Sequential(nn.ELU(), nn.SELU()))


def softplus_mish():
    return _between(nn.Sequential(nn.Softplus(), nn.Mish()))


def hard():
    return _between(nn.Sequential(nn.Hardtanh(), nn.Hardswish(), nn.Hardsigmoid(), nn.ReLU6()))


def prelu():
    return _between(nn.PReLU(8))


def glu():
    return nn.Sequential(nn.Linear(6, 8), nn.GLU()), (torch.randn(4, 6),)
