"""Random columns: types and values, and what the aggregates may do with them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Self

import pyarrow as pa

from fuzz.calls import build

NAN, INF = float("nan"), float("inf")
WORDS = ["ant", "bee", "cat", "", "Ant", "ähre", "z" * 20]
UNITS = ("s", "ms", "us", "ns")
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Adelaide")
TICK = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
DAY = 86_400 * 10**9
INTEGERS = {
    "int8": (-(2**7), 2**7 - 1), "int16": (-(2**15), 2**15 - 1), "int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1),
    "uint8": (0, 2**8 - 1), "uint16": (0, 2**16 - 1), "uint32": (0, 2**32 - 1), "uint64": (0, 2**64 - 1),
}  # fmt: skip


@dataclass(frozen=True)
class Column:
    """A column: the text of its Arrow type, and values that `pa.array` takes; times are integers."""

    type_text: str
    values: list[Any]
    traits: frozenset[str] = frozenset()
    """What the values allow: see `random_aggregates`."""

    @property
    def type(self) -> pa.DataType:
        """The Arrow type."""
        kind: pa.DataType = build(self.type_text)
        return kind

    @property
    def text(self) -> str:
        """The column as Python."""
        return f"pa.array({self.values!r}, {self.type_text})"

    def array(self) -> pa.Array:
        """Return the column as an array."""
        kind = self.type
        if pa.types.is_dictionary(kind):  # in the order of WORDS, which is not that of text
            plain = pa.array(self.values, kind.value_type)
            known = pa.array(sorted(set(self.values) - {None}, key=rank_of), kind.value_type)
            codes = pa.compute.index_in(plain, known).cast(kind.index_type)
            return pa.DictionaryArray.from_arrays(codes, known, ordered=kind.ordered)
        return pa.array(self.values, kind)

    def take(self, places: Sequence[int]) -> Self:
        """Return some rows."""
        return replace(self, values=[self.values[place] for place in places])


def rank_of(value: Any) -> Any:
    """Return the place of a category among all, so that their order is not that of text."""
    return (WORDS[::-1].index(value), "") if value in WORDS else (len(WORDS), value)


def traits(*names: str) -> frozenset[str]:
    return frozenset(names)


SMALL = traits("number", "small", "ordered", "hashed")
"""Numbers for which all arithmetic is well conditioned."""
LARGE = traits("number", "ordered", "hashed")
PLAIN = traits("ordered", "hashed")


def random_numbers(chooser: random.Random, rows: int, nulls: float) -> Column:
    """Return a column of numbers."""
    family = chooser.choice(["integer", "integer", "float", "float", "decimal", "bool"])
    if family == "bool":
        return with_nulls(
            chooser, Column("pa.bool_()", chooser.choices([True, False], k=rows), SMALL | {"bool"}), nulls
        )
    if family == "decimal":
        digits, scale = chooser.choice([(10, 2), (38, 6), (5, 0)])
        values: list[Any] = [Decimal(chooser.randint(-400, 400)).scaleb(-scale) for _ in range(rows)]
        kind = chooser.choice(["decimal128", "decimal128", "decimal256"])
        return with_nulls(chooser, Column(f"pa.{kind}({digits}, {scale})", values, SMALL | {"decimal"}), nulls)
    if family == "integer":
        name = chooser.choice(list(INTEGERS))
        low, high = INTEGERS[name]
        if chooser.random() < 0.25:
            wide = [low, high, 0, 1, low + 1, high - 1, high // 2, min(high, 2**53), min(high, 2**53 + 1)]
            return with_nulls(chooser, Column(f"pa.{name}()", chooser.choices(wide, k=rows), LARGE | {"wide"}), nulls)
        values = [chooser.randint(max(low, -4), 9) for _ in range(rows)]
        return with_nulls(chooser, Column(f"pa.{name}()", values, SMALL), nulls)
    name = chooser.choice(["float64", "float64", "float32"])
    values = [chooser.randint(-40, 40) / 4 for _ in range(rows)]
    share = chooser.random()
    own = SMALL
    if share < 0.3:
        values = [chooser.choice([NAN, INF, -INF, -0.0, 0.0]) if chooser.random() < 0.2 else value for value in values]
        own = LARGE | {"special"}
    elif share < 0.45:
        values = [chooser.choice([1e30, -1e30, 1e-30, 3.4e38, 1.5, NAN, -0.0]) for _ in values]
        own = LARGE | {"wild"}
    return with_nulls(chooser, Column(f"pa.{name}()", values, own | {"float"}), nulls)


def random_values(chooser: random.Random, rows: int, nulls: float) -> Column:
    """Return a column of any other type."""
    few = chooser.choice([2, 3, len(WORDS)])
    words = chooser.choices(WORDS[:few], k=rows)
    unit = chooser.choice(UNITS)
    moments = [(1_711_846_798 + chooser.choice([0, 1, 86_400, -40 * 10**7])) * 10**9 // TICK[unit] for _ in range(rows)]
    if unit in ("us", "ns"):
        moments = [one + chooser.choice([0, 0, 1]) * (1_000 if unit == "ns" else 1) for one in moments]
    days = [chooser.choice([19_813, 19_814, -1, 0]) for _ in range(rows)]
    zone = f', "{chooser.choice(ZONES)}"' if chooser.random() < 0.5 else ""
    short = "s" if chooser.random() < 0.5 else "ms"
    hours = [chooser.choice([0, 3_600, 86_399]) for _ in range(rows)]
    made = chooser.choice(
        [
            Column("pa.string()", words, PLAIN | {"text"}),
            Column("pa.large_string()", words, PLAIN | {"text"}),
            Column("pa.dictionary(pa.int32(), pa.string())", words, PLAIN | {"text"}),
            Column("pa.dictionary(pa.int8(), pa.string(), ordered=True)", words, traits("hashed", "ranked")),
            Column("pa.dictionary(pa.int16(), pa.int64())", [WORDS.index(word) for word in words], PLAIN),
            Column("pa.binary()", [word.encode() for word in words], PLAIN),
            Column(f'pa.timestamp("{unit}"{zone})', moments, PLAIN | {"time"}),
            Column(f'pa.duration("{unit}")', [one % 1000 for one in moments] if unit != "ns" else [one % 1000 * 1000 for one in moments], PLAIN | {"time"}),
            Column("pa.date32()", days, PLAIN | {"time"}),
            Column("pa.date64()", [day * 86_400_000 for day in days], PLAIN | {"time"}),
            Column(f'pa.time32("{short}")', [one * (1 if short == "s" else 1000) for one in hours], PLAIN | {"clock"}),
            Column('pa.time64("us")', [one * 10**6 for one in hours], PLAIN | {"clock"}),
            Column("pa.null()", [None] * rows, traits("hashed", "null")),
            Column("pa.list_(pa.int64())", [[one] for one in hours], traits("nested")),
        ]
    )  # fmt: skip
    return with_nulls(chooser, made, nulls)


def random_keys(chooser: random.Random, rows: int, keys: int) -> Column:
    """Return a key column with up to `keys` values, and sometimes null."""
    numbers = [chooser.randrange(keys) for _ in range(rows)]
    kind = chooser.choice(["string", "string", "int64", "int32", "float64", "bool", "dictionary", "date32", "timestamp", "decimal", "uint64", "null"])  # fmt: skip
    drawn: dict[str, tuple[str, list[Any]]] = {
        "string": ("pa.string()", [f"k{number}" for number in numbers]),
        "int64": ("pa.int64()", [number - 1 for number in numbers]),
        "int32": ("pa.int32()", numbers),
        "float64": ("pa.float64()", [[0.0, -0.0, NAN, 1.5][number] if number < 4 else float(number) for number in numbers]),
        "bool": ("pa.bool_()", [number % 2 == 0 for number in numbers]),
        "dictionary": ("pa.dictionary(pa.int32(), pa.string())", [f"k{number}" for number in numbers]),
        "date32": ("pa.date32()", [19_000 + number for number in numbers]),
        "timestamp": ('pa.timestamp("us", "Europe/Berlin")', [10**15 + number for number in numbers]),
        "decimal": ("pa.decimal128(9, 2)", [Decimal(number) / 4 for number in numbers]),
        "uint64": ("pa.uint64()", [2**64 - 1 - number for number in numbers]),
        "null": ("pa.null()", [None] * rows),
    }  # fmt: skip
    text, values = drawn[kind]
    return with_nulls(chooser, Column(text, values), chooser.choice([0, 0, 0.2]))


def with_nulls(chooser: random.Random, column: Column, share: float) -> Column:
    """Return a column in which a share of the values is null."""
    if not share:
        return column
    return replace(column, values=[None if chooser.random() < share else value for value in column.values])
