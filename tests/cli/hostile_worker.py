#!/usr/bin/env python3
"""A worker that says what no terminal should see. HOSTILE: raise, compiled (raises on stages that compile, refuses on eager), refuse,
unimplemented (a kernel for a dtype), crash, rubbish, tail (before it says hello), long (a message of LONG MiB).

Given as --python, it is started as `hostile_worker.py worker.py` and speaks eager/base/proc.h's frames on descriptor 3.
"""

import os
import socket
import struct
import sys

TEXT = b"\x1b]0;owned\x07\x9b31m\xc2\x9b31m\rx\xe2\x80\xaegnp\nx.prog: pass on torch:eager@cpu\nFINDING 00000000\n\xff\xd8\x9c"
MODE = os.environ.get("HOSTILE", "raise")
sock = socket.socket(fileno=3)


def text(b: bytes) -> bytes:
    return struct.pack("<I", len(b)) + b


def send(seq: int, payload: bytes) -> None:
    sock.sendall(struct.pack("<IIQ", 0x31465053, seq, len(payload)) + payload)


def receive(n: int) -> bytes:
    got = b""
    while len(got) < n:
        more = sock.recv(n - len(got))
        if not more:
            sys.exit(0)
        got += more
    return got


def answer(status: int, message: bytes) -> bytes:
    calls, changes, mismatches, artifacts, shapes = 0, 0, 0, 0, 0
    return bytes([0, status]) + text(message) + struct.pack("<IddIIIII", 1, 0.0, 0.0, calls, changes, mismatches, artifacts, shapes)


os.write(2, TEXT)
if MODE == "tail":
    sys.exit(1)
send(0, text(b"2.11.0") + b"".join(text(TEXT) for _ in range(5)) + text(b""))  # a version, or nothing is run; a CUDA device
while True:
    _, seq, nbytes = struct.unpack("<IIQ", receive(16))
    payload = receive(nbytes)
    eager = payload.startswith(text(b"eager"))
    if MODE == "crash":
        os.write(2, TEXT)
        os.kill(os.getpid(), 6)
    elif MODE == "rubbish":
        send(seq, bytes([0, 77]) + text(TEXT))
    elif MODE == "long":
        send(seq, answer(1, b"RuntimeError: " + "\u00e9".encode() * (int(os.environ["LONG"]) << 19)))
    elif MODE == "unimplemented":
        send(seq, answer(1, b"RuntimeError: \"embedding_backward\" not implemented for 'Short'"))
    else:
        send(seq, answer(2 if MODE == "refuse" or (MODE == "compiled" and eager) else 1, b"RuntimeError: " + TEXT))
