# Does a bf16 matrix product read beyond the end of a row? A row whose successor begins with an infinity or NaN must not notice.
import torch
print(torch.__version__, torch.backends.cpu.get_cpu_capability(), torch.get_num_threads())
torch.set_num_threads(1)
for dt in (torch.bfloat16, torch.float16, torch.float32):
    bad = []
    for k in list(range(1, 70)):
        for m, n in ((33, 16), (3, 9), (33, 33), (1, 15)):
            a = torch.ones(m, k, dtype=dt); b = torch.ones(k, n, dtype=dt)
            if m < 2: continue
            a[1, 0] = float("nan")
            r = torch.mm(a, b)
            if r[0].isnan().any(): bad.append(("a", m, k, n))
            a = torch.ones(m, k, dtype=dt)
            big = torch.full((k + 1, n), float("nan"), dtype=dt); big[:k] = 1
            if torch.mm(a, big[:k]).isnan().any(): bad.append(("b rows", m, k, n))
            wide = torch.full((m, k + 1), float("nan"), dtype=dt); wide[:, :k] = 1
            if torch.mm(wide[:, :k], b).isnan().any(): bad.append(("a gaps", m, k, n))
            bt = torch.full((n, k + 1), float("nan"), dtype=dt); bt[:, :k] = 1
            if torch.mm(a, bt[:, :k].t()).isnan().any(): bad.append(("b transposed gaps", m, k, n))
            if torch.mm(wide[:, :k].clone(), bt[:, :k].t()).isnan().any(): bad.append(("b transposed gaps 2", m, k, n))
            c = torch.ones(n, k, dtype=dt); c[1, 0] = float("nan")
            if torch.mm(a, c.t())[:, 0].isnan().any(): bad.append(("b transposed", m, k, n))
    print(dt, len(bad), bad[:6], sorted({x[0] for x in bad}), sorted({x[2] for x in bad}))
