"""What an error in one of an aggregate's functions is told: whose it is, at which row, and at what."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Self

from sash.kernels import CannotCompileError

LIFTING = "lifting"
COMBINING = "combining up to"
LOWERING = "lowering the window that ends with"
ANSWERING = "answering the window that ends with"
"""One of the three, where it is not known which."""


def failure(label: str, doing: str = "", where: str = "") -> str:
    """Return the note of an error, as far as it is known where it happened.

    >>> failure("'top': max(x)", LIFTING, "the row of key=a, t=3")
    "'top': max(x) failed while lifting the row of key=a, t=3."
    """
    return f"{label} failed while {doing} {where}." if doing and where else f"{label} failed."


class Telling:
    """Notes where compiled functions raised. They don't tell, but run again in the interpreter they raise the same and do.

    An overflow of a sum tells its window itself, and is not looked for again, row by row.
    """

    def __init__(self, label: str, runs: Callable[[], Iterable[Callable[[], object]]]) -> None:
        """Name the aggregates, and say how each of them is run again, interpreted."""
        self.label = label
        self.runs = runs
        self.where = ""

    def at(self, where: str) -> str:
        """Keep at which window the error was, as far as a kernel knows, and return it for its message."""
        self.where = where
        return where or "a window"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None) -> None:
        if not isinstance(error, Exception) or isinstance(error, CannotCompileError):
            return
        found = None if self.where and isinstance(error, OverflowError) else self._find(type(error))
        if found is None:
            error.add_note(failure(self.label, ANSWERING, self.where))
        else:
            error.add_note(found.__notes__[-1])
            error.__cause__ = found  # which shows the line of the function

    def _find(self, kind: type[Exception]) -> Exception | None:
        """Return the same error as the interpreter raises it, with its note."""
        for run in self.runs():
            try:
                run()
            except Exception as found:  # noqa: BLE001 — whatever functions raise; another error is not the one
                if type(found) is kind and getattr(found, "__notes__", None):
                    return found
        return None
