"""The table of cases, with the targets of each. Rows are those of a micro-batch."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.case import Target
from benchmarks.stream_growth.case import (
    BYTES,
    FIRST,
    MEASURES,
    SASH,
    SLIDING,
    TIME,
    TUMBLING,
    WAYS,
    GrowthCase,
    GrowthContestant,
)

KEYS = (10_000, 100_000, 1_000_000, 3_000_000)
LENGTHS = {10: "10m", 60: "1h", 1440: "1d"}
"""The length of a window by its slices of one minute."""
BATCHES = {10: 24, 60: 12, 1440: 12}
"""The micro-batches of a stream, of half a minute each, by slices: the shortest windows close and leave the state, others stay open."""
SLIDING_BATCHES = 6
"""Spark copies each row into ten windows, so fewer micro-batches are enough to see what one costs."""


def say_keys(keys: int) -> str:
    """Write a number of keys in K and M of 1,000.

    >>> say_keys(10_000), say_keys(3_000_000)
    ('10 K keys', '3 M keys')
    """
    return f"{keys // 1_000_000} M keys" if keys >= 1_000_000 else f"{keys // 1_000} K keys"  # noqa: PLR2004


def contestant(way: str, keys: int, slices: int) -> GrowthContestant:
    """Return one way to aggregate a stream with a number of keys."""
    return GrowthContestant(
        name=f"{way}, {say_keys(keys)}",
        role="sash" if way == SASH else "peer",
        package="sash" if way == SASH else "pyspark",
        keys=keys,
        way=WAYS[way],
        batches=SLIDING_BATCHES if way == SLIDING else BATCHES[slices],
    )


def targets_of(shown: str) -> Iterator[Target]:
    """Yield the targets of a measure."""
    most, least = say_keys(KEYS[-1]), say_keys(KEYS[0])
    if shown == TIME:  # a throughput of 0.8 times that with few keys
        yield Target(contestant=f"{SASH}, {most}", against=f"{SASH}, {least}", at_most=1 / 0.8)
    factor = {BYTES: 3.0, FIRST: 1.5}.get(shown)
    for keys in map(say_keys, KEYS if factor else ()):
        yield Target(contestant=f"{SASH}, {keys}", against=f"{TUMBLING}, {keys}", at_most=factor)


def all_cases() -> Iterator[GrowthCase]:
    """Yield a case for each window and each measure."""
    for slices, length in LENGTHS.items():
        ways = (SASH, TUMBLING, *([SLIDING] if slices == min(LENGTHS) else []))
        for shown, measure in MEASURES.items():
            yield GrowthCase(
                name=f"{slices:,} slices, {shown}",
                length=length,
                slices=slices,
                shown=shown,
                measure=measure,
                contestants=[contestant(way, keys, slices) for keys in KEYS for way in ways],
                targets=tuple(targets_of(shown)),
            )


CASES: tuple[GrowthCase, ...] = tuple(all_cases())
