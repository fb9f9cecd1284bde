"""One contestant at one point, in this process: prints its times, its memory and what its results come to, as JSON.

    python -m benchmarks.growth.one_point START LIBRARY POINT FILE RUNS

Memory is the most that the first run takes above what is resident before it: the rows, the libraries, and what was compiled.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from pathlib import Path
from typing import Any

from pyarrow import feather

from benchmarks.growth.asked import ASK, answers, columns_of
from benchmarks.growth.case import SweepPoint

STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
FORGET_THE_MOST = "5"
LONG = 3.0
"""Seconds: a first run that takes longer is the only one."""
SHORT = 1.0
"""Seconds: what takes less is run again, because the time of a few milliseconds differs from run to run."""
WEIGHTS = 1009
"""Each answer is weighted by its time, so that answers in each other's place do not add up to the same."""


def measure(library: str, point: SweepPoint, file: str, runs: int) -> dict[str, Any]:
    """Return the seconds of each run, the megabytes of the first one, and the digest of its result."""
    table = feather.read_table(file, columns=columns_of(point), memory_map=False)
    call = ASK[library](point, table)
    del table
    gc.collect()
    before = resident("VmRSS:")
    CLEAR.write_text(FORGET_THE_MOST, encoding="ascii")
    first, result = timed(call)
    most = resident("VmHWM:")
    digest = digest_of(point, result)
    del result
    seconds = [first] if first > LONG else []
    while first <= LONG and (len(seconds) < runs or sum(seconds) < SHORT):
        seconds.append(timed(call)[0])
    return {"seconds": seconds, "megabytes": max(most - before, 0), "digest": digest}


def timed(call: Any) -> tuple[float, Any]:
    """Return how long a call takes, and its result."""
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def resident(name: str) -> float:
    """Return a line of the status of this process, in megabytes."""
    for line in STATUS.read_text(encoding="ascii").splitlines():
        if line.startswith(name):
            return int(line.split()[1]) / 1024
    return 0.0


def digest_of(point: SweepPoint, result: Any) -> dict[str, float]:
    """Return the number of rows of a result, and of each answer the number of its values and their sum, weighted."""

    def column(name: str) -> Any:
        found = result[name]
        return found.to_numpy(zero_copy_only=False) if hasattr(found, "chunks") else found.to_numpy()

    weights = column("ts") % WEIGHTS + 1.0
    digest: dict[str, float] = {"rows": len(weights)}
    for name, _, _, _ in answers(point):
        values = column(name)
        known = values == values  # noqa: PLR0124 — only NaN differs from itself
        digest[f"values of {name}"] = int(known.sum())
        digest[f"sum of {name}"] = float((values[known] * weights[known]).sum())
    return digest


if __name__ == "__main__":
    _, asked_library, numbers, path, times = sys.argv[1:]
    print(json.dumps(measure(asked_library, SweepPoint(**json.loads(numbers)), path, int(times))))  # noqa: T201 — the parent reads it
