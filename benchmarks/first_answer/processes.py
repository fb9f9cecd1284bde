"""Starts the processes of a round: each contestant in a fresh one, with a kernel cache of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.first_answer.case import Answer
from benchmarks.first_answer.data import folder, written
from benchmarks.results import ROOT

EMPTY, WARM, FURTHER = "Sash, empty cache", "Sash, warm cache", "Sash, a further query"
STREAM = "Sash, a stream, empty cache"
LIBRARIES = {"pandas": "pandas", "Polars": "polars", "DuckDB": "duckdb"}
EARLIER = ("max over 1h/1m", "mean, tumbling")
"""The query that a process answers before a further one: the first, or the second if the first is the further one."""
RUNS = ("first run", "second run", "third run")
DIFFERENCE = "first run minus second run"
STREAMS = {"Sash": "sash", "Spark's window": "spark"}


def answers(query: str, rows: int, contestants: Sequence[str]) -> Mapping[str, Answer]:
    """Return the answers in this machine's libraries. The warm cache is the one that the process with the empty cache has filled."""
    path = str(written(rows))
    found = {}
    with ExitStack() as caches:
        cache = caches.enter_context(kernel_cache())
        for name in contestants:
            library = "stream" if name == STREAM else LIBRARIES.get(name, "sash")
            earlier = [] if name != FURTHER else [next(one for one in EARLIER if one != query)]
            used = caches.enter_context(kernel_cache()) if name == FURTHER else cache
            found[name] = _answer(start(f"{__package__}.answer", used, library, query, path, *earlier))
    return found


def on_cluster(query: str, rows: int, contestants: Sequence[str]) -> Mapping[str, Answer]:
    """Return the first three runs of a query on new executors whose kernel cache is empty, and the first minus the second."""
    with kernel_cache() as driver, kernel_cache() as executors, tempfile.TemporaryDirectory(dir=folder()) as home:
        told = start(f"{__package__}.on_cluster", driver, query, str(written(rows) / "parquet"), home, executors)
    first, second, third = told["seconds"]
    seconds = dict(zip((*RUNS, DIFFERENCE), (first, second, third, first - second), strict=True))
    return {name: Answer(seconds[name], told["digest"]) for name in contestants}


def first_batch(query: str, rows: int, contestants: Sequence[str]) -> Mapping[str, Answer]:
    """Return the first micro-batch of a stream in a new session, by Sash and by Spark's own aggregation."""
    found = {}
    for name in contestants:
        with kernel_cache() as cache, tempfile.TemporaryDirectory(dir=folder()) as checkpoint:
            parquet = str(written(rows) / "parquet")
            found[name] = _answer(start(f"{__package__}.first_batch", cache, STREAMS[name], query, parquet, checkpoint))
    return found


def kernel_cache() -> Any:
    """Return a folder for a kernel cache, to be used with `with`."""
    return tempfile.TemporaryDirectory(prefix="sash-kernels-", dir=folder())


def _answer(told: dict[str, Any]) -> Answer:
    return Answer(told["seconds"], told["digest"])


def start(module: str, cache: str, *arguments: str) -> dict[str, Any]:
    """Run a module in a new process with a kernel cache, and return what it prints last."""
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [sys.executable, "-m", module, str(time.time()), *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(ROOT),
        env={**os.environ, "SASH_CACHE_DIR": cache, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
    )
    if done.returncode:
        message = f"{module} {' '.join(arguments)} failed:\n{done.stderr[-4000:]}"
        raise RuntimeError(message)
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told
