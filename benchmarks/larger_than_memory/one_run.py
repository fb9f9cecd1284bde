"""Runs one command, and prints how long it takes and the most memory that it has, as JSON.

    python -m benchmarks.larger_than_memory.one_run START COMMAND…

It is a process of its own because Linux counts the memory of the process that starts another for that one, too.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Sequence


def run(command: Sequence[str]) -> dict[str, float]:
    """Return the seconds and the megabytes of a command. Raise if it fails."""
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=sys.stderr)
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "megabytes": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024}


if __name__ == "__main__":
    print(json.dumps(run(sys.argv[2:])))  # noqa: T201 — the parent reads it
