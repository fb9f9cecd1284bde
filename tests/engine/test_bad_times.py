"""Rows without a usable time: dropped and counted for tables and streams in this process, or an error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sash
from sash import agg, window
from sash.engine.bad_times import BadTimesWarning

ROWS = pa.table(
    {"t": pa.array([3, None, 1, 2**62, 7], pa.timestamp("us")), "k": ["a", "a", "b", "b", "a"], "x": [1, 2, 4, 8, 16]}
)
GOOD = ROWS.take([0, 2, 4])
NULLS_ONLY = ROWS.take([0, 1, 2, 4])
COUNTED = r"2 row\(s\) had no usable time in 't' and were dropped"


@pytest.mark.parametrize("chosen", [window.rows(2), window.tumbling("1ms"), window.session("4us")], ids=str)
def test_tables_and_streams_drop_and_count_rows_without_a_time(chosen: window.Window) -> None:
    query = sash.Query(agg.sum("x"), chosen, by="k", time="t")
    expected = query.run(GOOD)
    with pytest.raises((ValueError, OverflowError)):
        query.run(ROWS)
    with pytest.warns(BadTimesWarning, match=COUNTED):
        assert query.run(ROWS, on_bad_time="drop") == expected
    in_order = ROWS.take([2, 0, 1, 3, 4])
    with pytest.warns(BadTimesWarning, match=COUNTED):
        found = query.run(in_order.to_reader(max_chunksize=2), on_bad_time="drop").read_all()
    assert found.sort_by("sum")["sum"].to_pylist() == expected.sort_by("sum")["sum"].to_pylist()


@pytest.mark.parametrize(
    ("given", "back"),
    [
        (lambda rows: rows.to_pandas(), pa.Table.from_pandas),
        (lambda rows: rows.to_pandas().set_index("t"), lambda frame: pa.Table.from_pandas(frame.reset_index())),
        (pl.from_arrow, lambda frame: frame.to_arrow()),
        (lambda rows: pl.DataFrame(pl.from_arrow(rows)).lazy(), lambda frame: frame.collect().to_arrow()),
        (lambda rows: rows.to_batches()[0], lambda batch: pa.Table.from_batches([batch])),
    ],
    ids=["pandas", "index", "polars", "lazy", "batch"],
)
def test_every_kind_of_table_drops_them(given: Callable[[Any], Any], back: Callable[[Any], pa.Table]) -> None:
    query = sash.Query({"total": agg.sum("x")}, window.rows(2), by="k", time="t")
    with pytest.warns(BadTimesWarning, match="1 row"):
        found = query.run(given(NULLS_ONLY), on_bad_time="drop")
    assert back(found)["total"].to_pylist() == query.run(GOOD)["total"].to_pylist()


def test_labels_without_a_time_are_dropped_too() -> None:
    query = sash.Query({"total": agg.sum("x")}, window.rows(2), by="k", time="t")
    with pytest.warns(BadTimesWarning, match=r"1 label\(s\) had no usable time in 'seen'"):
        found = query.run(GOOD, at=NULLS_ONLY.rename_columns(["seen", "k", "y"]), at_time="seen", on_bad_time="drop")
    assert found["y"].to_pylist() == [1, 4, 16]


def test_nanoseconds_of_pandas_are_usable_for_two_centuries() -> None:
    times = pd.to_datetime(["1850-01-01", "1890-01-01", "2050-01-01", "2090-01-01", None, "2262-04-11"])
    rows = pd.DataFrame({"t": times.astype("datetime64[ns]"), "x": range(6)})
    for chosen in (window.time("10d"), window.tumbling("1d"), window.expanding()):
        query = sash.Query({"n": agg.count()}, chosen, time="t")
        with pytest.warns(BadTimesWarning, match=r"2 row\(s\)"):
            found = query.run(rows, on_bad_time="drop")
        assert found["n"].tolist() == query.run(rows.iloc[:4])["n"].tolist()


@pytest.mark.parametrize(
    "times",
    [
        pa.array([0, None, 5], pa.date32()), pa.array([0, None, 86_400_000], pa.date64()), pa.array([2**63, 3, None], pa.uint64()),
        pa.array([1, 2, 3], pa.int32()), pa.array([1, None, 3], pa.duration("ns")), pa.array([None] * 3, pa.timestamp("s", "UTC")),
    ],
    ids=lambda times: str(times.type),
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::sash.engine.bad_times.BadTimesWarning")
def test_every_type_of_time_is_checked(times: pa.Array) -> None:
    rows = pa.table({"t": times, "x": [1, 2, 3]})
    found = sash.Query({"n": agg.count()}, window.rows(1), time="t").run(rows, on_bad_time="drop")
    usable = [
        (time.is_valid and time.type != pa.uint64()) or (time.is_valid and time.as_py() < 2**61) for time in times
    ]
    assert found["x"].to_pylist() == rows["x"].filter(pa.array(np.array(usable, bool))).to_pylist()


def test_text_is_no_time_and_the_option_is_checked() -> None:
    query = sash.Query(agg.count(), window.rows(1), time="t")
    with pytest.raises(TypeError, match="must hold timestamps, dates or integers"):
        query.run(pa.table({"t": ["1", "x"]}), on_bad_time="drop")
    with pytest.raises(ValueError, match="on_bad_time='keep' must be 'error' or 'drop'"):
        query.run(ROWS, on_bad_time="keep")  # type: ignore[call-overload]
    with pytest.raises(ValueError, match=r'null in 1 row.*on_bad_time="drop"'):
        query.run(NULLS_ONLY)
