"""A driver that is killed with SIGKILL while it reads a history, and again later: nothing is lost, and nothing counts twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.spark.killed_history import QUERY, SCHEMA, UNTIL, events
from pyspark.sql import SparkSession

DRIVER = Path(__file__).parents[2] / "helpers" / "spark" / "killed_history.py"
SECONDS = 600


def kill_when(folder: Path, ready: Callable[[], bool]) -> None:
    """Start the driver, and kill it and its workers at a moment."""
    process = start(folder)
    until = time.monotonic() + SECONDS
    while not ready():
        assert process.poll() is None, f"The driver has ended with {process.returncode}"
        assert time.monotonic() < until
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait(SECONDS)


def start(folder: Path) -> subprocess.Popen[bytes]:
    paths = {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    return subprocess.Popen(
        [sys.executable, str(DRIVER), str(folder)],
        cwd=folder,
        env={**os.environ, **paths},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


@pytest.mark.full
@pytest.mark.usefixtures("classic")
def test_kills_while_the_history_is_read_and_after_it(spark: SparkSession, tmp_path: Path) -> None:
    rows = events()
    rest = [row for row in rows if row[1] >= UNTIL]
    (tmp_path / "input").mkdir()
    for number in range(4):
        size = -(-len(rest) // 4)
        part = spark.createDataFrame(rest[number * size : (number + 1) * size], SCHEMA)
        part.coalesce(1).write.mode("append").parquet(f"{tmp_path}/input")
    history = spark.createDataFrame([row for row in rows if row[1] < UNTIL], SCHEMA)
    history.coalesce(1).write.parquet(f"{tmp_path}/history")
    commits = tmp_path / "checkpoint" / "commits"
    (tmp_path / "read").mkdir()
    kill_when(tmp_path, lambda: any((tmp_path / "read").iterdir()))
    assert not any(commits.glob("[0-9]*"))  # nothing is committed, so the next run reads the history again
    kill_when(tmp_path, lambda: any(commits.glob("[0-9]*")))
    reads = len(list((tmp_path / "read").iterdir()))
    assert start(tmp_path).wait(SECONDS) == 0
    assert len(list((tmp_path / "read").iterdir())) == reads == 2
    found = Counter(map(repr, spark.read.parquet(f"{tmp_path}/results").collect()))
    batch = QUERY.run(spark.createDataFrame(rows, SCHEMA)).where(f"ts >= timestamp '{UNTIL.isoformat()}'")
    newest = max(row[1] for row in rows)
    expected = Counter(repr(row) for row in batch.collect())
    assert not found - expected
    # the rows within the delay of the watermark wait for the next run
    complete = batch.where(f"ts <= timestamp '{newest.isoformat()}' - INTERVAL 1 MINUTE")
    assert found == Counter(map(repr, complete.collect()))
