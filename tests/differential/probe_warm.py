"""Probes in a worker that has compiled the same program without them, with PyTorch's caches on (the worker's environment has them
off): what was cached does not answer a probe, and what a probe did is gone afterwards. Also: the version accepts every row of knobs.def.

usage: probe_warm.py FOLDER_OF_WORKER     (compiled/targets/torch)
"""

import hashlib
import importlib.util
import os
import re
import sys
import tempfile
from pathlib import Path

folder = Path(sys.argv[1])
scratch = tempfile.TemporaryDirectory()
for name in ("TORCHINDUCTOR_FX_GRAPH_CACHE", "TORCHINDUCTOR_AUTOGRAD_CACHE"):
    os.environ.pop(name, None)
os.environ |= {"TORCHINDUCTOR_CACHE_DIR": scratch.name, "TORCHINDUCTOR_COMPILE_THREADS": "1"}


def load(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


load("scatterproof_probe", folder / "probe.py")
load("scatterproof_toolchain", folder / "toolchain.py")
worker = load("worker", folder / "worker.py")
torch = worker.torch

SOURCE = """
def f(x, y):
    s = torch.ops.aten.slice_scatter.default(x, y, 1, 0, 6)
    return (torch.ops.aten.sum.dim_IntList(s, [1]),)
def cotangents(g):
    return (g,)
"""
SIZES = {"x": (4, 13, 33), "y": (4, 6, 33), "g": (4, 33)}
fails = checks = ran = 0


def expect(what, want, got):
    global fails, checks
    checks += 1
    if want != got:
        print(f"FAIL: {what}: want {want!r}, got {got!r}")
        fails += 1


def request(stage, **options):
    inputs, values, storages = [], [], []
    for n, (name, size) in enumerate(SIZES.items()):
        t = torch.arange(torch.Size(size).numel(), dtype=torch.float32).view(size)
        inputs.append(worker.Input(name, False, name != "g", name == "g", name != "g", n))
        values.append(worker.Meta(torch.float32, torch.device("cpu"), tuple(size), t.stride(), 0))
        storages.append(memoryview(worker.logical_bytes(t)))
    call = worker.Call(values, storages)
    return worker.Request(stage, torch.device("cpu"), options, SOURCE, len(SIZES), inputs, [0], False, 1, [call])


def run(stage, **options):
    """A hash of the call's bytes without its time, artifacts, hits of the cache."""
    global ran
    answer, ran = worker.Answer(), ran + 1
    worker.run_request(request(stage, **options), ran, answer)
    assert answer.ngraphs == (stage != "eager")
    hits = torch._dynamo.utils.counters["aot_autograd"]["autograd_cache_hit"] if stage != "eager" else 0
    call = answer.calls[0]
    return hashlib.sha256(b"".join([*call.outs, *call.grads, *map(bytes, call.cells)])).hexdigest()[:8], dict(answer.artifacts), hits


def test_caches():
    right = run("eager")[0]
    plain, _, _ = run("inductor")
    again, _, hits = run("inductor")
    expect("the second compile is a cache's", (True, plain), (hits > 0, again))
    if torch.__version__.startswith("2.11.0"):
        expect("the bug is there", False, plain == right)
    clone = {"probe.clone": "bw:aten.slice_scatter.default"}
    copied, artifacts, hits = run("inductor", **clone, **{"probe.keep": "1", "probe.excuse": "1"})
    expect("a copy cures", right, copied)
    expect("it was made", "clone bw aten.slice_scatter.default: 1 place\n", artifacts["probe"])
    expect("nothing was a cache's", 0, hits)
    names = ["backward code", "backward graph", "excuse", "forward code", "forward graph", "operators", "probe"]
    expect("graphs and code", names, sorted(artifacts))
    expect("the excuse", "assert_close: equal\nsame: equal\n", artifacts["excuse"])
    cured, artifacts, _ = run("inductor", **{"probe.fallback": "aten.slice_scatter.default", "fx_graph_cache": "1"})
    expect("ATen's kernel cures", (right, "fallback aten.slice_scatter.default: 2 places\n"), (cured, artifacts["probe"]))
    after, artifacts, _ = run("inductor")
    expect("nothing is left of it", (plain, {}), (after, artifacts))


def test_knobs():
    rows = re.findall(r'^KNOB\("(\w+)", "([\w.]+)", "(\w+)", (?:"(\w+)"|NULL), "[^"]+"\)$', (folder / "knobs.def").read_text(), re.M)
    expect("rows", True, len(rows) > 20)
    for stage, option, value, subsystem in rows:
        expect(option, True, stage == "inductor" or (stage, value) == ("aot_eager_decomp_partition", "decomposition"))
        if subsystem:
            expect(option, ("probe.off", value), (option, subsystem))
        options = {option: value}
        try:
            worker.probes.read_probe(options)
            torch.compile(lambda x: x, options=worker.inductor_options(options))
            said = ""
        except (worker.probes.ProbeError, worker.OptionError, RuntimeError) as error:
            said = str(error)
        expect(f"{option}={value}", "", said)
        default = torch._inductor.config.get_config_copy().get(option)
        if default is not None and not subsystem:
            expect(f"{option}={value} is not the default", False, worker.option_value(option, value, default) == default)


test_caches()
test_knobs()
print(f"{checks} checks, {fails} failed")
sys.exit(fails > 0)
