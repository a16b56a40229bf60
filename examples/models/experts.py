"""A mixture of experts: each word goes to its two best experts, whose answers are added by their weights."""

import torch
from torch import nn
from torch.nn import functional as F


class Mixture(nn.Module):
    def __init__(self, dim: int = 8, experts: int = 4, best: int = 2):
        super().__init__()
        self.best = best
        self.gate = nn.Linear(dim, experts, bias=False)
        self.up = nn.Parameter(torch.randn(experts, dim, 2 * dim) * 0.2)
        self.down = nn.Parameter(torch.randn(experts, 2 * dim, dim) * 0.2)

    def forward(self, x):
        weight, chosen = self.gate(x).topk(self.best, dim=-1)
        weight = weight.softmax(-1)
        out = torch.zeros_like(x)
        for k in range(self.best):
            up, down = self.up[chosen[:, k]], self.down[chosen[:, k]]
            hidden = F.silu(torch.bmm(x.unsqueeze(1), up))
            out = out + weight[:, k : k + 1] * torch.bmm(hidden, down).squeeze(1)
        balance = F.one_hot(chosen, self.gate.out_features).float().mean((0, 1))
        return out.square().mean() + (balance * self.gate(x).softmax(-1).mean(0)).sum()


def step():
    return Mixture(), (torch.randn(12, 8),)
