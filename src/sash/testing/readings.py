"""Readings of smart plugs, as many as one likes: each row is a function of the seed and of its number, and of nothing else.

Rows are numbered as they arrive. Plugs are read in turn, at a steady pace, and a reading has the time of its turn. Of a share
of the turns the reading is held back: it arrives at a later such turn, while that one's own reading is held back as well.

    turn     100  101  102  103  104  105  106  107  108  109      late=0.5: one of two turns, drawn by lot
    arrives  100   99   96  103  101  105  106  102  108  104      lateness: so far back at most

So rows arrive out of order, and yet each reading arrives once. No two are of the same time, unless there are more than a
million in a second of it: times are in microseconds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import timedelta
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sash.algorithms.occurrence_table import mix
from sash.testing.appliances import DAY, HOUSEHOLDS, STEP, Floats, watts
from sash.windows.durations import TimeUnit, read_duration

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
"""As in examples/data/readings.parquet: load in W, null where it is missing, and work so far in kWh."""
FIRST = int(np.datetime64("2026-03-02T18:00:00", "us").astype(np.int64))
"""The time of row 0: a Monday evening, when much is switched on."""
LAST = int(np.datetime64("9999-12-31T00:00:00", "us").astype(np.int64))
DAYS = 7
"""After which appliances repeat."""
STEPS = DAY // STEP
APPLIANCES = tuple(dict.fromkeys(appliance for owned in HOUSEHOLDS.values() for appliance in owned))
OWNED = np.array([[APPLIANCES.index(appliance) for appliance in owned] for owned in HOUSEHOLDS.values()])
"""Which appliances a household of each kind has."""
PLUGS = OWNED.shape[1]
MISSING = 0.004
HOUSEHOLDS_OF_A_HOUSE = 2
MILLION = 1_000_000
MOST_ROWS = 1 << 43
"""A million times as many are still counted in an int64."""
MOST_HELD_BACK = 1 << 31
"""Its square is still an int64."""
FIRST_STEP = FIRST // (DAY * MILLION) * STEPS
"""Of that day, at midnight."""
NEXT = 0x9E3779B97F4A7C15
"""From one number to the next: SplitMix64's, which `mix` is from."""
ARRIVAL, HOLDER, OWNER, NOISE, GAP = range(1, 6)
"""What lots are drawn for."""
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Readings:
    """Readings of so many households with six plugs each; `batch` makes any stretch of them.

    >>> readings = Readings(rows_per_second=10, late=0.1)
    >>> readings.batch(500, 503)["plug"].to_pylist()
    ['washing machine', 'oven', 'towel heater']
    >>> readings.batch(0, 1000).slice(500, 3).equals(readings.batch(500, 503))
    True
    """

    rows_per_second: float = 1_000
    """How many arrive in a second."""
    households: int = 6
    late: float = 0.05
    """The share of rows that arrive after readings of later times."""
    lateness: str | timedelta = "2m"
    """How late at most, in the time of readings."""
    speed: float = 1
    """How many seconds of the readings' time pass in a second."""
    seed: int = 0
    rows: int | None = None
    """How many there are, if not without end."""
    rows_per_batch: int | None = None
    """How many a stream takes at most at once."""

    def __post_init__(self) -> None:
        """Say what is wrong with an option."""
        for name in ("rows_per_second", "speed"):
            given = getattr(self, name)
            if not 0 < given < math.inf:
                message = f"{name}={given} must be a number above 0."
                raise ValueError(message)
        for name, least, most in (
            ("households", 1, MOST_HELD_BACK),
            ("seed", 0, 1 << 63),
            ("rows", 0, MOST_ROWS),
            ("rows_per_batch", 1, MOST_ROWS),
        ):
            given = getattr(self, name)
            if given is not None and not least <= given <= most:
                message = f"{name}={given} must be a whole number from {least} to {most}."
                raise ValueError(message)
        if not 0 <= self.late <= 1:
            message = f"late={self.late} must be a share of all rows, from 0 to 1."
            raise ValueError(message)
        if not self._held_back and self._late:
            apart = self._step / self._late  # in seconds, since a late one comes once in a million / late steps
            message = (
                f"lateness={self.lateness!r} is too short for late={self.late}: late rows are {apart:.3g} s of the readings' "
                "time apart, and lateness must be twice that at least: lengthen it, or give late=0."
            )
            raise ValueError(message)
        if self.rows is not None and FIRST + self.rows * self._step >= LAST:
            message = (
                f"rows={self.rows} at {self.rows_per_second} a second and speed={self.speed} last beyond the year 9999."
            )
            raise ValueError(message)

    @classmethod
    def read(cls, options: Mapping[str, str]) -> Readings:
        """Return the readings that options in words ask for.

        >>> Readings.read({"rows": "20", "late": "0"}).rows
        20
        """
        readers: dict[str, Any] = {"rows_per_second": float, "late": float, "speed": float, "lateness": str}
        wrong = options.keys() - {field.name for field in fields(cls)}
        if wrong:
            known = ", ".join(field.name for field in fields(cls))
            message = f"Readings have no option {', '.join(sorted(wrong))}: there are {known}."
            raise ValueError(message)
        read = {}
        for name, given in options.items():
            reader = readers.get(name, int)
            try:
                read[name] = reader(given)
            except ValueError as error:
                needed = "a whole number" if reader is int else "a number"
                message = f"{name}={given!r} must be {needed}."
                raise ValueError(message) from error
        return cls(**read)

    def __str__(self) -> str:
        """Return what rows are made of: all options that change one."""
        made_of = ("rows_per_second", "households", "late", "lateness", "speed", "seed")
        return ", ".join(f"{name}={getattr(self, name)}" for name in made_of)

    def batch(self, begin: int, end: int) -> pa.RecordBatch:
        """Return the rows `begin … end - 1`, in the order in which they arrive."""
        turn = self.turns(np.arange(begin, end))
        micros = np.floor(turn * self._step).astype(np.int64) + FIRST
        plug, household = np.divmod(turn % (PLUGS * self.households), self.households)
        appliance = OWNED[household % len(OWNED), plug]
        # each plug begins its appliance's week on another day, up to an hour later than others, and draws more or less
        lot = self._lot(OWNER, household * PLUGS + plug)
        step = micros // (STEP * MILLION) - lot % 120 + STEPS * (lot // 1_000 % DAYS)
        weeks, step = np.divmod(step - FIRST_STEP, STEPS * DAYS)
        size = 0.8 + lot // 10_000 % 1_000 / 2_500
        loads, works = _week(self.seed)
        load = loads[appliance, step] * size * (0.99 + 0.02 * self._lot(NOISE, turn) / 2.0**63)
        work = (works[appliance, step] + weeks * works[appliance, -1]) * size + 20 + lot // 10_000_000 % 400
        columns = [
            pa.array((household // HOUSEHOLDS_OF_A_HOUSE + 1).astype(np.int32)),
            pa.array((household % HOUSEHOLDS_OF_A_HOUSE + 1).astype(np.int32)),
            pa.array([appliance.name for appliance in APPLIANCES]).take(pa.array(appliance)),
            pa.array(micros).view(SCHEMA.field("ts").type),
            pa.array(load.round(1), mask=self._lot(GAP, turn) < MISSING * 2.0**63),
            pa.array(work.round(3)),
        ]
        return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)

    def turns(self, arrived: Ints) -> Ints:
        """Return whose turn's reading each arrival is: its own, or an earlier one's that was held back.

        >>> readings = Readings(late=0.5, lateness="8ms")
        >>> readings.turns(np.arange(100, 110)).tolist()
        [100, 99, 96, 103, 101, 105, 106, 102, 108, 104]
        """
        if not self._late:
            return arrived
        group = arrived * self._late // MILLION
        late = arrived == self._holding_back(group)
        # held back in one block of groups, a reading arrives in the next, anywhere in it
        block, place = np.divmod(group[late], self._held_back)
        shuffled = (place * _coprime(self._held_back) + self._lot(ARRIVAL, block) % self._held_back) % self._held_back
        turns = arrived.copy()
        turns[late] = self._holding_back((block - 1) * self._held_back + shuffled)
        return turns

    def _holding_back(self, group: Ints) -> Ints:
        """Return the turn that holds back of each group: of late=0.1 a group is of ten turns."""
        first, after = (-(-number * MILLION // self._late) for number in (group, group + 1))
        return np.asarray(first + self._lot(HOLDER, group) % (after - first))

    def _lot(self, purpose: int, numbers: Ints) -> Ints:
        """Draw 63 bits for each number."""
        counted = numbers.astype(np.uint64) * np.uint64(NEXT) + np.uint64(mix(self.seed * 8 + purpose))
        bits: Any = mix(counted)  # type: ignore[arg-type]  # NumPy's uint64 wrap as mix means it
        return np.asarray(bits.astype(np.int64))

    @cached_property
    def _late(self) -> int:
        """Rows in a million: so that groups are counted in integers."""
        return round(self.late * MILLION)

    @cached_property
    def _step(self) -> float:
        """Microseconds from one reading to the next."""
        return self.speed * MILLION / self.rows_per_second

    @cached_property
    def _held_back(self) -> int:
        """How many readings are held back at a time: from one block's first turn to the next one's last is the lateness."""
        micros = read_duration(self.lateness, "lateness").in_ticks(TimeUnit("ts", 1_000))
        return min(MOST_HELD_BACK, math.floor(micros / self._step) * self._late // (2 * MILLION))


def _coprime(size: int) -> int:
    """Return by how much to go on in a block to come to all its places, and to far ones first: the golden ratio."""
    step = round(size * 0.618) or 1
    while math.gcd(step, size) > 1:
        step += 1
    return step


@lru_cache(maxsize=4)
def _week(seed: int) -> tuple[Floats, Floats]:
    """Return what each appliance draws in a week's steps, and how much work that is up to each."""
    random = np.random.default_rng(seed)
    loads = np.array([watts(appliance, random, DAYS) for appliance in APPLIANCES])
    return loads, loads.cumsum(axis=1) * STEP / 3_600_000
