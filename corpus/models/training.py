"""Steps of training: loss, backward and update in one function."""

import torch
from torch import nn
from torch.nn import functional as F


def _net():
    return nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3))


def sgd():
    model = _net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def step(x, y):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step, (torch.randn(4, 6), torch.randn(4, 3))


def adam():
    model = _net()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)

    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step, (torch.randn(4, 6), torch.tensor([0, 2, 1, 1]))


def clipped():
    """The gradient's norm is cut off, and the update written by hand."""
    model = _net()

    def step(x, y):
        loss = F.mse_loss(model(x), y)
        grads = torch.autograd.grad(loss, list(model.parameters()))
        norm = torch.sqrt(sum((g * g).sum() for g in grads))
        scale = torch.clamp(1.0 / (norm + 1e-6), max=1.0)
        with torch.no_grad():
            for p, g in zip(model.parameters(), grads):
                p.add_(g * scale, alpha=-0.1)
        return loss.detach()

    return step, (torch.randn(4, 6), torch.randn(4, 3))


def averaged_weights():
    """An exponential average of the weights, written in place."""
    average = [torch.zeros(3, 6), torch.zeros(3)]

    def step(w, b):
        for mean, now in zip(average, (w, b)):
            mean.mul_(0.9).add_(now, alpha=0.1)
        return [mean.clone() for mean in average]

    return step, (torch.randn(3, 6), torch.randn(3))


def penalty():
    """The norm of a gradient is part of the loss: a second derivative."""
    model = _net()

    def step(x):
        g = torch.func.grad(lambda x: model(x).sum())(x)
        return ((g.norm(dim=-1) - 1) ** 2).mean()

    return step, (torch.randn(4, 6, requires_grad=True),)
