"""Streams whose driver is killed with SIGKILL again and again: as if nothing had happened, nothing lost and nothing twice."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from helpers.cases import SOAK
from helpers.spark import restarted
from helpers.spark.killing import SECONDS, kill_session
from helpers.spark.matrix import assert_same, in_types, plain
from helpers.spark.restarted import READINGS, REST, ROWS_OF_A_BATCH, STREAMS

from sash.spark.arrow_types import arrow_type, spark_type
from sash.spark.generated_readings import Readings

DRIVER = Path(restarted.__file__)


class TooSlowError(Exception):
    """Spark has waited for a process of Python's for ten seconds, which can't be set, and given up."""


@dataclass(frozen=True)
class Life:
    """A driver, from its start to its death."""

    folder: Path
    process: subprocess.Popen[bytes]
    log: Path
    before: int
    """How many batches were done when it began."""

    def wait_for(self, batches: int) -> None:
        """Wait until it has done so many."""
        until = time.monotonic() + SECONDS
        while done(self.folder) < self.before + batches:
            if self.process.poll() is not None:
                self.must_have_ended(None)
            assert time.monotonic() < until, f"{batches} batches take longer than {SECONDS} s: {self.said}"
            time.sleep(0.02)

    def wait_for_end(self, code: int) -> None:
        """Wait until it ends by itself in this way."""
        self.process.wait(SECONDS)
        self.must_have_ended(code)

    def must_have_ended(self, code: int | None) -> None:
        """Say how it ended if it should not have, or not so."""
        if self.process.returncode != code:
            if "Timed out while waiting for the Python worker to connect back" in self.said:
                raise TooSlowError(self.said)
            pytest.fail(f"The driver has ended with {self.process.returncode}: {self.said}")

    @property
    def said(self) -> str:
        """The last that it said."""
        return self.log.read_text(encoding="utf-8", errors="replace")[-20_000:]

    def kill(self) -> None:
        """Kill all its processes; the Python workers are not in its group but in its session."""
        kill_session(self.process)


@dataclass(frozen=True)
class Run:
    """Streams over so many readings, in one driver after the other."""

    folder: Path
    streams: tuple[str, ...]
    rows: int
    form: str

    @contextmanager
    def life(self, *folders: Path, deadly: int | None = None) -> Iterator[Life]:
        """Start a driver, and let nothing of it live on."""
        command = [sys.executable, str(DRIVER), ",".join(self.streams), str(self.rows), self.form]
        paths = [*map(str, folders or (self.folder,))]
        local = self.folder / "local"  # a process that is killed doesn't tidy up
        local.mkdir(parents=True, exist_ok=True)
        here = {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "TMPDIR": str(local)}
        log = self.folder / f"life {len([*self.folder.glob('life *')])}.txt"
        with log.open("wb") as file:
            process = subprocess.Popen(
                [*command, str(deadly), *paths],
                cwd=local,
                env={**os.environ, **here, "SPARK_LOCAL_DIRS": str(local), "SPARK_AUTH_SOCKET_TIMEOUT": "300"},
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        life = Life(self.folder, process, log, done(self.folder))
        try:
            yield life
        finally:
            life.kill()


def done(folder: Path) -> int:
    """How many batches Spark knows as done."""
    return sum(1 for _ in folder.glob("checkpoints/*/commits/[0-9]*"))


def fewest(folder: Path, streams: Iterable[str]) -> int:
    """How many batches the stream has begun that is most behind, and that is started first."""
    return min(len([*folder.glob(f"checkpoints/{name}/offsets/[0-9]*")]) for name in streams)


@dataclass
class Killer:
    """What kills driver after driver."""

    run: Run
    chooser: random.Random
    start: float = 0
    """Seconds to the first batch,"""
    pace: float = 0
    """and from one to the next."""

    def kill(self, moment: str) -> None:
        """Start a driver, and kill it: while it starts, some time after some batches, or when one is written."""
        began = time.monotonic()
        number = fewest(self.run.folder, self.run.streams) + self.chooser.randint(0, 1)
        with self.run.life(deadly=number if moment == "written" else None) as life:
            if moment == "starting":
                time.sleep(self.start * self.chooser.uniform(0.3, 1.1))
            elif moment == "written":
                life.wait_for_end(-signal.SIGKILL)
            else:
                batches = self.chooser.randint(2, 4)
                life.wait_for(1)
                first = time.monotonic()
                life.wait_for(batches)
                self.start, self.pace = first - began, (time.monotonic() - first) / (batches - 1)
                time.sleep(self.pace * self.chooser.uniform(0, 1.5))
            if life.process.poll() is not None:
                life.must_have_ended(-signal.SIGKILL)


def persist(act: Callable[[], None]) -> None:
    """Do something, and some times more if the machine is too slow for Spark."""
    for _ in range(5):
        try:
            act()
        except TooSlowError:
            continue
        return
    act()


def batches_of(folder: Path) -> dict[str, list[pa.Table]]:
    """The results in a sink by the number of their batch, as often as they were written."""
    found: dict[str, list[pa.Table]] = defaultdict(list)
    for path in folder.glob("*.arrow"):
        found[path.name.split("-")[0]].append(pa.ipc.open_file(str(path)).read_all())
    return dict(sorted(found.items(), key=lambda item: (item[0] == REST, len(item[0]), item[0])))


def order_of(table: pa.Table) -> list[str]:
    """What no two results have in common: a key and a time."""
    keys = [name for name in ("house", "household", "plug") if name in table.column_names]
    return [*keys, "ts" if "ts" in table.column_names else "window_end"]


def in_order(table: pa.Table) -> pa.Table:
    return table.sort_by([(name, "ascending") for name in order_of(table)])


def assert_in_order_of_time(results: pa.Table) -> None:
    """Each result of a key is later than those before."""
    newest: dict[tuple[object, ...], datetime] = {}
    for row in results.to_pylist():
        *key, at = (row[name] for name in order_of(results))
        assert tuple(key) not in newest or newest[tuple(key)] < at, f"{row} comes too late, or twice"
        newest[tuple(key)] = at


def assert_nothing_happened(name: str, rows: int, killed: Path, whole: Path) -> None:
    """Compare a stream with one that was never killed, and with a batch run on the same rows."""
    found, expected = (batches_of(folder / "results" / name) for folder in (killed, whole))
    assert found.keys() == expected.keys()
    for number, tables in found.items():
        for table in tables:
            assert in_order(table).equals(in_order(expected[number][0])), f"batch {number} of {name} differs"
    results = in_types(pa.concat_tables([tables[0] for tables in found.values()]), plain)
    assert_in_order_of_time(results)
    batch = in_types(batch_run(name, rows), lambda kind: plain(arrow_type(spark_type(kind), "UTC")))
    if name == "late":
        assert pc.sum(results["n"]).as_py() < pc.sum(batch["n"]).as_py(), "no row came too late"
    else:
        assert_same(results, batch, order_of(batch))


def batch_run(name: str, rows: int) -> pa.Table:
    """The results of all rows at once."""
    readings = pa.Table.from_batches([Readings(**READINGS).batch(0, rows)])
    if name == "sessions":
        readings = readings.filter(pa.array(pc.minute(readings["ts"]).to_numpy() % 7 < 4))
    return STREAMS[name].query.run(readings, compiled=False)


def check(tmp_path: Path, streams: tuple[str, ...], batches: int, form: str, moments: list[str]) -> None:
    """Kill a run, let it come to its end, run it once more without, and compare."""
    rows = batches * ROWS_OF_A_BATCH
    run, whole = Run(tmp_path / "killed", streams, rows, form), tmp_path / "whole"
    killer = Killer(run, random.Random(6))
    for moment in moments:
        persist(partial(killer.kill, moment))
    assert 0 < done(run.folder) < batches * len(streams)

    def come_to_an_end() -> None:
        shutil.rmtree(whole, ignore_errors=True)
        with run.life(run.folder, whole) as life:
            life.wait_for_end(0)

    persist(come_to_an_end)
    for name in streams:
        assert_nothing_happened(name, rows, run.folder, whole)


@pytest.mark.full
def test_a_driver_that_is_killed_goes_on_as_if_nothing_had_happened(tmp_path: Path) -> None:
    """Once at a moment of chance, and once when a batch's state and results are written and Spark doesn't know it yet."""
    check(tmp_path, ("rows", "tails"), 7, "as each run decides", ["running", "written"])


@pytest.mark.skipif(not SOAK, reason="twenty starts of Spark, and make soak has the time")
def test_a_driver_that_is_killed_twenty_times(tmp_path: Path) -> None:
    check(tmp_path, tuple(STREAMS), 30, "compiled", ["running", "written", "running", "starting", "running"] * 4)
