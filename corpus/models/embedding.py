"""Tables read and written by positions."""

import torch
from torch import nn
from torch.nn import functional as F


def embedding():
    return nn.Embedding(10, 4, padding_idx=0), (torch.tensor([[0, 3, 9], [3, 3, 1]]),)


def embedding_bag():
    return nn.EmbeddingBag(10, 4, mode="sum"), (torch.tensor([1, 2, 4, 5, 4, 3, 2, 9]), torch.tensor([0, 4]))


def one_hot():
    return (lambda i: F.one_hot(i, 6).float().mean(0)), (torch.tensor([1, 5, 0, 1]),)


def gather_scatter():
    def mixed(x, i):
        picked = x.gather(1, i)
        return torch.zeros_like(x).scatter_add(1, i, picked * 2)

    return mixed, (torch.randn(3, 6, requires_grad=True), torch.tensor([[0, 2, 2], [5, 5, 5], [1, 0, 3]]))


def graph_convolution():
    """Mean of a node's neighbours, by edges (GCN)."""
    source, sink = torch.tensor([[0, 1, 2, 2, 3], [1, 2, 0, 3, 0]])
    layer = nn.Linear(4, 3)

    def convolve(x):
        total = torch.zeros(4, 4).index_add(0, sink, x[source])
        count = torch.zeros(4).index_add(0, sink, torch.ones(5)).clamp(min=1)
        return layer(total / count[:, None]).relu()

    return convolve, (torch.randn(4, 4, requires_grad=True),)


def indexed_write():
    def write(x, i, v):
        y = x.clone()
        y[i] = v
        y[:, 1:3] *= 2
        return y

    return write, (torch.randn(5, 4, requires_grad=True), torch.tensor([3, 0]), torch.randn(2, 4, requires_grad=True))
