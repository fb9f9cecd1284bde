"""Errors in the functions of an aggregate: the message names the aggregate, the row, and the step."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Self

import pyarrow as pa

from sash.kernels import CannotCompileError
from sash.kernels.traced import CannotVectorizeError

LIFTING = "lifting"
COMBINING = "combining up to"
LOWERING = "lowering the window that ends with"
EVALUATING = "evaluating the window that ends with"
"""Used if it is not known which of the three steps failed."""
Where = Callable[[int], str]
"""Returns the name of a row or a slice record in error messages; "" if it has none."""


def name_row(table: pa.Table, names: Iterable[str], row: int) -> str:
    """Return the values of some columns in a row, for a message.

    >>> name_row(pa.table({"who": ["a", "b"], "at": [3, 4]}), ["who", "at"], 1)
    'who=b, at=4'
    """
    return ", ".join(f"{name}={shown(table[name][row])}" for name in names)


def shown(value: pa.Scalar) -> str:
    """Return a value for a message, even if Python has no type for it, such as a time in nanoseconds.

    >>> twice = pa.StructArray.from_arrays([[1], [2]], ["a", "a"])
    >>> shown(pa.scalar(1.5)), "1" in shown(twice[0])
    ('1.5', True)
    """
    try:
        return str(value.as_py())
    except (ValueError, ImportError):
        text: str = pa.array([value], value.type).to_string(skip_new_lines=True)
        return " ".join(text.strip("[]").split())


def failure(label: str, step: str = "", where: str = "") -> str:
    """Return the note of an error: what failed and, if known, in which step and row.

    >>> failure("'top': max(x)", LIFTING, "the row of key=a, t=3")
    "'top': max(x) failed while lifting the row of key=a, t=3."
    """
    return f"{label} failed while {step} {where}." if step and where else f"{label} failed."


class ErrorNotes:
    """Adds a note to errors in compiled functions.

    Machine code does not tell where it failed. The interpreter does, so the functions run again, interpreted. An overflow of
    a sum already names its window, so the interpreter does not search for it.
    """

    def __init__(self, label: str, runs: Callable[[], Iterable[Callable[[], object]]]) -> None:
        """Take the name of the aggregates, and functions that run each of them again, interpreted."""
        self.label = label
        self.runs = runs
        self.where = ""

    def at(self, where: str) -> str:
        """Store the window of the error, as far as a kernel knows it, and return it for the message."""
        self.where = where
        return where or "a window"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None) -> None:
        if not isinstance(error, Exception) or isinstance(error, CannotCompileError | CannotVectorizeError):
            return
        original = None if self.where and isinstance(error, OverflowError) else self._interpreted_error(type(error))
        if original is None:
            error.add_note(failure(self.label, EVALUATING, self.where))
        else:
            error.add_note(original.__notes__[-1])
            error.__cause__ = original  # which shows the line of the function

    def _interpreted_error(self, error_type: type[Exception]) -> Exception | None:
        """Return the same error as the interpreter raises it, with its note."""
        for run in self.runs():
            try:
                run()
            except Exception as error:  # noqa: BLE001 — whatever a user's function raises; another error is not the one
                if type(error) is error_type and getattr(error, "__notes__", None):
                    return error
        return None
