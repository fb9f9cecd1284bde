"""A new window and a new aggregate, its SQL form included, are defined in one file: every engine takes them as they are."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from helpers.queries import SCHEMA, assert_equal, long_stream, table_of
from helpers.windows import slicings_of
from hypothesis import given
from hypothesis import strategies as st

import sash
from sash import agg, window
from sash.aggregates.base import Aggregate
from sash.aggregates.definition import define
from sash.aggregates.sql import SqlForm, SqlInput, sql_form
from sash.engine.prepare import prepare
from sash.state import reader
from sash.state.fingerprint import fingerprint_query
from sash.state.stream_state import StreamState
from sash.testing import check_laws, recompute
from sash.testing.strategies import streams
from sash.windows import Window
from sash.windows.base import Bounds, Ints, Items, LoopCompiler, Memory, new_bounds
from sash.windows.capabilities import RowCount

# -- the window: what a file in sash/windows would hold --------------------------------------------------------------


@dataclass(frozen=True)
class Sampled(Window):
    """The first `size` of every `period` rows of a key."""

    kind: ClassVar[str] = "sampled"
    size: int
    period: int

    @property
    def memory(self) -> RowCount:
        return RowCount(every=self.period)

    def bounds(self, items: Items, memory: Memory, compiler: LoopCompiler) -> Bounds:
        span = items.span
        seen = memory["seen"].copy()
        begins, ends = new_bounds(int((span.final - span.done).sum()))
        keep = np.empty(items.keys, np.int64)
        given = (items.firsts, span.done, span.final, seen, self.size, self.period)
        count = compiler(find_samples)(*given, begins, ends, keep)
        return Bounds(begins[:count], ends[:count], None, None, keep, {"seen": seen})

    def __repr__(self) -> str:
        return f"sampled({self.size}, {self.period})"


def find_samples(
    firsts: Ints, done: Ints, final: Ints, seen: Ints, size: int, period: int, begins: Ints, ends: Ints, keep: Ints
) -> int:
    count = 0
    for key in range(len(firsts) - 1):
        fresh = firsts[key] + done[key]
        end = firsts[key] + final[key]
        begin = fresh - seen[key] % period
        while begin + size <= end:
            if begin + size > fresh:
                begins[count] = begin
                ends[count] = begin + size
                count += 1
            begin += period
        seen[key] += final[key] - done[key]
        keep[key] = min(begin, end)
    return count


# -- the aggregate: what a file in sash/aggregates would hold --------------------------------------------------------


def root_mean_square(column: str | None = None) -> Aggregate[Any]:
    return define(
        "root_mean_square",
        column,
        lift=lambda x: (1.0 * x * x, 1),
        combine=lambda older, newer: (older[0] + newer[0], older[1] + newer[1]),
        lower=lambda total: math.sqrt(total[0] / total[1]),
        commutative=True,
        gives="number",
        sql=squares_in_sql,
    )


def squares_in_sql(source: SqlInput) -> SqlForm | str:
    if not source.are_numbers:
        return source.refuse()
    x = source.column.as_double
    return source.form({"squares": f"sum({x} * {x})", "count": f"count({x})"}, lambda squares, count: (squares, count))


# -- the naive twins -------------------------------------------------------------------------------------------------

Row = dict[str, Any]
SAMPLED = Sampled(3, 5)
AGGREGATES: dict[str, Aggregate[Any]] = {
    "rms": root_mean_square("x"), "order": agg.concat("x", sep=" "), "rows": agg.count(),
}  # fmt: skip


def naive_root_mean_square(values: list[int | None]) -> float | None:
    squares = [value * value for value in values if value is not None]
    return math.sqrt(math.fsum(squares) / len(squares)) if squares else None


def naive_results(rows: list[Row], one: Sampled) -> Iterator[Row]:
    keys: dict[Any, list[Row]] = {}
    for row in rows:
        keys.setdefault(row["key"], []).append(row)
    for key, own in keys.items():
        own.sort(key=lambda row: row["t"])
        for first in range(0, len(own) - one.size + 1, one.period):
            held = own[first : first + one.size]
            values = [row["x"] for row in held]
            yield {
                "key": key,
                "window_start": held[0]["t"],
                "window_end": held[-1]["t"],
                "rms": naive_root_mean_square(values),
                "order": recompute(agg.concat(sep=" "), values),
                "rows": one.size,
            }


def query_of(one: Window = SAMPLED, **options: Any) -> sash.Query:
    return sash.Query(AGGREGATES, one, by="key", time="t", **options)


def sorted_results(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: (str(row["key"]), row["window_start"], row["window_end"], str(row["order"])))


# -- through every engine --------------------------------------------------------------------------------------------


@given(streams(), st.integers(1, 4), st.integers(0, 3))
def test_a_table(rows: list[Row], size: int, gap: int) -> None:
    one = Sampled(size, size + gap)
    for slicing in slicings_of(one):
        found = query_of(one, slicing=slicing).run(table_of(rows))
        assert_equal(found, list(naive_results(table_of(rows).to_pylist(), one)))


@pytest.mark.parametrize("threads", [1, 2])
def test_a_table_compiled(threads: int) -> None:
    rows = long_stream(4, keys=3)
    assert_equal(query_of().run(table_of(rows), threads=threads), list(naive_results(rows, SAMPLED)))


@given(streams(), st.integers(1, 5))
def test_a_stream(rows: list[Row], size: int) -> None:
    rows.sort(key=lambda row: row["t"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "MOST_ROWS", 1)  # so that each batch is a micro-batch
        found = query_of().run(table_of(rows).to_reader(size)).read_all()
    assert_equal(
        pa.Table.from_pylist(sorted_results(found.to_pylist()), found.schema),
        sorted_results(list(naive_results(rows, SAMPLED))),
    )


@given(streams(), st.integers(1, 5))
def test_a_stream_that_is_restarted_after_each_micro_batch(rows: list[Row], size: int) -> None:
    rows.sort(key=lambda row: row["t"])
    declared = query_of()._declared
    prepared = prepare(declared, SCHEMA)
    fingerprint = fingerprint_query(declared, {name: str(SCHEMA.field(name).type) for name in SCHEMA.names})
    state, emitted = StreamState(prepared), []
    for first in range(0, len(rows), size):
        table = table_of(rows[first : first + size])
        emitted.append(state.advance(table, rows[first]["t"]).results)
        stored = state.encode(fingerprint)
        state = StreamState(prepared)
        state.decode(stored, fingerprint)
    emitted.append(state.finish())
    assert_equal(
        pa.Table.from_pylist(
            sorted_results([row for table in emitted for row in table.to_pylist()]), emitted[-1].schema
        ),
        sorted_results(list(naive_results(rows, SAMPLED))),
    )


def test_state_of_other_arguments_is_refused() -> None:
    columns = {name: str(SCHEMA.field(name).type) for name in SCHEMA.names}
    declared, other = (query_of(Sampled(3, period))._declared for period in (5, 6))
    prepared = prepare(declared, SCHEMA)
    stored = StreamState(prepared).encode(fingerprint_query(declared, columns))
    with pytest.raises(ValueError, match=r"sampled\(3, 5\) became sampled\(3, 6\)"):
        StreamState(prepared).decode(stored, fingerprint_query(other, columns))


def test_the_explanation() -> None:
    tree = str(query_of().explain(SCHEMA))
    assert "sampled(3, 5)" in tree
    assert "root_mean_square(x)" in tree


def test_beside_other_windows_and_aggregates() -> None:
    rows = long_stream(5, keys=2)
    windows = {"new": SAMPLED, "old": window.rows(3, slide=3)}
    aggregates = {**AGGREGATES, "squares": agg.sum_of_squares("x"), "mean": agg.mean("x")}
    found = sash.Query(aggregates, windows, by="key", time="t").run(table_of(rows)).to_pylist()
    new = [
        {name: row[name] for name in row if name in ("key", "window_start", "window_end", *AGGREGATES)}
        for row in found
        if row["window"] == "new"
    ]
    schema = query_of().run(table_of(rows)).schema
    assert_equal(pa.Table.from_pylist(new, schema), list(naive_results(rows, SAMPLED)))


# -- what the aggregate claims ---------------------------------------------------------------------------------------


def test_the_laws_of_the_aggregate() -> None:
    check_laws(root_mean_square(), [3, -1, 0, 7, 7])


def test_the_sql_form_of_the_aggregate() -> None:
    """DuckDB computes the partials of slices, the aggregate merges them."""
    numbers = pa.table({"x": pa.array([3, None, -4, 5, None, 1], pa.int64()), "slice": [0, 0, 0, 1, 2, 3]})
    form = sql_form("rms", root_mean_square("x"), numbers.schema, "`t`", ())
    assert isinstance(form, SqlForm)
    expressions = ", ".join(text.replace("`", '"') for text in form.expressions.values())
    with duckdb.connect() as database:
        database.register("numbers", numbers)
        slices = database.sql(f"SELECT {expressions} FROM numbers GROUP BY slice ORDER BY slice").fetchall()
    found = recompute(form.aggregate, slices)
    assert found == pytest.approx(naive_root_mean_square(numbers["x"].to_pylist()))
    text = sql_form("rms", root_mean_square("s"), pa.schema({"s": pa.string()}), "`t`", ())
    assert text == "'rms': Spark SQL has no partials of root_mean_square of string."
