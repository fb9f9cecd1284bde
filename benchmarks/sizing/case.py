"""A case: a coefficient, or a number that was planned beside the one that was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import sash
from benchmarks.case import BYTES, COUNT, RATIO, SECONDS, Case, Contestant
from sash import agg, window

CORES = 2
HEAP = 2 << 30
"""The bytes of the heap of Java. Java fills it before it collects garbage."""
WINDOW, LONG, SLIDE = "5m", "1h", "1m"
SLICES = {WINDOW: 5, LONG: 60}
INTERVAL = 30.0
"""Seconds of event time of a micro-batch."""
BATCHES, FEWEST_BATCHES = 18, 4
STEADY = 6
"""The last micro-batches, in which as many windows close as begin."""

COEFFICIENTS: Mapping[str, tuple[str, str]] = {
    "batch_seconds": (SECONDS, "a micro-batch, on each core"),
    "row_seconds": (SECONDS, "a row"),
    "change_seconds": (SECONDS, "a slice that a micro-batch changes"),
    "slice_seconds": (SECONDS, "a slice in the state, in each micro-batch"),
    "result_seconds": (SECONDS, "a result"),
    "key_bytes": (BYTES, "a key in the state, besides its slices"),
    "written_share": (RATIO, "bytes written for a byte of changed slices"),
    "stored_share": (RATIO, "bytes stored for a byte of state"),
    "java_bytes": (BYTES, "heap of Java, on each core: a setting"),
    "worker_bytes": (BYTES, "memory of the Python worker, on each core"),
    "row_bytes": (BYTES, "memory of a row of a micro-batch"),
    "result_bytes": (BYTES, "memory of a result of a micro-batch"),
    "restart_seconds": (SECONDS, "the first micro-batch after a restart, on each core"),
    "restart_slice_seconds": (SECONDS, "a slice at a restart"),
    "most_slices": (COUNT, "slices on a core in the largest stream"),
    "most_rows": (COUNT, "rows of its micro-batches on a core"),
}
"""By the name that `sash.state.size_plan` has for it: its unit, and what it is of."""
PLANNED: Mapping[str, tuple[str, str]] = {
    "processor time": (SECONDS, "processor time of a micro-batch"),
    "memory": (BYTES, "memory of Java and the Python workers"),
    "checkpoint": (BYTES, "all files of the checkpoint"),
    "restart": (SECONDS, "processor time of a restart, beyond a usual micro-batch"),
}
PLAN, MEASURED = "planned", "measured"


def query(length: str = WINDOW) -> sash.Query:
    """Return the query of a stream."""
    return sash.Query({"total": agg.sum("x"), "n": agg.count()}, window.time(length, slide=SLIDE), by="key", time="ts")


@dataclass(frozen=True)
class SizedStream:
    """A stream: how many keys it has, and how many rows its micro-batches have."""

    keys: int
    rows: int
    batches: int = BATCHES
    window: str = WINDOW

    @property
    def slices(self) -> int:
        """The slices of a window."""
        return SLICES[self.window]


@dataclass(frozen=True, kw_only=True)
class Streams:
    """The streams of a run: of all but the largest, coefficients are made."""

    warm: SizedStream = SizedStream(200_000, 200_000, 12)
    """Before all others, so that Java has compiled what they use."""
    few_rows: SizedStream = SizedStream(10_000, 50_000)
    few_keys: SizedStream = SizedStream(20_000, 1_200_000, 12)
    many_keys: SizedStream = SizedStream(1_500_000, 300_000)
    long_windows: SizedStream = SizedStream(1_500_000, 300_000, window=LONG)
    """The same rows; no slice leaves the state. So a micro-batch has more slices, and changes as many."""
    largest: SizedStream = SizedStream(5_000_000, 600_000)

    @property
    def named(self) -> Mapping[str, SizedStream]:
        """The streams by name, in the order in which they run."""
        return vars(self)

    def at_most(self, rows: int) -> Streams:
        """Return streams of so few rows that a run shows only that all works."""

        def few(one: SizedStream) -> SizedStream:
            share = min(1.0, rows / self.largest.rows)
            return replace(
                one, keys=max(3, int(one.keys * share)), rows=max(3, int(one.rows * share)), batches=FEWEST_BATCHES
            )

        return Streams(**{name: few(one) for name, one in vars(self).items()})


@dataclass(frozen=True, kw_only=True)
class SizingCase(Case):
    """One number. All cases come from one run."""

    of: str
    streams: Streams = Streams()
    contestants: Sequence[Contestant] = (Contestant(name="Sash", role="sash"),)
    aggregate: str = "sum, count"
    tolerance: float = 1e-9
    repeats: int = 1
    rows: int = Streams().largest.rows

    @property
    def range(self) -> str:
        """The window."""
        return f"{WINDOW} every {SLIDE}"

    def at_most(self, rows: int) -> SizingCase:
        """Return the case with fewer rows and keys."""
        return replace(self, rows=min(rows, self.rows), streams=self.streams.at_most(rows))
