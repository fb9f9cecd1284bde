"""Features of keys, for tests of labels, streams and lookups: aggregates, windows with a result per row, and random events."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa

import sash
from sash import agg, window
from sash.algorithms.base import alike
from sash.windows import Window

KEYS = ["a", "b", None]
SCHEMA = pa.schema(
    {"key": pa.string(), "t": pa.int64(), "id": pa.int64(), "x": pa.int64(), "v": pa.float64(), "name": pa.string(),
     "price": pa.decimal128(9, 2), "when": pa.timestamp("ms", "Europe/Berlin"), "tags": pa.list_(pa.string()),
     "spot": pa.struct({"lat": pa.float32(), "on": pa.date32()}), "small": pa.int8(), "ok": pa.bool_(), "kind": pa.dictionary(pa.int8(), pa.string())}
)  # fmt: skip
longest = sash.aggregate("longest", lift=len, combine=max, lower=lambda length: -length)
spread = sash.aggregate("spread", lift=lambda x: (x, x), combine=lambda a, b: (min(a[0], b[0]), max(a[1], b[1])), lower=lambda c: c[1] - c[0])  # fmt: skip
Span = Callable[[int], Any]
"""Makes a duration of a number of units, for times that are integers or timestamps."""


def numbers(span: Span = int) -> dict[str, Any]:
    """Aggregates over numbers and times, whose partials a stream can store."""
    return {
        "rows": agg.count(), "n": agg.count("x"), "sum": agg.sum("x"), "mean": agg.mean("v"), "sd": agg.stddev("v"),
        "top": agg.max("v"), "least": agg.min("x"), "first": agg.first("v"), "last": agg.last("small"), "some": agg.sum("v", where="x > 0"),
        "twice": agg.max(sash.expr("x * 2")), "weighted": agg.ewm_sum("v", half_life=span(5)), "smooth": agg.ewm_mean("v", alpha=0.3),
        "slope": agg.slope("v", "x"), "arg": agg.arg_max("x", "v"), "true": agg.any("ok"), "latest": agg.last("when"), "newest": agg.max("t"),
        "moments": agg.skewness("v"), "any_price": agg.count("price"), "bins": agg.histogram("v", [-10, 0, 3]),
    }  # fmt: skip


NUMBERS = numbers()
VALUES: dict[str, Any] = {
    "median": agg.median("v"), "last_name": agg.last("name"), "names": agg.concat("name", sep=" "), "different": agg.count_distinct("name"),
    "paid": agg.sum("price"), "highest": agg.max("price"), "first_tags": agg.first("tags"), "last_spot": agg.last("spot"), "own": longest("name"),
    "kinds": agg.collect_distinct("kind"), "last_kind": agg.last("kind"), "quarters": agg.quantile("v", [0.25, 0.75]), "ids": agg.collect("id"),
    "mode": agg.mode("name"), "per": agg.per_value("name", agg.sum("x")), "about": agg.approx_count_distinct("x"),
    "rank": agg.rank("x"), "middle": agg.median("when"), "three": agg.last_n("name", 3), "spread": spread("x"),
}  # fmt: skip


def limited(span: Span = int) -> dict[str, Window]:
    """Windows that need some rows of the past."""
    return {
        "right": window.time(span(7)), "left": window.time(span(7), closed="left"), "both": window.time(span(7), closed="both"),
        "gap": window.time(before=span(9), after=span(-4)), "tail": window.time(span(20), tail=span(6)), "few": window.time(span(20), min_rows=3),
        "three": window.rows(3), "one": window.rows(1), "rows_gap": window.rows(before=4, after=-2), "previous": window.lag(2),
    }  # fmt: skip


def growing(span: Span = int) -> dict[str, Window]:
    """Windows that hold all rows up to some place."""
    return {
        "all": window.expanding(), "before": window.time(before=None, after=span(-3)), "rows_all": window.rows(before=None),
        "rows_before": window.rows(before=None, after=-2), "least": window.expanding(min_rows=4),
    }  # fmt: skip


LIMITED, GROWING = limited(), growing()


def random_events(chooser: random.Random, rows: int, until: int, disorder: int) -> pa.Table:
    """Events in about the order of time, with ties, nulls and NaN."""
    berlin = ZoneInfo("Europe/Berlin")

    def event(place: int) -> dict[str, Any]:
        def maybe(value: Any) -> Any:
            return None if chooser.random() < 0.2 else value

        return {
            "key": chooser.choice(KEYS), "t": max(0, until * place // max(rows, 1) - chooser.randrange(disorder + 1)), "id": place,
            "x": maybe(chooser.randint(-9, 9)), "v": maybe(chooser.choice([chooser.randint(-40, 40) / 4, float("nan")])),
            "name": maybe(chooser.choice(["ant", "bee", "", "ü"])), "price": maybe(Decimal(chooser.randint(-999, 999)) / 100),
            "when": maybe(datetime(2026, 10, 25, 2, chooser.randrange(60), tzinfo=berlin, fold=chooser.randrange(2))),
            "tags": maybe([maybe("p"), "q"][: chooser.randrange(3)]), "spot": maybe({"lat": maybe(1.5), "on": maybe(date(2026, 1, 1 + place % 28))}),
            "small": maybe(chooser.randint(-9, 9)), "ok": maybe(chooser.random() < 0.5), "kind": maybe(chooser.choice(["x", "y"])),
        }  # fmt: skip

    return pa.Table.from_pylist([event(place) for place in range(rows)], SCHEMA)


def assert_alike(found: list[dict[str, Any]], expected: list[dict[str, Any]]) -> None:
    """Raise AssertionError unless rows have the same columns, types and values, up to the rounding of floats."""
    assert len(found) == len(expected)
    for mine, theirs in zip(found, expected, strict=True):
        assert list(mine) == list(theirs)
        for name, value in mine.items():
            assert type(value) is type(theirs[name]), f"{name}: {value!r} instead of {theirs[name]!r}"
            assert alike(value, theirs[name]) or repr(value) == repr(theirs[name]), (
                f"{name}: {value!r} instead of {theirs[name]!r}"
            )
