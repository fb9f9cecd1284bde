"""Processes that start together compile the same kernel into one cache, as the Python workers of a node do."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
from cases import SOAK

PROCESSES = 6 if SOAK else 3
COMPILE = """
import sys, time
import numpy as np
import sash
spread = sash.aggregate(
    "spread", lift=lambda x: (x, x), lower=lambda ends: ends[1] - ends[0],
    combine=lambda older, newer: (min(older[0], newer[0]), max(older[1], newer[1])),
)
spreads = sash.Aggregator(spread, "two_stacks")
values = np.array([3, 1, 4, 1, 5, 9, 2, 6])
while time.time() < float(sys.argv[1]):
    time.sleep(0.001)
print(spreads.slide(values, 3).tolist())
"""
ANSWER = "[0, 2, 3, 3, 4, 8, 7, 7]"


def compile_together(processes: int) -> None:
    """Start processes that compile at the same moment, and compare what each answers."""
    at = str(time.time() + 2.5)  # until all have imported what they need
    started = [
        subprocess.Popen([sys.executable, "-c", COMPILE, at], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(processes)
    ]
    for process in started:
        said, complaint = process.communicate(timeout=120)
        assert (said.strip(), complaint) == (ANSWER, "")


def test_processes_that_compile_together_leave_one_whole_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SASH_CACHE_DIR", str(tmp_path))
    compile_together(PROCESSES)
    kept = written(tmp_path)
    assert any(path.suffix == ".nbc" for path in kept)
    assert not [path for path in kept if "tmp" in path.name]
    compile_together(1)
    assert written(tmp_path) == kept, "what was kept is not what was asked for"


def written(folder: Path) -> dict[Path, int]:
    """The files of the cache, and when each was written."""
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


OWN = """
import sash
spread = sash.aggregate("spread", lift=lambda x: (x, x), lower=lambda ends: ends[1] - ends[0],
                        combine=lambda older, newer: (min(older[0], newer[0]), max(older[1], newer[1])))
"""
FROM_AFAR = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("elsewhere", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)  # as functions that Spark brings from the driver: this process doesn't know their module
import numpy as np, sash
print(sash.Aggregator(module.spread, "two_stacks").slide(np.array([3, 1, 4, 1, 5, 9, 2, 6]), 3).tolist())
"""


def test_functions_of_a_module_that_is_not_there_are_found_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SASH_CACHE_DIR", str(tmp_path / "cache"))
    path = tmp_path / "elsewhere.py"
    path.write_text(OWN, encoding="utf-8")
    for _ in range(PROCESSES):
        done = subprocess.run(
            [sys.executable, "-c", FROM_AFAR, str(path)], capture_output=True, text=True, check=False, timeout=120
        )
        assert (done.stdout.strip(), done.stderr) == (ANSWER, "")
