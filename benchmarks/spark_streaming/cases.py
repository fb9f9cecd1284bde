"""The table of cases on streams of Spark's, with the targets of each. Rows are those of a batch."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from benchmarks.case import Target
from benchmarks.spark_batch import native
from benchmarks.spark_batch.case import Question
from benchmarks.spark_batch.cases import PER_WINDOW, Asked, faster
from benchmarks.spark_batch.sash_calls import by_sash
from benchmarks.spark_streaming.case import StreamCase
from benchmarks.spark_streaming.of_slices import combine_closed
from sash import window

RANGE, SLIDE = "1h", "1m"
SLIDING = window.time(RANGE, slide=SLIDE)
HOUR = Question(f"{RANGE} every {SLIDE}", partial(native.exploded, RANGE, SLIDE), PER_WINDOW)
BY_SPARK, SLICES = "Spark's window", "slices by Spark"
TEN = {f"w{minutes}m": (f"{minutes}m", SLIDE) for minutes in range(6, 61, 6)}
SECOND = 1e9
FEW_KEYS = 1_000


def within(seconds: float, rows: int) -> Target:
    """Return that a batch of so many rows takes at most so many seconds."""
    return Target(at_most=seconds * SECOND / rows)


def many_keys() -> Iterator[StreamCase]:
    """Yield some rows of each of many keys."""
    asked = Asked(HOUR, "25 rows a key")
    yield StreamCase(
        name=f"20 K keys × 25 rows, {HOUR.range}",
        contestants=(
            asked.sash(by_sash(SLIDING)),
            asked.spark(BY_SPARK, partial(native.sliding, RANGE, SLIDE), 50_000),
            asked.sash(partial(combine_closed, SLIDING, "1 minute"), SLICES),
        ),
        rows=500_000,
        targets=(within(1, 250_000), faster(10, BY_SPARK), faster(1, SLICES)),
    )


def few_keys() -> Iterator[StreamCase]:
    """Yield many rows of each of few keys."""
    asked = Asked(HOUR, "2000 rows a key")
    yield StreamCase(
        name=f"100 keys × 2000 rows, {HOUR.range}",
        contestants=(
            asked.sash(by_sash(SLIDING)),
            asked.sash(partial(combine_closed, SLIDING, "1 minute"), SLICES),
        ),
        rows=200_000,
        checked=4_000,
        targets=(within(1, 150_000), faster(1, SLICES)),
    )


def small() -> Iterator[StreamCase]:
    """Yield a batch that is small for its keys."""
    yield StreamCase(
        name=f"10 K keys × 1 row, {HOUR.range}",
        contestants=(Asked(HOUR, "1 row a key").sash(by_sash(SLIDING)),),
        rows=10_000,
        checked=100,
        targets=(within(1, 10_000),),
    )


def sharing() -> Iterator[StreamCase]:
    """Yield ten windows in one query beside one."""
    ten = Question(
        f"{next(iter(TEN))[1:]} … {RANGE}, every {SLIDE}", partial(native.several, TEN), ("window", *PER_WINDOW)
    )
    windows = {name: window.time(length, slide=slide) for name, (length, slide) in TEN.items()}
    yield StreamCase(
        name="ten windows beside one, 20 K keys × 25 rows",
        contestants=(
            Asked(ten, "25 rows a key").sash(by_sash(windows), "ten windows"),
            Asked(HOUR, "25 rows a key").sash(by_sash(SLIDING), "one window"),
        ),
        rows=500_000,
        targets=(Target(contestant="ten windows", against="one window", at_most=2),),
    )


def a_state_for_each() -> Iterator[StreamCase]:
    """Yield as many buckets as keys beside as many as Sash has."""
    asked = Asked(HOUR, "25 rows a key")
    yield StreamCase(
        name=f"a state for each key, 1 K keys × 25 rows, {HOUR.range}",
        contestants=(
            asked.sash(by_sash(SLIDING)),
            asked.sash(by_sash(SLIDING, buckets=FEW_KEYS), "1,000 buckets"),
        ),
        rows=25 * FEW_KEYS,
        targets=(faster(1, "1,000 buckets"),),
    )


CASES: tuple[StreamCase, ...] = (*many_keys(), *few_keys(), *small(), *sharing(), *a_state_for_each())
