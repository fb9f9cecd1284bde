"""Windows of one's own: the discretization function of Cutty."""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import FunctionType
from typing import Any, ClassVar

import numpy as np

from sash.windows.base import Bounds, Flags, Memory, Rows, Run, Window

Discretize = Callable[..., Any]


@dataclass
class Opened:
    """What is remembered of a key: its function, and how far before the next row its open windows began, oldest first."""

    discretize: Discretize
    behind: deque[int]


@dataclass(frozen=True)
class Custom(Window):
    """Windows that a function of each row begins and ends."""

    kind: ClassVar[str] = "custom"
    memory: ClassVar[Mapping[str, str]] = {"opened": "object"}
    discretize: Discretize
    has_state: bool

    @property
    def columns(self) -> tuple[str, ...]:
        """All of them: the function may read any."""
        return ("*",)

    def bounds(self, rows: Rows, memory: Memory, run: Run) -> Bounds:  # noqa: ARG002 — Python's own objects
        """Return the windows that have ended; of those that are open the oldest ends first."""
        begins: list[int] = []
        ends: list[int] = []
        keep = np.empty(rows.keys, np.int64)
        values = rows.columns["*"]
        for key in range(rows.keys):
            opened = memory["opened"][key] or Opened(self._of_key(), deque())
            memory["opened"][key] = opened
            fresh = int(rows.firsts[key] + rows.done[key])
            end = int(rows.firsts[key] + rows.final[key])
            waiting = deque(fresh - behind for behind in opened.behind)
            for row in range(fresh, end):
                begin_now, end_now = self._ask(opened.discretize, values[row], len(waiting))
                waiting.extend([row] * begin_now)
                for _ in range(end_now):
                    begins.append(waiting.popleft())
                    ends.append(row + 1)
            opened.behind = deque(end - begin for begin in waiting)
            keep[key] = waiting[0] if waiting else end
        return Bounds(np.array(begins, np.int64), np.array(ends, np.int64), None, None, keep)

    def remembers(self, memory: Memory) -> Flags:
        """Tell of which keys windows are open, or a function has state."""
        known = [one is not None and (self.has_state or bool(one.behind)) for one in memory["opened"]]
        return np.array(known, np.bool_)

    def freeze(self, opened: Opened | None) -> list[Any] | None:
        """Return what is remembered of a key as JSON has it: of a function with state its attributes, if they are plain."""
        if opened is None:
            return None
        state = vars(opened.discretize) if self.has_state and _has_attributes(opened.discretize) else {}
        if (self.has_state and not _has_attributes(opened.discretize)) or not _is_plain(state):
            message = (
                f"{self} has state that can't be kept for a restart: let it be a class whose attributes are numbers, text, "
                "lists of them and dictionaries."
            )
            raise TypeError(message)
        return [list(opened.behind), state]

    def refuse_lost_state(self) -> None:
        """Say so if what it remembers could not be kept for a restart."""
        self.freeze(Opened(self._of_key(), deque()))

    def thaw(self, kept: list[Any] | None) -> Opened | None:
        """Return what was remembered of a key."""
        if kept is None:
            return None
        behind, state = kept
        discretize = self._of_key()
        if self.has_state:
            vars(discretize).update(state)
        return Opened(discretize, deque(behind))

    def _of_key(self) -> Discretize:
        return self.discretize() if self.has_state else self.discretize

    def _ask(self, discretize: Discretize, row: Any, waiting: int) -> tuple[int, int]:
        """Return how many windows begin before and end after a row."""
        answer = discretize(row)
        try:
            begin, end = (int(number) for number in answer)
        except (TypeError, ValueError) as error:
            message = f"{self}: discretize gave {answer!r} for {row}; it must give two numbers, (begin, end)."
            raise TypeError(message) from error
        if begin < 0 or end < 0:
            message = f"{self}: discretize gave {answer!r} for {row}; numbers of windows can't be negative."
            raise ValueError(message)
        if end > waiting + begin:
            message = f"{self}: discretize ends {end} window(s) after {row}, but only {waiting + begin} are open."
            raise ValueError(message)
        return begin, end

    def __repr__(self) -> str:
        """Show it as it is written."""
        made = getattr(self.discretize, "func", self.discretize)  # of a partial
        return f"custom({getattr(made, '__name__', type(made).__name__)})"


def custom(discretize: Discretize) -> Window:
    """Return windows that a function discretizes a stream into: `discretize(row) -> (begin, end)`.

    It says how many windows begin before this row and how many end after it; the one that began first ends first. A row
    is a dictionary of its columns. A function with state is made anew for each key: give what makes it, a class or a
    function that takes no arguments.

    >>> from sash import window
    >>> window.custom(lambda row: (row["kind"] == "start", row["kind"] == "stop"))
    custom(<lambda>)
    """
    if not callable(discretize):
        message = f"window.custom: {discretize!r} is not a function of a row."
        raise TypeError(message)
    return Custom(discretize, has_state=_takes_nothing(discretize))


def _has_attributes(made: Discretize) -> bool:
    """Tell whether what a function remembers is in its attributes, not in variables around it."""
    return hasattr(made, "__dict__") and not isinstance(made, FunctionType) and not hasattr(made, "__slots__")


def _is_plain(value: Any) -> bool:
    """Tell whether a value comes back from JSON as it was."""
    if isinstance(value, list):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(type(name) is str for name in value) and all(map(_is_plain, value.values()))
    return value is None or type(value) in (bool, int, float, str)


def _takes_nothing(function: Discretize) -> bool:
    try:
        inspect.signature(function).bind()
    except TypeError:
        return False
    return True
