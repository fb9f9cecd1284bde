"""Sizes of memory: those that users write, and the memory that is free."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path


def read_size(text: str) -> float:
    """Return a number of bytes. Raise ValueError if the text is not a size.

    >>> read_size("300MB"), read_size("2 gb")
    (300000000.0, 2000000000.0)
    """
    match = re.fullmatch(r"([\d.]+)\s*([kmgt]?)b?", text.strip().lower())
    if match is None:
        raise ValueError(f"{text!r} is not a size. Use a number and a unit, as in 300MB or 2GB.")
    return float(match[1]) * float(1000 ** " kmgt".index(match[2] or " "))


def available_memory() -> float:
    """Return the bytes of memory that this process may still take, by the machine, its container and its limits."""
    limits = [float("inf")]
    with suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        limits.append(1024 * float(next(line for line in lines if line.startswith("MemAvailable")).split()[1]))
    with suppress(OSError, ValueError):
        group = Path("/sys/fs/cgroup")
        limit, used = ((group / f"memory.{name}").read_text(encoding="ascii") for name in ("max", "current"))
        limits.append(float(limit) - float(used))
    with suppress(ImportError, OSError):
        import resource  # noqa: PLC0415 — Windows has none

        for number in (resource.RLIMIT_AS, resource.RLIMIT_DATA):
            most_bytes = resource.getrlimit(number)[0]
            if most_bytes != resource.RLIM_INFINITY:
                limits.append(float(most_bytes) / 2)  # code and threads take address space too
    return max(min(limits), 0.0)
