"""A filter for the lines that the Java virtual machine prints before logging starts. No setting of Spark turns them off."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

STDERR = 2
NOISE = (
    b"WARNING: Using incubator modules:",
    b"Using Spark's default log4j profile:",
    b"Starting Streaming TransformWithState",  # what Spark's Python workers say of themselves
    b"Streaming TransformWithState",
    b"Warning: Java versions > Java 11 can only operate in restricted mode",  # of the library of sketches
)
MAX_BYTES = 65536


@contextmanager
def without_noise() -> Iterator[None]:
    """Start processes with an error stream that drops the lines of `NOISE`.

    They keep it as long as they live. Everything else goes on to the error stream of this process, a progress bar too.
    """
    sys.stderr.flush()
    source, sink = os.pipe()
    kept = os.dup(STDERR)
    os.dup2(sink, STDERR)
    os.close(sink)
    threading.Thread(target=_pass_on, args=(source, kept), name="sash: error stream of Spark", daemon=True).start()
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(kept, STDERR)


def _pass_on(source: int, target: int) -> None:
    """Copy lines, except for noise, until all writers have closed the pipe."""
    held = b""
    dropped = False
    while chunk := os.read(source, MAX_BYTES):
        *whole, held = (held + chunk).splitlines(keepends=True)
        if held.endswith(b"\n") or not _may_be_noise(held):
            whole.append(held)
            held = b""
        for line in whole:
            dropped = line.startswith(NOISE) or (dropped and not line.strip())  # and the empty line after it
            if not dropped:
                os.write(target, line)
    os.write(target, held)
    os.close(source)
    os.close(target)


def _may_be_noise(start: bytes) -> bool:
    return any(start.startswith(noise) or noise.startswith(start) for noise in NOISE)
