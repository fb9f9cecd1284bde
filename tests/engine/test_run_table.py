"""Tables in order of time, with keys in turns: laid out by key in shares and sections, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sash
from sash import agg, window
from sash.engine import keys, run_table, scatter
from sash.testing import recompute_query

ROWS = 300
CHOOSER = np.random.default_rng(8)
TABLE = pa.table(
    {
        "k": CHOOSER.integers(0, 7, ROWS),
        "name": pa.array(CHOOSER.choice(["a", "b", "c"], ROWS), mask=CHOOSER.random(ROWS) < 0.1),
        "ts": np.cumsum(CHOOSER.integers(0, 3, ROWS)),
        "place": CHOOSER.permutation(ROWS),
        "x": pa.array(CHOOSER.integers(0, 100, ROWS).astype(float), mask=CHOOSER.random(ROWS) < 0.1),
        "word": CHOOSER.choice(["p", "q", "r"], ROWS),
    }
)
WINDOWS = {
    "rows": window.rows(5),
    "ahead": window.rows(before=2, after=2),
    "without peers": window.rows(before=6, after=0, exclude="ties"),
    "all": window.expanding(),
    "time": window.time(9),
}
AGGREGATES = {"top": agg.max("x"), "mean": agg.mean("x"), "first": agg.first("word"), "all": agg.collect("x")}


@pytest.fixture(autouse=True)
def small_sections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "LARGE", 0)
    monkeypatch.setattr(scatter, "SHARE_ROWS", 50)
    monkeypatch.setattr(scatter, "ROWS_PER_KEY", 1)
    monkeypatch.setattr(run_table, "SECTION_ROWS", 64)


def compare(aggregates: Any, windows: Any, table: pa.Table = TABLE, compiled: bool | None = None, **query: Any) -> None:
    declared = sash.Query(aggregates, windows, time="ts", **query)
    for threads in (1, 3):
        found = declared.run(table, compiled=compiled, threads=threads)
        order = query.get("order_by", [])
        rows = table.to_pylist()
        # Rows of equal time are in the order of `order_by`, then in input order.
        places = sorted(range(len(rows)), key=lambda row: (rows[row]["ts"], *(rows[row][name] for name in order)))
        expected = recompute_query([rows[row] for row in places], aggregates, windows, by=query["by"], time="ts")
        for name in aggregates:
            answers = found[name].to_pylist()
            for row, one in zip(places, expected, strict=True):
                right = one[name]
                assert answers[row] == (pytest.approx(right) if isinstance(right, float) else right)


@pytest.mark.parametrize("name", WINDOWS)
def test_frames_of_keys_in_turns(name: str) -> None:
    for by in (["k"], ["name"], ["k", "name"]):
        compare({"top": AGGREGATES["top"], "mean": AGGREGATES["mean"]}, WINDOWS[name], by=by)


@pytest.mark.parametrize("name", AGGREGATES)
def test_aggregates_of_keys_in_turns(name: str) -> None:
    for compiled in (None, False):
        compare({name: AGGREGATES[name]}, window.rows(5), by=["k"], compiled=compiled)


def test_compiled_frames_of_keys_in_turns() -> None:
    compare({"top": agg.max("x")}, window.rows(5), by=["k"], compiled=True)


def test_order_by_decides_only_between_equal_times() -> None:
    compare({"top": agg.max("x")}, window.rows(5), by=["k"], order_by=["place"])


def test_aggregates_that_read_times_get_them() -> None:
    query = sash.Query({"faded": agg.ewm_mean("x", half_life=5)}, window.rows(5), by="k", time="ts")
    sorted_by_key = TABLE.sort_by([("k", "ascending")])
    by_key = dict(zip(sorted_by_key["place"].to_pylist(), query.run(sorted_by_key)["faded"].to_pylist(), strict=True))
    found = query.run(TABLE)
    assert found["faded"].to_pylist() == pytest.approx([by_key[place] for place in TABLE["place"].to_pylist()])


def test_rows_of_a_key_may_be_out_of_order() -> None:
    shuffled = TABLE.take(pa.array(CHOOSER.permutation(ROWS)))
    compare({"top": agg.max("x")}, window.rows(5), shuffled, by=["k"], order_by=["place"])


def test_an_error_names_the_row() -> None:
    def fail(value: float) -> float:
        if value == 42.5:
            raise ValueError("no")
        return value

    odd = sash.aggregate("odd", lift=fail, combine=lambda older, newer: older + newer)
    table = TABLE.set_column(4, "x", pa.array([42.5 if row == 200 else 1.0 for row in range(ROWS)]))
    named = f"k={table['k'][200]}, ts={table['ts'][200]}"
    with pytest.raises(ValueError, match="no") as error:
        sash.Query({"odd": odd("x")}, window.rows(5), by="k", time="ts").run(table, compiled=True)
    assert named in "".join(error.value.__notes__) + str(error.value)
