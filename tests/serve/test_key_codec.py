"""Keys as bytes: equal for equal keys, and only for these, whatever engine wrote them."""

from __future__ import annotations

import math
import pickle
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.serializers import CloudPickleSerializer

from sash.serve.key_codec import KeyCodec

TEXTS = st.text(max_size=4)
VALUES: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.int64(): st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(-2, 2),
    pa.uint64(): st.integers(0, (1 << 64) - 1) | st.integers(0, 2),
    pa.float64(): st.floats(),
    pa.string(): TEXTS.filter(lambda text: not any(0xD800 <= ord(one) < 0xE000 for one in text)),
    pa.binary(): st.binary(max_size=4),
    pa.bool_(): st.booleans(),
    pa.decimal128(8, 3): st.decimals(-9999, 9999, places=3),
    pa.date32(): st.dates(date(1, 1, 1), date(9999, 1, 1)),
    pa.timestamp("us"): st.datetimes(),
    pa.timestamp("us", "UTC"): st.datetimes(timezones=st.just(UTC)),
    pa.duration("us"): st.timedeltas(timedelta(days=-10_000_000), timedelta(days=10_000_000)),
}


def same(older: Any, newer: Any) -> bool:
    """Return whether two values are the same key: NaN equals NaN."""
    both = isinstance(older, float) and isinstance(newer, float)
    return older == newer or (both and math.isnan(older) and math.isnan(newer))


@pytest.mark.parametrize("dtype", VALUES, ids=str)
@given(data=st.data())
def test_keys_are_equal_if_their_values_are(dtype: pa.DataType, data: st.DataObject) -> None:
    one = VALUES[dtype] | st.none()
    rows = data.draw(st.lists(st.tuples(one, one), min_size=2, max_size=6))
    codec = KeyCodec(pa.schema({"a": dtype, "b": dtype}))
    table = pa.table({"a": pa.array([a for a, _ in rows], dtype), "b": pa.array([b for _, b in rows], dtype)})
    keys = codec.encode(table)
    for older, first in zip(rows, keys, strict=True):
        for newer, second in zip(rows, keys, strict=True):
            assert (first == second) == all(map(same, older, newer)), (older, newer)
        assert codec.encode_one({"a": older[0], "b": older[1]}) == first
        assert first[:1] != b"\0"  # the metadata of a store in Redis begin so


@pytest.mark.parametrize("dtype", [*VALUES, pa.time32("s"), pa.time64("ns")], ids=str)
def test_workers_of_spark_get_the_codec(dtype: pa.DataType) -> None:
    """Spark's pickle writes lambdas with all that they read, such as a Struct, which cannot be written."""
    codec = KeyCodec(pa.schema({"a": dtype}))
    written = CloudPickleSerializer().dumps(codec)  # type: ignore[no-untyped-call]
    sent: KeyCodec = pickle.loads(written)  # noqa: S301 — of this test
    rows = pa.table({"a": pa.nulls(2, dtype)})
    assert sent.encode(rows) == codec.encode(rows)


SAME_KEYS: list[tuple[pa.Array, pa.Array]] = [
    (pa.array([7, None], pa.int8()), pa.array([7, None], pa.int64())),
    (pa.array([7], pa.uint64()), pa.array([7], pa.int32())),
    (pa.array([0.0, math.nan]), pa.array([-0.0, -math.nan])),
    (pa.array([1.5], pa.float32()), pa.array([1.5])),
    (pa.array(["é", ""]), pa.array(["é", ""]).dictionary_encode()),
    (pa.array(["x"], pa.large_string()), pa.array(["x"], pa.string_view())),
    (pa.array([Decimal("1.50")], pa.decimal128(5, 2)), pa.array([Decimal("1.5")], pa.decimal256(50, 1))),
    (pa.array([Decimal("0.00")]), pa.array([Decimal(0)])),
    (pa.array([Decimal(1200)]), pa.array([Decimal("1200.0")])),
    (pa.array([datetime(2026, 3, 2)], pa.timestamp("s")), pa.array([datetime(2026, 3, 2)], pa.timestamp("ns"))),  # noqa: DTZ001
    (pa.array([5], pa.timestamp("us", "UTC")), pa.array([5_000], pa.timestamp("ns", "Europe/Berlin"))),
    (pa.array([date(2026, 3, 2)], pa.date32()), pa.array([date(2026, 3, 2)], pa.date64())),
    (pa.array([timedelta(seconds=3)], pa.duration("s")), pa.array([timedelta(seconds=3)], pa.duration("ns"))),
]
"""Columns that differ in their types, as those of two engines do, and not in their values."""


@pytest.mark.parametrize(("older", "newer"), SAME_KEYS, ids=lambda column: str(column.type))
def test_the_width_of_a_type_does_not_matter(older: pa.Array, newer: pa.Array) -> None:
    keys = [KeyCodec(pa.schema({"k": column.type})).encode(pa.table({"k": column})) for column in (older, newer)]
    assert keys[0] == keys[1]


def test_values_of_different_types_are_different_keys() -> None:
    columns = [
        pa.array([1]),
        pa.array(["1"]),
        pa.array([b"1"]),
        pa.array([1.0]),
        pa.array([True]),
        pa.array([Decimal(1)]),
        pa.array([1], pa.date32()),
        pa.array([1], pa.timestamp("ns")),
        pa.array([1], pa.timestamp("ns", "UTC")),
        pa.array([1], pa.duration("ns")),
        pa.array([1], pa.time64("ns")),
        pa.array([""]),
        pa.array([None]),
        pa.array([b""]),
    ]
    keys = {KeyCodec(pa.schema({"k": column.type})).encode(pa.table({"k": column}))[0] for column in columns}
    assert len(keys) == len(columns)


FITS: list[tuple[pa.DataType, Any, Any]] = [
    (pa.int64(), "42", 42),
    (pa.int64(), "-42", -42),
    (pa.uint64(), "18446744073709551615", (1 << 64) - 1),
    (pa.float64(), "1e3", 1000.0),
    (pa.float64(), 3, 3.0),
    (pa.bool_(), "true", True),
    (pa.string(), "42", "42"),
    (pa.dictionary(pa.int8(), pa.string()), "x", "x"),
    (pa.decimal128(5, 2), "1.5", Decimal("1.50")),
    (pa.decimal128(5, 2), 2, Decimal("2.00")),
    (pa.binary(), "eA==", b"x"),
    (pa.date32(), "2026-03-02", date(2026, 3, 2)),
    (pa.timestamp("us", "UTC"), "2026-03-02T11:00:00+01:00", datetime(2026, 3, 2, 10, tzinfo=UTC)),
    (pa.timestamp("ns"), "2026-03-02 10:00:00", datetime(2026, 3, 2, 10)),  # noqa: DTZ001
    (pa.duration("s"), "60", timedelta(minutes=1)),
]
"""What a request sends, and the value in the data."""


@pytest.mark.parametrize(("dtype", "sent", "value"), FITS, ids=str)
def test_text_of_a_request_is_read_by_the_type_of_the_column(dtype: pa.DataType, sent: Any, value: Any) -> None:
    codec = KeyCodec(pa.schema({"k": dtype}))
    rows = pa.table({"k": pa.array([value], getattr(dtype, "value_type", dtype)).cast(dtype)})
    assert codec.encode_one({"k": sent}) == codec.encode(rows)[0]
    assert codec.encode_one({"k": None}) == b"z"


WRONG: list[tuple[pa.DataType, Any]] = [
    *((pa.int64(), text) for text in ("", "x", "4.0", "٣", "1e3", " 1", "1_0")),
    *((pa.int64(), value) for value in (4.0, 4.5, True, 1 << 63, b"1")),
    (pa.int64(), [1]),
    (pa.int64(), {}),
    *((pa.string(), value) for value in (1, 1.5, True)),
    *((pa.bool_(), value) for value in (1, "1", "yes")),
    *((pa.decimal128(5, 2), value) for value in ("1.555", 1.5, "x", "1e9")),
    *((pa.float64(), value) for value in ("x", True)),
    *((pa.date32(), value) for value in (1, "2026-13-02")),
    *((pa.timestamp("us", "UTC"), value) for value in (5, "2026-03-02T10:00:00", datetime(2026, 3, 2))),  # noqa: DTZ001
    *((pa.timestamp("us"), value) for value in (5, "2026-03-02T10:00:00Z", datetime(2026, 3, 2, tzinfo=UTC))),
    (pa.binary(), "x"),
    (pa.int8(), 200),
]


@pytest.mark.parametrize(("dtype", "sent"), WRONG, ids=str)
def test_a_value_of_another_type_is_refused(dtype: pa.DataType, sent: Any) -> None:
    with pytest.raises(ValueError, match="The key column 'k' has the type"):
        KeyCodec(pa.schema({"k": dtype})).encode_one({"k": sent})


def test_the_columns_must_be_those_of_the_key() -> None:
    codec = KeyCodec(pa.schema({"card": pa.int64(), "shop": pa.string()}))
    with pytest.raises(ValueError, match=r"There is no key column 'crad'. Did you mean 'card'"):
        codec.encode_one({"crad": 1, "shop": "x"})
    with pytest.raises(ValueError, match=r"The key column 'shop' is missing. The key columns are 'card', 'shop'."):
        codec.encode_one({"card": 1})
    with pytest.raises(TypeError, match="The key column 'tags' has the type list"):
        KeyCodec(pa.schema({"tags": pa.list_(pa.string())}))
    assert KeyCodec(pa.schema([])).encode(pa.table({"state": [b"x"]})) == [b""]
