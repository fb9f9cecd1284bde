"""`sash run --resume` reads each file once and loses no results, also if runs are killed at any step."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
from helpers.shell import environment, sash

import sash as library

START = datetime(2026, 3, 2, tzinfo=UTC)
EVENTS = pa.table(
    {
        "ts": pa.array([START + timedelta(minutes=7 * n) for n in range(60)], pa.timestamp("us", "UTC")),
        "card": [n % 3 for n in range(60)],
        "amount": [float(n) for n in range(60)],
    }
)
TEXT = "SELECT card, sum(amount) AS total, count(*) AS n FROM t [RANGE 1 HOUR SLIDE 20 MINUTES ON ts] GROUP BY card"
RUN = ("run", TEXT, "-i", "in", "--resume", "totals.state", "-o", "out")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    return tmp_path


def add(place: Path, begin: int, end: int, name: str | None = None) -> None:
    """Put events into a new file."""
    pq.write_table(EVENTS.slice(begin, end - begin), place / "in" / (name or f"{begin:02}.parquet"))


def results(place: Path) -> list[str]:
    """All results of all runs."""
    files = sorted((place / "out").glob("run-*.parquet"))
    return sorted(repr(row) for file in files for row in pq.read_table(file).to_pylist())


def expected(end: int, text: str = TEXT) -> list[str]:
    """The results of windows that the newest of some events has closed."""
    rows = EVENTS.slice(0, end)
    newest = rows["ts"][-1].as_py()
    return sorted(repr(row) for row in library.sql(text).run(rows).to_pylist() if row["window_end"] <= newest)


def test_each_run_reads_new_files_and_writes_a_file(place: Path) -> None:
    add(place, 0, 20)
    first = sash(*RUN, cwd=place)
    assert first.stderr == b"Read 1 new file, wrote out/run-000001.parquet\n"
    assert results(place) == expected(20)
    add(place, 20, 30)
    add(place, 30, 45)
    assert sash(*RUN, cwd=place).stderr == b"Read 2 new files, wrote out/run-000002.parquet\n"
    assert results(place) == expected(45)
    assert sash(*RUN, cwd=place).stderr == b"There are no new files.\n"
    add(place, 45, 60)
    sash(*RUN, cwd=place)
    assert results(place) == expected(60)
    assert sorted(file.name for file in (place / "out").iterdir()) == [f"run-00000{n}.parquet" for n in (1, 2, 3)]


def test_files_in_no_order_are_sorted_within_a_run(place: Path) -> None:
    add(place, 20, 40, "a.parquet")
    add(place, 0, 20, "b.parquet")
    sash(*RUN, cwd=place)
    assert results(place) == expected(40)
    add(place, 10, 12, "c.parquet")
    failed = sash(*RUN, cwd=place, code=1).stderr.decode()
    assert "whose windows are closed" in failed
    add(place, 40, 60, "d.parquet")
    (place / "in" / "c.parquet").unlink()
    sash(*RUN, cwd=place)
    assert results(place) == expected(60)


def test_lateness(place: Path) -> None:
    late = EVENTS.take([0, 2, 1, *range(3, 60)])
    pq.write_table(late.slice(0, 2), place / "in" / "1.parquet")
    pq.write_table(late.slice(2), place / "in" / "2.parquet")
    (place / "half").mkdir()
    (place / "in" / "2.parquet").rename(place / "half" / "2.parquet")
    run = (*RUN, "--lateness", "30m")
    sash(*run, cwd=place)
    (place / "half" / "2.parquet").rename(place / "in" / "2.parquet")
    sash(*run, cwd=place)
    newest = EVENTS["ts"][-1].as_py() - timedelta(minutes=30)
    assert results(place) == sorted(
        repr(row) for row in library.sql(TEXT).run(EVENTS).to_pylist() if row["window_end"] <= newest
    )


def test_rows_with_results_and_csv(place: Path) -> None:
    text = "SELECT *, sum(amount) OVER (PARTITION BY card ORDER BY ts ROWS 4 PRECEDING) AS total FROM t"
    for begin in (0, 25):
        amounts = EVENTS.slice(begin, 25)
        if begin:  # a file of whole numbers
            amounts = amounts.set_column(2, "amount", amounts["amount"].cast(pa.int64()))
        else:
            amounts = amounts.set_column(2, "amount", pa.array([n + 0.5 for n in range(25)]))
        pc.write_csv(amounts, place / "in" / f"{begin:02}.csv")
        sash("run", text, "-i", "in", "--resume", "totals.state", "-o", "out", "--output-format", "csv", cwd=place)
    second = pc.read_csv(place / "out" / "run-000002.csv")
    assert second.num_rows == 25  # the newest row of the first run waited for rows of the same time
    # the first row of a card has four rows of the run before in its window
    assert second["total"][1].as_py() == 25 + sum(n + 0.5 for n in (13, 16, 19, 22))


def test_a_type_that_changes_is_an_error(place: Path) -> None:
    for begin, dtype in ((0, pa.int64()), (25, pa.float64())):
        amounts = EVENTS.slice(begin, 25)
        values = pa.array([n + (dtype == pa.float64()) / 2 for n in range(25)]).cast(dtype)
        pc.write_csv(amounts.set_column(2, "amount", values), place / "in" / f"{begin:02}.csv")
        done = sash(*RUN, cwd=place, code=int(begin > 0))
    assert "Column 'amount' was int64 in earlier files" in done.stderr.decode()


def test_a_pattern_and_a_folder_that_moved(place: Path) -> None:
    add(place, 0, 20)
    sash("run", TEXT, "-i", "in/*.parquet", "--resume", "totals.state", "-o", "out", cwd=place)
    (place / "in").rename(place / "moved")
    done = sash("run", TEXT, "-i", "moved", "--resume", "totals.state", "-o", "out", cwd=place)
    assert done.stderr == b"There are no new files.\n"


def test_nothing_yet(place: Path) -> None:
    assert sash(*RUN, cwd=place).stderr == b"There are no new files.\n"
    assert not (place / "totals.state").exists()


# -- what is an error --------------------------------------------------------------------------------------------------


def fails(place: Path, *arguments: str) -> str:
    """The message of a run that fails, and changes nothing."""
    before = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}
    message = " ".join(sash(*arguments, cwd=place, code=1).stderr.decode().split())
    after = {path: path.read_bytes() for path in place.rglob("*") if path.is_file() and not path.name.endswith(".lock")}
    assert after == {path: data for path, data in before.items() if not path.name.endswith(".lock")}
    return message


def test_a_changed_query(place: Path) -> None:
    add(place, 0, 20)
    sash(*RUN, cwd=place)
    add(place, 20, 40)
    changed = TEXT.replace("sum", "max")
    assert "aggregates: total: sum(amount) became max(amount). Run the query that wrote it" in fails(
        place, *(changed if one == TEXT else one for one in RUN)
    )
    where = TEXT.replace(
        "FROM t [RANGE 1 HOUR SLIDE 20 MINUTES ON ts]", "FROM t [RANGE 1 HOUR SLIDE 20 MINUTES ON ts] WHERE amount > 3"
    )
    assert "where: nothing became amount > 3" in fails(place, *(where if one == TEXT else one for one in RUN))


def test_a_file_that_changed_after_it_was_read(place: Path) -> None:
    add(place, 0, 20)
    sash(*RUN, cwd=place)
    add(place, 0, 30, "00.parquet")
    assert "Files must be complete when they appear" in fails(place, *RUN)


def test_a_damaged_or_lost_state(place: Path) -> None:
    for begin in (0, 20, 40):
        add(place, begin, begin + 20)
        sash(*RUN, cwd=place)
    state = place / "totals.state"
    state.write_bytes(state.read_bytes()[:-3])
    assert "restore 'totals.state' from a copy" in fails(place, *RUN)
    state.unlink()
    assert "has results of run 3, but the last run in 'totals.state' is 0" in fails(place, *RUN)


def test_a_state_of_the_library(place: Path) -> None:
    library.sql(TEXT).run(EVENTS.to_reader(), resume=place / "totals.state").read_all()
    add(place, 0, 20)
    assert "is a state of query.run(reader, resume=…), not of sash run" in fails(place, *RUN)


def test_two_runs_at_once(place: Path) -> None:
    add(place, 0, 20)
    with (place / ".totals.state.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert "Another run is using 'totals.state'" in fails(place, *RUN)
    sash(*RUN, cwd=place)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-i", "in", "--resume", "s"), "Name a folder with -o"),
        (("-i", "in", "--resume", "s", "-o", "in/00.parquet"), "is a file. Name a folder"),
        (("-i", "in", "--resume", "s", "-o", "out.csv"), "looks like a file. Name a folder"),
        (("-i", "-", "--resume", "s", "-o", "out"), "reads the new files of a folder"),
        (("-i", "in", "--resume", "s", "-o", "in/out"), "would be read as input"),
        (("-i", "nowhere", "--resume", "s", "-o", "out"), "there is no file or folder 'nowhere'"),
        (("-i", "in", "--resume", "nowhere/s", "-o", "out"), "does not exist"),
        (("-i", "in", "--resume", "s", "-o", "out", "--no-batches"), "Leave --at and --no-batches out"),
    ],
)
def test_wrong_arguments(arguments: tuple[str, ...], message: str, place: Path) -> None:
    add(place, 0, 20)
    done = " ".join(sash("run", TEXT, *arguments, cwd=place, code=1).stderr.decode().split())
    assert message in done


def test_not_on_spark(place: Path) -> None:
    done = sash(*RUN, "--stream", cwd=place, code=2)
    assert b"--resume" in done.stderr


# -- kill -9 -----------------------------------------------------------------------------------------------------------

KILLED = """
import os, signal, sys
from sash.cli import main

fatal, steps = int(sys.argv.pop(1)), 0

def dying(function):
    def call(*arguments, **options):
        global steps
        for when in ("before", "after"):
            if steps == fatal:
                os.kill(os.getpid(), signal.SIGKILL)
            steps += 1
            if when == "before":
                result = function(*arguments, **options)
        return result
    return call

for name in ("fsync", "replace", "rename", "chmod", "unlink"):
    setattr(os, name, dying(getattr(os, name)))
main()
"""


def run_killed(place: Path, fatal: int) -> bool:
    """Run in a process that is killed at a step. Return whether it was, or ended before."""
    arguments = [sys.executable, "-c", KILLED, str(fatal), *RUN]
    ended = subprocess.run(arguments, cwd=place, env=environment(), capture_output=True, text=True, check=False)
    assert ended.returncode in (0, -signal.SIGKILL), ended.stderr
    return ended.returncode != 0


@pytest.mark.full
def test_kill_at_each_step(place: Path) -> None:
    """After a kill the next run repeats or continues. It gets more files, as time has passed."""
    add(place, 0, 15)
    sash(*RUN, cwd=place)
    before: dict[Path, Any] = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}
    fatal, was_killed, counts = 0, True, set()
    while was_killed:
        for path in place.rglob("*"):
            if path.is_file():
                path.unlink()
        for path, data in before.items():
            path.write_bytes(data)
        add(place, 15, 30)
        was_killed = run_killed(place, fatal)
        add(place, 30, 45)
        sash(*RUN, cwd=place)
        counts.add(len(list((place / "out").iterdir())))
        assert results(place) == expected(45)
        assert not list(place.rglob("*.part"))
        fatal += 1
    assert counts == {2, 3}  # the killed run was repeated, or had ended
    assert fatal > 12


def test_kill_at_any_moment(place: Path) -> None:
    """As above, by the clock: kills come at points that no hook knows."""
    add(place, 0, 15)
    for number in range(6):
        process = subprocess.Popen(
            [sys.executable, "-m", "sash", *RUN], cwd=place, env=environment(), stderr=subprocess.DEVNULL
        )
        try:
            process.wait(0.3 + 0.25 * number)
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
        if number == 3:
            add(place, 15, 45)
    sash(*RUN, cwd=place)
    assert results(place) == expected(45)
