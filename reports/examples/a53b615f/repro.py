# `zero_`, `neg`: result is wrong with torch.compile(backend="aot_eager") (scatterproof finding a53b615f, seen on torch-2.11.0:inductor@cpu)
# Run with PyTorch 2.11.0: wrong (exit code 1); 2.15.0: wrong (exit code 1).
import torch

def f(x, y):
    x.zero_()
    return -y

def run(f):
    x = torch.ones(4, 3)
    y = x.as_strided((3, 1), (3, 1), 4)
    return f(x, y)

want = run(f)
print("eager:   ", want)
got = run(torch.compile(f))
print("compiled:", got)
# right: [[-0.0], [-0.0], [-0.0]]
assert torch.allclose(got, want)
