"""Measures a case: each run in a session of its own, whose results must come to the same as those of other ways."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from functools import cache
from typing import Any

from benchmarks.first_answer.processes import kernel_cache, start
from benchmarks.spark_large.case import TIME, LargeContestant, LargeRun, SparkLargeCase
from benchmarks.workloads.field import check

MODULE = "benchmarks.spark_large.one_run"


class SparkLargeField:
    """The contestants of a case."""

    def __init__(self, case: SparkLargeCase) -> None:
        self.case = case
        self.compiled: dict[str, float] = {}

    def counted(self, contestant: LargeContestant) -> int:
        """Return how many rows a contestant answers."""
        return contestant.run.rows

    def measure(self, repeats: int) -> dict[str, list[float]]:  # noqa: ARG002 — once: it takes long
        """Return the seconds or the megabytes of each contestant, after the results of the same rows were compared."""
        case, told, right = self.case, dict[str, dict[str, Any]](), dict[int, dict[str, float]]()
        for one in case.contestants:
            told[one.name] = run(one.run)
            digest = told[one.name]["digest"]
            check(case.name, one.name, digest, right.setdefault(one.run.rows, digest))
        key = "seconds" if case.shown == TIME else "megabytes"
        return {name: [one[key]] for name, one in told.items()}


@cache
def run(asked: LargeRun) -> dict[str, Any]:
    """Run once, in a session of its own. Both measures come from one session."""
    with kernel_cache() as kernels:
        told = start(MODULE, kernels, json.dumps(asdict(asked)))
    seconds, megabytes = told["seconds"], told["megabytes"]
    text = f"{asked.way}, {asked.question}, {asked.rows:,} rows, {asked.cores} cores: {seconds:,.1f} s, {megabytes:,.0f} MB"
    print(text, file=sys.stderr, flush=True)  # noqa: T201
    return told
