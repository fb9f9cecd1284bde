"""Measures a case: each contestant in a process that writes its answers to a file. The answers must agree."""

from __future__ import annotations

import math
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.case import SECONDS, Contestant
from benchmarks.first_answer.data import folder
from benchmarks.first_answer.processes import kernel_cache, start
from benchmarks.larger_than_memory.case import FileCase, FileQuestion, megabytes_of
from benchmarks.larger_than_memory.data import written

MODULE = "benchmarks.larger_than_memory.one_run"
WEIGHTS = 1009
"""Each answer is weighted by its key and time, so that answers in each other's place do not add up to the same."""


class FileRun(NamedTuple):
    """What one contestant took."""

    seconds: float
    megabytes: float
    digest: dict[str, float]


class FileField:
    """The contestants of a case, each in a process of its own."""

    def __init__(self, case: FileCase) -> None:
        self.case = case
        self.compiled: dict[str, float] = {}

    def counted(self, contestant: Contestant) -> int:  # noqa: ARG002 — all answer the same
        """Return how many rows a contestant answers."""
        return self.case.rows

    def measure(self, repeats: int) -> dict[str, list[float]]:  # noqa: ARG002 — a run takes long
        """Return what was measured, after the answers were compared."""
        runs = {one.name: run(one.name, self.case.question, self.case.rows) for one in self.case.contestants}
        for name, done in runs.items():
            check(name, done.digest, runs["DuckDB"].digest)
        is_time = self.case.measure == SECONDS
        return {name: [done.seconds if is_time else done.megabytes] for name, done in runs.items()}


@cache
def run(name: str, question: FileQuestion, rows: int) -> FileRun:
    """Run a contestant once: both measures come from one process."""
    megabytes = str(megabytes_of(rows))
    with tempfile.TemporaryDirectory(dir=folder()) as place, kernel_cache() as kernels:
        file, path = str(Path(place) / "answers.parquet"), str(written(rows))
        if name == "Sash":
            own = [
                "sash",
                "run",
                question.sash.format(path=path),
                "-o",
                file,
                "--batches",
                "--memory",
                f"{megabytes}MB",
            ]
        else:
            asked = question.duckdb.format(path=path)
            own = ["benchmarks.larger_than_memory.ask_duckdb", asked, file, megabytes]
        told = start(MODULE, kernels, sys.executable, "-m", *own)
        return FileRun(told["seconds"], told["megabytes"], digest_of(question, file))


def digest_of(question: FileQuestion, file: str) -> dict[str, float]:
    """Return the number of answers in a file, and the weighted sum of each column of answers."""
    digest = dict.fromkeys(("rows", *question.answers), 0.0)
    for batch in pq.ParquetFile(file, pre_buffer=False).iter_batches():
        times = batch[question.identify].cast(pa.timestamp("us")).cast(pa.int64()).to_numpy()
        weights = (times // 1_000 + batch["key"].to_numpy()) % WEIGHTS + 1.0
        digest["rows"] += len(batch)
        for name in question.answers:
            digest[name] += float(np.dot(batch[name].to_numpy(), weights))
    return digest


def check(name: str, given: dict[str, float], right: dict[str, float]) -> None:
    """Raise if the answers do not come to the same.

    >>> check("Sash", {"rows": 3.0}, {"rows": 2.0})
    Traceback (most recent call last):
        ...
    AssertionError: Sash has 3.0 rows, where 2.0 is right.
    """
    for what, value in right.items():
        if not math.isclose(given[what], value, rel_tol=1e-9):
            message = f"{name} has {given[what]} {what}, where {value} is right."
            raise AssertionError(message)
