"""Traced: a column of values that behaves as one value, so that a function of one row computes all rows at once.

A function runs once for each path through its branches, with whole columns. A branch asks a column for its truth. If all rows of the
path agree, there is nothing to decide; else the function runs twice, and each row takes the result of its own path:

    newer if newer > older else older        run 1: "newer > older" is true    rows 0 2 5 …
                                             run 2: it is false                rows 1 3 4 …

Numbers follow Numba's rules: booleans and 32-bit integers become 64-bit integers in arithmetic, and integers wrap around. Where NumPy
would go on with a wrong value (a division by zero, the root of a negative number), `CannotVectorizeError` stops the function, and the
caller evaluates it in another way.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[Any]
Flags = npt.NDArray[np.bool_]

MOST_PATHS = 16
"""A function with more paths is not worth the time."""
MOST_DECISIONS = 64
"""A path with more branches is a loop, which might never end: an example has no values that end it."""


class CannotVectorizeError(Exception):
    """Why a function is not evaluated over columns."""


class Paths:
    """The paths through the branches of a function, one after the other.

    With `every`, values do not matter: all paths are taken, to find the types that a function may return.
    """

    def __init__(self, *, every: bool = False) -> None:
        self.every = every
        self.known: list[bool] = []
        """The decisions of the current path that are given."""
        self.waiting: list[list[bool]] = [[]]
        self.count = 0

    def start(self) -> bool:
        """Begin the next path. Return False if there is none."""
        if not self.waiting:
            return False
        self.count += 1
        if self.count > (MOST_PATHS * MOST_PATHS if self.every else MOST_PATHS):
            message = f"it has more than {MOST_PATHS} paths."
            raise CannotVectorizeError(message)
        self.known = self.waiting.pop()
        self.made = 0
        self.mask: Flags | None = None
        """The rows of the current path; None for all."""
        return True

    def decide(self, truth: Flags) -> bool:
        """Return whether the current path takes a branch."""
        mask = self.mask
        if self.every:
            return self._next_decision()
        if not (truth if mask is None else truth & mask).any():
            return False
        if (truth if mask is None else truth | ~mask).all():
            return True
        taken = self._next_decision()
        chosen = truth if taken else ~truth
        self.mask = chosen if mask is None else chosen & mask
        return taken

    def _next_decision(self) -> bool:
        """Return the next given decision; if there is none, go on with True, and take the other way later."""
        if self.made >= MOST_DECISIONS:
            message = "it loops until a condition holds."
            raise CannotVectorizeError(message)
        if self.made == len(self.known):
            self.waiting.append([*self.known, False])
            self.known = [*self.known, True]
        self.made += 1
        return self.known[self.made - 1]

    def refuse(self, wrong: Values | np.bool_, reason: str) -> None:
        """Raise CannotVectorizeError if a row of the current path has a wrong value."""
        if not self.every and np.any(wrong if self.mask is None else wrong & self.mask):
            raise CannotVectorizeError(reason)


def number(value: Any) -> Any:
    """Return the operand of an arithmetic operation: at least 64 bits wide."""
    values = value.values if isinstance(value, Traced) else value
    if isinstance(values, bool | np.bool_):
        return int(values)
    if isinstance(values, np.ndarray) and values.dtype.itemsize < 8:  # noqa: PLR2004 — bool, int32, float32
        return values.astype(np.float64 if values.dtype.kind == "f" else np.int64)
    return values


def is_integer(values: Any) -> bool:
    """Return whether an operand holds integers."""
    return isinstance(values, int) or (isinstance(values, np.ndarray) and values.dtype.kind == "i")


def _arithmetic(function: Callable[[Any, Any], Any]) -> tuple[Any, Any]:
    def forward(self: Traced, other: Any) -> Any:
        return self.made(function(number(self), number(other)))

    def backward(self: Traced, other: Any) -> Any:
        return self.made(function(number(other), number(self)))

    return forward, backward


def _comparison(function: Callable[[Any, Any], Any]) -> Any:
    def compare(self: Traced, other: Any) -> Any:
        if isinstance(other, tuple) or other is None:
            return NotImplemented
        return self.made(function(self.values, other.values if isinstance(other, Traced) else other))

    return compare


class Traced:
    """A column in the place of one value."""

    __slots__ = ("paths", "values")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, values: Values, paths: Paths) -> None:
        self.values = values
        self.paths = paths

    def made(self, values: Any) -> Any:
        """Return the result of an operation."""
        return Traced(values, self.paths) if isinstance(values, np.ndarray) else values

    def __bool__(self) -> bool:
        """Return which way the current path goes."""
        truth = self.values if self.values.dtype == np.bool_ else self.values != 0
        return self.paths.decide(truth)

    __add__, __radd__ = _arithmetic(operator.add)
    __sub__, __rsub__ = _arithmetic(operator.sub)
    __mul__, __rmul__ = _arithmetic(operator.mul)
    __lt__ = _comparison(operator.lt)
    __le__ = _comparison(operator.le)
    __gt__ = _comparison(operator.gt)
    __ge__ = _comparison(operator.ge)
    __eq__ = _comparison(operator.eq)
    __ne__ = _comparison(operator.ne)

    def __truediv__(self, other: Any) -> Any:
        """Divide."""
        return self._divide(np.true_divide, self, other)

    def __rtruediv__(self, other: Any) -> Any:
        """Divide another value."""
        return self._divide(np.true_divide, other, self)

    def __floordiv__(self, other: Any) -> Any:
        """Divide and round down."""
        return self._divide(np.floor_divide, self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        """Divide another value and round down."""
        return self._divide(np.floor_divide, other, self)

    def __mod__(self, other: Any) -> Any:
        """Return the remainder, with the sign of the divisor."""
        return self._divide(np.remainder, self, other)

    def __rmod__(self, other: Any) -> Any:
        """Return the remainder of another value."""
        return self._divide(np.remainder, other, self)

    def _divide(self, function: Callable[[Any, Any], Any], dividend: Any, divisor: Any) -> Any:
        below = number(divisor)
        self.paths.refuse(below == 0, "it divides by zero.")
        return self.made(function(number(dividend), below))

    def __pow__(self, exponent: Any) -> Any:
        """Raise to a power. An integer needs a constant exponent: a negative one would give a float."""
        base, power = number(self), number(exponent)
        if is_integer(base) and not (isinstance(power, int) and power >= 0):
            message = "it raises an integer to a power that is not a constant."
            raise CannotVectorizeError(message)
        if not (isinstance(power, int) and power >= 0):
            self.paths.refuse(base <= 0, "it raises a number to a power that may be undefined.")
        return self.made(self._finite(np.power(base, power), base))

    def _finite(self, result: Any, *operands: Any) -> Any:
        """Raise CannotVectorizeError if finite operands give infinity, for which Python raises OverflowError."""
        if isinstance(result, np.ndarray) and result.dtype.kind == "f":
            known = np.logical_and.reduce([np.isfinite(operand) for operand in operands])
            self.paths.refuse(~np.isfinite(result) & known, "it computes a number that is too large.")
        return result

    def __neg__(self) -> Any:
        """Negate."""
        return self.made(-number(self))

    def __pos__(self) -> Any:
        """Return the number."""
        return self.made(number(self))

    def __abs__(self) -> Any:
        """Return the absolute value."""
        return self.made(np.abs(number(self)))

    def _bits(self, function: Callable[[Any, Any], Any], other: Any) -> Any:
        if not (is_integer(self.values) and is_integer(other.values if isinstance(other, Traced) else other)):
            message = "it combines bits of values that are not integers."
            raise CannotVectorizeError(message)
        return self.made(function(number(self), number(other)))

    def __and__(self, other: Any) -> Any:
        """Combine bits."""
        return self._bits(operator.and_, other)

    def __or__(self, other: Any) -> Any:
        """Combine bits."""
        return self._bits(operator.or_, other)

    def __xor__(self, other: Any) -> Any:
        """Combine bits."""
        return self._bits(operator.xor, other)

    def __lshift__(self, other: Any) -> Any:
        """Shift bits by a constant."""
        return self._shift(operator.lshift, other)

    def __rshift__(self, other: Any) -> Any:
        """Shift bits by a constant."""
        return self._shift(operator.rshift, other)

    def _shift(self, function: Callable[[Any, Any], Any], bits: Any) -> Any:
        if not isinstance(bits, int) or not 0 <= bits < 64:  # noqa: PLR2004 — the width of an integer
            message = "it shifts bits by a number that is not a constant."
            raise CannotVectorizeError(message)
        return self._bits(function, bits)
