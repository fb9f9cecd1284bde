"""A case: one point on the x-axis of a paper's figure, or one line of its table, for all algorithms that are compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from benchmarks.case import TIME, Case, Contestant
from benchmarks.papers.data import Values, label
from sash.aggregates.base import Aggregate

LONGEST_OF_QUICK = 8
"""Windows may be so many times as long as the number of rows that are timed: they are filled beforehand."""


@dataclass(frozen=True)
class PaperRun:
    """A contestant that is ready: its answers, to be compared, and how to measure it once more."""

    rows: int
    """The rows of one measurement."""
    again: Callable[[], float]
    """Measures, and returns the value."""
    answers: Values | None = None
    """One line per range, the widest first; none where nothing is timed."""
    check: Callable[[Values], None] | None = None
    """Raises if answers differ from those recomputed from raw rows."""


Prepare: TypeAlias = "Callable[[PaperCase], PaperRun]"


@dataclass(frozen=True, kw_only=True)
class PaperContestant(Contestant):
    """One algorithm, or one way to slide."""

    prepare: Prepare
    role: Any = "sash"
    longest: int | None = None
    """The longest window that it is asked for: recalculation would take hours."""


@dataclass(frozen=True, kw_only=True)
class PaperCase(Case):
    """One point of a figure."""

    figure: str
    """The name of the figure or the table, and of its series of cases, such as "figure 7"."""
    size: int
    """The place on the x-axis: the length of the window, or the number of queries."""
    chosen: Aggregate[Any]
    data: str
    """The name of a column in data.py."""
    ranges: tuple[int, ...] = ()
    """In rows, ascending; the size if there are none."""
    same_windows: bool = True
    """Whether all contestants answer the same windows: then their answers are compared."""
    contestants: Sequence[PaperContestant]
    aggregate: str = field(default="")
    tolerance: float = 1e-9
    rows: int = 1 << 18
    """The rows that are timed at once, where nothing else asks for more or fewer."""
    repeats: int = 5
    measure: str = TIME

    @property
    def lengths(self) -> tuple[int, ...]:
        """The lengths of the windows, ascending."""
        return self.ranges or (self.size,)

    @property
    def dtype(self) -> str:
        """The data; if it was generated, this says so."""
        return label(self.data)

    @property
    def range(self) -> str:
        """The place on the x-axis."""
        return str(self.size)

    def runs_with(self, rows: int) -> bool:
        """Tell whether the windows are short enough for a run of at most so many rows."""
        return max(self.lengths) <= LONGEST_OF_QUICK * rows


def case(figure: str, about: str, contestants: Sequence[PaperContestant], **more: Any) -> PaperCase:
    """Return a case whose name is the figure, what it is about, and its place on the x-axis; long windows leave out who is too slow."""
    size = more["size"]
    asked = max(more.get("ranges") or (size,))
    able = [one for one in contestants if one.longest is None or asked <= one.longest]
    name = ", ".join(filter(None, (figure, about, str(size))))
    return PaperCase(name=name, figure=figure, contestants=able, **more)
