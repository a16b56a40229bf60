"""One program of scripts/suspects: runs a stand-alone script (fuzz/triage/script.h) in this process under PyTorch's own bisector,
and prints what that names, as a line of JSON: {"backend", "subsystem", "number", "what"}, or null."""

from __future__ import annotations

import importlib.util
import json
import sys
from types import ModuleType
from typing import Any

import torch
from torch._inductor.compiler_bisector import CompilerBisector


def load(path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location("failing", path)
    if not spec or not spec.loader:
        sys.exit(f"error: {path} is no script")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main() -> None:
    script: Any = load(sys.argv[1])

    def under_test(fn: Any) -> Any:
        return torch.compile(fn, fullgraph=True, backend=CompilerBisector.get_backend() or "inductor")

    def here() -> Any:
        return True, script.attempt(script.under_test), script.attempt(lambda fn: fn), ""

    def right() -> bool:
        torch._dynamo.reset()
        return script.main() == 0

    script.under_test, script.in_a_child = under_test, here
    result = CompilerBisector.do_bisect(right)
    told = {
        "backend": result.backend,
        "subsystem": result.subsystem,
        "number": result.bisect_number,
        "what": result.debug_info,
    } if result else None
    print(json.dumps(told))


if __name__ == "__main__":
    main()
