"""What a case is: contestants that answer the same question, and the targets for what is measured."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self, TypeAlias

Call: TypeAlias = Callable[[], Any]
"""What is timed: it returns the answers in whatever form the contestant gives them."""

FASTEST_PEER = "fastest peer"
TIME, WORST_STEP, ERROR, MEMORY = "ns a row", "ns in the worst step", "relative error", "MB at most"
SECONDS = "seconds"
"""Of one call or one process, however many rows it has."""
MEGABYTES = "MB written"
RATE = "events a second"
BYTES_A_KEY = "bytes a key"
BYTES, RATIO, COUNT = "bytes", "times", "in all"
COMBINES, PARTIALS, ITEMS, HELD, STEP = "combines a row", "partials a window", "items held", "MB held", "ns a step"
"""What is counted, and what a window holds or takes for a single row."""


@dataclass(frozen=True, kw_only=True)
class Contestant:
    """One way to answer the case."""

    name: str
    role: Literal["sash", "peer", "beside"] = "peer"
    """Only peers compete for the fastest peer; what is "beside" is there to be compared with."""
    package: str = "sash"
    algorithm: str = ""
    rows: int | None = None
    """Fewer rows than the case has, for the slow."""


@dataclass(frozen=True, kw_only=True)
class Target:
    """What is aimed at: a value, or how many times better (or at most worse) one contestant is than another."""

    contestant: str = "Sash"
    against: str = ""
    """Another contestant or `FASTEST_PEER`; nothing if it is the value itself that counts."""
    at_least: float | None = None
    """How many times better than the other."""
    at_most: float | None = None
    """The value, or how many times the value of the other."""

    def __str__(self) -> str:
        """Say it in words.

        >>> print(Target(against=FASTEST_PEER, at_least=4), Target(at_most=1.5), Target(against="one", at_most=3), sep=", ")
        ≥ 4 × fastest peer, ≤ 1.5, ≤ 3 × one
        """
        bound = f"≥ {self.at_least:g}" if self.at_least is not None else f"≤ {self.at_most:g}"
        return f"{bound} × {self.against}" if self.against else bound


@dataclass(frozen=True, kw_only=True)
class Case(ABC):
    """One line of the benchmark: it is checked, measured and judged as a whole."""

    name: str
    aggregate: str
    contestants: Sequence[Contestant]
    tolerance: float
    """The relative error that Sash may have in the check; peers may have more."""
    targets: tuple[Target, ...] = ()
    rows: int = 10_000_000
    repeats: int = 5
    measure: str = TIME

    @property
    def dtype(self) -> str:
        """The type of what is aggregated."""
        return "float64"

    @property
    @abstractmethod
    def range(self) -> str:
        """The range of the windows as people say it."""

    def at_most(self, rows: int) -> Self:
        """Return the case with fewer rows."""
        return replace(self, rows=min(rows, self.rows))

    def runs_with(self, rows: int) -> bool:  # noqa: ARG002 — most cases run with any number of rows
        """Tell whether the case is run if there may be at most this many rows."""
        return True


def say(number: int) -> str:
    """Write a number in K and M of 1024 where it is one.

    >>> say(16), say(1024), say(1 << 20), say(1000)
    ('16', '1 K', '1 M', '1000')
    """
    for unit, size in (("M", 1 << 20), ("K", 1 << 10)):
        if number >= size and number % size == 0:
            return f"{number // size} {unit}"
    return str(number)
