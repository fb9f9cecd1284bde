"""Exact totals of 64-bit integers: the partials of sum, sum_of_squares and mean over columns of integers.

Each integer is split into its high part and its low 32 bits, which are summed separately. Neither sum overflows 64 bits in
fewer than 2**31 rows. So `lower` detects an overflow of the total with the same code in CPython and in Numba, and subtraction
always undoes addition, also if the total overflowed in between.

    value = high · 2³² + low     high: bits 32 to 63, signed     low: bits 0 to 31, carries accumulate above them
"""

from __future__ import annotations

from typing import TypeAlias

from sash.aggregates.base import Functions

Total: TypeAlias = tuple[int, int]
"""The sum of the high parts, and the sum of the low parts."""
CountedTotal: TypeAlias = tuple[int, int, int]
"""A total, and the number of its values."""

ZERO: Total = (0, 0)
ZERO_COUNTED: CountedTotal = (0, 0, 0)

LOW_BITS = 0xFFFF_FFFF
TWO_TO_32 = 4294967296.0
HIGH_LIMIT = 1 << 31
"""A total fits in 64 bits if its high part, carries included, is in [-HIGH_LIMIT, HIGH_LIMIT)."""
LARGEST_ROOT = 3037000499
"""The largest integer whose square fits in 64 bits."""


def split(value: int) -> Total:
    """Return the total of one integer.

    >>> split(-1), split(2**40 + 7)
    ((-1, 4294967295), (256, 7))
    """
    return int(value) >> 32, int(value) & LOW_BITS


def split_square(value: int) -> Total:
    """Return the total of the square of one integer, or a marker of overflow if the square needs more than 64 bits.

    >>> split_square(-3), split_square(2**62)
    ((0, 9), (2147483648, 0))
    """
    if value > LARGEST_ROOT or value < -LARGEST_ROOT:  # no other row compensates: squares are never negative
        return HIGH_LIMIT, 0
    return split(int(value) * int(value))


def join(total: Total) -> int:
    """Return a total as one integer. Raise OverflowError if it needs more than 64 bits.

    >>> join((-(2**31), 5))
    -9223372036854775803
    """
    high = total[0] + (total[1] >> 32)
    if high < -HIGH_LIMIT or high >= HIGH_LIMIT:
        raise OverflowError("The sum of a window needs more than 64 bits. Cast the column to float64.")
    return (high << 32) | (total[1] & LOW_BITS)


def split_and_count(value: int) -> CountedTotal:
    """Return the counted total of one integer."""
    return int(value) >> 32, int(value) & LOW_BITS, 1


def add_counted(older: CountedTotal, newer: CountedTotal) -> CountedTotal:
    """Return the counted total of both."""
    return older[0] + newer[0], older[1] + newer[1], older[2] + newer[2]


def subtract_counted(whole: CountedTotal, older: CountedTotal) -> CountedTotal:
    """Return the counted total without the older values."""
    return whole[0] - older[0], whole[1] - older[1], whole[2] - older[2]


def divide(total: CountedTotal) -> float:
    """Return the mean; nothing is rounded before the division.

    >>> divide(add_counted(split_and_count(2**62), split_and_count(2**62 + 2**12)))
    4.61168601842739e+18
    """
    high = total[0] + (total[1] >> 32)
    return (high * TWO_TO_32 + (total[1] & LOW_BITS)) / total[2]


COUNTED_TOTAL = Functions(split_and_count, add_counted, divide, subtract_counted, ZERO_COUNTED)
