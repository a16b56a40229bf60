"""Blocks of which models are made."""

import torch
from torch import nn
from torch.nn import functional as F


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.after = nn.LayerNorm(8), nn.LayerNorm(8)
        self.qkv, self.out = nn.Linear(8, 24), nn.Linear(8, 8)
        self.up, self.down = nn.Linear(8, 16), nn.Linear(16, 8)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.qkv(self.before(x)).view(b, n, 3, 2, c // 2).permute(2, 0, 3, 1, 4)
        y = torch.softmax(q @ k.transpose(-2, -1) / 2, -1) @ v
        x = x + self.out(y.transpose(1, 2).reshape(b, n, c))
        return x + self.down(F.gelu(self.up(self.after(x))))


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 3, 3, padding=1), nn.Conv2d(3, 3, 3, padding=1)
        self.norm1, self.norm2 = nn.BatchNorm2d(3), nn.BatchNorm2d(3)

    def forward(self, x):
        y = F.relu(self.norm1(self.first(x)))
        return F.relu(x + self.norm2(self.second(y)))


class Cell(nn.Module):
    """An LSTM cell as its equations stand in books."""

    def __init__(self):
        super().__init__()
        self.gates = nn.Linear(4 + 5, 20)

    def forward(self, x, h, c):
        i, f, g, o = self.gates(torch.cat((x, h), -1)).chunk(4, -1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(c), c


class Experts(nn.Module):
    """The two best of four experts, weighted."""

    def __init__(self):
        super().__init__()
        self.gate, self.weight = nn.Linear(6, 4), nn.Parameter(torch.randn(4, 6, 5))

    def forward(self, x):
        score, which = torch.softmax(self.gate(x), -1).topk(2, dim=-1)
        return torch.einsum("nk,nkj->nj", score, torch.einsum("ni,nkij->nkj", x, self.weight[which]))


def transformer():
    return Transformer(), (torch.randn(2, 5, 8),)


def residual():
    return Residual(), (torch.randn(2, 3, 6, 6),)


def lstm_cell():
    return Cell(), (torch.randn(3, 4), torch.randn(3, 5), torch.randn(3, 5))


def experts():
    return Experts(), (torch.randn(5, 6),)


def squeeze_excite():
    class Squeeze(nn.Module):
        def __init__(self):
            super().__init__()
            self.down, self.up = nn.Conv2d(4, 2, 1), nn.Conv2d(2, 4, 1)

        def forward(self, x):
            return x * torch.sigmoid(self.up(F.silu(self.down(F.adaptive_avg_pool2d(x, 1)))))

    return Squeeze(), (torch.randn(2, 4, 3, 3, requires_grad=True),)


def swiglu():
    class SwiGLU(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate, self.up, self.down = (nn.Linear(*n, bias=False) for n in ((6, 10), (6, 10), (10, 6)))

        def forward(self, x):
            return self.down(F.silu(self.gate(x)) * self.up(x))

    return SwiGLU(), (torch.randn(4, 6),)


def dropout_block():
    return nn.Sequential(nn.Linear(6, 8), nn.Dropout(0.5), nn.Linear(8, 3)), (torch.randn(4, 6),)


def gru_cell():
    cell = nn.GRUCell(4, 5)

    def unrolled(x, h):
        for t in range(x.shape[1]):
            h = cell(x[:, t], h)
        return h

    return unrolled, (torch.randn(2, 3, 4), torch.randn(2, 5))
