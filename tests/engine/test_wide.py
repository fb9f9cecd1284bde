"""`wide=True` has the values of lists and maps in columns of their own, for every kind of data in this process."""

from __future__ import annotations

from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sash
from sash import agg, window

ROWS = pa.table(
    {
        "t": [1, 2, 3, 4, 11],
        "k": ["a", "a", "b", "a", "b"],
        "plug": ["y", "x", None, "y", "x"],
        "load": [4.0, 2.0, 9.0, None, 1.0],
    }
)
AGGREGATES = {
    "p": agg.quantile("load", [0.5, 0.9]),
    "bins": agg.histogram("load", [0, 3, 10]),
    "by_plug": agg.per_value("plug", agg.max("load")),
    "n": agg.per_value("plug"),
    "top": agg.max("load"),
}
WIDE = ["p_0.5", "p_0.9", "bins_0_3", "bins_3_10", "by_plug_x", "by_plug_y", "n_x", "n_y", "top"]
FRAMES: dict[str, Any] = {"arrow": lambda rows: rows, "pandas": lambda rows: rows.to_pandas(), "polars": pl.from_arrow}


def listed(results: Any) -> list[dict[str, Any]]:
    if isinstance(results, pd.DataFrame):
        results = pa.Table.from_pandas(results, preserve_index=False)
    table = results.to_arrow() if isinstance(results, pl.DataFrame) else results
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("windows", [window.rows(2), window.tumbling(10)], ids=str)
def test_columns_have_the_entries_of_lists_and_maps(kind: str, windows: window.Window) -> None:
    query = sash.Query(AGGREGATES, windows, by="k", time="t")
    found, expected = query.run(FRAMES[kind](ROWS), wide=True), query.run(ROWS).to_pylist()
    assert list(found.columns if kind != "arrow" else found.column_names)[-len(WIDE) :] == WIDE
    for wide, row in zip(listed(found), expected, strict=True):
        plugs, counts = dict(row["by_plug"] or ()), dict(row["n"] or ())
        assert [wide["p_0.5"], wide["p_0.9"]] == (row["p"] or [None, None])
        assert [wide["bins_0_3"], wide["bins_3_10"]] == row["bins"]
        assert [wide["by_plug_x"], wide["by_plug_y"]] == [plugs.get("x"), plugs.get("y")]
        assert [wide["n_x"], wide["n_y"]] == [counts.get("x", 0), counts.get("y", 0)]


def test_several_windows_and_labels() -> None:
    query = sash.Query({"p": AGGREGATES["p"]}, [window.rows(2), window.rows(3)], by="k", time="t")
    added = ["p_rows_2_0.5", "p_rows_2_0.9", "p_rows_3_0.5", "p_rows_3_0.9"]
    assert query.run(ROWS, wide=True).column_names == [*ROWS.column_names, *added]
    assert query.schema(ROWS, wide=True) == query.run(ROWS, wide=True).schema
    labels = pa.table({"k": ["a"], "t": [9]})
    assert query.run(ROWS, at=labels, wide=True).column_names == ["k", "t", *added]


def test_a_stream_knows_lists_but_no_values() -> None:
    query = sash.Query({"p": AGGREGATES["p"]}, window.tumbling(10), time="t")
    stream = query.run(ROWS.to_reader(), wide=True)
    assert stream.schema.names == ["window_start", "window_end", "p_0.5", "p_0.9"]
    assert stream.read_all().to_pylist() == query.run(ROWS, wide=True).to_pylist()
    by_value = sash.Query({"by_plug": AGGREGATES["by_plug"]}, window.tumbling(10), time="t")
    with pytest.raises(ValueError, match="a stream needs to know them before it runs") as caught:
        by_value.run(ROWS.to_reader(), wide=True)
    assert "agg.max('load', where=\"plug = 'a'\")" in str(caught.value)
    with pytest.raises(ValueError, match="schema needs to know them"):
        by_value.schema(ROWS, wide=True)


def test_keys_of_any_type_and_no_rows() -> None:
    rows = pa.table(
        {"t": [1, 2, 3], "x": [float("nan"), 2.5, float("nan")], "c": pa.array(["u", "v", "u"]).dictionary_encode()}
    )
    query = sash.Query({"x": agg.per_value("x"), "c": agg.per_value("c")}, window.tumbling(10), time="t")
    (row,) = query.run(rows, wide=True).to_pylist()
    assert {name: value for name, value in row.items() if "_" in name and "window" not in name} == {
        "x_2.5": 1,
        "x_nan": 2,
        "c_u": 2,
        "c_v": 1,
    }
    assert query.run(rows.slice(0, 0), wide=True).column_names == ["window_start", "window_end"]


def test_names_must_be_free() -> None:
    query = sash.Query({"p": AGGREGATES["p"], "p_0.5": agg.max("load")}, window.rows(2))
    with pytest.raises(ValueError, match=r"two columns named 'p_0\.5'"):
        query.run(ROWS, wide=True)
    taken = ROWS.append_column("p_0.9", ROWS["t"])
    with pytest.raises(ValueError, match=r"two columns named 'p_0\.9'"):
        sash.Query({"p": AGGREGATES["p"]}, window.rows(2)).run(taken, wide=True)
    with pytest.raises(ValueError, match="wide=True does not apply to a text"):
        sash.sql("SELECT t, max(load) OVER (ORDER BY t) AS m FROM s").run(ROWS, wide=True)
