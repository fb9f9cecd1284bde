"""Keys of structs, lists and maps are grouped as Spark groups them, whatever they are nested in."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sash
from sash import agg, window
from sash.engine.group_ids import number_keys
from sash.state import reader as stream
from sash.windows.base import as_it_stands

LEAVES: dict[pa.DataType, list[Any]] = {
    pa.int8(): [0, 1, -7],
    pa.uint64(): [0, 2**64 - 1],
    pa.float64(): [0.0, -0.0, 1.5, math.nan],
    pa.float32(): [0.0, -0.0, math.nan],
    pa.bool_(): [True, False],
    pa.string(): ["", "a", "NaN"],
    pa.string_view(): ["", "a"],
    pa.large_binary(): [b"", b"a"],
    pa.binary(2): [b"ab", b"cd"],
    pa.decimal128(9, 2): [Decimal("0.00"), Decimal("1.25")],
    pa.decimal32(5, 1): [Decimal("0.0"), Decimal("2.5")],
    pa.date32(): [date(1970, 1, 1), date(2024, 2, 29)],
    pa.timestamp("us"): [datetime(2024, 1, 1), datetime(1960, 1, 1)],  # noqa: DTZ001 — of no zone, as the column
    pa.duration("ms"): [timedelta(0), timedelta(1)],
    pa.dictionary(pa.int8(), pa.string()): ["a", "b"],
    pa.null(): [None],
}
VIEWS = (pa.string_view(), pa.decimal32(5, 1))
"""What Arrow can't cast within views of lists."""
COUNT = sash.Query({"n": agg.count()}, window.tumbling(10), by="k", time="t")


def of_type(inner: pa.DataType, other: pa.DataType, made: str) -> pa.DataType:
    types = {
        "struct": pa.struct([("a", inner), ("b", other)]),
        "empty": pa.struct([]),
        "list": pa.list_(inner),
        "large": pa.large_list(inner),
        "two": pa.list_(inner, 2),
        "view": pa.list_view(pa.string() if any(str(view) in str(inner) for view in VIEWS) else inner),
        "map": pa.map_(pa.string() if pa.types.is_null(inner) else inner, other),
    }
    return types[made]


LEAF_TYPES = st.sampled_from(list(LEAVES))
NESTED_TYPES = st.recursive(
    LEAF_TYPES,
    lambda inner: st.builds(
        of_type, inner, inner, st.sampled_from(["struct", "empty", "list", "large", "two", "view", "map"])
    ),
    max_leaves=4,
)


def values_of(kind: pa.DataType, *, there: bool = False) -> st.SearchStrategy[Any]:
    """Values of a type, as Python has them; in maps, no two entries have the same key."""
    values: st.SearchStrategy[Any]
    if kind in LEAVES:
        values = st.sampled_from(LEAVES[kind])
    elif pa.types.is_struct(kind):
        values = st.fixed_dictionaries({field.name: values_of(field.type) for field in kind})
    elif pa.types.is_map(kind):
        entries = st.tuples(values_of(kind.key_type, there=True), values_of(kind.item_type))
        values = st.lists(entries, max_size=3, unique_by=lambda entry: frozen(entry[0], kind.key_type))
    else:
        least, most = (2, 2) if pa.types.is_fixed_size_list(kind) else (0, 2)
        values = st.lists(values_of(kind.value_type), min_size=least, max_size=most)
    return values if there else st.none() | values


def frozen(value: Any, kind: pa.DataType) -> Hashable:
    """What says whether two values are the same key."""
    if value is None:
        return None
    if pa.types.is_struct(kind):
        return tuple(frozen(value[field.name], field.type) for field in kind)
    if pa.types.is_map(kind):
        return frozenset((frozen(key, kind.key_type), frozen(item, kind.item_type)) for key, item in value)
    if pa.types.is_nested(kind):
        return tuple(frozen(item, kind.value_type) for item in value)
    return ("NaN",) if isinstance(value, float) and math.isnan(value) else value


def numbered(keys: list[Hashable]) -> list[int]:
    """Numbers of keys in the order of their first rows."""
    first: dict[Hashable, int] = {}
    return [first.setdefault(key, len(first)) for key in keys]


def number(column: pa.Array | pa.ChunkedArray) -> list[int]:
    numbers: list[int] = number_keys(pa.table({"k": column}), ("k",), as_it_stands)[0].tolist()
    return numbers


@given(data=st.data(), kind=NESTED_TYPES)
def test_keys_are_grouped_as_plain_python_groups_them(data: st.DataObject, kind: pa.DataType) -> None:
    values = data.draw(st.lists(values_of(kind), max_size=8))
    begin, cut = data.draw(st.integers(0, len(values))), data.draw(st.integers(0, len(values)))
    column = pa.chunked_array([pa.array(values[:cut], kind), pa.array(values[cut:], kind).slice(0)], kind)
    expected = [frozen(value, kind) for value in values]
    rows = pa.table({"k": column, "t": pa.array([3] * len(values), pa.int64())})
    for some, keys in ((rows, expected), (rows.slice(begin), expected[begin:])):
        result = COUNT.run(some)
        counts = Counter(keys)
        assert [frozen(key, kind) for key in result["k"].to_pylist()] == list(counts)
        assert result["n"].to_pylist() == list(counts.values())


@given(data=st.data(), kind=NESTED_TYPES)
def test_streams_have_nested_keys(data: st.DataObject, kind: pa.DataType) -> None:
    values = data.draw(st.lists(values_of(kind), max_size=8))
    order: Any = data.draw(st.sampled_from(["time", "keys"]))
    if order == "keys":
        codes = numbered([frozen(value, kind) for value in values])
        values = [value for _, value in sorted(zip(codes, values, strict=True), key=lambda pair: pair[0])]
    expected = Counter(frozen(value, kind) for value in values)
    rows = pa.table({"k": pa.array(values, kind), "t": pa.array([3] * len(values), pa.int64())})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stream, "MOST_ROWS", 2)
        result = COUNT.run(rows.to_reader(2), order=order).read_all()
    assert dict(zip((frozen(key, kind) for key in result["k"].to_pylist()), result["n"].to_pylist(), strict=True)) == (
        expected
    )


def test_a_struct_that_is_not_there_is_none_of_nulls() -> None:
    under = pa.StructArray.from_arrays(
        [pa.array([1, 2, None, 1, 3]), pa.array([[1], [2], None, [1], [1]])],
        names=["a", "b"],
        mask=pa.array([False, True, False, False, True]),
    )
    assert number(under) == [0, 1, 2, 0, 1]
    assert number(under.slice(1)) == [0, 1, 2, 0]
    assert number(pa.array([{}, None, {}], pa.struct([]))) == [0, 1, 0]


def test_a_list_that_is_not_there_is_no_empty_one() -> None:
    values = pa.array([1, 2, 1, 2, 9, 1, 2])
    lists = pa.ListArray.from_arrays(
        pa.array([0, 2, 4, 4, 5, 7]), values, mask=pa.array([False, True, False, True, False])
    )
    assert number(lists) == [0, 1, 2, 1, 0]
    assert number(lists.slice(1)) == [0, 1, 0, 2]
    fixed = pa.FixedSizeListArray.from_arrays(values[:6], 2, mask=pa.array([False, True, False]))
    assert number(pa.concat_arrays([fixed, fixed.slice(1)])) == [0, 1, 2, 1, 2]


def test_entries_of_maps_have_no_order() -> None:
    kind = pa.map_(pa.float64(), pa.list_(pa.float32()))
    nan = math.nan
    maps = pa.array([[(0.0, [nan]), (nan, None)], [(nan, None), (-0.0, [nan])], [(0.0, [nan])], [], None, []], kind)
    assert number(maps) == [0, 0, 1, 2, 3, 2]
    assert number(pa.array([[(1, 2)], [(2, 1)], [(1, 2)]], pa.map_(pa.int8(), pa.int8()))) == [0, 1, 0]


def test_keys_of_many_different_parts_are_told_apart() -> None:
    rows = 1 << 11
    parts = [pa.array(np.random.default_rng(place).permutation(rows)) for place in range(7)]
    wide = pa.StructArray.from_arrays([*parts, pa.array(np.arange(rows) // 2)], names=list("abcdefgh"))
    assert number(pa.concat_arrays([wide, wide])) == [*range(rows), *range(rows)]


@pytest.mark.parametrize("compiled", [False, True])
def test_results_keep_the_type_of_nested_keys(compiled: bool) -> None:
    kind = pa.struct([("place", pa.list_(pa.float32(), 2)), ("tags", pa.map_(pa.string(), pa.decimal128(9, 2)))])
    here: dict[str, Any] = {"place": [1.5, 2.0], "tags": [("a", Decimal("0.25")), ("b", None)]}
    swapped = {**here, "tags": here["tags"][::-1]}
    rows = pa.table({"k": pa.array([here, None, swapped], kind), "other": [1, 1, 1], "x": [1, 2, 4]})
    query = sash.Query({"sum": agg.sum("x")}, window.rows(2, slide=1), by=["k", "other"])
    result = query.run(rows, compiled=compiled)
    assert result.schema.field("k").type == kind
    assert result.to_pydict() == {"k": [here, here, None], "other": [1, 1, 1], "sum": [1, 5, 2]}


def test_frames_have_nested_keys() -> None:
    lists = [[1, 2], [1], [1, 2]]
    query = sash.Query({"sum": agg.sum("x")}, window.rows(2, slide=1), by="k")
    frame = query.run(pl.DataFrame({"k": lists, "x": [1, 2, 4]}))
    assert frame.to_dict(as_series=False) == {"k": [[1, 2], [1, 2], [1]], "sum": [1, 5, 2]}
    structs = query.run(pd.DataFrame({"k": [{"a": 1}, {"a": 2}, {"a": 1}], "x": [1, 2, 4]}))
    assert structs.to_dict("list") == {"k": [{"a": 1}, {"a": 1}, {"a": 2}], "sum": [1, 5, 2]}


def test_nested_keys_that_come_again_are_said() -> None:
    rows = pa.table({"k": [{"a": [math.nan]}, None, {"a": [math.nan]}], "t": [1, 2, 3]})
    with pytest.raises(ValueError, match=r"Rows of k={'a': \[nan\]} arrived again after rows of another key"):
        COUNT.run(rows.to_reader(), order="keys").read_all()


@pytest.mark.parametrize(
    "kind",
    [
        pa.sparse_union([pa.field("a", pa.int8())]),
        pa.list_(pa.dense_union([pa.field("a", pa.int8())])),
        pa.struct([("id", pa.uuid())]),
        pa.list_view(pa.string_view()),
        pa.map_(pa.string(), pa.run_end_encoded(pa.int32(), pa.int8())),
    ],
)
def test_keys_that_can_not_be_told_apart_are_refused(kind: pa.DataType) -> None:
    with pytest.raises(TypeError, match=r"The key 'k' is of type .*, whose values cannot be compared\. .*\.$"):
        COUNT.explain(pa.schema({"k": kind, "t": pa.int64()}))
