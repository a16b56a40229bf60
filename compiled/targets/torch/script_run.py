def make_inputs(call):
    storages, geometry = CALLS[call]()
    made = []
    for (name, storage, grad, _, _), g in zip(INPUTS, geometry):
        if isinstance(g, int):
            made.append(g)
            continue
        x = torch.empty(0, dtype=storages[storage].dtype, device=storages[storage].device)
        x.set_(storages[storage].untyped_storage(), g[2], g[0], g[1])
        made.append(x.requires_grad_() if grad else x)
    return storages, made


def run_forward(fn, call):
    storages, made = make_inputs(call)
    return storages, made, fn(*[x for x, row in zip(made, INPUTS) if row[3]])


def run_backward(storages, made, outs, around):
    if BACKWARD:
        with torch.no_grad():
            cots = cotangents(*[x for x, row in zip(made, INPUTS) if row[4]])
        with around():
            torch.autograd.backward([outs[i] for i in BACKWARD], list(cots))
    if DEVICE == "cuda":
        torch.cuda.synchronize()


# ---- in a process of its own: what is left behind, as plain numbers ----


def fact(name, x, memory):
    if x is None:
        return None
    meta = x.device.type == "meta"
    where = None if meta or not x.numel() else memory.setdefault(x.untyped_storage().data_ptr(), name)
    return {"shape": (str(x.dtype), list(x.shape)), "strides": list(x.stride()), "offset": x.storage_offset(),
            "requires_grad": x.requires_grad, "memory": where, "numbers": None if meta else x.detach().cpu().flatten().tolist()}


def facts(storages, made, outs):
    owner = [next(row[0] for row in INPUTS if row[1] == i) for i in range(len(storages))]
    memory = {s.untyped_storage().data_ptr(): f"input {name}" for s, name in zip(storages, owner) if s.numel() and s.device.type != "meta"}
    seen = {f"output {i}": fact(f"output {i}", x, memory) for i, x in enumerate(outs)}
    if BACKWARD:
        seen.update({f"{row[0]}.grad": fact(f"{row[0]}.grad", x.grad, memory) for x, row in zip(made, INPUTS) if row[2]})
    seen.update({f"input {name} afterwards": fact(f"input {name} afterwards", s, memory) for s, name in zip(storages, owner)})
    return seen


def by_compiler(error):
    """Whether it was raised while compiling (also the backward, which is compiled late), not by what was compiled."""
    if any(c.__module__ in ("torch._dynamo.exc", "torch._inductor.exc") for c in type(error).__mro__):
        return True
    frame = error.__traceback__
    while frame:
        code = frame.tb_frame.f_code
        if code.co_filename.endswith(("/convert_frame.py", "/graph_compile.py", "/output_graph.py", "/compiled_autograd.py")):
            return True
        if code.co_filename.endswith("/compile_fx.py") and "compile" in code.co_name:
            return True
        frame = frame.tb_next
    return False


def attempt(wrap):
    """What call LOOK left behind: how it went, the tensors by name; also the one that is looked at as it was when the call returned."""
    held, then = [], None
    try:
        fn = wrap(f)
    except Exception as e:
        return f"cannot be asked: {type(e).__name__}: {e}", None
    try:
        for step in range(len(CALLS) + LATE):
            if step < len(CALLS):
                held.append(run_forward(fn, step))
            if step >= LATE:
                run_backward(*held[step - LATE], under_backward if wrap is under_test else contextlib.nullcontext)
            if step - LATE == LOOK and MUST.get("stays"):
                then = facts(*held[LOOK])[TENSOR]
    except Exception as e:
        text = f"{type(e).__name__}: {e}"
        refused = by_compiler(e) and any(r in text[:6000] for r in KNOWN_REFUSALS)
        return f"{'refuses' if refused else 'raises'} {text[:800]}", None
    if COMPILES and wrap is under_test:
        from torch._dynamo.utils import counters

        if not counters["stats"]["unique_graphs"]:
            return "compiles nothing: the program does no work that a graph could hold", None
    return "runs", dict(facts(*held[LOOK]), **({"as returned": then} if MUST.get("stays") else {}))


def child(path):
    def save(name, what):
        with open(path + ".part", "wb") as file:
            pickle.dump(what, file)
        os.replace(path + ".part", path + name)

    save(".started", True)  # whatever ends this process from here on is the target's doing
    save(".target", attempt(under_test))
    save(".eager", attempt(lambda fn: fn))
    sys.stdout.flush()
    os._exit(0)  # at its end a damaged process may still die: not of this program


def in_a_child():
    """(started, target, eager, how it ended): of what did not come to an end None."""
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "seen")
        one = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "TORCHINDUCTOR_COMPILE_THREADS")
        none = ("TORCHINDUCTOR_FX_GRAPH_CACHE", "TORCHINDUCTOR_AUTOGRAD_CACHE", "PYTHONHASHSEED")
        env = dict(os.environ, **dict.fromkeys(one, "1"), **dict.fromkeys(none, "0"))
        process = subprocess.Popen([sys.executable, os.path.abspath(__file__), path], env=env, start_new_session=True)

        def wait_for(name, seconds):
            end = time.monotonic() + seconds
            while process.poll() is None and not os.path.exists(path + name) and time.monotonic() < end:
                time.sleep(0.05)
            if not os.path.exists(path + name):
                return None
            with open(path + name, "rb") as file:
                return pickle.load(file)

        started = wait_for(".started", 120)
        target = wait_for(".target", LIMIT if started else 0)
        how = f"hangs: it still runs after {LIMIT} seconds"
        if process.poll() is not None:
            status = process.returncode
            how = f"dies: {signal.Signals(-status).name}" if status < 0 else f"ends its process: exit code {status}"
        eager = wait_for(".eager", LIMIT if target else 0) or ("does not run through", None)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        return started, target, eager, how


# ---- what must be ----


def index(shape, at):
    where = []
    for n in reversed(shape):
        where.insert(0, at % n)
        at //= n
    return tuple(where)


def allowed(want, got):
    if want is None:
        return True
    if isinstance(want, set):
        return got in want
    if isinstance(want, tuple):
        return want[0] <= got <= want[1] or any(allowed(w, got) for w in want[2:])
    if want != want:
        return got != got
    return got == want and (isinstance(want, int) or math.copysign(1, got) == math.copysign(1, want))


def must_be(want):
    if isinstance(want, set):
        return f"must be one of {sorted(want)}"
    if not isinstance(want, tuple):
        return f"must be {want}"
    span = f"{want[0]} to {want[1]}" if want[0] < want[1] else f"{want[0]}"
    return " or ".join([f"must be {span}", *(str(w) for w in want[2:])])


def expected():
    """The elements and groups for this version of PyTorch."""
    version = tuple(int(n) for n in torch.__version__.split(".")[:2])
    return [row for row in EXPECTED if row[0] <= version][-1][1:]


def fit(there, picks):
    """Each number is in an interval of its own; 0 for those that are not picked. In ascending order each takes the one that ends first."""
    left = sorted([*picks, *[(0, 0)] * (len(there) - len(picks))], key=lambda p: p[1])
    for x in sorted(there):
        ours = next((p for p in left if p[0] <= x <= p[1]), None)
        if ours is None:
            return x != x  # a NaN is wrong by itself
        left.remove(ours)
    return True


def wrong_elements(seen, eager):
    want, groups = expected()
    got = seen["numbers"]
    beside = eager["numbers"] if eager and eager["shape"] == seen["shape"] else None
    shown = [f", eager gives {x}" for x in beside] if beside else [""] * len(got)
    wrong = [i for i, w in enumerate(want) if not allowed(w, got[i])]
    if wrong:
        odd = sum(not allowed(w, x) for w, x in zip(want, beside or []))
        yield f"{len(wrong)} of {len(want)} elements are wrong" + (f" ({odd} of eager's, too)" if odd else "")
    for i in wrong[:SHOWN]:
        yield f"  {index(seen['shape'][1], i)} {must_be(want[i])}{shown[i]}, the target {got[i]}"
    for group, *what in groups:
        there = [got[i] for i in group]
        places = ", ".join(str(index(seen["shape"][1], i)) for i in group[:SHOWN])
        if not what and len(set(there)) < len(there):
            yield f"elements {places} must all be different, and are {there[:SHOWN]}"
        if what and not fit(there, what[0]):
            yield f"of elements {places} each gets one of {what[0]}, or 0, and they get {there[:SHOWN]}"


def cells(seen):
    """The number in each cell of its memory."""
    shape, strides = seen["shape"][1], seen["strides"]
    places = (index(shape, i) for i in range(len(seen["numbers"])))
    return {seen["offset"] + sum(i * s for i, s in zip(at, strides)): x for at, x in zip(places, seen["numbers"])}


def contradict(one, other):
    """Two tensors of one memory that have different numbers in a cell."""
    x, y = cells(one), cells(other)
    return any(repr(x[at]) != repr(y[at]) for at in x.keys() & y.keys())


def wrong_memory(all_seen, seen):
    rules, where = MUST.get("memory"), seen["memory"]
    if rules is None:
        return
    if str(where).startswith("input "):
        if rules.get(where) not in ("shared", "any"):
            yield f"must not lie in the memory of {where}"
    else:
        for name, rule in rules.items():
            other = all_seen.get(name)
            if name.startswith("input ") and rule == "shared":
                yield f"must lie in the memory of {name}"
            if other is None:
                continue
            shared = other["memory"] == where
            same = all(str(seen[k]) == str(other[k]) for k in ("shape", "strides", "offset", "numbers"))
            if not shared if rule == "shared" else shared and (rule == "apart" or rule == "apart unless equal" and not same):
                yield f"{'shares memory' if shared else 'does not share memory'} with {name}: must be {rule}"
            elif shared and rule == "any" and contradict(seen, other):
                yield f"shares memory with {name}, which holds other numbers there"
    starts, only_in = MUST.get("offset", ([seen["offset"]], None))
    if only_in != where:  # memory of its own, which an earlier output may share
        beside = [all_seen[n]["offset"] + by for n, by in MUST.get("offset from", {}).items() if all_seen[n]["memory"] == where]
        starts = beside[:1] or (starts if only_in is None else [seen["offset"]])
    same_strides = meaningful(seen["shape"][1], seen["strides"]) == meaningful(seen["shape"][1], MUST.get("strides", seen["strides"]))
    if seen["offset"] not in starts and same_strides:
        yield f"must begin at element {' or '.join(map(str, starts))} of its memory, begins at {seen['offset']}"


def meaningful(shape, strides):
    """Strides where they mean something."""
    return [] if 0 in shape else [t for t, n in zip(strides, shape) if n > 1]


def changed(then, now):
    """What a later call did to a tensor: each call has inputs of its own."""
    if then is None or now is None:
        if then is not now:
            yield f"was {'None' if then is None else 'a tensor'}, is {'None' if now is None else 'a tensor'} when all calls have run"
        return
    for what in ("shape", "strides", "offset", "requires_grad"):
        if then[what] != now[what]:
            yield f"{what}: {then[what]} when the call returned, {now[what]} when all calls have run"
    pairs = list(zip(then["numbers"] or [], now["numbers"] or []))
    odd = [i for i, (x, y) in enumerate(pairs) if repr(x) != repr(y)]
    if odd:
        yield f"{len(odd)} of {len(pairs)} elements were overwritten by a later call"
    for i in odd[:SHOWN]:
        yield f"  {index(then['shape'][1], i)} was {pairs[i][0]} when the call returned, is {pairs[i][1]} when all calls have run"


def wrong(all_seen, eager):
    """A line for everything that is wrong with TENSOR."""
    seen = all_seen[TENSOR]
    if MUST.get("stays"):
        yield from changed(all_seen["as returned"], seen)
        return
    present = MUST.get("present", seen is not None)
    if present is not True:  # where nothing reaches, a compiler may give zeros for None
        zeros = present == "or zeros" and seen is not None and seen["shape"] == MUST["shape"]
        if seen is not None and not (zeros and all(x == 0 or (x != x and i in MUST["or nan at"]) for i, x in enumerate(seen["numbers"]))):
            yield f"must be None{' or zeros' if present == 'or zeros' else ''}, is a tensor"
        return
    if seen is None:
        yield "must be a tensor, is None"
        return
    if MUST.get("requires_grad", seen["requires_grad"]) != seen["requires_grad"]:
        yield f"requires_grad must be {MUST['requires_grad']}"
    yield from wrong_memory(all_seen, seen)
    if MUST.get("shape", seen["shape"]) != seen["shape"]:
        yield f"must be {MUST['shape']}, is {seen['shape']}"
        return
    shape = seen["shape"][1]
    if meaningful(shape, MUST.get("strides", seen["strides"])) != meaningful(shape, seen["strides"]):
        yield f"must have strides {MUST['strides']}, has {seen['strides']}"
    if EXPECTED and seen["numbers"] is not None:
        yield from wrong_elements(seen, eager[TENSOR] if eager else None)


def near(x, y, dtype):
    """Within the tolerances of torch.testing.assert_close."""
    rtol, atol = {"torch.float16": (1e-3, 1e-5), "torch.bfloat16": (1.6e-2, 1e-5), "torch.float32": (1.3e-6, 1e-5),
                  "torch.float64": (1e-7, 1e-7)}.get(dtype, (0, 0))
    return x == y or (x != x and y != y) or abs(x - y) <= atol + rtol * abs(x) < math.inf


def beside(all_seen, eager):
    """Other tensors that are not as eager's: they decide nothing."""
    for name, e in eager.items():
        g = all_seen[name]
        if name in (TENSOR, "as returned") or e is None or g is None or e["numbers"] is None:
            continue
        if e["shape"] != g["shape"]:
            yield f"{name} is {g['shape']}, eager's {e['shape']}"
        elif far := sum(not near(x, y, e["shape"][0]) for x, y in zip(e["numbers"], g["numbers"])):
            yield f"{far} of {len(e['numbers'])} elements of {name} differ from eager's"


def not_run_through(how, eager_how):
    """The target raised, or could not be asked."""
    print(f"the target {how}")
    if MUST_RAISE and how.startswith("raises"):
        print("as it must" if TENSOR is None else "as it must: there is no tensor to look at")
        return 0 if TENSOR is None and not FLAKY else 2
    if not how.startswith("raises"):
        return 2
    if REFUSED and not AUTOGRAD_REFUSES:
        print("which nothing asks of it: sizes, dtypes and what autograd saves are in order")
        return 1
    if not COMPILES or eager_how != "runs":
        print(f"eager {eager_how}: nothing to compare")
        return 2
    print("eager runs")
    return 1


def as_stated(how, eager_how):
    """The program says that eager must refuse it; a compiler may do so in words of its own."""
    refused = how.startswith(("raises", "refuses"))
    print(f"the target {how}")
    if refused and (COMPILES or STATED in how):
        print("as it must")
        return 2 if FLAKY else 0
    if not COMPILES:
        print(f"and must raise {STATED!r}")
        return 1
    print(f"eager {eager_how}")
    return 1 if how == "runs" and eager_how.startswith("raises") else 2


def run_through(seen, eager):
    if TENSOR is None:
        print("the target runs" + (", and must raise" if MUST_RAISE else ""))
        doubt = NOT_HERE and f"what this script leaves out: {NOT_HERE}"
    else:
        doubt = UNKNOWN or (EXPECTED and expected()[0] is None and "the reference does not judge this version of PyTorch")
        found = [] if doubt else list(wrong(seen, eager))
        for line in found:
            print(line if line.startswith("  ") else f"call {LOOK}, {TENSOR}: {line}")
        if not doubt:
            print(f"torch {torch.__version__}: {TENSOR} of call {LOOK} is {'wrong' if found else 'right'}")
    holds = MUST_RAISE if TENSOR is None else bool(found)
    for line in beside(seen, eager or {}):
        print(f"besides, {line}")
    if not holds and (doubt or FLAKY):
        print(f"this cannot be told: {doubt or 'not seen this time; it was not seen again when it was found, either'}")
        return 2
    return 1 if holds else 0


def main():
    started, target, eager, how = in_a_child()
    if not started:
        print("PyTorch does not start in a child process")
        return 2
    if target is None:
        print(f"torch {torch.__version__}: the target {how}")
        return 1
    if STATED is not None:
        return as_stated(target[0], eager[0])
    if target[1] is None:
        return not_run_through(target[0], eager[0])
    return run_through(target[1], eager[1])


if __name__ == "__main__":
    if len(sys.argv) > 1:
        child(sys.argv[1])
    sys.exit(main())
