"""A training step of a transformer block: attention with a causal mask, layer norms, dropout off, cross entropy, backward."""

import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self, dim: int = 32, heads: int = 4, words: int = 50):
        super().__init__()
        self.heads = heads
        self.embed, self.head = nn.Embedding(words, dim), nn.Linear(dim, words)
        self.qkv, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.up, self.down = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)
        self.first, self.second = nn.LayerNorm(dim), nn.LayerNorm(dim)

    def attention(self, x):
        batch, length, dim = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, dim // self.heads).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-1, -2) * (dim // self.heads) ** -0.5
        later = torch.ones(length, length, dtype=torch.bool).triu(1)
        weights = scores.masked_fill(later, float("-inf")).softmax(-1)
        return self.out((weights @ v).transpose(1, 2).reshape(batch, length, dim))

    def forward(self, words):
        x = self.embed(words[:, :-1])
        x = x + self.attention(self.first(x))
        x = x + self.down(F.gelu(self.up(self.second(x))))
        return F.cross_entropy(self.head(x).flatten(0, 1), words[:, 1:].flatten())


def step():
    return Block(), (torch.randint(50, (2, 9)),)
