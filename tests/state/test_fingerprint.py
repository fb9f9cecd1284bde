"""What a fingerprint tells of two queries: every change that state cannot survive, and no other."""

from __future__ import annotations

import re
from datetime import timedelta
from functools import partial
from typing import Any

import numpy as np
import pytest
from helpers.streams import COLUMNS, WINDOWS

import sash
from sash import agg, window
from sash.state.fingerprint import changes, fingerprint_query


def told(then: sash.Query, now: sash.Query, **more: Any) -> list[str]:
    return changes(
        fingerprint_query(then._declared, COLUMNS, buckets=64),
        fingerprint_query(now._declared, COLUMNS, **{"buckets": 64, **more}),
    )


def test_what_has_changed_is_told() -> None:
    def query(**given: Any) -> sash.Query:
        declared = {"aggregates": {"a": agg.max("x")}, "windows": window.rows(3), "by": "k", "time": "t"}
        return sash.Query(**{**declared, **given})

    def own(step: int) -> Any:
        return sash.aggregate("own", lift=lambda x: x + step, combine=lambda older, newer: older + newer)("x")

    def rounded(places: int) -> Any:
        lower = lambda partial: round(partial, places)  # noqa: E731 — another function each time
        return sash.aggregate("own", lift=lambda x: x, combine=lambda older, newer: older + newer, lower=lower)("x")

    assert told(query(), query()) == []
    assert told(query(), query(), buckets=8) == ["buckets: 64 became 8"]
    assert told(query(), query(by=())) == ["by: k became nothing"]
    assert told(query(), query(aggregates={"b": agg.max("x")})) == [
        "aggregates: a = max(x) was removed", "aggregates: b = max(x) was added"
    ]  # fmt: skip
    two = {"a": agg.max("x"), "b": agg.min("x")}
    assert told(query(aggregates=two), query(aggregates=dict(reversed(two.items())))) == [
        "aggregates: their order changed from a, b to b, a"
    ]
    low, high = (query(aggregates={"q": agg.quantile("x", q)}) for q in (0.1, 0.9))
    assert told(low, high) == ["aggregates: q: quantile(x) of 0.1 became quantile(x) of 0.9"]
    assert told(query(aggregates={"a": own(1)}), query(aggregates={"a": own(1)})) == []
    assert told(query(aggregates={"a": own(1)}), query(aggregates={"a": own(2)})) == [
        "aggregate 'a': its functions changed"
    ]
    assert told(query(aggregates={"a": rounded(1)}), query(aggregates={"a": rounded(2)})) == []  # lower is no state
    marks = [query(windows=window.custom(lambda row, edge=edge: (1, row["x"] > edge))) for edge in (1, 2)]
    assert told(*marks) == ["window 'custom': its functions changed"]


def test_values_that_can_not_be_compiled_tell_functions_apart() -> None:
    def looked_up(table: Any) -> Any:
        return sash.aggregate("own", lift=lambda x: table[x], combine=lambda older, newer: older + newer)("x")

    def query(**given: Any) -> sash.Query:
        return sash.Query(**{"aggregates": agg.count(), "windows": window.rows(3), "by": "k", "time": "t", **given})

    def ends_at(number: int) -> sash.Query:
        return query(windows=window.custom(partial(ends_with, at=number)))

    tables: list[Any] = [({1: 2}, {1: 3}), ([{1}], [{2}]), (re.compile("a"), re.compile("b"))]
    for one, other in tables:
        same, again, changed = (query(aggregates={"a": looked_up(table)}) for table in (one, one, other))
        assert told(same, again) == []
        assert told(same, changed) == ["aggregate 'a': its functions changed"]
    assert told(ends_at(3), ends_at(3)) == []
    assert told(ends_at(3), ends_at(4)) == ["window 'custom': its functions changed"]
    assert told(query(windows=window.custom(Until(3))), query(windows=window.custom(Until(3)))) == []
    assert told(query(windows=window.custom(Until(3))), query(windows=window.custom(Until(5))))
    assert repr(window.custom(Until(3))) == "custom(Until)"


def ends_with(row: Any, at: int) -> tuple[int, int]:
    return 1, row["x"] == at


class Until:
    def __init__(self, limit: int) -> None:
        self.limit = limit

    def __call__(self, row: Any) -> tuple[int, int]:
        return 1, row["x"] > self.limit


def test_versions_of_modules_are_no_change(monkeypatch: pytest.MonkeyPatch) -> None:
    def query() -> sash.Query:
        root = sash.aggregate("own", lift=lambda x: np.sqrt(x) + 1, combine=lambda older, newer: older + newer)
        return sash.Query({"a": root("x")}, window.rows(3), by="k", time="t")

    before = fingerprint_query(query()._declared, COLUMNS)
    monkeypatch.setattr(np, "__version__", "9.9")
    assert changes(before, fingerprint_query(query()._declared, COLUMNS)) == []


def test_equal_durations_written_differently_are_the_same_query() -> None:
    def query(windows: Any, aggregate: Any = None) -> sash.Query:
        return sash.Query({"a": aggregate or agg.max("x")}, {"w": windows}, by="k", time="t")

    same: list[tuple[Any, Any]] = [
        (window.tumbling("60s"), window.tumbling("1m")),
        (window.tumbling("1 day"), window.tumbling(timedelta(hours=24))),
        (window.time("1h30m", slide="90s", offset="60s"), window.time("90 min", slide="1m30s", offset=timedelta(minutes=1))),
        (window.time("24h"), window.time("1d")),
        (window.time(before="60s", after="0.5m"), window.time(before="1m", after="30s")),
        (window.cumulative("24h", "3600s"), window.cumulative("1d", "1h")),
        (window.session("1800s", min_rows=2), window.session("30m", min_rows=2)),
        (window.tumbling("1y"), window.tumbling("12mo")),
        (window.tumbling("1 week", tz="Europe/Berlin"), window.tumbling("1w", tz="Europe/Berlin")),
    ]  # fmt: skip
    for one, other in same:
        assert told(query(one), query(other)) == [], (one, other)
    weighted = [agg.ewm_sum("x", half_life=half_life) for half_life in ("60s", "1m", timedelta(minutes=1))]
    assert told(query(window.rows(2), weighted[0]), query(window.rows(2), weighted[1])) == []
    assert told(query(window.rows(2), weighted[0]), query(window.rows(2), weighted[2])) == []

    different: list[tuple[Any, Any, str]] = [
        (window.tumbling("60s"), window.tumbling("61s"), 'windows: w: tumbling("1m") became tumbling("1m1s")'),
        (window.tumbling("1d", tz="Europe/Berlin"), window.tumbling("1d", tz="UTC"), "Europe/Berlin"),
        (window.tumbling("7d", tz="Europe/Berlin"), window.tumbling("1w", tz="Europe/Berlin"), "7d"),
        (window.tumbling("1d", offset="24h", tz="Europe/Berlin"), window.tumbling("1d", offset="1d", tz="Europe/Berlin"), "24h"),
        (window.tumbling("7d"), window.tumbling("1w"), 'tumbling("7d") became tumbling("1w")'),
        (window.session("60s"), window.session("1h"), "1h"),
        (window.tumbling("60s"), window.tumbling(60), "tumbling(60)"),
    ]  # fmt: skip
    for one, other, text in different:
        [change] = told(query(one), query(other))
        assert text in change
    [change] = told(query(window.rows(2), weighted[0]), query(window.rows(2), agg.ewm_sum("x", half_life="2m")))
    assert "1m" in change
    assert "2m" in change


@pytest.mark.parametrize("name", WINDOWS)
def test_windows_of_numbers_have_their_own_text(name: str) -> None:
    for one in WINDOWS[name].values():
        assert one.standard_text == repr(one)


class Scale:
    """Its methods read `factor`."""

    def __init__(self, factor: int) -> None:
        self.factor = factor

    def lift(self, x: int) -> int:
        return self.factor * x

    @classmethod
    def plain(cls, x: int) -> int:
        return x

    def __call__(self, x: int) -> int:
        return self.factor * x


class Scaled(Scale):
    """Inherits what is called."""


def test_a_method_is_told_by_its_function_and_its_object() -> None:
    def query(lift: Any) -> sash.Query:
        own = sash.aggregate("own", lift=lift, combine=lambda older, newer: older + newer)("x")
        return sash.Query({"own": own}, window.rows(3), by="k", time="t")

    lifts = [Scale(2).lift, Scale(3).lift, Scale.plain, Scale(2), Scale(3), Scaled(2), Scaled(3), np.sqrt, np.exp]
    again = [Scale(2).lift, Scale(3).lift, Scale.plain, Scale(2), Scale(3), Scaled(2), Scaled(3), np.sqrt, np.exp]
    for place, lift in enumerate(lifts):
        assert told(query(lift), query(again[place])) == []
        for other in again[:place]:
            assert told(query(other), query(lift)) == ["aggregate 'own': its functions changed"]
