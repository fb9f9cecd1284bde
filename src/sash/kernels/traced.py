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

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.mixins import NDArrayOperatorsMixin

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
            raise CannotVectorizeError(f"it has more than {MOST_PATHS} paths.")
        self.known = self.waiting.pop()
        self.decisions = 0
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
        if self.decisions >= MOST_DECISIONS:
            raise CannotVectorizeError("it loops until a condition holds.")
        if self.decisions == len(self.known):
            self.waiting.append([*self.known, False])
            self.known = [*self.known, True]
        self.decisions += 1
        return self.known[self.decisions - 1]

    def refuse(self, wrong: Values | np.bool_, reason: str) -> None:
        """Raise CannotVectorizeError if a row of the current path has a wrong value."""
        if not self.every and np.any(wrong if self.mask is None else wrong & self.mask):
            raise CannotVectorizeError(reason)


class Traced(NDArrayOperatorsMixin):
    """A column in the place of one value. NumPy's mixin turns each operator into a call of its function, such as `np.add`."""

    __slots__ = ("paths", "values")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, values: Values, paths: Paths) -> None:
        self.values = values
        self.paths = paths

    def with_values(self, values: Values) -> Traced:
        """Return the result of an operation on this column."""
        return Traced(values, self.paths)

    def __bool__(self) -> bool:
        """Return which way the current path goes."""
        truth = self.values if self.values.dtype == np.bool_ else self.values != 0
        return self.paths.decide(truth)

    def __array_ufunc__(self, operation: np.ufunc, _: str, *operands: Any, **__: Any) -> Traced:
        """Apply an operator. `x += 1` gives a new column, too: others may share the values of this one."""
        if operation not in RULES or not all(isinstance(operand, OPERANDS) for operand in operands):
            raise CannotVectorizeError(f"it uses {operation.__name__} in a way that columns do not support.")
        return self.with_values(RULES[operation](self.paths, operation, *operands))


OPERANDS = (Traced, int, float, np.generic)


def number(value: Any) -> Any:
    """Return the operand of an arithmetic operation: at least 64 bits wide."""
    values = value.values if isinstance(value, Traced) else value
    if isinstance(values, np.ndarray):
        if values.dtype.itemsize < 8:  # noqa: PLR2004 — bool, int32, float32
            return values.astype(np.float64 if values.dtype.kind == "f" else np.int64)
        return values
    return int(values) if isinstance(values, bool | np.bool_) else values


def plain(value: Any) -> Any:
    """Return the values of a column, and other values as they are."""
    return value.values if isinstance(value, Traced) else value


def is_integer(values: Any) -> bool:
    """Return whether an operand holds integers."""
    return isinstance(values, int) or (isinstance(values, np.ndarray) and values.dtype.kind == "i")


# -- operators -------------------------------------------------------------------------------------------------------


def _arithmetic(_: Paths, operation: np.ufunc, *operands: Any) -> Any:
    return operation(*map(number, operands))


def _compare(_: Paths, operation: np.ufunc, *operands: Any) -> Any:
    return operation(*map(plain, operands))


def _divide(paths: Paths, operation: np.ufunc, dividend: Any, divisor: Any) -> Any:
    below = number(divisor)
    paths.refuse(below == 0, "it divides by zero.")
    return operation(number(dividend), below)


def _power(paths: Paths, operation: np.ufunc, base: Any, exponent: Any) -> Any:
    """Raise to a power. An integer needs a constant exponent: a negative one would give a float."""
    values, power = number(base), number(exponent)
    if not (isinstance(power, int) and power >= 0):
        if not isinstance(base, Traced) or is_integer(values):
            raise CannotVectorizeError("it raises an integer to a power that is not a constant.")
        paths.refuse(values <= 0, "it raises a number to a power that may be undefined.")
    result = operation(values, power)
    if result.dtype.kind == "f":  # Python raises OverflowError
        paths.refuse(~np.isfinite(result) & np.isfinite(values), "it computes a number that is too large.")
    return result


def _bits(_: Paths, operation: np.ufunc, *operands: Any) -> Any:
    if not all(is_integer(plain(operand)) for operand in operands):
        raise CannotVectorizeError("it combines bits of values that are not integers.")
    return operation(*map(number, operands))


def _shift(paths: Paths, operation: np.ufunc, operand: Any, bits: Any) -> Any:
    if not isinstance(bits, int) or not 0 <= bits < 64:  # noqa: PLR2004 — the width of an integer
        raise CannotVectorizeError("it shifts bits by a number that is not a constant.")
    return _bits(paths, operation, operand, bits)


RULES: dict[np.ufunc, Callable[..., Any]] = {
    **dict.fromkeys((np.add, np.subtract, np.multiply, np.negative, np.positive, np.absolute), _arithmetic),
    **dict.fromkeys((np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal), _compare),
    **dict.fromkeys((np.true_divide, np.floor_divide, np.remainder), _divide),
    **dict.fromkeys((np.bitwise_and, np.bitwise_or, np.bitwise_xor), _bits),
    **dict.fromkeys((np.left_shift, np.right_shift), _shift),
    np.power: _power,
}
"""How columns compute each operator."""


def _method(operation: np.ufunc, operand: Callable[[Any], Any]) -> Callable[[Traced, Any], Traced]:
    def method(self: Traced, other: Any) -> Traced:
        if isinstance(other, OPERANDS):
            return Traced(operation(operand(self), operand(other)), self.paths)
        return self.__array_ufunc__(operation, "__call__", self, other)

    return method


FREQUENT: dict[str, tuple[np.ufunc, Callable[[Any], Any]]] = {
    "__add__": (np.add, number),
    "__sub__": (np.subtract, number),
    "__mul__": (np.multiply, number),
    "__lt__": (np.less, plain),
    "__le__": (np.less_equal, plain),
    "__gt__": (np.greater, plain),
    "__ge__": (np.greater_equal, plain),
}
"""Operators that skip NumPy's dispatch, which takes longer than the operation itself on a small column."""
for _name, _rule in FREQUENT.items():
    setattr(Traced, _name, _method(*_rule))
