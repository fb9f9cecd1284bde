"""Edges at local days and months: in a table of the span of rows, or number by number, they are where the bounds of windows are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sash
from sash import agg, window
from sash.durations import TimeUnit
from sash.engine.prepare import prepare
from sash.slices.edges import CalendarFamily, edges_of

ZONES = ["Europe/Berlin", "America/St_Johns", "Pacific/Apia", "Australia/Lord_Howe", "Asia/Tehran"]
WINDOWS: dict[str, Any] = {
    "days": window.tumbling("1d"),
    "offset": window.tumbling("1d", offset="6h"),
    "overlapping": window.time("7d", slide="2d"),
    "apart": window.time("2d", slide="5d"),
    "weeks": window.tumbling("1w", closed="right"),
    "quarters": window.time("1q", slide="1mo"),
    "cumulative": window.cumulative("1w", "1d"),
    "empty": window.time("3d", slide="1d", empty=True),
    "mixed": {"days": window.tumbling("1d", tz="America/New_York"), "months": window.tumbling("1mo"), "hours": window.tumbling("6h")},
}  # fmt: skip
SPANS = {"hours": (4, 300), "year": (400, 3000), "few rows": (9000, 40)}
"""Days, and rows."""


def rows_in(zone: str, days: int, rows: int) -> pa.Table:
    """Return rows of three keys in order of time."""
    chooser = np.random.default_rng(days)
    begin = int(chooser.integers(-3_000, 19_000)) * 86_400_000_000
    times = begin + np.sort(chooser.integers(0, days * 86_400_000_000, rows))
    columns = {"k": chooser.integers(0, 3, rows), "t": pa.array(times).cast(pa.timestamp("us", zone))}
    return pa.table(columns | {"x": chooser.integers(0, 99, rows)})


@pytest.mark.parametrize("slicing", ["auto", "pairs"])
@pytest.mark.parametrize("span", SPANS)
@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("name", WINDOWS)
def test_slices_cut_at_local_edges_give_the_results_without_slices(
    name: str, zone: str, span: str, slicing: Any
) -> None:
    table, aggregates = rows_in(zone, *SPANS[span]), {"m": agg.max("x"), "n": agg.count(), "l": agg.last("x")}
    query = sash.Query(aggregates, WINDOWS[name], by="k", time="t", slicing=slicing)
    assert prepare(query._declared, table.schema).edges is not None
    plain = sash.Query(aggregates, WINDOWS[name], by="k", time="t", slicing="none")
    assert query.run(table, compiled=False).equals(plain.run(table, compiled=False))


def test_a_table_of_edges_is_the_same_as_edges_one_by_one() -> None:
    unit = TimeUnit("t", 1_000, "Europe/Berlin")
    edges = edges_of([window.tumbling("1d").in_zone("Europe/Berlin")], unit, "cutty")
    assert edges is not None
    [family] = edges.local_closing
    assert isinstance(family, CalendarFamily)
    times = 1_711_756_800_000_000 + np.arange(
        0, 3 * 86_400_000_000, 1_800_000_000
    )  # Berlin's clocks go forward on the second day
    single = np.concatenate([family.before(times[row : row + 1]) for row in range(len(times))])
    assert family.before(times).tolist() == single.tolist()
    assert len(set(family.numbers(times).tolist())) == len(set(single.tolist()))
    assert np.diff(np.unique(single)).tolist() == [86_400_000_000, 82_800_000_000, 86_400_000_000]
