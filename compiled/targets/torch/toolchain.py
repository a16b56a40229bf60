"""What Inductor prepares once for an installation, and the kernels that it built, kept for the processes that come after.

Its first C++ compile in a process precompiles PyTorch's headers and builds a program for each kind of vector registers of the processor:
some 15 s that say nothing of the program under test. A fresh process has directories of its own and would do that again. So both are kept
in $XDG_CACHE_HOME/scatterproof (~/.cache): the headers under the names that Inductor gives them, hashes of their preprocessed text, flags
and compiler; and the word that the registers work, for this PyTorch, compiler and processor.

Of a program under test the compiler's output is kept, and nothing that came before: Inductor lowers each program anew and writes C++, and
where a process has built the same text with the same command already (Inductor's own key), its library is taken instead of building it
again. Minimisers, confirmations and reports ask about one program in several processes: about half of their builds are such repetitions.
A folder of kernels belongs to one PyTorch, compiler, processor, environment of the compiler and boot of the machine.

Half a header would make every program after it fail, and half a kernel might be taken for a wrong one. So a process builds in its own
directory, what it has used once is published by renaming, a header is taken only if it has the size that is written beside it, and a kernel
only if its bytes have the hash in its name. Wherever something is missing or cannot be written, Inductor prepares what it needs itself, as
it would without this.
"""

from __future__ import annotations

import hashlib
import os
import platform
import random
import shutil
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

MAX_HEADERS = 8  # about 130 MB each, one per set of compiler flags
MAX_KERNELS = 1500  # some 60 KB each
MAX_FOLDERS = 3  # of kernels
COMPILER_READS = ("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH", "COMPILER_PATH", "GCC_EXEC_PREFIX", "PATH")


def folder() -> Path:
    own = os.environ.get("XDG_CACHE_HOME", "")
    return Path(own if os.path.isabs(own) else os.path.expanduser("~/.cache")) / "scatterproof" / "torch"


def processor() -> str:
    try:
        with open("/proc/cpuinfo") as f:
            return next((line for line in f if line.startswith("flags")), "")
    except OSError:
        return ""


def short_hash(what: Any) -> str:
    return hashlib.sha256(repr(what).encode()).hexdigest()[:32]


def installation() -> tuple[Any, ...]:
    from torch._inductor import cpp_builder

    compiler = cpp_builder.get_cpp_compiler()
    version = cpp_builder.get_compiler_version_info(compiler)
    return torch.__version__, torch.version.git_version, torch.__file__, compiler, version, processor()


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
            Kernels().install()
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
        return folder() / f"registers-{short_hash(installation())}"

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


class Kernels:
    """KEY-HASH.so in a folder of kernels: what Inductor built under that key, and a hash of its bytes."""

    def install(self) -> None:
        from torch._inductor import codecache, config

        if config.compile_threads != 1 or platform.system() != "Linux":
            return  # others would build it
        build = codecache._worker_compile_cpp

        def build_or_take(lock_path: str, cpp_builders: Sequence[Any]) -> None:
            target = Path(cpp_builders[-1].get_target_file_path())
            is_kernel = target.suffix == ".so" and not target.exists()  # a header comes this way, too
            if is_kernel and self.take(target):
                return
            build(lock_path, cpp_builders)
            if is_kernel:
                self.keep(target)

        codecache._worker_compile_cpp = build_or_take  # type: ignore[assignment]

    @cached_property
    def place(self) -> Path:
        headers = Path(torch.__file__).parent / "include" / "torch"
        what = (
            *installation(),
            headers.stat().st_mtime_ns,
            Path(torch.__file__).stat().st_mtime_ns,
            [os.environ.get(name) for name in COMPILER_READS],
        )
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip().replace("-", "")
        return folder() / f"kernels-{boot}-{short_hash(what)}"

    def take(self, target: Path) -> bool:
        try:
            for kept in self.place.glob(f"{target.stem}-*.so"):
                data = kept.read_bytes()
                if kept.name == kernel_name(target.stem, data):
                    os.utime(kept)
                    target.parent.mkdir(parents=True, exist_ok=True)
                    own = target.with_name(f"{target.name}.{os.getpid()}")
                    own.write_bytes(data)
                    os.replace(own, target)
                    return True
                kept.unlink(missing_ok=True)
        except OSError:
            pass
        return False

    def keep(self, target: Path) -> None:
        try:
            data = target.read_bytes()
            publish(f"{self.place.name}/{kernel_name(target.stem, data)}", data)
            if random.random() < 0.02:
                self.tidy()
        except OSError:
            pass

    def tidy(self) -> None:
        """The kernels that were not used for longest go, and folders of earlier boots and installations."""
        oldest_first(self.place.glob("*.so"), MAX_KERNELS, lambda kept: kept.unlink(missing_ok=True))
        others = (other for other in folder().glob("kernels-*") if other != self.place)
        oldest_first(others, MAX_FOLDERS - 1, lambda other: shutil.rmtree(other, ignore_errors=True))


def kernel_name(key: str, data: bytes) -> str:
    return f"{key}-{hashlib.sha256(data).hexdigest()[:32]}.so"


def oldest_first(paths: Iterable[Path], most: int, drop: Callable[[Path], object]) -> None:
    times = []
    for path in paths:
        try:
            times.append((path.stat().st_mtime, path))
        except FileNotFoundError:  # another process was faster
            continue
    for _time, path in sorted(times)[: max(len(times) - most, 0)]:
        drop(path)


def publish(name: str, data: bytes) -> None:
    """name: with folders, in folder()."""
    path = folder() / name
    path.parent.mkdir(parents=True, exist_ok=True)
    own = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        with open(own, "wb") as f:
            f.write(data)
            f.flush()
            os.fsync(f.fileno())
        os.replace(own, path)
    finally:
        own.unlink(missing_ok=True)
