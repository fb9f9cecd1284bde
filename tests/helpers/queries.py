"""What the tests of queries share: streams as tables, windows of every kind, results beside those of the oracle."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

import sash
from sash import window
from sash.aggregates.base import Aggregate
from sash.algorithms.base import alike
from sash.testing import recompute_query
from sash.windows import Window

SCHEMA = pa.schema(
    {"t": pa.int64(), "key": pa.string(), "x": pa.int64(), "y": pa.int64(), "v": pa.int64(), "mark": pa.bool_()}
)
"""The columns of `sash.testing.strategies.streams`."""

Named = Mapping[str, Aggregate[Any]]
Row = dict[str, Any]

LENGTHS = st.integers(1, 12)
LEAST = st.integers(1, 3)


def table_of(rows: list[Row], schema: pa.Schema = SCHEMA) -> pa.Table:
    return pa.Table.from_pylist(rows, schema)


def long_stream(seed: int, keys: int) -> list[Row]:
    """Rows for kernels: some hundred, in no order, with nulls and ties."""
    chooser = random.Random(seed)
    times = sorted(chooser.choices(range(-150, 150), k=240))
    chooser.shuffle(times)
    return [
        {
            "t": time,
            "key": chooser.choice(["a", "b", None][:keys]),
            "x": chooser.choice([None, chooser.randint(-9, 9)]),
            "y": None,
            "v": chooser.randint(-9, 9),
            "mark": chooser.random() < 0.2,
        }
        for time in times
    ]


def assert_equal(found: pa.Table, expected: list[Row]) -> None:
    """Compare every value and the order of rows, floats but for rounding."""
    listed = found.to_pylist()
    assert len(listed) == len(expected), f"{len(listed)} rows instead of {len(expected)}"
    for mine, theirs in zip(listed, expected, strict=True):
        assert list(mine) == list(theirs)
        for name, value in mine.items():
            assert alike(value, theirs[name]), f"{name}: {value!r} instead of {theirs[name]!r}, in {mine}"


def assert_agrees(
    rows: list[Row],
    aggregates: Named,
    windows: Any,
    *,
    compiled: bool = False,
    schema: pa.Schema = SCHEMA,
    **given: Any,
) -> pa.Table:
    """Compare a query's results with the oracle's; `given` is by, time, and so on."""
    declared = {"by": ("key",), "time": "t", **given}
    found = sash.Query(aggregates, windows, **declared).run(table_of(rows, schema), compiled=compiled)
    for_oracle = {name: declared[name] for name in ("by", "time", "order_by") if name in declared}
    assert_equal(found, recompute_query(table_of(rows, schema).to_pylist(), aggregates, windows, **for_oracle))
    return found


def in_pairs() -> st.SearchStrategy[tuple[int, int]]:
    """A range and a slide that is no longer."""
    return st.tuples(LENGTHS, LENGTHS).map(lambda pair: (max(pair), min(pair)))


class Alternating:
    """Windows of one's own, with state: one begins with every second row, one ends with every third if any is open."""

    def __init__(self) -> None:
        self.rows = self.opened = 0

    def __call__(self, row: Mapping[str, Any]) -> tuple[int, int]:
        begin = int(self.rows % 2 == 0) + int(row["mark"] is True)
        self.opened += begin
        self.rows += 1
        end = min(self.opened, 2 if self.rows % 3 == 0 else 0)
        self.opened -= end
        return begin, end


def from_mark_to_mark(row: Mapping[str, Any]) -> tuple[int, int]:
    """Windows of one's own, without state: each row begins one that ends with it, and a marked one begins and ends two."""
    return (2, 2) if row["mark"] else (1, 1)


PER_WINDOW: dict[str, st.SearchStrategy[Window]] = {
    "time": st.builds(
        lambda pair, offset, least: window.time(pair[0], slide=pair[1], offset=offset, min_rows=least),
        in_pairs(), st.integers(-20, 20), LEAST,
    ),
    "tumbling": st.builds(lambda length, offset: window.tumbling(length, offset=offset), LENGTHS, st.integers(-20, 20)),
    "cumulative": st.builds(
        lambda step, steps, offset: window.cumulative(step * steps, step, offset=offset),
        st.integers(1, 4), st.integers(1, 5), st.integers(-20, 20),
    ),
    "rows": st.builds(lambda pair, least: window.rows(pair[0], slide=pair[1], min_rows=least), in_pairs(), LEAST),
    "session": st.builds(window.session, LENGTHS),
    "punctuated": st.just(window.punctuated("mark")),
    "delta": st.builds(lambda pair: window.delta("v", pair[0], slide=pair[1]), in_pairs()),
    "custom": st.sampled_from([window.custom(Alternating), window.custom(from_mark_to_mark)]),
}  # fmt: skip
PER_ROW: dict[str, st.SearchStrategy[Window]] = {
    "rows": st.builds(lambda length, least: window.rows(length, min_rows=least), LENGTHS, LEAST),
    "time": st.builds(
        lambda length, closed, least: window.time(length, closed=closed, min_rows=least),
        LENGTHS, st.sampled_from(["right", "both", "left", "neither"]), LEAST,
    ),
    "delta": st.builds(lambda threshold: window.delta("v", threshold), st.integers(1, 8)),
}  # fmt: skip
SLICINGS = {
    "time": ("none", "panes", "pairs", "cutty"),
    "tumbling": ("none", "panes", "pairs", "cutty"),
    "cumulative": ("none", "panes", "pairs", "cutty"),
    "rows": ("none", "panes", "pairs", "cutty"),
    "session": ("none", "pairs", "cutty"),
    "punctuated": ("none", "pairs", "cutty"),
    "delta": ("none",),
    "custom": ("none", "pairs", "cutty"),
}
"""How windows that have results themselves can be cut."""
