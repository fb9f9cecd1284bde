"""Every aggregate × every algorithm that fits × windows × slicings ≡ the oracle; columns and results of every type."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from math import inf, nan
from typing import Any

import pyarrow as pa
import pytest
from helpers.cases import ARGUMENTS
from helpers.pairwise import some
from helpers.queries import Named, assert_equal

import sash
from sash import agg, window
from sash.aggregates import BUILT_IN
from sash.aggregates.base import Aggregate
from sash.algorithms.base import alike
from sash.testing import recompute_query
from sash.windows import Window

# -- columns of every type ---------------------------------------------------------------------------------------------

REAL = pa.float64()

TEXTS = pa.array(["to", None, "be", "or", "not", "to", None, "be"])
START = datetime(2024, 3, 30, 22, 59, 58, tzinfo=UTC)
MOMENTS = [None if n == 3 else START + timedelta(days=n % 3, microseconds=n) for n in range(8)]
DAYS = [moment and moment.date() for moment in MOMENTS]
EXTREMES = [2**63 - 1, None, -(2**63), 2**53 + 1, 2**53, -(2**53) - 1, None, 0]
COLUMNS: dict[str, pa.Array] = {
    "string": TEXTS,
    "large_string": TEXTS.cast(pa.large_string()),
    "dictionary": TEXTS.dictionary_encode(),
    "binary": TEXTS.cast(pa.binary()),
    "decimal": pa.array([None if n == 2 else Decimal(n) / 4 for n in range(8)], pa.decimal128(10, 2)),
    "timestamp": pa.array(MOMENTS, pa.timestamp("us", "UTC")).cast(pa.timestamp("us")),
    "zoned": pa.array(MOMENTS, pa.timestamp("us", "UTC")).cast(pa.timestamp("s", "Europe/Berlin"), safe=False),
    "nanoseconds": pa.array(MOMENTS, pa.timestamp("us", "UTC")).cast(pa.timestamp("ns", "UTC")),
    "date32": pa.array(DAYS, pa.date32()),
    "date64": pa.array(DAYS, pa.date64()),
    "duration": pa.array([None if n == 4 else timedelta(seconds=n % 3) for n in range(8)], pa.duration("ms")),
    "boolean": pa.array([True, None, False, False, True, True, None, True]),
    "int64": pa.array(EXTREMES, pa.int64()),
    "int8": pa.array([3, None, -128, 127, 3, 3, 0, 1], pa.int8()),
    "uint32": pa.array([3, None, 2**32 - 1, 0, 3, 3, 0, 1], pa.uint32()),
    "float64": pa.array([1.5, nan, None, -inf, inf, -0.0, 0.0, 1e300], pa.float64()),
    "float32": pa.array([1.5, nan, None, -inf, 0.25, 0.0, -2.0, 3.0], pa.float32()),
    "null": pa.nulls(8),
    "list": pa.array([[1], None, [2, 3], [], [1], [1], None, [4]]),
}
VALUES: Named = {
    "first": agg.first("x"), "last": agg.last("x"), "max": agg.max("x"), "min": agg.min("x"), "mode": agg.mode("x"),
    "nth_smallest": agg.nth_smallest("x", 2), "arg_max": agg.arg_max("t", "x"),
}  # fmt: skip
LISTS: Named = {
    "collect": agg.collect("x"), "collect_distinct": agg.collect_distinct("x"), "last_n": agg.last_n("x", 2),
    "top_k": agg.top_k("x", 2),
}  # fmt: skip
COUNTS: Named = {"count": agg.count("x"), "count_distinct": agg.count_distinct("x"), "max_count": agg.max_count("x")}
FOR_LISTS = {"first", "last", "arg_max", "collect", "last_n", "count"}
"""What needs neither an order nor equality."""


def in_utc(table: pa.Table) -> pa.Table:
    """Times of a zone as those of UTC: Python subtracts the others by what clocks show."""
    kinds = {field.name: field.type for field in table.schema if getattr(field.type, "tz", None)}
    for name, kind in kinds.items():
        place = table.column_names.index(name)
        table = table.set_column(place, name, table[name].cast(pa.timestamp(kind.unit, "UTC")))
    return table


def results_of(name: str, named: Named, windows: Window, *, compiled: bool = False) -> list[pa.Table]:
    """Results, compared with the oracle: of all rows, of none, and of rows with nothing but nulls."""
    whole = pa.table({"t": range(8), "x": COLUMNS[name]})
    empty = pa.table({"t": range(3), "x": pa.nulls(3, COLUMNS[name].type)})
    tables = []
    for table in (whole, whole.slice(0, 0), empty):
        found = sash.Query(named, windows, time="t").run(table, compiled=compiled)
        assert_equal(found, recompute_query(in_utc(table).to_pylist(), named, windows, time="t"))
        tables.append(found)
    return tables


def only(named: Named, name: str) -> Named:
    return {each: one for each, one in named.items() if name != "list" or each in FOR_LISTS}


WINDOWS = pytest.mark.parametrize("windows", [window.rows(3), window.time(5, slide=2)], ids=str)


@WINDOWS
@pytest.mark.parametrize("name", COLUMNS)
def test_values_of_a_column_keep_its_type(name: str, windows: Window) -> None:
    kind = REAL if name == "null" else COLUMNS[name].type  # kernels read nulls as floats
    for found in results_of(name, only(VALUES, name), windows):
        assert {found.schema.field(each).type for each in only(VALUES, name)} == {kind}


@WINDOWS
@pytest.mark.parametrize("name", COLUMNS)
def test_lists_have_values_of_the_type_of_their_column(name: str, windows: Window) -> None:
    kind = COLUMNS[name].type
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    for found in results_of(name, only(LISTS, name), windows):
        assert {found.schema.field(each).type for each in only(LISTS, name)} == {pa.list_(plain)}


@WINDOWS
@pytest.mark.parametrize("name", COLUMNS)
def test_counts_are_int64_whatever_is_counted(name: str, windows: Window) -> None:
    for found in results_of(name, only(COUNTS, name), windows):
        assert {found.schema.field(each).type for each in only(COUNTS, name)} == {pa.int64()}


@WINDOWS
@pytest.mark.parametrize(
    ("name", "types"),
    [
        ("int8", {"sum": pa.int64(), "mean": REAL, "stddev": REAL, "spread": pa.int64(), "median": REAL}),
        ("uint32", {"sum": pa.int64(), "mean": REAL, "stddev": REAL, "spread": pa.int64(), "median": REAL}),
        ("boolean", {"sum": pa.int64(), "mean": REAL, "any": pa.bool_(), "all": pa.bool_(), "median": REAL}),
        ("float64", {"sum": REAL, "mean": REAL, "spread": REAL, "median": REAL, "any": pa.bool_()}),
        ("float32", {"sum": REAL, "mean": REAL, "spread": REAL, "median": REAL}),
        ("decimal", {"sum": pa.decimal128(20, 2), "mean": pa.decimal128(14, 6), "spread": pa.decimal128(11, 2)}),
        ("timestamp", {"spread": pa.duration("us"), "median": pa.timestamp("us")}),
        ("zoned", {"spread": pa.duration("s"), "median": pa.timestamp("us", "Europe/Berlin")}),
        ("nanoseconds", {"spread": pa.duration("ns")}),
        ("date32", {"spread": pa.duration("s")}),
        ("duration", {"spread": pa.duration("ms")}),
        ("null", {"sum": REAL, "mean": REAL, "median": REAL}),
    ],
)
def test_arithmetic_has_a_type_even_without_results(name: str, types: dict[str, pa.DataType], windows: Window) -> None:
    named = {each: BUILT_IN[each]("x") for each in types}
    if name in ("decimal", "date32", "nanoseconds"):  # rounded, or Python's own differences: types alone
        tables = [sash.Query(named, windows, time="t").run(pa.table({"t": range(8), "x": COLUMNS[name]}))]
    else:
        tables = results_of(name, named, windows)
    for found in tables:
        assert {each: found.schema.field(each).type for each in types} == types


@pytest.mark.parametrize("name", some(["string", "zoned", "int64", "dictionary"], 4))
def test_values_keep_their_type_compiled(name: str) -> None:
    """All by two kernels: of int64, and of the int32 that stand for values."""
    named = {"last": agg.last("x"), "first": agg.first("x")}
    for found in results_of(name, named, window.rows(3), compiled=True):
        assert found.schema.field("last").type == found.schema.field("first").type == COLUMNS[name].type


@pytest.mark.parametrize("compiled", [False, True])
def test_nullable_integers_never_pass_through_floats(compiled: bool) -> None:
    table = pa.table({"x": pa.array([2**62 + 1, None, 2**62 - 2, -(2**63), None, 2**63 - 1], pa.int64())})
    named = {"total": agg.sum("x"), "last": agg.last("x")}
    found = sash.Query(named, window.rows(2)).run(table, compiled=compiled)
    assert found["total"].to_pylist() == [2**62 + 1, 2**62 + 1, 2**62 - 2, -(2**62) - 2, -(2**63), 2**63 - 1]
    assert found["last"].to_pylist() == [2**62 + 1, 2**62 + 1, 2**62 - 2, -(2**63), -(2**63), 2**63 - 1]
    with pytest.raises(OverflowError, match=r"more than 64 bits\. Cast the column to float64"):
        sash.Query(named, window.rows(3)).run(pa.table({"x": [2**62, 2**62, None]}), compiled=compiled)


@pytest.mark.parametrize("compiled", [False, True])
def test_nan_poisons_only_the_windows_that_hold_it_and_is_the_largest(compiled: bool) -> None:
    table = pa.table({"x": [1.0, nan, 2.0, 3.0, 1e300, 4.0, inf, 5.0]})
    named = {"total": agg.sum("x"), "top": agg.max("x"), "low": agg.min("x")}
    found = sash.Query(named, window.rows(2)).run(table, compiled=compiled)
    assert alike(found["total"].to_pylist(), [1.0, nan, nan, 5.0, 1e300, 1e300, inf, inf])
    assert alike(found["top"].to_pylist(), [1.0, nan, nan, 3.0, 1e300, 1e300, inf, inf])
    assert alike(found["low"].to_pylist(), [1.0, 1.0, 2.0, 2.0, 3.0, 4.0, 4.0, 5.0])


@pytest.mark.parametrize("compiled", [True, False])
def test_times_of_a_zone_are_told_apart_where_its_clocks_are_put_back(compiled: bool) -> None:
    ticks = pa.array([1_762_061_400, 1_762_065_000, 1_762_057_800]).cast(pa.timestamp("s"))  # 01:30 twice, and 00:30
    rows = pa.table(
        {"id": [1, 2, 3], "t": ticks.cast(pa.timestamp("s", "UTC")).cast(pa.timestamp("s", "America/New_York"))}
    )
    aggregates = {"last": agg.max("t"), "apart": agg.spread("t"), "three": agg.top_k("t", 3)}
    found = sash.Query(aggregates, window.rows(3), order_by="id").run(rows, compiled=compiled)
    assert found["last"][-1].value == rows["t"][1].value
    assert found["apart"].to_pylist()[-1].total_seconds() == 7200
    assert [time.value for time in found["three"][-1].values] == [rows["t"][row].value for row in (1, 0, 2)]
    assert found["last"].type == rows["t"].type


# -- every aggregate over every type, interpreted ≡ as users run it ------------------------------------------------------

SOME = pa.array([5, None, 3, 0, 86_399, 5, None, 7])
MORE_COLUMNS: dict[str, pa.Array] = {
    **COLUMNS,
    "ordered": pa.DictionaryArray.from_arrays(
        pa.array([2, None, 0, 1, 0, 2, None, 1], pa.int8()), pa.array(["z", "m", "a"]), ordered=True
    ),
    "time32": SOME.cast(pa.int32()).cast(pa.time32("s")),
    "time64": SOME.cast(pa.time64("us")),
    "nanoseconds of a day": SOME.cast(pa.time64("ns")),
    "nanoseconds apart": SOME.cast(pa.duration("ns")),
    "dictionary of times": SOME.cast(pa.timestamp("us")).dictionary_encode(),
    "dictionary of nanoseconds": SOME.cast(pa.timestamp("ns")).dictionary_encode(),
    "dictionary of numbers": SOME.dictionary_encode(),
    "fixed size": pa.array([b"ab", None, b"cd", b"ab"] * 2, pa.binary(2)),
    "struct": pa.array([{"a": 1}, None] * 4),
}


PAIR = 2


def over(name: str, *columns: str) -> Aggregate[Any]:
    return BUILT_IN[name](*columns, **ARGUMENTS.get(name, {}))


def every_aggregate() -> dict[str, Aggregate[Any]]:
    """Every built-in aggregate of the column `x`; one of two columns with a column of numbers before and after it."""
    made: dict[str, Aggregate[Any]] = {"quantiles": agg.quantile("x", [0.2, 0.5]), "count": agg.count("x")}
    for name in sorted(BUILT_IN.keys() - {"count", "per_value"}):
        if BUILT_IN[name](**ARGUMENTS.get(name, {})).inputs == PAIR:
            made |= {f"{name}_before": over(name, "x", "v"), f"{name}_after": over(name, "v", "x")}
        else:
            made[name] = over(name, "x")
    inner = ("max", "median", "spread")
    return made | {
        "keys": agg.per_value("x", agg.sum("v")),
        **{f"each_{one}": agg.per_value("v", over(one, "x")) for one in inner},
    }


def outcome(query: sash.Query, table: pa.Table, **options: Any) -> tuple[Any, Any]:
    """The type and the values of the result; or the type of the error, whose text may name the row."""
    try:
        found = query.run(table, **options)["r"]
    except (TypeError, ValueError, OverflowError) as error:
        return type(error), None
    return found.type, found.to_pylist()


@pytest.mark.parametrize("name", some(MORE_COLUMNS, 3))
def test_interpreted_results_have_the_type_of_the_schema(name: str) -> None:
    column = MORE_COLUMNS[name]
    table = pa.table({"t": range(8), "v": [3, 1, 2, 5, 4, 9, 7, 8], "x": column})
    nothing = pa.array([None] * 8, pa.int64())
    without = table.set_column(2, "x", column.take(nothing))
    for label, aggregate in every_aggregate().items():
        query = sash.Query({"r": aggregate}, window.rows(3), time="t")
        for rows in (table, table.slice(0, 0), without):
            kind, values = outcome(query, rows)
            other_kind, other_values = outcome(query, rows, compiled=False)
            assert other_kind == kind, label
            assert alike(other_values, values), label
            if not isinstance(kind, type):
                assert kind == query.schema(rows).field("r").type, label


@pytest.mark.parametrize("compiled", [None, True, False])
def test_the_newest_by_ordered_categories_is_of_the_other_column(compiled: bool | None) -> None:
    size, hue = pa.array(["small", "medium", "large"]), pa.array(["red", "blue"])
    rows = pa.table(
        {
            "size": pa.DictionaryArray.from_arrays(pa.array([0, 2, 1, None], pa.int8()), size, ordered=True),
            "hue": pa.DictionaryArray.from_arrays(pa.array([1, 0, 1, 0], pa.int8()), hue, ordered=True),
            "number": [7, 8, 9, 10],
            "text": ["p", "q", "r", "s"],
        }
    )
    others = ["hue"] if compiled else rows.column_names  # each kind of column is a kernel
    named = {f"{one}_{other}": BUILT_IN[one]("size", other) for one in ("arg_max", "arg_min") for other in others}
    found = sash.Query(named, window.rows(4)).run(rows, compiled=compiled)
    for other in others:
        assert found.schema.field(f"arg_max_{other}").type == rows.schema.field(other).type
        listed = rows[other].to_pylist()
        assert found[f"arg_max_{other}"].to_pylist() == [listed[place] for place in (0, 1, 1, 1)]
        assert found[f"arg_min_{other}"].to_pylist() == [listed[place] for place in (0, 0, 0, 0)]


@pytest.mark.parametrize("compiled", [None, False])
def test_maps_use_the_order_of_categories(compiled: bool | None) -> None:
    codes, size = pa.array([0, 2, 1, None], pa.int8()), pa.array(["small", "medium", "large"])
    rows = pa.table(
        {"size": pa.DictionaryArray.from_arrays(codes, size, ordered=True), "k": [1, 1, 2, 2], "v": [5, 6, 7, 8]}
    )
    named = {
        "top": agg.per_value("k", agg.max("size")),
        "least": agg.per_value("k", agg.nth_smallest("size", 1)),
        "newest": agg.per_value("k", agg.rank("size")),
        "at_top": agg.per_value("k", agg.arg_max("size", "v")),
        "keys": agg.per_value("size", agg.max("v")),
    }
    last = (
        sash.Query(named, window.rows(4)).run(rows, compiled=compiled).slice(3).to_pylist(maps_as_pydicts="strict")[0]
    )
    assert {name: last[name] for name in named} == {
        "top": {1: "large", 2: "medium"},
        "least": {1: "small", 2: "medium"},
        "newest": {1: 2.0, 2: 1.0},
        "at_top": {1: 6, 2: 7},
        "keys": {"small": 5, "large": 6, "medium": 7},
    }


@pytest.mark.parametrize("compiled", [None, True, False])
def test_times_of_day_are_subtracted(compiled: bool | None) -> None:
    ticks = pa.array([5, 3, None, 86_399_000_000], pa.int64())
    for kind in (pa.time64("us"), pa.time64("ns")):
        rows = pa.table({"x": ticks.cast(kind)})
        found = sash.Query({"apart": agg.spread("x")}, window.rows(3)).run(rows, compiled=compiled)["apart"]
        assert found.type == pa.duration(kind.unit)
        assert found.cast(pa.int64()).to_pylist() == [0, 2, 2, 86_399_000_000 - 3]


def own(lower: Any) -> Aggregate[Any]:
    return sash.aggregate("own", lift=lambda x: [x], combine=lambda older, newer: older + newer, lower=lower)


@pytest.mark.parametrize(
    ("lower", "expected"),
    [
        (lambda xs: sum(xs) / 3 if sum(xs) > 6 else sum(xs), [0, 3, 7 / 3, 8 / 3]),  # the first are whole numbers
        (lambda xs: [1.5] if sum(xs) > 6 else [1], [[1], [1], [1.5], [1.5]]),
        (lambda xs: {"a": 1} if sum(xs) > 6 else {"b": 2}, [{"a": None, "b": 2}] * 2 + [{"a": 1, "b": None}] * 2),
        (lambda xs: Decimal(sum(xs)) / 4, [Decimal("0.00"), Decimal("0.75"), Decimal("1.75"), Decimal("2.00")]),
    ],
)
def test_what_ones_own_aggregate_gives_is_not_forced_into_the_type_of_a_sample(lower: Any, expected: list[Any]) -> None:
    rows = pa.table({"id": [1, 2, 3, 4], "x": [0, 3, 4, 1]})
    found = sash.Query({"own": own(lower)("x")}, window.rows(3), order_by="id").run(rows)["own"].to_pylist()
    assert found == expected


@pytest.mark.parametrize("kind", [pa.timestamp("ns"), pa.decimal128(9, 2), pa.date32()], ids=str)
def test_sketches_of_nothing_but_nulls_have_their_type_whatever_the_column(kind: pa.DataType) -> None:
    rows = pa.table({"t": [1, 2], "x": pa.nulls(2, kind)})
    named: dict[str, Any] = {
        "n": agg.frequency("x", item=3),
        "seen": agg.may_contain("x", item=3),
        "different": agg.approx_count_distinct("x"),
    }
    query = sash.Query(named, window.rows(2), time="t")
    types = [pa.int64(), pa.bool_(), pa.int64()]
    assert query.schema(rows).types[2:] == query.run(rows).schema.types[2:] == types
