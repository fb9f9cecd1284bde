"""`sash run --engine spark` and `--stream`, in the session of the tests."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import sash
from sash.cli.local_run import RunOptions
from sash.cli.spark_run import run_spark, run_stream

TEXT = "SELECT household, max(load) AS peak, count(*) AS n FROM t [RANGE 20 MINUTES SLIDE 10 MINUTES ON ts] GROUP BY household"
START = datetime(2026, 3, 2, tzinfo=UTC)


def make_rows(first: int, last: int) -> pa.Table:
    """Return a row per minute, of two households in turn."""
    minutes = range(first, last)
    times = pa.array([START + timedelta(minutes=one) for one in minutes], pa.timestamp("us", "UTC"))
    return pa.table(
        {"ts": times, "household": [one % 2 for one in minutes], "load": [float(one * 7 % 50) for one in minutes]}
    )


def as_rows(table: pa.Table) -> list[str]:
    return sorted(repr(tuple(row.values())) for row in table.cast(EXPECTED).to_pylist())


EXPECTED = sash.sql(TEXT).run(make_rows(0, 2)).schema


def test_a_file_is_read_and_written(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = make_rows(0, 120)
    pq.write_table(rows, tmp_path / "in.parquet")
    source, expected = str(tmp_path / "in.parquet"), as_rows(sash.sql(TEXT).run(rows))
    run_spark(RunOptions(TEXT, source, str(tmp_path / "out.parquet")), None)
    assert as_rows(pq.read_table(tmp_path / "out.parquet")) == expected
    run_spark(RunOptions(TEXT.replace("FROM t", f"FROM '{source}'"), None, f"{tmp_path}/folder/"), None)
    assert as_rows(pq.read_table(tmp_path / "folder")) == expected
    with pytest.raises(ValueError, match="exists"):
        run_spark(RunOptions(TEXT, source, f"{tmp_path}/folder/"), None)
    spark.read.parquet(source).createOrReplaceTempView("meters")
    run_spark(RunOptions(TEXT.replace("FROM t", "FROM meters"), None, str(tmp_path / "view.parquet")), None)
    assert as_rows(pq.read_table(tmp_path / "view.parquet")) == expected
    with pytest.raises(ValueError, match="Spark cannot read"):
        run_spark(RunOptions(TEXT, source, None, input_format="arrow"), None)
    assert capsys.readouterr().out == ""


@pytest.mark.full
@pytest.mark.usefixtures("spark")
def test_a_growing_folder_goes_on_after_a_restart(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    options = RunOptions(TEXT, str(tmp_path / "in"), str(tmp_path / "out"), lateness="5m")
    pq.write_table(make_rows(0, 60), tmp_path / "in" / "1.parquet")
    run_stream(options, None, str(tmp_path / "checkpoint"), once=True)
    first = as_rows(pq.read_table(tmp_path / "out"))
    assert first
    pq.write_table(make_rows(60, 130), tmp_path / "in" / "2.parquet")
    run_stream(options, None, str(tmp_path / "checkpoint"), once=True)
    both = as_rows(pq.read_table(tmp_path / "out"))
    complete = sash.sql(TEXT).run(make_rows(0, 130))
    newest = START + timedelta(minutes=129 - 5)
    expected = as_rows(
        pa.Table.from_pylist([row for row in complete.to_pylist() if row["window_end"] <= newest], EXPECTED)
    )
    assert both == expected
    assert set(first) < set(both)


@pytest.mark.usefixtures("spark")
def test_what_a_stream_needs_is_said_before_it_starts(tmp_path: Path) -> None:
    pq.write_table(make_rows(0, 10), tmp_path / "1.parquet")
    with pytest.raises(ValueError, match="--lateness"):
        run_stream(RunOptions(TEXT, str(tmp_path), None), None, None, once=True)
    with pytest.raises(ValueError, match="--checkpoint"):
        run_stream(RunOptions(TEXT, str(tmp_path), "out", lateness="5m"), None, None, once=True)
    with pytest.raises(ValueError, match="There is no input"):
        run_stream(RunOptions(TEXT, None, None, lateness="5m"), None, None, once=True)
    with pytest.raises(ValueError, match="forget='30d' is for windows that keep every key forever"):
        run_stream(RunOptions(TEXT, str(tmp_path), None, lateness="5m"), None, None, "30d", once=True)


@pytest.mark.usefixtures("spark", "classic")
def test_a_stream_without_output_prints_its_batches(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    pq.write_table(make_rows(0, 60), tmp_path / "1.parquet")
    run_stream(RunOptions(TEXT, str(tmp_path), None, lateness="5m"), None, str(tmp_path / "checkpoint"), once=True)
    lines = capfdbinary.readouterr().out.decode().splitlines()
    assert lines[0] == '"household","window_start","window_end","peak","n"'
    assert len(lines) > 4
