"""A case of Nexmark, on frames or on streams. Rows are events: all kinds together, whatever a query reads of them."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.spark_batch.case import SparkCase, SparkContestant
from benchmarks.spark_streaming.case import StreamCase


@dataclass(frozen=True, kw_only=True)
class NexmarkContestant(SparkContestant):
    """One way to answer a query; `readings` are the tables that it reads."""

    is_early: bool = False
    """It answers before the watermark has passed: only final answers are compared."""


@dataclass(frozen=True, kw_only=True)
class NexmarkCase(SparkCase):
    """A query over frames."""

    contestants: tuple[NexmarkContestant, ...]
    seconds: int = 200
    """From the first event to the last: with fewer events, there are fewer in a second."""
    rows: int = 2_000_000
    repeats: int = 9


@dataclass(frozen=True, kw_only=True)
class NexmarkStreamCase(StreamCase):
    """A query over streams."""

    contestants: tuple[NexmarkContestant, ...]
    seconds: int = 20
    """Of a batch."""
    rows: int = 200_000
    batches: int = 4
    repeats: int = 1
    checked: int = 2_000
