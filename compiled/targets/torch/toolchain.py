"""What Inductor prepares once for an installation, kept for the processes that come after.

Its first C++ compile in a process precompiles PyTorch's headers and builds a program for each kind of vector registers of the processor:
some 15 s that say nothing of the program under test. A fresh process has directories of its own and would do that again. So both are kept
in $XDG_CACHE_HOME/scatterproof (~/.cache): the headers under the names that Inductor gives them, hashes of their preprocessed text, flags
and compiler; and the word that the registers work, for this PyTorch, compiler and processor. Nothing that is made of a program is kept.

Half a header would make every program after it fail. So a process builds in its own directory, what it has used once is published by
renaming, and a header is taken only if it has the size that is written beside it. Wherever something is missing or cannot be written,
Inductor prepares what it needs itself, as it would without this.
"""

from __future__ import annotations

import hashlib
import os
import platform
from pathlib import Path
from typing import Any

import torch

MAX_HEADERS = 8  # about 130 MB each, one per set of compiler flags


def folder() -> Path:
    own = os.environ.get("XDG_CACHE_HOME", "")
    return Path(own if os.path.isabs(own) else os.path.expanduser("~/.cache")) / "scatterproof" / "torch"


def processor() -> str:
    try:
        with open("/proc/cpuinfo") as f:
            return next((line for line in f if line.startswith("flags")), "")
    except OSError:
        return ""


class Toolchain:
    """take() before a program that Inductor compiles, keep() after it: each does its work once."""

    def __init__(self) -> None:
        self.taken = self.kept = False

    def take(self) -> None:
        if self.taken:
            return
        self.taken = True
        try:
            self.take_headers()
            self.take_registers()
        except (OSError, AttributeError, ImportError):  # another PyTorch may have other names
            pass

    def keep(self) -> None:
        if self.kept or not self.taken:
            return
        try:
            from torch._inductor import cpu_vec_isa

            if not cpu_vec_isa.valid_vec_isa_list.cache_info().currsize:
                return  # no program has needed the C++ compiler yet
            self.kept = True
            self.keep_headers()
            self.keep_registers()
        except (OSError, AttributeError, ImportError):
            self.kept = True

    # ---- headers: NAME.h, NAME.h.gch and its size in NAME.h.size ------------------------------------------------

    def private(self) -> Path:
        from torch._inductor import codecache

        return Path(codecache._HEADER_DIR)

    def take_headers(self) -> None:
        private = self.private()
        private.mkdir(parents=True, exist_ok=True)
        for size in folder().glob("*.h.size"):
            text = size.with_suffix("")
            built = text.with_suffix(".h.gch")
            whole = built.exists() and str(built.stat().st_size) == size.read_text()
            if whole and text.exists() and not (private / built.name).exists():
                (private / built.name).symlink_to(built)
                (private / text.name).unlink(missing_ok=True)
                (private / text.name).symlink_to(text)

    def keep_headers(self) -> None:
        for built in self.private().glob("*.h.gch"):
            text = built.with_suffix("")
            there = {size.name: size.read_text() for size in folder().glob("*.h.size")}
            size = str(built.stat().st_size)
            name = text.with_suffix(".h.size").name
            if built.is_symlink() or there.get(name) == size or (len(there) >= MAX_HEADERS and name not in there):
                continue
            publish(text.name, text.read_bytes())
            publish(built.name, built.read_bytes())
            publish(name, size.encode())

    # ---- vector registers ---------------------------------------------------------------------------------------

    def registers(self) -> Path:
        """Its existence is the word."""
        from torch._inductor import cpp_builder

        compiler = cpp_builder.get_cpp_compiler()
        what: tuple[Any, ...] = (
            torch.__version__,
            torch.version.git_version,
            torch.__file__,
            compiler,
            cpp_builder.get_compiler_version_info(compiler),
            processor(),
        )
        return folder() / ("registers-" + hashlib.sha256(repr(what).encode()).hexdigest()[:32])

    def take_registers(self) -> None:
        from torch._inductor import config

        if platform.machine() == "x86_64" and config.cpp.vec_isa_ok is None and self.registers().exists():
            config.cpp.vec_isa_ok = True  # what it would find out: it takes those that the processor has

    def keep_registers(self) -> None:
        from torch._inductor import config, cpu_vec_isa

        if platform.machine() != "x86_64" or config.cpp.vec_isa_ok is not None:
            return
        has = cpu_vec_isa.x86_isa_checker()
        of_processor = [isa for isa in cpu_vec_isa.supported_vec_isa_list if all(flag in has for flag in str(isa).split())]
        if all(of_processor):  # each is true if its program could be built and loaded
            word = self.registers()
            word.parent.mkdir(parents=True, exist_ok=True)
            word.touch()


def publish(name: str, data: bytes) -> None:
    folder().mkdir(parents=True, exist_ok=True)
    own = folder() / f"{name}.{os.getpid()}"
    try:
        with open(own, "wb") as f:
            f.write(data)
            f.flush()
            os.fsync(f.fileno())
        os.replace(own, folder() / name)
    finally:
        own.unlink(missing_ok=True)
