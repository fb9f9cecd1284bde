"""Demo data: generated smart-plug readings. `readings_source.py` reads them on Spark, the live page also in this process.

Each row is a function of the seed and of its row number, so that rows are the same in any micro-batch and after a restart.
Rows are numbered as they arrive. Plugs are read in turn, at a steady pace, and a reading has the time of its turn. A share of
the readings is late: it arrives at a later turn, whose own reading is late as well.

    turn     100  101  102  103  104  105  106  107  108  109      late=0.5: one of two turns, chosen by hash
    arrives  100   99   96  103  101  105  106  102  108  104      at most `lateness` back

Rows arrive out of order, but each reading arrives once. No two have the same time, unless there are more than a million in a
second of `ts`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sash.algorithms.occurrence_table import mix
from sash.durations import TimeUnit, read_duration

SCHEMA = pa.schema(
    {
        "house": pa.int32(),
        "household": pa.int32(),
        "plug": pa.string(),
        "ts": pa.timestamp("us", "UTC"),
        "load": pa.float64(),
        "work": pa.float64(),
    }
)
"""As in examples/data/readings.parquet: load in W, sometimes null, and cumulative work in kWh."""
APPLIANCES = {  # watts in standby, watts when on, minutes on, minutes from one start to the next
    "fridge": (1.2, 92, 17, 47),
    "freezer": (1.6, 118, 34, 71),
    "kettle": (0.4, 2150, 3, 480),
    "oven": (1.1, 2400, 20, 1440),
    "washing machine": (0.6, 560, 97, 1440),
    "dishwasher": (0.7, 900, 75, 1440),
    "television": (0.5, 104, 165, 1440),
    "computer": (2.3, 84, 240, 1440),
    "lamps": (0.0, 74, 350, 1440),
    "towel heater": (0.3, 600, 40, 1440),
}
HOUSEHOLDS = np.array([[*map(int, plugs)] for plugs in ("023684", "027895", "012364", "027683", "013549", "026785")])
"""The appliances on the plugs of a household, by number: six kinds of households, repeated."""
PLUGS = HOUSEHOLDS.shape[1]
HOUSEHOLDS_PER_HOUSE = 2
MISSING = 0.004
MILLION = 1_000_000
MINUTE = 60 * MILLION
FIRST = int(np.datetime64("2026-03-02T18:00:00", "us").astype(np.int64))
"""The time of row 0."""
LAST = int(np.datetime64("9999-12-31T00:00:00", "us").astype(np.int64))
MAX_LATE = 1 << 31
"""Its square still fits an int64."""
MAX_ROWS = 1 << 43
"""A million times as many still fit an int64."""
LIMITS = {"households": (1, MAX_LATE), "seed": (0, 1 << 63), "rows": (0, MAX_ROWS), "rows_per_batch": (1, MAX_ROWS)}
NEXT = 0x9E3779B97F4A7C15
"""The increment of SplitMix64, whose output function is `mix`."""
ARRIVAL, LATE, PLUG, NOISE, GAP = range(1, 6)
"""Purposes of random numbers."""
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Readings:
    """The options of the source, and the rows that they define.

    >>> readings = Readings(rows_per_second=10, late=0.1)
    >>> readings.batch(500, 503)["plug"].to_pylist()
    ['washing machine', 'oven', 'towel heater']
    >>> readings.batch(0, 1000).slice(500, 3).equals(readings.batch(500, 503))
    True
    """

    rows_per_second: float = 1_000
    households: int = 6
    late: float = 0.05
    lateness: str = "2m"
    speed: float = 1
    seed: int = 0
    rows: int | None = None
    rows_per_batch: int | None = None

    def __post_init__(self) -> None:
        """Raise ValueError if an option is invalid."""
        checks = [
            ("rows_per_second", 0 < self.rows_per_second < math.inf, "a number above 0"),
            ("speed", 0 < self.speed < math.inf, "a number above 0"),
            ("late", 0 <= self.late <= 1, "a share of all rows, from 0 to 1"),
        ]
        for name, (low, high) in LIMITS.items():
            value = getattr(self, name)
            checks.append((name, value is None or low <= value <= high, f"a whole number from {low} to {high}"))
        for name, valid, expected in checks:
            if not valid:
                raise ValueError(f"{name}={getattr(self, name)} must be {expected}.")
        if not self._late_block and self._late:
            apart = self._step / self._late  # in seconds: a late row comes every million / late steps
            raise ValueError(
                f"lateness={self.lateness!r} is too short for late={self.late}: late rows are {apart:.3g} s of the readings' "
                "time apart, and lateness must be at least twice that: lengthen it, or give late=0."
            )
        if self.rows is not None and FIRST + self.rows * self._step >= LAST:
            raise ValueError(
                f"rows={self.rows} at {self.rows_per_second} a second and speed={self.speed} last beyond the year 9999."
            )

    @classmethod
    def read(cls, options: Mapping[str, str]) -> Readings:
        """Parse the options of a Spark source. Raises ValueError if one is unknown or invalid.

        >>> Readings.read({"rows": "20", "late": "0"}).rows
        20
        """
        known = {field.name: field.type for field in fields(cls)}
        if unknown := sorted(options.keys() - known.keys()):
            raise ValueError(f"sash_readings has no option {', '.join(unknown)}. Its options are {', '.join(known)}.")
        values: dict[str, Any] = {}
        for name, text in options.items():
            try:
                values[name] = text if known[name] == "str" else float(text) if known[name] == "float" else int(text)
            except ValueError as error:
                raise ValueError(
                    f"{name}={text!r} must be {'a number' if known[name] == 'float' else 'a whole number'}."
                ) from error
        return cls(**values)

    def __str__(self) -> str:
        """Return the options that rows depend on."""
        names = ("rows_per_second", "households", "late", "lateness", "speed", "seed")
        return ", ".join(f"{name}={getattr(self, name)}" for name in names)

    def batch(self, begin: int, end: int) -> pa.RecordBatch:
        """Return the rows `begin … end - 1`, in the order in which they arrive."""
        turn = self.turns(np.arange(begin, end))
        micros = np.floor(turn * self._step).astype(np.int64) + FIRST
        plug, household = np.divmod(turn % (PLUGS * self.households), self.households)
        appliance = HOUSEHOLDS[household % len(HOUSEHOLDS), plug]
        standby, watts, minutes, cycle = np.array(list(APPLIANCES.values())).T[:, appliance]
        # each plug switches on at another time, draws more or less, and has counted other work before
        random = self._random(PLUG, household * PLUGS + plug)
        cycles = (micros - FIRST) / MINUTE / cycle + random % 1_000 / 1_000
        minute = cycles % 1 * cycle
        minutes_on = np.floor(cycles) * minutes + np.minimum(minute, minutes)
        load = np.where(minute < minutes, watts, standby) * (0.99 + 0.02 * self._random(NOISE, turn) / 2.0**63)
        work = (standby * cycles * cycle + (watts - standby) * minutes_on) / 60_000
        size = 0.8 + random // 1_000 % 1_000 / 2_500
        columns = [
            pa.array((household // HOUSEHOLDS_PER_HOUSE + 1).astype(np.int32)),
            pa.array((household % HOUSEHOLDS_PER_HOUSE + 1).astype(np.int32)),
            pa.array(list(APPLIANCES)).take(pa.array(appliance)),
            pa.array(micros).view(SCHEMA.field("ts").type),
            pa.array((load * size).round(1), mask=self._random(GAP, turn) < MISSING * 2.0**63),
            pa.array((work * size + 20 + random // MILLION % 400).round(3)),
        ]
        return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)

    def turns(self, arrived: Ints) -> Ints:
        """Return the turn whose reading each arrival is: its own, or an earlier one's that is late.

        >>> readings = Readings(late=0.5, lateness="8ms")
        >>> readings.turns(np.arange(100, 110)).tolist()
        [100, 99, 96, 103, 101, 105, 106, 102, 108, 104]
        """
        if not self._late:
            return arrived
        group = arrived * self._late // MILLION
        late = arrived == self._late_turn(group)
        # the late readings of one block of groups arrive in the next block, in another order
        block, place = np.divmod(group[late], self._late_block)
        step = round(self._late_block * 0.618) or 1  # the golden ratio visits far places first
        while math.gcd(step, self._late_block) > 1:
            step += 1
        shuffled = (place * step + self._random(ARRIVAL, block) % self._late_block) % self._late_block
        turns = arrived.copy()
        turns[late] = self._late_turn((block - 1) * self._late_block + shuffled)
        return turns

    def _late_turn(self, group: Ints) -> Ints:
        """Return the turn of each group whose reading is late: with late=0.1 a group has ten turns."""
        first, after = (-(-number * MILLION // self._late) for number in (group, group + 1))
        return np.asarray(first + self._random(LATE, group) % (after - first))

    def _random(self, purpose: int, numbers: Ints) -> Ints:
        """Hash each number to 63 bits."""
        counted = numbers.astype(np.uint64) * np.uint64(NEXT) + np.uint64(mix(self.seed * 8 + purpose))
        bits: Any = mix(counted)  # type: ignore[arg-type]  # uint64 wraps around, as in SplitMix64
        return np.asarray(bits.astype(np.int64))

    @cached_property
    def _late(self) -> int:
        """Late rows in a million: groups are counted in integers."""
        return round(self.late * MILLION)

    @cached_property
    def _step(self) -> float:
        """Microseconds from one reading to the next."""
        return self.speed * MILLION / self.rows_per_second

    @cached_property
    def _late_block(self) -> int:
        """Groups in a block: from the first turn of one block to the last of the next is at most the lateness."""
        micros = read_duration(self.lateness, "lateness").in_ticks(TimeUnit("ts", 1_000))
        return min(MAX_LATE, math.floor(micros / self._step) * self._late // (2 * MILLION))
