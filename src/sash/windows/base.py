"""Window: WHERE windows begin and end, told as rows, for every key at once.

Rows lie sorted: the rows of one key together, in order of time. A window is then a stretch of rows `begin … end - 1`, and
neither bound ever moves back from one window to the next, so that one pass over all rows answers the windows of all keys.

    key        a a a a a b b b c c c c
    window 1   ├───┤
    window 2     ├─────┤
    window 3             ├───┤
    window 4                 ├─────┤

A stream comes in pieces. What a window must know of the rows before a piece is a few numbers for each key: its memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from sash.windows.durations import Duration

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Memory = dict[str, npt.NDArray[Any]]
Run = Callable[[Any], Any]
"""Returns a loop compiled, or as it stands."""

FOREVER = 2**63 - 1
"""The time after which nothing more comes."""
NEVER = -(2**63)


@dataclass(frozen=True)
class Rows:
    """Rows as they lie for windows; the columns of numbers by key have an item for each."""

    times: Ints
    """In ticks; empty if there is no time column."""
    firsts: Ints
    """Where the rows of each key begin, and where those of the last key end."""
    columns: Mapping[str, npt.NDArray[Any]]
    """Other columns that windows read."""
    done: Ints
    """By key: how many of its rows earlier pieces have dealt with; they are here because windows reach back to them."""
    final: Ints
    """By key: how many of its rows nothing can come between any more."""
    after: Ints
    """By key: windows of time that ended by then were given before."""
    now: Ints
    """By key: windows of time that end by then are given."""
    tick: int | None = None
    """Nanoseconds of a tick; None if times are integers."""
    time: str = "time"
    """The name of the time column."""
    lasts: Ints | None = None
    """Where slices lie in the place of rows, and windows ask for it: when the last row of each came."""

    @property
    def keys(self) -> int:
        """How many keys there are."""
        return len(self.firsts) - 1


def whole_rows(
    times: Any, firsts: Any = None, columns: Mapping[str, npt.NDArray[Any]] | None = None, **named: Any
) -> Rows:
    """Return rows that are all there is, of one key unless `firsts` says otherwise.

    >>> whole_rows([3, 5, 5]).final.tolist()
    [3]
    """
    times = np.asarray(times, np.int64)
    firsts = np.array([0, len(times)] if firsts is None else firsts, np.int64)
    keys = len(firsts) - 1
    nothing = np.zeros(keys, np.int64)
    after, now = np.full(keys, NEVER, np.int64), np.full(keys, FOREVER, np.int64)
    return Rows(times, firsts, columns or {}, nothing, np.diff(firsts), after, now, **named)


@dataclass(frozen=True)
class Bounds:
    """The windows, in order, as stretches of rows."""

    begins: Ints
    ends: Ints
    starts: Ints | None
    """Where windows that are intervals of time begin and end, as times."""
    stops: Ints | None
    keep: Ints
    """By key: the first row that windows may still reach back to."""

    def __len__(self) -> int:
        """Return the number of windows."""
        return len(self.begins)

    def __bool__(self) -> bool:
        """Windows are there even if they are none."""
        return True

    def select(self, chosen: Flags) -> Bounds:
        """Return the chosen windows."""
        starts = None if self.starts is None else self.starts[chosen]
        stops = None if self.stops is None else self.stops[chosen]
        return Bounds(self.begins[chosen], self.ends[chosen], starts, stops, self.keep)


class Cycle(NamedTuple):
    """Windows that repeat: one begins each `period`, and ends after each `step` up to `length`."""

    length: int
    period: int
    step: int
    offset: int


@dataclass(frozen=True)
class Window:
    """Where windows begin and end."""

    kind: ClassVar[str]
    per_row: ClassVar[bool] = False
    """Whether every row has a result, rather than every window."""
    needs_time: ClassVar[bool] = False
    is_time: ClassVar[bool] = False
    """Whether its windows are intervals of time, so that nothing but time ends them."""
    grows_at_end: ClassVar[bool] = False
    """Whether a row at the very end of a window of time still belongs to it."""
    sliced: ClassVar[bool] = True
    """Whether it is deterministic: rows tell where windows begin when they come (Cutty), so that they can be sliced."""
    slices_per_window: ClassVar[int | None] = None
    """How many slices a window has that shares them with no other, where that is the same for all; None if it varies."""
    drawn_column: ClassVar[str] = ""
    """How a picture shows the column that it reads: as "height", or as a "mark"."""
    picture: ClassVar[Callable[[Window, Sequence[Mapping[str, Any]] | None, str, str], str | None]]
    """Draws a window. `sash.plan.pictures` lies above this package, so it installs its function here when it is imported."""
    memory: ClassVar[Mapping[str, str]] = {}
    """What it remembers of each key from one piece of a stream to the next, by name: NumPy types."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it reads, besides time."""
        return ()

    @property
    def min_rows(self) -> int:
        """How many values a window must hold to have a result."""
        return 1

    @property
    def length(self) -> Duration | int | None:
        """The range or the gap, as it was given; None if there is none."""
        return None

    @property
    def row_cycle(self) -> Cycle | None:
        """Where windows repeat after a number of rows; None if they do not."""
        return None

    def check(self, tick: int | None, time: str) -> None:
        """Say so if the window doesn't fit a time column of such ticks."""

    def bounds(self, rows: Rows, memory: Memory, run: Run) -> Bounds:
        """Return the windows that are complete now."""
        raise NotImplementedError

    def due(self, rows: Rows) -> int:
        """Return the earliest `now` at which rows that a stream keeps give a result, or a key of theirs is done with.

        The rows are as they were left at their `now`, and no more come. Where a row ends windows, that is as soon as
        nothing can come before it any more.
        """
        return first_after(rows.times[is_waiting(rows)] + 1, rows.now)

    def draw(
        self, rows: Sequence[Mapping[str, Any]] | None = None, *, time: str = "time", slicing: str = "auto"
    ) -> str:
        """Return a picture of rows, slices and windows: the text of an SVG, which a notebook shows as the picture.

        `rows` are dictionaries in order of time, and `time` names their time column. Without rows the picture shows sample
        rows in the proportions of the window. `slicing` is "auto", "cutty", "pairs", "panes" or "none", as in `Query`.

        Raises ValueError if a window needs rows (custom windows), if rows lack a column that it reads, or if the window
        cannot be sliced this way.

        >>> from sash import window
        >>> picture = window.time("9m", slide="6m").draw()
        >>> picture  # doctest: +ELLIPSIS
        <Picture: ... characters of SVG; notebooks show the picture, print() shows the text>
        """
        picture = self.picture(rows, time, slicing)
        if picture is None:
            message = f"There are no sample rows for {self}. Give rows, as in draw([{{…}}, {{…}}])."
            raise ValueError(message)
        return picture

    def _repr_svg_(self) -> str | None:
        """Return the picture over sample rows; None if there are none for this window."""
        return self.picture(None, "time", "auto")

    def sample_column(self, rows: int) -> npt.NDArray[Any] | None:  # noqa: ARG002 — for windows with a drawn column
        """Return values of the column that it reads, for a picture over sample rows; None if there are none."""
        return None

    def remembers(self, memory: Memory) -> Flags:
        """Tell of which keys it knows anything that it would not know of a new one."""
        parts = [values != np.zeros(1, values.dtype) for values in memory.values()]
        known: Flags = np.logical_or.reduce(parts)
        return known

    def new_memory(self, keys: int) -> Memory:
        """Return the memory of keys that had no rows yet."""
        return {name: np.zeros(keys, kind) for name, kind in self.memory.items()}


def is_waiting(rows: Rows) -> Flags:
    """Tell which rows no earlier piece has dealt with."""
    lengths = np.diff(rows.firsts)
    waiting: Flags = np.arange(len(rows.times)) >= np.repeat(rows.firsts[:-1] + rows.done, lengths)
    return waiting


def first_after(times: Ints, now: Ints) -> int:
    """Return the earliest of some times that is still to come; FOREVER if there is none.

    >>> first_after(np.array([3, 9, 7]), np.array([3]))
    7
    """
    to_come = times[times > now.min(initial=FOREVER)]
    return int(to_come.min(initial=FOREVER))


def as_it_stands(loop: Any) -> Any:
    """Return a loop to be interpreted."""
    return loop


def new_bounds(count: int) -> tuple[Ints, Ints]:
    """Return room for so many windows."""
    return np.empty(count, np.int64), np.empty(count, np.int64)
