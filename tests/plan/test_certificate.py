"""What explanations promise of results, held against measurements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import sash
from sash import agg, window

calls = {"combine": 0}


def counted_max(older: float, newer: float) -> float:
    """The larger value; counts how often it is called."""
    calls["combine"] += 1
    return max(older, newer)


def explained(query: sash.Query, *data: Any, **options: Any) -> str:
    return " ".join(str(query.explain(*data, **options)).replace("│", " ").split())


def numbers(seed: int, rows: int, most: int) -> pa.Table:
    random = np.random.default_rng(seed)
    return pa.table({"t": np.sort(random.integers(0, 1_000, rows)), "x": random.integers(0, most, rows)})


def test_combines_of_a_row() -> None:
    largest = sash.aggregate("largest", lift=float, combine=counted_max)("x")
    query = sash.Query({"most": largest}, window.rows(60))
    text = explained(query, compiled=False)
    assert "two_stacks" in text
    assert "for each row: 3 combines, amortised, and n at worst" in text
    rows = 3_000
    calls["combine"] = 0
    query.run(numbers(1, rows, 1_000), compiled=False)
    assert 2 * rows < calls["combine"] <= 3 * rows
    steady = sash.Query({"most": largest}, window.rows(60), objective="latency")
    assert "for each row: 6 combines, at worst" in explained(steady, compiled=False)


def test_only_marked_columns_see_the_future() -> None:
    windows = {"past": window.time(50), "tail": window.time(50, tail=20), "hop": window.time(50, slide=20)}
    rows = {"rows": window.rows(7), "all": window.expanding()}
    ahead = {"next": window.time(before=0, after=50, closed="right"), "around": window.rows(before=2, after=1)}
    events, labels = numbers(2, 400, 90), pa.table({"t": [500, 500, 500]})
    for chosen in ({**windows, "next": ahead["next"]} | rows | ahead, windows):
        per_row = {name: one for name, one in chosen.items() if name != "hop"}
        query = sash.Query({"n": agg.count(), "sum": agg.sum("x")}, per_row, time="t")
        schema = query.schema(events, at=labels, future=True)
        marked = {field.name for field in schema if field.metadata}
        known = events.filter(pc.field("t") <= 500)
        with_future, without = (query.run(each, at=labels, future=True).to_pylist()[0] for each in (events, known))
        changed = {name for name, value in with_future.items() if value != without[name]}
        assert changed == marked
        assert all(name in explained(query, events, at=labels, future=True) for name in marked)
    hop = sash.Query({"n": agg.count(), "sum": agg.sum("x")}, windows["hop"], time="t")
    assert hop.run(events, at=labels).equals(hop.run(events.filter(pc.field("t") <= 500), at=labels))
    found = sash.Query({"n": agg.count()}, ahead["next"], time="t").run(events, at=labels, future=True)
    assert found.schema.field("n").metadata == {b"sash.sees_future": b"true"}


def test_a_tail_adds_less_than_a_tail() -> None:
    events = numbers(3, 2_000, 9)
    query = sash.Query({"oldest": agg.min("t"), "n": agg.count()}, window.time(100, tail=30), time="t")
    found = query.run(events).to_pandas()
    assert (found["oldest"] > found["t"] - 130).all()
    assert (found["oldest"] <= found["t"] - 100).sum() > 1_000
    at_least = sash.Query({"n": agg.count()}, window.time(100), time="t").run(events).to_pandas()
    assert (found["n"] >= at_least["n"]).all()
    assert "begins up to 30 earlier than without its tail" in explained(query, events)


ESTIMATES: dict[str, tuple[Any, str]] = {
    "who": (agg.approx_count_distinct("x"), "off by 1.6 % (standard error), and near exact up to 384 different values"),
    "middle": (agg.approx_quantile("x", 0.5), "its rank is off by at most 1.33 % (99 % confidence)"),
    "threes": (agg.frequency("x", 3), "at most 1 % of the values too high (99 % confidence), never too low"),
    "any": (agg.may_contain("x", 3), "true is certain up to 4,096 different values, and false always"),
}


@pytest.mark.parametrize("most", [300, 6_000])
def test_estimates_are_as_near_as_they_say(most: int) -> None:
    events = numbers(4, 5_000, most)
    aggregates = {name: aggregate for name, (aggregate, _) in ESTIMATES.items()}
    query = sash.Query(aggregates, window.tumbling(1_000), time="t")
    text = explained(query, events, compiled=False)
    assert all(f"{name}: {error}" in text for name, (_, error) in ESTIMATES.items())
    [found] = query.run(events, compiled=False).to_pylist()
    values = np.sort(events["x"].to_numpy())
    distinct = len(np.unique(values))
    assert abs(found["who"] / distinct - 1) < (0.001 if most <= 384 else 5 * 0.016)
    ranks = np.searchsorted(values, [found["middle"], found["middle"] + 1]) / len(values)
    assert ranks[0] - 0.03 < 0.5 < ranks[1] + 0.03
    assert 0 <= found["threes"] - int((values == 3).sum()) <= 0.02 * len(values)
    assert found["any"] is True


def test_results_from_rows_are_exact() -> None:
    aggregates = {name: aggregate for name, (aggregate, _) in ESTIMATES.items()}
    assert "estimates" not in explained(sash.Query(aggregates, window.time(50), time="t"), numbers(4, 50, 9))
