"""Errors in the functions of an aggregate: the message names the aggregate, the row, and the step."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pyarrow as pa

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


class ErrorPlace:
    """The window of an error in a kernel, as far as the kernel knows it; "" if it does not."""

    where = ""

    def at(self, where: str) -> str:
        """Store the window, and return it for the message."""
        self.where = where
        return where or "a window"
