"""Matrix products as people write them."""

import torch
from torch import nn


def mlp():
    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 4), nn.ReLU(), nn.Linear(4, 2)), (torch.randn(5, 6),)


def einsum():
    a, b = torch.randn(2, 3, 4, requires_grad=True), torch.randn(2, 4, 5, requires_grad=True)
    return (lambda a, b: torch.einsum("bik,bkj->bij", a, b)), (a, b)


def low_rank():
    """A linear layer with a low-rank addition (LoRA)."""
    base, down, up = nn.Linear(8, 8), nn.Linear(8, 2, bias=False), nn.Linear(2, 8, bias=False)

    class Added(nn.Module):
        def __init__(self):
            super().__init__()
            self.base, self.down, self.up = base.requires_grad_(False), down, up

        def forward(self, x):
            return self.base(x) + 0.5 * self.up(self.down(x))

    return Added(), (torch.randn(3, 8),)


def bilinear():
    return nn.Bilinear(3, 4, 2), (torch.randn(5, 3), torch.randn(5, 4))


def outer_and_cumsum():
    return (lambda a, b: torch.outer(a, b).cumsum(0).tril()), (torch.randn(4, requires_grad=True), torch.randn(5, requires_grad=True))
