"""Moving sums and means of floats in fixed-point arithmetic: exact, so that the oldest row can be subtracted.

A float is an integer times a power of two. Two integers of 50 bits hold each value of a column whose values are of similar
magnitude, as multiples of a coarse and of a fine unit. Sums of these integers are exact. So a window adds its newest row and
subtracts its oldest one, and the result is the sum of its own rows, rounded once, whatever came before them:

    value                       = coarse · unit + fine · unit · 2**-digits        exactly, or it is left to two_stacks
    (value + 1.5 · 2**52 unit)    has `coarse` in its last bits: the difference of two such floats, as integers, is that of `coarse`
    window                      : high += coarse(newest) - coarse(oldest)         low += fine(newest) - fine(oldest)

The loops go over chunks that fit into the first-level cache. All but the running sums are vectorised.

Values that need more bits (next to much larger ones), NaN, infinities, -0.0 and values near the limits of float64 have no such form. Each value
is tested. A window that holds one is left to the compensated sums of the other loop, together with many rows after it: it
would take time to find out again and again that a column does not suit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sash.aggregates.base import Aggregate
from sash.aggregates.compensated import divide_counted, lift_counted, lift_float, total_of
from sash.algorithms.base import Algorithm
from sash.kernels import loops
from sash.kernels.kernel import Kernel
from sash.kernels.kernel_arrays import Columns, Positions, ResultColumn, Results
from sash.kernels.plain import compile_loop

CHUNK = 256
AHEAD = 1 << 13
"""The number of rows whose largest value decides on the units, besides those of a window."""
HEADROOM = 2
"""Later values may be 2**2 times as large."""
DIGITS = 50
"""The bits of an integer. A sum of many has at most 62: the rest is for the sign, and for the carry from `low` to `high`."""
DIGITS_OF_SUM = 62
LEAST_POWER, MOST_POWER = -800, 900
"""Magnitudes between 2**-800 and 2**900: no unit is subnormal, and no sum overflows."""
LEFT = 8
"""After a value without a fixed-point form, the other loop takes 8 times the rows that were read in vain. It takes twice as many
if the next attempt fails soon, and so on."""

IS_MEAN = {(lift_float, total_of): False, (lift_counted, divide_counted): True}
"""By the functions of an aggregate: whether its result is the mean, or the sum."""


class ExactSumKernel(Kernel):
    """A kernel for sums and means of floats, which leaves rows to the loop of its algorithm where these sums are not exact.

    >>> from sash import agg
    >>> from sash.algorithms import TwoStacks
    >>> kernel = ExactSumKernel(TwoStacks, [agg.sum()], ("float64",), loops.slide_rows)
    >>> [result] = kernel.slide_rows((np.array([1e90, 0.1, 0.2, 0.3]),), length=2)
    >>> result.values.tolist()
    [1e+90, 1e+90, 0.30000000000000004, 0.5]
    """

    def _slide_keys_into(self, columns: Columns, firsts: Positions, length: int, results: Results) -> None:
        """Write the aggregates over the newest `length` rows of each key."""
        left = self._slide_exactly(columns[0], firsts, length, results)
        if len(left) and (left[:, 1] - left[:, 0]).sum() == len(columns[0]):
            super()._slide_keys_into(columns, firsts, length, results)
            return
        keys = firsts[np.searchsorted(firsts, left[:, 0], "right") - 1]
        for first, begin, end in np.column_stack((keys, left)).tolist():
            start = max(first, begin - length + 1)
            own = tuple(column[start:end] for column in columns)
            section = [ResultColumn(result.values[start:end], None) for result in results]
            before = [part.values[: begin - start].copy() for part in section]
            super()._slide_keys_into(own, np.array([0, end - start]), length, section)
            for part, values in zip(section, before, strict=True):
                part.values[: begin - start] = values  # the loop began there, with windows that were not full

    def _slide_exactly(self, column: npt.NDArray[Any], firsts: Positions, length: int, results: Results) -> Positions:
        """Write the results that are exact. Return the runs of rows without: the first row of each and the one after it."""
        length = min(length, max(1, len(column)))
        most = len(firsts) + len(column) // (LEFT * AHEAD)
        left = np.empty((most, 2), np.int64)
        parts, zeros = np.empty((2, CHUNK), np.uint64), np.zeros(CHUNK, column.dtype)
        slide = compile_loop(slide_exactly)
        count = 0
        for aggregate, result in zip(self.design.aggregates, results, strict=True):
            is_mean = IS_MEAN[aggregate.lift, aggregate.lower]
            count = slide(column, firsts, length, is_mean, result.values, parts, zeros, left)
        return left[:count]


def suits(algorithm: type[Algorithm[Any]], aggregates: Sequence[Aggregate[Any]], inputs: tuple[str, ...]) -> bool:
    """Return whether these are sums and means of one column of floats.

    >>> from sash import agg
    >>> from sash.algorithms import TwoStacks
    >>> suits(TwoStacks, [agg.sum()], ("float64",)), suits(TwoStacks, [agg.max()], ("float64",))
    (True, False)
    """
    if inputs not in (("float64",), ("float32",)) or algorithm.about.name != "two_stacks":
        return False
    forms = [aggregate.of_kind("float") for aggregate in aggregates]
    return all((form.lift, form.lower) in IS_MEAN for form in forms)


def slide_exactly(
    values: Any, firsts: Any, length: int, is_mean: bool, results: Any, parts: Any, zeros: Any, left: Any
) -> int:
    """Write the sum or mean of the newest `length` rows of each row's key, where it is exact. Return how many runs of rows are `left`."""
    count = 0
    least = LEFT * (length + AHEAD)  # an attempt in vain reads the second factor
    wait = least
    for key in range(len(firsts) - 1):
        first = firsts[key]
        end = firsts[key + 1]
        row = first
        while row < end:
            power = find_power(values, max(first, row - length), min(end, row + AHEAD))
            done = row
            if power >= LEAST_POWER and power <= MOST_POWER:
                done = slide_in_units(values, first, row, end, length, power, is_mean, results, parts, zeros)
            if done - row >= wait:
                wait = least
            elif done < end:
                stop = min(end, done + wait)
                wait *= 2
                if count > 0 and left[count - 1, 1] == done and done > first:
                    left[count - 1, 1] = stop
                else:
                    left[count, 0] = done
                    left[count, 1] = stop
                    count += 1
                done = stop
            row = done
    return count


def find_power(values: Any, begin: int, end: int) -> int:
    """Return the exponent of a power of two above all magnitudes; a large one if there is a NaN or an infinity."""
    largest = np.uint64(0)
    for row in range(begin, end):
        bits = np.float64(values[row]).view(np.uint64) & np.uint64(0x7FFFFFFFFFFFFFFF)
        largest = max(largest, bits)
    return np.int64(largest >> np.uint64(52)) - 1022 if largest > np.uint64(0) else 0


def slide_in_units(
    values: Any,
    first: int,
    row: int,
    end: int,
    length: int,
    power: int,
    is_mean: bool,
    results: Any,
    parts: Any,
    zeros: Any,
) -> int:
    """Write results from a row on, until a value has no fixed-point form. Return the first row without a result."""
    size = 0
    while (1 << size) < length:
        size += 1
    digits = min(DIGITS, DIGITS_OF_SUM - size)
    unit = 2.0 ** (power + HEADROOM - digits)
    fine_unit = unit * 2.0**-digits
    coarse_base = unit * 1.5 * 2.0**52
    fine_base = fine_unit * 1.5 * 2.0**52
    coarse_zero = np.float64(coarse_base).view(np.uint64)
    fine_zero = np.float64(fine_base).view(np.uint64)
    one = np.uint64(1)
    digits_bits = np.uint64(digits)
    half_range = one << digits_bits
    outside = ~((one << (digits_bits + one)) - one)

    # The sums begin with numbers that make them positive, and that round the carry from low to high.
    half = one << (digits_bits - one)
    low = (one << np.uint64(63)) + half
    high = (one << np.uint64(63)) + (one << np.uint64(31)) - (one << (np.uint64(63) - digits_bits))
    lost = np.uint64(0)
    for older in range(max(first, row - length), row):
        value = np.float64(values[older])
        coarse = value + coarse_base
        rest = value - (coarse - coarse_base)
        fine = rest + fine_base
        step = np.float64(coarse).view(np.uint64) - coarse_zero
        high += step
        low += np.float64(fine).view(np.uint64) - fine_zero
        lost |= np.float64(rest - (fine - fine_base)).view(np.uint64) | ((step + half_range) & outside)
    if lost != np.uint64(0):
        return row

    fine_mask = (one << digits_bits) - one
    fine_exponent = np.float64(fine_unit * 2.0**52).view(np.uint64)
    fine_bias = fine_unit * (2.0**52 + 2.0 ** (digits - 1))
    middle_mask = np.uint64(0xFFFFFFFF)
    middle_exponent = np.float64(unit * 2.0**52).view(np.uint64)
    middle_bias = unit * (2.0**52 + 2.0**31)
    upper_unit = unit * 2.0**32
    upper_exponent = np.float64(upper_unit * 2.0**52).view(np.uint64)
    upper_bias = upper_unit * (2.0**52 + 2.0**31)
    word = np.uint64(32)
    highs = parts[0]
    lows = parts[1]
    while row < end:
        is_filling = row < first + length
        many = min(CHUNK, (min(end, first + length) if is_filling else end) - row)
        newest = values[row : row + many]
        oldest = zeros[:many] if is_filling else values[row - length : row - length + many]
        for at in range(many):
            value = np.float64(newest[at])
            gone = np.float64(oldest[at])
            coarse = value + coarse_base
            coarse_gone = gone + coarse_base
            rest = value - (coarse - coarse_base)
            fine = rest + fine_base
            fine_gone = (gone - (coarse_gone - coarse_base)) + fine_base
            bits = np.float64(coarse).view(np.uint64)
            highs[at] = bits - np.float64(coarse_gone).view(np.uint64)
            lows[at] = np.float64(fine).view(np.uint64) - np.float64(fine_gone).view(np.uint64)
            lost |= np.float64(rest - (fine - fine_base)).view(np.uint64) | (
                (bits - coarse_zero + half_range) & outside
            )
        if lost != np.uint64(0):
            return row
        for at in range(many):
            high += highs[at]
            highs[at] = high
            low += lows[at]
            lows[at] = low
        written = results[row : row + many]
        for at in range(many):
            carried = highs[at] + (lows[at] >> digits_bits)
            below = np.uint64((lows[at] & fine_mask) | fine_exponent).view(np.float64) - fine_bias
            middle = np.uint64((carried & middle_mask) | middle_exponent).view(np.float64) - middle_bias
            upper = np.uint64((carried >> word) | upper_exponent).view(np.float64) - upper_bias
            # Each of the three is exact, and much smaller than the next unless that is 0: so are the two rounding errors.
            smaller = middle + below
            total = upper + smaller
            written[at] = total + ((smaller - (total - upper)) + (below - (smaller - middle)))
        if is_mean:
            if is_filling:
                for at in range(many):
                    written[at] /= row + at - first + 1
            else:
                for at in range(many):
                    written[at] /= length
        row += many
    return row
