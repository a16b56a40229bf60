def make_inputs(call):
    storages, geometry = CALLS[call]()
    storages = [s.to(DEVICE) for s in storages]
    made = []
    for (name, storage, grad, _, _), g in zip(INPUTS, geometry):
        if isinstance(g, int):
            made.append(g)
            continue
        x = torch.empty(0, dtype=storages[storage].dtype, device=DEVICE)
        x.set_(storages[storage].untyped_storage(), g[2], g[0], g[1])
        made.append(x.requires_grad_() if grad else x)
    return storages, made


def run(fn, call):
    """What one call leaves behind: tensors by name, and of each output other facts."""
    storages, made = make_inputs(call)
    outs = fn(*[x for x, row in zip(made, INPUTS) if row[3]])
    if BACKWARD:
        with torch.no_grad():
            cots = cotangents(*[x for x, row in zip(made, INPUTS) if row[4]])
        torch.autograd.backward([outs[i] for i in BACKWARD], list(cots))
    named = {f"output {i}": x for i, x in enumerate(outs)}
    named.update({f"{row[0]}.grad": x.grad for x, row in zip(made, INPUTS) if row[2]})
    memory = {}
    for i, s in enumerate(storages):
        name = next(row[0] for row in INPUTS if row[1] == i)
        named[f"input {name} afterwards"] = s
        memory.setdefault(s.data_ptr(), f"input {name}")
    facts = {}
    for i, x in enumerate(outs):
        facts[f"output {i}", "requires_grad"] = x.requires_grad
        if MEMORY and x.numel():
            facts[f"output {i}", "memory"] = memory.setdefault(x.untyped_storage().data_ptr(), f"output {i}")
    return named, facts


def numbers(x):
    return x.detach().cpu().flatten().tolist()


def index(shape, at):
    where = []
    for n in reversed(shape):
        where.insert(0, at % n)
        at //= n
    return tuple(where)


def layout(x):
    """None, or what of a tensor must be as in eager: strides where they mean something."""
    if x is None:
        return None
    strides = tuple(t for t, n in zip(x.stride(), x.shape) if n > 1) if x.numel() else ()
    return f"{x.dtype}{list(x.shape)} strides {strides}"


def allowed(want, got):
    if want is None:
        return True
    if isinstance(want, tuple):
        return want[0] <= got <= want[1] or any(allowed(w, got) for w in want[2:])
    if want != want:
        return got != got
    return got == want and (isinstance(want, int) or math.copysign(1, got) == math.copysign(1, want))


def must_be(want):
    if not isinstance(want, tuple):
        return f"must be {want}"
    span = f"{want[0]} to {want[1]}" if want[0] < want[1] else f"{want[0]}"
    return " or ".join([f"must be {span}", *(str(w) for w in want[2:])])


def as_expected(where, want, eager, got):
    """Against EXPECTED; eager is only shown beside."""
    if eager is None or got is None or got.shape != eager.shape or got.dtype != eager.dtype:
        print(f"{where}: eager gives {layout(eager)}, the target {layout(got)}")
        return False
    e, g = numbers(eager), numbers(got)
    wrong = [i for i, w in enumerate(want) if not allowed(w, g[i])]
    if wrong:
        odd = sum(not allowed(w, x) for w, x in zip(want, e))
        print(f"{where}: {len(wrong)} of {len(want)} elements are wrong" + (f" ({odd} of eager's, too)" if odd else ""))
    for i in wrong[:SHOWN]:
        print(f"  {index(got.shape, i)} {must_be(want[i])}, eager gives {e[i]}, the target {g[i]}")
    for group in NOT_ALL_ZERO:
        if all(g[i] == 0 for i in group):
            places = ", ".join(str(index(got.shape, i)) for i in group[:SHOWN])
            print(f"{where}: elements {places} are all 0 and share a gradient that is not, eager gives {[e[i] for i in group[:SHOWN]]}")
            wrong.append(group[0])
    return not wrong


def as_eager(where, eager, got):
    """Within the tolerances of torch.testing.assert_close."""
    if eager is None and got is not None and not got.any():
        return True  # nothing reaches it: zeros are as good as None
    if layout(eager) != layout(got):
        print(f"{where}: eager gives {layout(eager)}, the target {layout(got)}")
    if eager is None or got is None or got.shape != eager.shape or got.dtype != eager.dtype:
        return layout(eager) == layout(got)
    rtol, atol = {torch.float16: (1e-3, 1e-5), torch.bfloat16: (1.6e-2, 1e-5), torch.float32: (1.3e-6, 1e-5),
                  torch.float64: (1e-7, 1e-7)}.get(got.dtype, (0, 0))
    e, g = numbers(eager), numbers(got)
    wrong = [i for i, (x, y) in enumerate(zip(e, g)) if not (x == y or (x != x and y != y) or abs(x - y) <= atol + rtol * abs(x) < math.inf)]
    if wrong:
        print(f"{where}: {len(wrong)} of {len(e)} elements differ from eager's")
    for i in wrong[:SHOWN]:
        print(f"  {index(got.shape, i)} eager gives {e[i]}, the target {g[i]}")
    return not wrong and layout(eager) == layout(got)


def attempt(fn, call):
    try:
        return run(fn, call), "runs"
    except Exception as e:
        return None, f"raises {type(e).__name__}: {str(e)[:800]}"


bad = beside = 0
fn = under_test(f)
for call in range(len(CALLS)):
    want, eager_does = attempt(f, call)
    got, target_does = attempt(fn, call)
    if want is None and got is None and MUST_RAISE:
        print(f"call {call}: eager {eager_does}\n  and so does the target, as it must")
        sys.exit(0)
    if want is None and got is None:
        print(f"call {call}: eager {eager_does}\n  and so does the target: nothing to compare")
        sys.exit(2)
    if want is None or got is None:
        bad += 1
        print(f"call {call}: eager {eager_does}, the target {target_does}")
        continue
    for name, eager in want[0].items():
        where = f"call {call}, {name}"
        if (call, name) in EXPECTED:
            bad += not as_expected(where, EXPECTED[call, name], eager, got[0][name])
        else:
            beside += not as_eager(where, eager, got[0][name])
    for (name, what), fact in want[1].items():
        if fact != got[1][name, what]:
            beside += 1
            print(f"call {call}, {name}: {what}: eager {fact}, the target {got[1][name, what]}")
if EXPECTED:
    ((call, name),) = EXPECTED
    other = f"; besides, {beside} other tensor{'s differ' if beside > 1 else ' differs'} from eager" if beside else ""
    print(f"torch {torch.__version__}: {name} of call {call} is {'wrong' if bad else 'right'}{other}")
else:
    bad += beside
    print(f"torch {torch.__version__} {'differs from' if bad else 'agrees with'} eager")
sys.exit(1 if bad else 0)
