"""Amounts of memory: texts such as "2GB", and what this process may still take."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

UNITS = " kmgt"
LEAST, MOST = 1.0, 1e15
"""Limits of what is said to be free: a size is never nothing, nor without end."""


def read_size(value: str | float, called: str | None = None) -> float:
    """Return a number of bytes. Raise ValueError if the value is not a size; `called` is its name in the message.

    >>> read_size("300MB"), read_size("2 gb"), read_size(1 << 20)
    (300000000.0, 2000000000.0, 1048576.0)
    """
    given = repr(value) if called is None else f"{called}={value!r}"
    size = 0.0
    if isinstance(value, str):
        match = re.fullmatch(r"(\d+\.?\d*|\.\d+)\s*([kmgt]?)b?", value.strip().lower())
        size = 0.0 if match is None else float(match[1]) * float(1000 ** UNITS.index(match[2] or " "))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        size = float(value)
    if not 0 < size < float("inf"):
        raise ValueError(f"{given} is not a size. Use a number and a unit, as in 300MB or 2GB.")
    return size


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
    if min(limits) == float("inf"):  # macOS does not say what is free
        with suppress(AttributeError, OSError, ValueError):
            limits.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2)
    return min(max(min(limits), LEAST), MOST)
