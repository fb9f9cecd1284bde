"""Random tables: rows of some keys in an order of time, with columns of random types."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Self

import pyarrow as pa

from fuzz.calls import Lengths, in_ticks, in_units
from fuzz.random_columns import (
    DAY,
    INTEGERS,
    TICK,
    UNITS,
    WORDS,
    ZONES,
    Column,
    random_keys,
    random_numbers,
    random_values,
    with_nulls,
)
from sash.testing.strategies import GAPS

STARTS = (0, 1_711_843_200, 1_729_987_200, 951_696_000, -3_600, 7_258_118_400)
"""Seconds since 1970: 1970, two changes of clocks in 2024, a leap day, just before 1970, the year 2200."""


@dataclass(frozen=True)
class TimeKind:
    """The type of a time column, and how long a step between rows is."""

    type_text: str
    tick: int | None
    """Nanoseconds of a tick; None if times are integers."""
    zone: str
    grain: int
    """The ticks of a step: times and lengths of windows are multiples of it, most of the time."""

    @property
    def lengths(self) -> Lengths:
        """How lengths are written in the query."""
        return in_ticks if self.tick is None else in_units(self.tick)

    @property
    def has_calendar(self) -> bool:
        """Whether windows of days and months fit: the times span months, and Python knows them."""
        return self.tick is not None and self.grain * self.tick >= 3_600 * 10**9


@dataclass(frozen=True)
class RandomTable:
    """Columns by name. `id` numbers rows in the order of arrival, `t` is the time, `v` and `mark` are for windows, the rest is for aggregates."""

    columns: dict[str, Column]
    time: TimeKind | None

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(next(iter(self.columns.values())).values)

    @property
    def text(self) -> str:
        """The table as Python."""
        return f"pa.table({{{', '.join(f'{name!r}: {column.text}' for name, column in self.columns.items())}}})"

    def table(self) -> pa.Table:
        """Return the table."""
        return pa.table({name: column.array() for name, column in self.columns.items()})

    def take(self, places: Sequence[int]) -> Self:
        """Return some rows."""
        return replace(self, columns={name: column.take(places) for name, column in self.columns.items()})

    def only(self, names: Sequence[str]) -> Self:
        """Return some columns."""
        return replace(self, columns={name: column for name, column in self.columns.items() if name in names})


def random_table(chooser: random.Random) -> RandomTable:
    """Return a table."""
    rows = chooser.choice(
        [0, 1, 2, *[chooser.randint(3, 14)] * 5, *[chooser.randint(15, 60)] * 4, chooser.randint(60, 400)]
    )
    keys = chooser.choice([1, 2, 3, 4, 4, 60 if rows > 60 else 5])
    nulls = chooser.choice([0, 0.1, 0.4, 1.0 if chooser.random() < 0.2 else 0.1])
    time = random_time(chooser)
    columns = {
        "id": Column("pa.int64()", list(range(rows))),
        "k": random_keys(chooser, rows, keys),
        "g": random_keys(chooser, rows, 2),
    }
    if time is not None:
        columns["t"] = Column(time.type_text, random_times(chooser, time, rows, keys))
    return RandomTable(
        {
            **columns,
            "v": random_distances(chooser, rows),
            "mark": with_nulls(chooser, Column("pa.bool_()", chooser.choices([True, False, False], k=rows)), chooser.choice([0, 0.2])),
            "s": with_nulls(chooser, Column("pa.string()", chooser.choices(WORDS, k=rows), frozenset({"ordered", "hashed", "text"})), nulls),
            "x": random_numbers(chooser, rows, nulls),
            "y": random_numbers(chooser, rows, nulls),
            "z": random_values(chooser, rows, nulls),
        },
        time,
    )  # fmt: skip


def random_time(chooser: random.Random) -> TimeKind | None:
    """Return a type of times; None for rows in the order that they have."""
    kind = chooser.choice(["none", "integer", "integer", "date", *["timestamp"] * 8])
    if kind == "none":
        return None
    if kind == "integer":
        name = chooser.choice(["int64", "int64", "int32", "int16", "uint32", "uint64"])
        return TimeKind(f"pa.{name}()", None, "", chooser.choice([1, 1, 7]))
    if kind == "date":
        name = chooser.choice(["date32", "date32", "date64"])
        return TimeKind(f"pa.{name}()", DAY if name == "date32" else 10**6, "", 1 if name == "date32" else 86_400_000)
    unit = chooser.choice([*UNITS, "ns", "us"])
    zone = chooser.choice(["", "", chooser.choice(ZONES)])
    seconds = chooser.choice([0, 1, 60, 3_600, 3_600, 86_400, 7 * 86_400])
    grain = 10**9 // TICK[unit] * seconds or chooser.choice([1, 1000])
    quoted = f', "{zone}"' if zone else ""
    return TimeKind(f'pa.timestamp("{unit}"{quoted})', TICK[unit], zone, grain)


def random_times(chooser: random.Random, time: TimeKind, rows: int, keys: int) -> list[int]:
    """Return times, in order or not, with ties and gaps."""
    steps = [chooser.choice(GAPS) for _ in range(rows)]
    if chooser.random() < 0.15:
        steps = [step if chooser.random() < 0.9 else step * 40 for step in steps]
    counts = list(accumulate(steps, initial=chooser.randint(-40, 20)))[1:]
    if keys > 5:
        counts = [count // keys for count in counts]
    start = 0
    if time.tick is not None:
        start = chooser.choice(STARTS) * 10**9 // time.tick // time.grain * time.grain
    if time.type_text == "pa.date32()":
        start = chooser.choice(STARTS) // 86_400
    low = 0
    if time.tick is None:
        low, high = INTEGERS[time.type_text.removeprefix("pa.").removesuffix("()")]
        start = chooser.choice([0, 0, 50 * time.grain if low == 0 else 0, 10**15 if high > 10**16 else 10])
    times = [start + count * time.grain for count in counts]
    if chooser.random() < 0.15 and time.grain > 1 and time.type_text != "pa.date64()":
        times = [one + chooser.choice([0, 0, 1, -1]) for one in times]
    if low == 0 and time.tick is None and times and min(times) < 0 and "uint" in time.type_text:
        times = [one - min(times) for one in times]
    if time.type_text == "pa.int16()":
        times = [max(-(2**15) + 1000, min(2**15 - 1000, one)) for one in times]
    if chooser.random() < 0.4:
        chooser.shuffle(times)
    else:
        times.sort()
    return times


def random_distances(chooser: random.Random, rows: int) -> Column:
    """Return a column for delta windows: numbers without nulls."""
    name = chooser.choice(["int64", "int64", "int32", "int8", "uint8", "float64", "float32"])
    values: list[float] = [chooser.randint(0 if name == "uint8" else -6, 6) for _ in range(rows)]
    if name.startswith("float"):
        values = [value * chooser.choice([1, 1, 1.1, 0.25]) for value in values]
    return Column(f"pa.{name}()", values, frozenset({"number", "small", "ordered", "hashed"}))
