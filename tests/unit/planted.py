"""The two figures of scripts/planted on made-up tables, and what it takes from blame's sentences. Usage: planted.py SOURCES"""

from __future__ import annotations

import math
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(sys.argv[1]) / "scripts"))
import planted_faults  # noqa: E402
import planted_table as t  # noqa: E402

failed: list[str] = []
checks = 0


def expect(what: str, want: object, got: object) -> None:
    global checks
    checks += 1
    if want != got and not (isinstance(want, float) and isinstance(got, float) and abs(want - got) < 1e-12):
        failed.append(f"{what}: want {want!r}, got {got!r}")


def expect_figures(what: str, faults: str, causes: str, hom: float, com: float) -> None:
    """Letters: faults[i] and causes[i] are those of finding i."""
    expect(f"{what}: homogeneity", hom, t.homogeneity(faults, causes))
    expect(f"{what}: completeness", com, t.completeness(faults, causes))


# By hand, in bits. The last but one: H(fault) = 1 and H(fault | cause) = 3/4 h(1/3); H(cause) = h(1/4) and H(cause | fault) = 1/2 h(1/2).
def h(p: float) -> float:
    return -p * math.log2(p) - (1 - p) * math.log2(1 - p)


expect_figures("perfect", "aabb", "xxyy", 1.0, 1.0)
expect_figures("other names", "aabbc", "zzxxy", 1.0, 1.0)
expect_figures("one cause for two faults", "aabb", "xxxx", 0.0, 1.0)
expect_figures("two causes for one fault", "aaaa", "xxyy", 1.0, 0.0)
expect_figures("two faults, each in two causes", "aabb", "wxyz", 1.0, 0.5)
expect_figures("two causes, each of two faults", "wxyz", "aabb", 0.5, 1.0)
expect_figures("nothing to do with each other", "aabb", "xyxy", 0.0, 0.0)
expect_figures("one of four in the wrong cause", "aabb", "xxxy", 1 - 3 / 4 * h(1 / 3), 1 - 1 / 2 * h(1 / 2) / h(1 / 4))
expect_figures("one finding", "a", "x", 1.0, 1.0)


def planted(name: str, *findings: tuple[str, str]) -> t.Planted:
    made = [t.Finding(f"{i}", cause, "", 2, 10 + i, i, i, sound) for i, (cause, sound) in enumerate(findings)]
    return t.Planted(name, {"stage": "inductor", "broken": ["amax"], "step": ""}, {"campaign_s": 2.0, "triage_s": 3.4}, made)


# What fails without the fault, what nobody asked, and what has no cause does not count.
two = [planted("a", ("x", "pass"), ("y", "mismatch"), ("y", ""), ("", ""), ("y", "unjudged")), planted("b", ("z", "pass"), ("z", "pass"))]
expect("counted", [1, 2], [len(p.counted()) for p in two])
expect("figures", "homogeneity 1.000, completeness 1.000: 3 findings, 2 causes, 2 of 2 faults", t.figures(two))
expect("apart", "1 real, 1 cannot tell, 1 not checked, 1 no cause", t.apart(two[0]))
expect("one fault", "2 findings of 1 fault: too few for figures", t.figures(two[1:]))
expect("no finding", "0 findings of 0 faults: too few for figures", t.figures([planted("c")]))
expect("row", ["b", "1", "2", "1", "2, 2", "10.5, 11", "2 other", "-", "5"], t.row_of(two[1]))
expect("empty row", ["c", "none", "0", "0", "-", "-", "-", "-", "5"], t.row_of(planted("c")))
merged = t.table([planted("a", ("x", "pass")), planted("b", ("x", "pass"))])
expect("one cause for two", True, "one cause for a, b: x" in merged and "homogeneity 0.000, completeness 1.000" in merged)
split = t.table([planted("a", ("x", "pass"), ("y", "pass"))])
expect("two causes for one", True, "2 causes for a:\n    1 x\n    1 y" in split)

# Names in the sentences that blame writes (fuzz/triage/blame.c, fuzz/cli/step_known.c).
OWN = "running ATen's own kernel of "
KNOWN = "a known cause: what cures that cures it, too "
CURED = "wrong from: inductor (aot_eager is right); cured by "
for sentence, want in (
    (CURED + "running ATen's own kernel of aten.amax.default", {"amax"}),
    (CURED + "cloning aten.slice_scatter.default in the backward graph, " + OWN + "prims.rev.default or 3 other ways",
     {"slice_scatter", "rev"}),
    (CURED + "switching off passes over forward and backward together (probe.off=joint_graph_passes)", {"probe.off=joint_graph_passes"}),
    (CURED + "switching off removal of operators (disabled_passes=remove_noop_ops)", {"disabled_passes=remove_noop_ops"}),
    (CURED + "leaving cpp.inject_relu_bug_TESTING_ONLY=accuracy away", {"cpp.inject_relu_bug_TESTING_ONLY=accuracy"}),
    (CURED + "switching off generated kernels (probe.off=lowerings); right without application 1 of lowerings: any_1",
     {"probe.off=lowerings", "any"}),
    ("wrong from: inductor; nothing that was tried cures it; the first wrong value is `a`, the result of amax", {"amax"}),
    ("wrong from: inductor; nothing that was tried cures it", set()),
    (KNOWN + "(probe.clone=bw:aten.gather.default): torch:inductor: value, wrong; aten.gather.default", {"gather"}),
    (KNOWN + "(probe.fallback=aten.amax.default): torch:inductor: value, wrong; aten.amax.default", {"amax"}),
    ("wrong from: inductor; fake predicts aten.any.dim of the backward wrong: fake b8[2][1]+0 real b8[2][2]+0", {"any"}),
):
    expect(sentence, want, t.names_of(sentence))

ATEN = CURED + "running ATen's own kernel of aten."
CAUSE = "torch:inductor: value, wrong; aten.amax.default"
expect("right", "right", t.judge_blame(ATEN + "amax.default", CAUSE, "inductor", ["amax"]))
both = ATEN + "amax.default or cloning aten.neg.default in the forward graph"
expect("others too", "among others", t.judge_blame(both, CAUSE, "inductor", ["amax"]))
OFF = "switching off generated kernels: every operator by ATen's (probe.off=lowerings)"
LOWERINGS = ("inductor", ["amax"], "probe.off=lowerings")
expect("and its step", "right", t.judge_blame(f"{ATEN}amax.default or {OFF}", CAUSE, *LOWERINGS))
expect("its step alone", "right step", t.judge_blame(CURED + OFF, CAUSE, *LOWERINGS))
expect("its step and another", "among others", t.judge_blame(f"{ATEN}neg.default or {OFF}", CAUSE, *LOWERINGS))
expect("another step", "other", t.judge_blame(CURED + OFF, CAUSE, "inductor", ["clone"], "probe.off=post_grad_passes"))
expect("another", "other", t.judge_blame(ATEN + "neg.default", CAUSE, "inductor", ["amax"]))
expect("nothing", "nothing", t.judge_blame("wrong from: inductor; nothing that was tried cures it", CAUSE, "inductor", ["amax"]))
expect("another stage", "other", t.judge_blame("wrong from: aot_eager; cured by " + OWN + "aten.amax.default", CAUSE, "inductor", ["amax"]))
alone = "wrong from: aot_eager_decomp_partition (aot_eager is right)"
expect("a stage alone", "right step", t.judge_blame(alone, "", "aot_eager_decomp_partition", ["tanh"]))
known = KNOWN + "(probe.fallback=aten.amax.default): " + CAUSE
expect("a known cause", "right", t.judge_blame(known, CAUSE, "inductor", ["amax"]))

# What a killed check left.
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "sound.json"
    expect("no check", {}, t.verdicts_without(path))
    path.write_text('{"file":"p/1a2b.prog","verdict":"pass"}\n{"file":"p/3c4d.prog","verdict":"mismatch"}\n{"file":"p/5e')
    expect("a killed check", {"1a2b": "pass", "3c4d": "mismatch"}, t.verdicts_without(path))

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "campaign.json"
    expect("no campaign", "none", t.tried(path))
    path.write_text('{"finding": "1a2b"}\n{"summary": {"programs": 6, "compiled": 0}}\n')
    expect("a campaign that compiled nothing", "none of 6 (0)", t.tried(path))

expect("faults", True, len(planted_faults.FAULTS) >= 14 and sum(f.patch is not None for f in planted_faults.FAULTS.values()) >= 10)
for f in planted_faults.FAULTS.values():
    expect(f"{f.name} is told", True, bool(f.like and f.broken and f.ops) and (f.patch is not None) != bool(f.option))

for line in failed:
    print("FAIL:", line)
print(f"{checks} checks, {len(failed)} failed")
sys.exit(1 if failed else 0)
