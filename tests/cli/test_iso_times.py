"""Times in CSV and JSON are in ISO 8601, whatever the unit; everything else of CSV is as pyarrow writes it."""

from __future__ import annotations

import io
import json
from datetime import datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from helpers.pairwise import matrix
from pyarrow import csv

from sash.cli.iso_times import iso_times
from sash.cli.outputs import JsonWriter, TextWriter


@pytest.mark.parametrize(
    ("unit", "zone"), matrix(["s", "ms", "us", "ns"], [None, "UTC", "Europe/Berlin", "Asia/Kolkata", "-03:30"])
)
def test_python_reads_what_is_written(unit: str, zone: str | None) -> None:
    moments = [datetime(2024, 10, 27, 0, 30), None, datetime(2024, 10, 27, 1, 30), datetime(1969, 12, 31, 23, 59, 59)]  # noqa: DTZ001
    times = pa.array(moments, pa.timestamp("us")).cast(pa.timestamp(unit)).cast(pa.timestamp(unit, zone))
    texts = iso_times(times).to_pylist()
    read = [None if text is None else datetime.fromisoformat(text) for text in texts]
    assert [each and each.timestamp() for each in read] == [each and each.timestamp() for each in times.to_pylist()]
    assert [text is None or text[10] == "T" for text in texts] == [True] * 4
    assert (texts[0] or "").endswith("Z") == (zone == "UTC")
    if zone == "Europe/Berlin":  # the same clock time twice
        assert texts[0] == "2024-10-27T02:30:00+02:00"
        assert texts[2] == "2024-10-27T02:30:00+01:00"


def test_nanoseconds_and_nested_times() -> None:
    kind = pa.timestamp("ns", "UTC")
    nested = pa.array([[1], None, []], pa.list_(kind))
    batch = pa.record_batch({"l": nested, "s": pa.array([{"t": 1}, {"t": None}, None], pa.struct({"t": kind}))})
    file = io.BytesIO()
    writer = JsonWriter(file, lines=True)
    writer.write(batch)
    writer.write(batch.slice(1))
    writer.close()
    first, second, third, *_ = map(json.loads, file.getvalue().splitlines())
    assert first == {"l": ["1970-01-01T00:00:00.000000001Z"], "s": {"t": "1970-01-01T00:00:00.000000001Z"}}
    assert second == {"l": None, "s": {"t": None}}
    assert third == {"l": [], "s": None}


def test_the_rest_of_csv_is_that_of_pyarrow() -> None:
    table = pa.table(
        {
            'a"b': [1, None, 3], "f": [1.5, float("nan"), 1e-300], "f32": pa.array([1.5, None, 0.1], pa.float32()),
            "s": ['x,"y"\n', None, ""], "b": [True, None, False], "d": [Decimal("1.50"), None, Decimal("1E+3")],
            "ti": pa.array([1, 2, None], pa.time64("us")),
            "l": pa.array(["q", None, "z"], pa.large_string()), "da": pa.array([1, 2, None], pa.date32()), "u": pa.array([2**64 - 1, None, 0], pa.uint64()),
        }
    )  # fmt: skip
    mine, theirs = io.BytesIO(), io.BytesIO()
    writer = TextWriter(mine, table.schema)
    for part in (table, table.slice(1), table.slice(0, 0)):
        for batch in part.to_batches():
            writer.write(batch)
    writer.close()
    with csv.CSVWriter(theirs, table.schema) as other:
        other.write(table)
        other.write(table.slice(1))
    assert mine.getvalue() == theirs.getvalue()


def test_durations_are_seconds_in_csv_and_json() -> None:
    table = pa.table({"du": pa.array([1_500_000, None, 90_000_000_000], pa.duration("us"))})
    for writer_of, expected in (
        (TextWriter, b'"du"\n1.5\n\n90000\n'),
        (lambda file, _: JsonWriter(file, lines=True), b'{"du": 1.5}\n{"du": null}\n{"du": 90000.0}\n'),
    ):
        written = io.BytesIO()
        writer = writer_of(written, table.schema)
        writer.write(table.to_batches()[0])
        assert written.getvalue() == expected
