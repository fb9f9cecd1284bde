"""Partials that are arrays of a fixed length, for aggregates of the user's own.

The user's functions see NumPy arrays. Sash stores a tuple of numbers, as for any other partial, so nothing else knows of arrays:

    row ──lift──► array ──from_array──► tuple          tuples ──to_array──► arrays ──combine──► array ──from_array──► tuple

`kernels/array_partials.py` has the compiled forms of both conversions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sash.aggregates.base import ABSENT, Functions, unchanged
from sash.aggregates.parts import Coding

LARGEST = 2**63 - 1
MOST_COMPILED = 30
"""Compiled loops hold each number in a column of its own, and CPython writes longer tuples in a way that Numba does not read."""


def coding_of_arrays(length: int) -> Coding:
    """Return what kernels need to know of arrays of a length."""
    if length <= MOST_COMPILED:
        return Coding(wide=True, costly_lift=True)
    return Coding(interpreted_only=f"only arrays of up to {MOST_COMPILED} numbers are compiled")


def with_arrays(name: str, functions: Functions, length: int, inputs: int) -> Functions:
    """Return the functions over tuples of numbers, for functions over arrays of a length.

    Raise ValueError if there is no `lower`: a result is one value.

    >>> import numpy as np
    >>> functions = Functions(lambda x: np.arange(3) == x, lambda older, newer: older + newer, lambda counts: int(counts.max()))
    >>> counts = with_arrays("counts", functions, 3, 1)
    >>> counts.combine(counts.lift(1), counts.lift(1)), counts.lower((0, 2, 1))
    ((0, 2, 0), 2)
    """
    if functions.lower is unchanged:
        raise ValueError(
            f"aggregate {name!r} got length={length}, so it needs lower=, which turns the array into a result."
        )
    identity = functions.identity
    if identity is not ABSENT:
        try:
            identity = from_array(identity, length)
        except (TypeError, ValueError) as error:
            raise type(error)(f"aggregate {name!r}, identity: {error}") from None
    return Functions(
        _lift(functions.lift, length, inputs),
        _merge(functions.combine, length),
        _read(functions.lower),
        None if functions.inverse is None else _merge(functions.inverse, length),
        identity,
    )


def _lift(lift: Callable[..., Any], length: int, inputs: int) -> Callable[..., Any]:
    """Return `lift` with a tuple as result. The compiler needs to see each argument; with more than four it interprets."""

    def of_none() -> Any:
        return from_array(lift(), length)

    def of_one(x: Any) -> Any:
        return from_array(lift(x), length)

    def of_two(x: Any, y: Any) -> Any:
        return from_array(lift(x, y), length)

    def of_three(x: Any, y: Any, z: Any) -> Any:
        return from_array(lift(x, y, z), length)

    def of_four(w: Any, x: Any, y: Any, z: Any) -> Any:
        return from_array(lift(w, x, y, z), length)

    def of_more(*row: Any) -> Any:
        return from_array(lift(*row), length)

    forms: list[Callable[..., Any]] = [of_none, of_one, of_two, of_three, of_four]
    return forms[inputs] if inputs < len(forms) else of_more


def _merge(merge: Callable[[Any, Any], Any], length: int) -> Callable[[Any, Any], Any]:
    def merge_arrays(older: Any, newer: Any) -> Any:
        return from_array(merge(to_array(older), to_array(newer)), length)

    return merge_arrays


def _read(lower: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def lower_array(partial: Any) -> Any:
        return as_number(lower(to_array(partial)))

    return lower_array


def to_array(partial: tuple[Any, ...]) -> Any:
    """Return a new array with the numbers of a partial, which functions may change.

    >>> to_array((1, 2)).dtype.name, to_array((1.5, 2)).dtype.name
    ('int64', 'float64')
    """
    import numpy as np  # noqa: PLC0415 — `import sash` does not need NumPy

    return np.array(partial)


def as_number(result: Any) -> Any:
    """Return a result with Python's own number in place of NumPy's.

    >>> import numpy as np
    >>> as_number(np.int64(3)), as_number("text")
    (3, 'text')
    """
    import numpy as np  # noqa: PLC0415 — as above

    return result.item() if isinstance(result, np.number | np.bool_) else result


def from_array(array: Any, length: int) -> tuple[Any, ...]:
    """Return the numbers of an array. Booleans become 0 and 1, so that sums count them.

    Raise ValueError if the array has another length, TypeError if it does not hold numbers.

    >>> from_array([1, 2, 3], 2)
    Traceback (most recent call last):
      ...
    ValueError: An array of 2 numbers was expected, as length= says, not one of shape (3,).
    """
    import numpy as np  # noqa: PLC0415 — as above

    numbers = np.asarray(array)
    if numbers.shape != (length,):
        raise ValueError(
            f"An array of {length} numbers was expected, as length= says, not one of shape {numbers.shape}."
        )
    if numbers.dtype.kind not in "biuf":
        raise TypeError(f"An array of numbers was expected, not one of {numbers.dtype}.")
    if numbers.dtype.kind == "u" and int(numbers.max()) > LARGEST:
        raise OverflowError(f"An array has the number {numbers.max()}, which needs more than 63 bits.")
    return tuple(numbers.astype(float if numbers.dtype.kind == "f" else np.int64).tolist())
