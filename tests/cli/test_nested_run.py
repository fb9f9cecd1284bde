"""`sash run` with SQL around windows: files by name, the input of -i, pipes, batches, plans and messages."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
from helpers.shell import sash

import sash as library

CLEAN = """
WITH clean AS (SELECT household AS h, load * 2 AS load, CAST(ts AS TIMESTAMP) AS t FROM readings WHERE load > 100)
SELECT h, max(load) AS peak FROM clean [RANGE 1 HOUR SLIDE 20 MINUTES ON t] GROUP BY h
"""
JOINED = """
SELECT a.household, a.window_start, peak - lowest AS spread
FROM (SELECT household, max(load) AS peak FROM readings [TUMBLE 1 HOUR ON ts] GROUP BY household) a
JOIN (SELECT household, min(load) AS lowest FROM readings [TUMBLE 1 HOUR ON ts] GROUP BY household) b USING (household, window_start)
ORDER BY 1, 2
"""


def results(text: str, rows: pa.Table) -> list[str]:
    table: pa.Table = library.sql(text).run(rows)
    return sorted(map(str, table.to_pylist()))


def written(path: Path) -> list[str]:
    return sorted(map(str, pq.read_table(path).to_pylist()))


@pytest.mark.parametrize("text", [CLEAN, JOINED])
@pytest.mark.parametrize("options", [[], ["--batches"], ["--no-batches", "--threads", "1"]])
def test_results_are_those_of_the_library(text: str, options: list[str], folder: Path, rows: pa.Table) -> None:
    expected = results(text, rows)
    named = text.replace("FROM readings", "FROM 'readings.parquet'")
    sash("run", named, "-o", "out.parquet", *options, cwd=folder)
    assert written(folder / "out.parquet") == expected
    sash("run", text, "-i", "readings.parquet", "-o", "in.parquet", *options, cwd=folder)
    assert written(folder / "in.parquet") == expected


def test_all_formats(folder: Path, rows: pa.Table) -> None:
    expected = results(JOINED, rows)
    pc.write_csv(rows, folder / "readings.csv")
    with pa.ipc.new_file(folder / "readings.arrow", rows.schema) as writer:
        writer.write_table(rows)
    for name in ("readings.csv", "readings.arrow"):
        run = sash("run", JOINED.replace("FROM readings", f"FROM '{name}'"), "-o", "out.parquet", cwd=folder)
        assert run.stderr == b""
        found = library.sql("SELECT household, max(spread) AS m FROM t [ROWS 1000]").run(
            pq.read_table(folder / "out.parquet")
        )
        assert len(written(folder / "out.parquet")) == len(found) == len(expected)
    sash("run", JOINED, "-i", "-", "-o", "piped.parquet", cwd=folder, stdin=(folder / "readings.csv").read_bytes())
    assert len(written(folder / "piped.parquet")) == len(expected)


def test_plans_and_plots(folder: Path) -> None:
    assert sash("explain", JOINED, cwd=folder).stdout.count(b"Query by household") == 2
    assert b"tz=UTC" in sash("explain", JOINED, "-i", "readings.parquet", cwd=folder).stdout
    sash("plot", CLEAN, "-i", "readings.parquet", "-o", "peaks.svg", cwd=folder)
    assert (folder / "peaks.svg").stat().st_size > 0


@pytest.mark.parametrize(
    ("text", "options", "part"),
    [
        (CLEAN, [], "There is no input for the table readings. Name its file with -i"),
        (JOINED.replace("readings [TUMBLE 1 HOUR ON ts] GROUP BY household) b", "other [ROWS 3 ON ts]) b"), ["-i", "readings.parquet"],
         "FROM names the tables readings and other, but -i is one input"),
        (CLEAN.replace("FROM readings", "FROM 'readings.parquet'"), ["-i", "readings.parquet"], "Leave -i out"),
        (CLEAN.replace("FROM readings", "FROM read_parquet('readings.parquet')"), [], "not available in FROM"),
        (CLEAN.replace("load > 100", "laod > 100"), ["-i", "readings.parquet"], "At line 2, column"),
        (CLEAN.replace("FROM readings", "FROM 'nowhere.csv'"), [], "there is no file or folder 'nowhere.csv'"),
    ],
)  # fmt: skip
def test_messages(text: str, options: list[str], part: str, folder: Path) -> None:
    assert part in sash("run", text, *options, cwd=folder, code=1).stderr.decode()
