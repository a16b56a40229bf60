# `scatter_add` of `expand`: result is wrong in eager mode (scatterproof finding 151a4061, seen on torch-2.11.0:eager@cpu)
# Run with PyTorch 2.11.0: wrong (exit code 1); 2.15.0: wrong (exit code 1).
import torch

def f(x, y):
    full = torch.full([1, 1], 1, dtype=torch.int64)
    return x.scatter_add(dim=0, index=full.expand(1, 17), src=y)

def run(f):
    x = torch.ones(2, 31)
    y = torch.ones(1, 17)
    return f(x, y)

got = run(f)
print("eager:", got)
want = torch.tensor([[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]], dtype=got.dtype, device=got.device)
assert torch.allclose(got, want)
