"""A function of a user's, for `scatterproof check examples/window.py:window`: part of a sequence is overwritten, then it is summed.

PyTorch 2.11.0 compiles its backward wrongly (docs/found.md).
"""

import torch


def summed(x, y):
    written = torch.slice_scatter(x, y, dim=1, start=0, end=6)
    return written.sum(dim=1)


def window():
    """What is checked, and with which inputs."""
    return summed, (torch.randn(4, 13, 33, requires_grad=True), torch.randn(4, 6, 33, requires_grad=True))
