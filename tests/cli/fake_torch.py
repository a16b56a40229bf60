"""A PyTorch worker without PyTorch: says hello as the version in FAKE_TORCH, refuses every program. Started instead of worker.py.

FAKE_NO_CUDA: why it has no CUDA device; FAKE_RAISES: what every program raises there."""
import os
import struct


def text(s):
    return struct.pack("<I", len(s)) + s.encode()


def send(number, payload):
    frame = struct.pack("<IIQ", 0x31465053, number, len(payload)) + payload
    while frame:
        frame = frame[os.write(3, frame):]


def read(n):
    data = b""
    while len(data) < n:
        part = os.read(3, n - len(data))
        if not part:
            raise SystemExit
        data += part
    return data


version = os.environ["FAKE_TORCH"]
send(0, text(version) + text("git") + text("3.11.2") + text("") + text("x86_64 FAKE") + text("")
     + text(os.environ.get("FAKE_NO_CUDA", "")))
raises = os.environ.get("FAKE_RAISES", "")
while True:
    _, number, nbytes = struct.unpack("<IIQ", read(16))
    read(nbytes)
    refused = struct.pack("<BB", 0, 1 if raises else 2) + text(raises or "a fake refuses")
    refused += struct.pack("<IddIIIII", 0, 0.0, 0.0, 0, 0, 0, 0, 0)
    send(number, refused)
