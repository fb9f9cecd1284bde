"""The feed against a dictionary: the newest result of each window stays, and corrections are noticed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from live.decoded import decode
from live.generated import KEYS, SCHEMA, ZOOMS, results_at
from sash.live import feed as feeds
from sash.live.feed import ALL_ROWS, Feed, Series, layout_of
from sash.live.messages import PanelView, panels_message

ROWS = pa.schema(
    {
        "k": pa.string(),
        "window": pa.string(),
        "window_start": pa.int64(),
        "window_end": pa.int64(),
        "change": pa.string(),
        "n": pa.float64(),
    }
)
RESULTS = st.tuples(
    st.sampled_from(["a", "b", None]),
    st.sampled_from(["short", "long"]),
    st.integers(0, 30),
    st.sampled_from(["upsert"] * 4 + ["delete"]),
    st.integers(0, 3),
)


def table_of(results: list[tuple[Any, ...]]) -> pa.Table:
    ordered = sorted(results, key=lambda one: one[3])  # within a micro-batch, deletes come first
    columns = {"k": [], "window": [], "window_start": [], "window_end": [], "change": [], "n": []}  # type: dict[str, list[Any]]
    for key, zoom, end, change, value in ordered:
        for name, one in zip(
            columns, (key, zoom, end - 5, end, change, None if change == "delete" else value), strict=True
        ):
            columns[name].append(one)
    return pa.table(columns, schema=ROWS)


@given(st.lists(st.lists(RESULTS, max_size=12, unique_by=lambda one: one[:3]), max_size=8))
@settings(max_examples=60)
def test_a_series_holds_the_newest_result_of_each_window(batches: list[list[tuple[Any, ...]]]) -> None:
    feed = Feed()
    feed.describe(layout_of(ROWS, ["k"], "t"))
    expected: dict[tuple[str, str], dict[int, float]] = {}
    for batch in batches:
        feed.add(table_of(batch))
        for key, zoom, end, change, value in batch:
            windows = expected.setdefault((zoom, f"k {key}"), {})
            windows.pop(end, None)
            if change == "upsert":
                windows[end] = value
        for place, series in feed.series.items():
            series._check()
            found = dict(zip(series.ends.tolist(), series.values[:, 0].tolist(), strict=True))
            assert found == expected.get(place, {})
    assert feed.results == sum(map(len, batches))


def test_old_results_leave_and_do_not_come_back() -> None:
    series, many = Series(1), 1000
    for begin in range(0, many, 7):
        ends = np.arange(begin, min(begin + 7, many))
        series.merge(ends, ends[:, None].astype(np.float64), -1, 0.0, 100)
        series._check()
    assert 100 <= series.count <= 200
    assert series.ends[-1] == many - 1
    series.merge(np.array([3]), np.array([[5.0]]), many, 1.0, 100)
    assert series.ends[0] > 3


def test_a_change_of_the_past_is_a_correction_and_keeps_the_value_before() -> None:
    now = [100.0]
    feed = Feed(clock=lambda: now[0])
    feed.describe(layout_of(SCHEMA, KEYS, "ts"), list(ZOOMS))
    feed.add(pa.concat_tables([results_at(tick, 1) for tick in range(50)]))
    assert feed.corrections == 0
    feed.add(results_at(50, 1))
    feed.add(results_at(50, 1, raised=9))  # the newest window is still open
    assert feed.corrections == 0
    feed.add(results_at(50, 1, raised=500, back=10))
    assert feed.corrections == len(ZOOMS)
    feed.add(results_at(50, 1, raised=500, back=10))  # the same again
    assert feed.corrections == len(ZOOMS)
    now[0] = 102.0
    message = panels_message(feed, "house 1, household 1", "", {zoom: PanelView() for zoom in ZOOMS}, 7)
    assert message is not None
    header, columns = decode(message)
    assert header["seq"] == 7
    for panel in header["panels"]:
        x, low, final, high, age, before = columns[panel["first"] : panel["first"] + 6]
        (at,) = np.flatnonzero(age >= 0)
        assert age[at] == 2.0
        assert final[at] - before[at] > 300
        assert (low < final).all()
        assert (final < high).all()
        assert x[-1] == panel["to"]
    now[0] = 200.0
    message = panels_message(feed, "house 1, household 1", "", {zoom: PanelView() for zoom in ZOOMS}, 8)
    assert message is not None
    assert np.isnan(decode(message)[1][4]).all()


def test_a_panel_is_reduced_to_its_pixels() -> None:
    feed = Feed()
    feed.describe(layout_of(SCHEMA, KEYS, "ts"), list(ZOOMS))
    feed.add(pa.concat_tables([results_at(tick, 1) for tick in range(3000)]))
    view = PanelView(200, 1_800_000_000, 1_800_000_000 + 3000 * 60)
    message = panels_message(feed, "house 1, household 1", "min, mean, max", {"1 minute": view}, 1)
    assert message is not None
    header, columns = decode(message)
    assert header["panels"][0]["of"] == 3000
    assert 190 <= len(columns[0]) <= 202
    assert columns[1].min() == pytest.approx(30, abs=0.01)
    assert columns[3].max() == pytest.approx(180, abs=0.01)


def test_keys_beyond_the_limit_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeds, "MOST_KEYS", 3)
    feed = Feed()
    feed.describe(layout_of(SCHEMA, KEYS, "ts"))
    feed.add(results_at(1, 10))
    assert len(feed.keys) == 3
    assert len(feed.series) == 3 * len(ZOOMS)
    assert feed.results == 10 * len(ZOOMS)


def test_results_without_keys_have_one_series() -> None:
    feed = Feed()
    feed.describe(layout_of(pa.schema({"t": pa.timestamp("ns"), "x": pa.int64()}), [], "t"), ["rows"])
    feed.add(pa.table({"t": pa.array([10, 20], pa.timestamp("ns")), "x": [1, None]}))
    assert list(feed.series) == [("rows", ALL_ROWS)]
    np.testing.assert_array_equal(feed.series["rows", ALL_ROWS].values, [[1.0], [np.nan]])


@pytest.mark.parametrize(
    ("columns", "message"),
    [({"n": pa.int64()}, "neither window_end nor"), ({"window_end": pa.int64(), "s": pa.string()}, "draws numbers")],
)
def test_results_that_cannot_be_drawn_are_an_error(columns: dict[str, pa.DataType], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        layout_of(pa.schema(columns), [], "t")
