"""Compensated totals of floats: the partials of sum, sum_of_squares and the means over columns of floats.

Knuth. The Art of Computer Programming 2, section 4.2.2, theorem B (TwoSum).
Ogita, Rump, Oishi. Accurate sum and dot product. SIAM J. Sci. Comput. 26(6), 2005 (Sum2).

A total is a float64 and the rounding errors that its additions left, summed separately. TwoSum computes the rounding error of an
addition exactly, in six operations and without a branch. The result is as accurate as if the sum were computed with twice the
digits and rounded once:

    older: total, error         newer: total, error
    both:  total = fl(older.total + newer.total)     error = older.error + newer.error + (the rounding error of total)

Combining is commutative, and associative up to the rounding of `error`. With an infinity, or if a total overflows, `error` is NaN
and `total` is what plain additions give: infinity, or NaN for inf - inf. `total_of` then ignores `error`.

Kernels use tuples. The general forms of the aggregates take any object, so their partial is a `FloatTotal` for a float, and the
object itself for anything else.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from sash.aggregates.base import Functions

Compensated: TypeAlias = tuple[float, float]
"""The sum, rounded after each addition, and the sum of the rounding errors."""
CountedSum: TypeAlias = tuple[Compensated, int]
"""A compensated sum, and the number of its values."""

NO_ERROR = -0.0
"""Adding -0.0 changes no float, not even -0.0, so that the compiler omits the addition."""
ZERO: Compensated = (-0.0, NO_ERROR)
"""Neutral for -0.0, too: 0.0 would make it positive."""
ZERO_COUNTED: CountedSum = (ZERO, 0)


def as_float(value: Any) -> float:
    """Return a number of any type as float64; Numba's float() keeps float32 and rejects bool."""
    return float(value * 1)


def lift_float(value: Any) -> Compensated:
    """Return the total of one number, or of a slice whose total Spark computed."""
    return as_float(value), NO_ERROR


def lift_square(value: Any) -> Compensated:
    """Return the total of one square."""
    return as_float(value) * as_float(value), NO_ERROR


def lift_counted(value: Any) -> CountedSum:
    """Return the counted total of one number."""
    return lift_float(value), 1


def add_compensated(older: Compensated, newer: Compensated) -> Compensated:
    """Return the total of both.

    >>> add_compensated((1e16, 0.0), (1.0, 0.0))
    (1e+16, 1.0)
    """
    total = older[0] + newer[0]
    added = total - older[0]
    return total, (older[1] + newer[1]) + ((older[0] - (total - added)) + (newer[0] - added))


def subtract_compensated(whole: Compensated, older: Compensated) -> Compensated:
    """Return the total without the older values; errors that are smaller than the last digit of `error` stay behind."""
    return add_compensated(whole, (-older[0], -older[1]))


def add_counted_sums(older: CountedSum, newer: CountedSum) -> CountedSum:
    """Return the counted total of both."""
    return add_compensated(older[0], newer[0]), older[1] + newer[1]


def subtract_counted_sums(whole: CountedSum, older: CountedSum) -> CountedSum:
    """Return the counted total without the older values."""
    return subtract_compensated(whole[0], older[0]), whole[1] - older[1]


def total_of(total: Compensated) -> float:
    """Return the total, rounded once. A total of -0.0 alone stays negative, however it was added up.

    >>> total_of((1e16, 2.0)), total_of((float("inf"), float("nan"))), total_of((-0.0, 0.0))
    (1.0000000000000002e+16, inf, -0.0)
    """
    result = total[0] + total[1]
    return total[0] if total[1] == 0 or result != result else result


def divide_counted(total: CountedSum) -> float:
    """Return the mean."""
    return total_of(total[0]) / total[1]


SUM = Functions(lift_float, add_compensated, total_of, subtract_compensated, ZERO)
COUNTED_SUM = Functions(lift_counted, add_counted_sums, divide_counted, subtract_counted_sums, ZERO_COUNTED)

# -- any object -----------------------------------------------------------------------------------------------------------


class FloatTotal(tuple[float, float]):
    """A compensated total with the operators of a number; a tuple, as in kernels.

    >>> sum([lift_any(0.1)] * 10, start=0), plain(sum([lift_any(0.1)] * 10, start=0))
    ((0.9999999999999999, 1.6653345369377348e-16), 1.0)
    """

    __slots__ = ()

    def __add__(self, other: Any) -> FloatTotal:
        """Return the total of both; the other may be a plain number, such as an integer in a column of floats."""
        if type(other) is not FloatTotal:  # first, because it takes least time
            if not isinstance(other, (float, int)):
                raise TypeError(f"unsupported operand type(s) for +: 'float' and '{type(other).__name__}'")
            other = lift_float(other)
        return FloatTotal(add_compensated(self, other))

    __radd__ = __add__  # TwoSum is commutative

    def __neg__(self) -> FloatTotal:
        """Return the total of the negated values."""
        return FloatTotal((-self[0], -self[1]))

    def __sub__(self, other: Any) -> FloatTotal:
        """Return the total without the other."""
        return self.__add__(-other)

    def __rsub__(self, other: Any) -> FloatTotal:
        """Return a plain number without this total."""
        return (-self).__add__(other)


def lift_any(value: Any) -> Any:
    """Return the total of one object: compensated for a float, the object itself for others."""
    return FloatTotal((value, NO_ERROR)) if isinstance(value, float) else value


def plain(total: Any) -> Any:
    """Return the total as a float, or the object itself."""
    return total_of(total) if isinstance(total, FloatTotal) else total
