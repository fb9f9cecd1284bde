"""What the sketches share: the library, and the form in which values are hashed."""

from __future__ import annotations

from importlib import import_module
from numbers import Integral, Real
from typing import Any

SKETCHES = "its partials are sketches of Apache DataSketches, which Numba doesn't know."
"""Why no sketch is compiled."""


def datasketches() -> Any:
    """Return Apache DataSketches, imported by the first value and not by `import sash`."""
    return import_module("datasketches")


def hashable(value: Any) -> int | str:
    """Return the form of a value that all sketches hash alike, equal numbers in the same form.

    >>> hashable(True), hashable(2.0), hashable(2.5), hashable("ant")
    (1, 2, '2.5', 'ant')
    """
    if isinstance(value, str):
        return value or "\0"  # the library overlooks empty strings
    if isinstance(value, Integral):
        return _in_64_bits(int(value))
    if isinstance(value, Real):
        number = float(value)
        return _in_64_bits(int(number)) if number.is_integer() else repr(number)
    message = f"Sketches take numbers and strings, not the {type(value).__name__} {value!r}: cast it to a string."
    raise TypeError(message)


def _in_64_bits(whole: int) -> int | str:
    return whole if -(1 << 63) <= whole < 1 << 63 else str(whole)
