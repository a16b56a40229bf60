# `sum` of `slice_scatter`: gradient is wrong (its layout is predicted wrong) with torch.compile (scatterproof finding 4e77f5da, seen on torch-2.11.0:inductor@cpu)
# Run with PyTorch 2.11.0: wrong (exit code 1); 2.15.0: right (exit code 0).
import torch

def f(x, y):
    return x.slice_scatter(y, end=1).sum(dim=0)

def run(f):
    x = torch.ones(2, requires_grad=True)
    y = torch.ones(1)
    f(x, y).backward()
    return x.grad

want = run(f)
print("eager:   ", want)
got = run(torch.compile(f))
print("compiled:", got)
# right: x.grad[i] = how many elements of the result read x[i] = [0.0, 1.0]
assert torch.allclose(got, want)
