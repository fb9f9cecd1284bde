"""The events: the key, time and value of an event are computed from its number n, so all engines have the same ones.

Times are milliseconds. Within each block of ten events the times are permuted, so events are slightly out of order; the watermark waits for
a block. No two events have the same time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

FIRST = 1_772_323_200_000
"""2026-03-01 00:00 UTC, in milliseconds."""
PRIME = 1_000_003
VALUES = 9_973
BLOCK, TURN = 10, 7
"""TURN and BLOCK have no common divisor, so `i * TURN % BLOCK` permutes a block."""

Event: TypeAlias = tuple[int, int, float]
"""Key, time, value."""


@dataclass(frozen=True)
class Events:
    """The first `count` events of `keys` keys, one in every `step` milliseconds."""

    count: int
    keys: int = 1_000
    step: int = 10

    @property
    def delay(self) -> int:
        """The milliseconds that the watermark waits: no event is later."""
        return BLOCK * self.step

    @property
    def final_watermark(self) -> int:
        """The watermark after all events."""
        first_of_last_block = max(0, self.count - BLOCK)
        return int(max(self.columns_of(n)[1] for n in range(first_of_last_block, self.count))) - self.delay

    def columns_of(self, n: Any) -> tuple[Any, Any, Any]:
        """Return key, time and value of a number, or of a NumPy array of numbers.

        >>> [Events(20, keys=3, step=5).columns_of(n)[1] - FIRST for n in range(11)]
        [0, 35, 20, 5, 40, 25, 10, 45, 30, 15, 50]
        """
        m = n % PRIME
        mixed = (m * m % PRIME * m + 7 * m) % PRIME
        place = n - n % BLOCK + n % BLOCK * TURN % BLOCK
        return mixed % self.keys, FIRST + place * self.step, ((mixed * 31 + m * 17) % VALUES + 1) / 100

    def tuples(self, begin: int = 0) -> Iterator[Event]:
        """Yield the events from a number on."""
        return map(self.columns_of, range(begin, self.count))

    @property
    def sql(self) -> dict[str, str]:
        """Key, time and value of the BIGINT column n, in SQL that has no `%`, and no `/` of integers."""
        m = mod("n", PRIME)
        mixed = mod(f"{mod(f'{m} * {m}', PRIME)} * {m} + 7 * {m}", PRIME)
        rest = mod("n", BLOCK)
        place = f"(n - {rest} + {mod(f'{rest} * {TURN}', BLOCK)})"
        return {
            "key": mod(mixed, self.keys),
            "ms": f"{FIRST} + {place} * {self.step}",
            "x": f"CAST({mod(f'{mixed} * 31 + {m} * 17', VALUES)} + 1 AS DOUBLE) / 100",
        }


def mod(value: str, by: int | str) -> str:
    """Return the rest of a division in SQL. In Flink it has the type of the divisor, and products of INT overflow without an error.

    >>> mod("n", 7)
    'MOD(n, CAST(7 AS BIGINT))'
    """
    return f"MOD({value}, CAST({by} AS BIGINT))"
