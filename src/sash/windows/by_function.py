"""User-defined windows: the discretization function of Cutty."""

from __future__ import annotations

import inspect
import json
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from types import FunctionType
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from sash.windows.arguments import check_count, options_text
from sash.windows.base import ALL_COLUMNS, Bounds, Flags, Items, LoopCompiler, Memory
from sash.windows.capabilities import ColumnRule, WindowMemory
from sash.windows.window import Window

Discretize = Callable[..., Any]


class OpenWindows(NamedTuple):
    """The memory of a key: its function, and how many rows before the next row its open windows began, oldest first."""

    discretize: Discretize
    behind: tuple[int, ...]


@dataclass(frozen=True)
class Custom(Window):
    """Windows that a user's function begins and ends, row by row."""

    kind: ClassVar[str] = "custom"
    discretize: Discretize
    has_state: bool

    @property
    def columns(self) -> dict[str, ColumnRule]:
        """All of them: the function may read any."""
        return {ALL_COLUMNS: ColumnRule()}

    @property
    def memory(self) -> FunctionMemory:
        """The open windows of each key, and its function."""
        return FunctionMemory({"opened": "object"}, fresh=None, window=self)

    @property
    def no_points(self) -> str:
        """Why it cannot be evaluated as of points."""
        return "reads whole rows, and labels bring only the columns that a query names"

    def bounds(self, items: Items, memory: Memory, compiler: LoopCompiler) -> Bounds:  # noqa: ARG002 — Python objects, not compiled
        """Return the windows that have ended; of the open windows the oldest ends first."""
        begins: list[int] = []
        ends: list[int] = []
        keep = np.empty(items.keys, np.int64)
        new = np.empty(items.keys, object)
        values = items.columns[ALL_COLUMNS]
        for key in range(items.keys):
            opened = memory["opened"][key] or OpenWindows(self.of_key(), ())
            fresh = int(items.firsts[key] + items.span.done[key])
            end = int(items.firsts[key] + items.span.final[key])
            waiting = deque(fresh - behind for behind in opened.behind)
            for row in range(fresh, end):
                begin_now, end_now = self._ask(opened.discretize, values[row], len(waiting))
                waiting.extend([row] * begin_now)
                for _ in range(end_now):
                    begins.append(waiting.popleft())
                    ends.append(row + 1)
            new[key] = OpenWindows(opened.discretize, tuple(end - begin for begin in waiting))
            keep[key] = waiting[0] if waiting else end
        return Bounds(np.array(begins, np.int64), np.array(ends, np.int64), None, None, keep, {"opened": new})

    def of_key(self) -> Discretize:
        """Return the function of a new key."""
        return self.discretize() if self.has_state else self.discretize

    def _ask(self, discretize: Discretize, row: Any, waiting: int) -> tuple[int, int]:
        """Return how many windows begin before and end after a row."""
        answer = discretize(row)
        try:
            begin, end = (int(number) for number in answer)
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"{self}: discretize returned {answer!r} for {row}; it must return two numbers, (begin, end)."
            ) from error
        if begin < 0 or end < 0:
            raise ValueError(
                f"{self}: discretize returned {answer!r} for {row}; the numbers of windows cannot be negative."
            )
        if end > waiting + begin:
            raise ValueError(
                f"{self}: discretize ends {end} window(s) after {row}, but only {waiting + begin} are open."
            )
        return begin, end

    def __repr__(self) -> str:
        """Return the call that makes the window."""
        function = getattr(self.discretize, "func", self.discretize)  # of a partial
        return f"custom({getattr(function, '__name__', type(function).__name__)}{options_text(min_rows=self.min_rows)})"


@dataclass(frozen=True)
class FunctionMemory(WindowMemory):
    """The open windows of each key, and its function, which may have state."""

    window: Custom = field(kw_only=True)

    def differs(self, memory: Memory) -> Flags:
        """Return for which keys windows are open, or the function has state."""
        differ = [opened is not None and (self.window.has_state or bool(opened.behind)) for opened in memory["opened"]]
        return np.array(differ, np.bool_)

    def encode(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the open windows of each key, and the attributes of its function, as JSON."""
        return np.frombuffer(json.dumps([self._encode(opened) for opened in values]).encode(), np.uint8)

    def decode(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the memory from `encode`."""
        stored = json.loads(values.tobytes())
        decoded = np.empty(len(stored), object)
        decoded[:] = [self._decode(opened) for opened in stored]
        return decoded

    def check_restart(self) -> None:
        """Raise TypeError if the state of the function cannot be stored for a restart."""
        self._encode(OpenWindows(self.window.of_key(), ()))

    @property
    def code(self) -> list[Any]:
        """The function; of a class its functions and plain attributes."""
        function = self.window.discretize
        if isinstance(function, FunctionType | partial):
            return [function]
        members = vars(function if isinstance(function, type) else type(function))
        attributes = {} if isinstance(function, type) else getattr(function, "__dict__", {})
        code = [value for _, value in sorted(members.items()) if isinstance(value, FunctionType) or is_constant(value)]
        return code + [value for _, value in sorted(attributes.items()) if is_constant(value)]

    def _encode(self, opened: OpenWindows | None) -> list[Any] | None:
        if opened is None:
            return None
        state = vars(opened.discretize) if self.window.has_state and _has_attributes(opened.discretize) else {}
        if (self.window.has_state and not _has_attributes(opened.discretize)) or not _is_plain(state):
            raise TypeError(
                f"{self.window} has state that cannot be stored for a restart. Make it a class whose attributes are numbers, "
                "strings, and lists or dictionaries of these."
            )
        return [list(opened.behind), state]

    def _decode(self, stored: list[Any] | None) -> OpenWindows | None:
        if stored is None:
            return None
        behind, state = stored
        discretize = self.window.of_key()
        if self.window.has_state:
            vars(discretize).update(state)
        return OpenWindows(discretize, tuple(behind))


def custom(discretize: Discretize, *, min_rows: int = 1) -> Window:
    """Return windows that your own function defines.

    `discretize(row)` takes a row as a dictionary of its columns and returns `(begin, end)`: how many windows begin before this
    row and how many end after it. The oldest open window ends first. If the function has state, pass a class or a function
    without arguments that makes it: each key then gets a function of its own. Windows that are still open have no result.
    If fewer than `min_rows` rows of a window have a value, the result is null.

    Nulls and NaN: they reach the function as None and NaN; `min_rows` counts non-null values.
    Result: one per window.
    Errors: TypeError if `discretize` is not callable, or `min_rows` no integer. ValueError if the function ends more windows than are
    open, or if `min_rows` is less than 1.

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"kind": ["start", "", "stop", "", "start", "stop"], "load": [1, 2, 3, 4, 5, 6]})
    >>> visits = window.custom(lambda row: (row["kind"] == "start", row["kind"] == "stop"))
    >>> sash.Query({"total": agg.sum("load")}, visits).run(rows).to_pylist()
    [{'total': 6}, {'total': 11}]
    """
    if not callable(discretize):
        raise TypeError(
            f"window.custom: {discretize!r} is not a function. Pass one that takes a row and returns (begin, end)."
        )
    least = check_count(min_rows, "min_rows", "custom")
    return Custom(discretize, has_state=_takes_nothing(discretize), min_rows=least)


def _has_attributes(function: Discretize) -> bool:
    """Return whether the state of a function is in its attributes, not in a closure or in slots."""
    has_dictionary = hasattr(function, "__dict__") and not hasattr(function, "__slots__")
    return has_dictionary and not isinstance(function, FunctionType)


def _is_plain(value: Any) -> bool:
    """Return whether a value survives JSON unchanged."""
    if isinstance(value, list):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(type(name) is str for name in value) and all(map(_is_plain, value.values()))
    return value is None or type(value) in (bool, int, float, str)


def is_constant(value: Any) -> bool:
    """Return whether a value is a number, text, or a sequence of these, so that it is part of a fingerprint."""
    if isinstance(value, tuple | list):
        return all(map(is_constant, value))
    return isinstance(value, int | float | str | bytes)


def _takes_nothing(function: Discretize) -> bool:
    try:
        inspect.signature(function).bind()
    except TypeError:
        return False
    return True
