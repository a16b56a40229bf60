# `unfold` of `neg`: gradient is wrong in whole rows with torch.compile(backend="aot_eager") (scatterproof finding 97587db2, seen on torch-2.15.0:inductor@cpu)
# Run with PyTorch 2.15.0: wrong (exit code 1); 2.11.0: right (exit code 0).
import torch

def f(x):
    return (-x).unfold(0, 2, 1)

def run(f):
    x = torch.ones(3, requires_grad=True)
    f(x).backward(torch.arange(4.0).reshape(2, 2))
    return x.grad

want = run(f)
print("eager:   ", want)
got = run(torch.compile(f))
print("compiled:", got)
# right: x.grad[i] = sum over k of g[k] * d out[k] / d x[i] = [0.0, -3.0, -3.0]
assert torch.allclose(got, want)
