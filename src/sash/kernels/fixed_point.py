"""Moving sums of floats in fixed-point arithmetic: exact, so that the oldest row can be subtracted. Plain Python, compiled by `plain`.

A float is an integer times a power of two. Two integers of up to 50 bits hold each value of a column whose values are of similar
magnitude, as multiples of a coarse and of a fine unit. Sums of integers are exact. So a window adds its newest row and
subtracts its oldest one, and the result is the sum of its own rows, rounded once, whatever came before them:

    value    = coarse · unit + fine · unit · 2**-digits                exactly, or the row is left to another loop
    window   : high += coarse(newest) - coarse(oldest)                 low += fine(newest) - fine(oldest)
    sum      = high · unit + low · unit · 2**-digits

No conversion is needed: `value + 1.5 · 2**52 · unit` is a float with `coarse` in its last bits. So the difference of two such floats, as
integers, is that of their coarse parts. The loops go over chunks that fit into the first-level cache; all but the running
sums (`add_up`) are vectorised.

Values with more bits (small ones next to much larger ones), NaN, infinities, -0.0 and values near the limits of float64 have no such form. Each
value is tested. A window that holds one is left, together with many rows after it: it would take time to find out again and
again that a column does not suit.

All integers are unsigned: they wrap around, and so a carry needs no sign.
"""

from __future__ import annotations

from typing import Any

import numpy as np

CHUNK = 256
AHEAD = 1 << 13
"""The number of rows whose largest value decides on the unit, besides those of a window."""
HEADROOM = 2
"""Later values may be 2**2 times as large."""
DIGITS = 50
"""The bits of an integer. A sum of many has at most 62: the rest is for the sign, and for the carry from `low` to `high`."""
DIGITS_OF_SUM = 62
LEAST_POWER, MOST_POWER = -800, 900
"""Magnitudes between 2**-800 and 2**900: no unit is subnormal, and no sum overflows."""
LEFT = 16
"""After a value without a fixed-point form, the other loop takes 16 times the rows that were read in vain. It takes twice as many
if the next attempt fails soon, and so on. An attempt that went on for long enough to pay is repeated with another unit first."""


def slide_exactly(
    values: Any, firsts: Any, length: int, sums: Any, means: Any, steps: Any, zeros: Any, left: Any
) -> int:
    """Write sums and means of the newest `length` rows of each row's key, where these are exact. Return how many runs of rows are `left`.

    `sums` or `means` may be empty: they are not asked for. `steps` has room for two chunks of integers, `zeros` is a chunk of the type of `values`.
    """
    runs = 0
    spent = length + AHEAD  # what an attempt reads; the other loop starts with as many rows at most
    least = LEFT * spent
    wait = least
    for key in range(len(firsts) - 1):
        first = firsts[key]
        end = firsts[key + 1]
        row = first
        resumed = first
        while row < end:
            power = find_power(values, max(first, row - length), min(end, row + AHEAD))
            done = row
            if LEAST_POWER <= power <= MOST_POWER:
                done = slide_in_units(values, first, row, end, length, power, sums, means, steps, zeros)
            if done - resumed >= wait:
                wait = least
            if done < end and done - row < spent:
                stop = min(end, done + wait)
                wait *= 2
                if runs > 0 and left[runs - 1, 1] == done and done > first:
                    left[runs - 1, 1] = stop
                else:
                    left[runs, 0] = done
                    left[runs, 1] = stop
                    runs += 1
                done = stop
                resumed = stop
            row = done
    return runs


def find_power(values: Any, begin: int, end: int) -> int:
    """Return the exponent of a power of two above all magnitudes, 0 for zeros; more than that of any float if there is a NaN or an infinity."""
    largest = np.uint64(0)
    for row in range(begin, end):
        bits = np.float64(values[row]).view(np.uint64) & np.uint64(0x7FFFFFFFFFFFFFFF)
        largest = max(largest, bits)
    return int(largest >> np.uint64(52)) - 1022 if largest > np.uint64(0) else 0


def slide_in_units(
    values: Any,
    first: int,
    row: int,
    end: int,
    length: int,
    power: int,
    sums: Any,
    means: Any,
    steps: Any,
    zeros: Any,
) -> int:
    """Write results from a row on, until a value has no fixed-point form. Return the first row without a result."""
    digits = count_digits(length)
    unit = 2.0 ** (power + HEADROOM - digits)
    highs = steps[0]
    lows = steps[1]
    # The sums begin with 2**63, which keeps them positive, and with half of what is cut off, which rounds.
    half_range = np.uint64(1) << np.uint64(63)
    low = half_range + (np.uint64(1) << np.uint64(digits - 1))
    high = half_range + (np.uint64(1) << np.uint64(31)) - (half_range >> np.uint64(digits))
    for begin in range(max(first, row - length), row, CHUNK):
        older = values[begin : min(begin + CHUNK, row)]
        if write_steps(older, zeros, unit, digits, highs, lows):
            return row
        high, low = add_up(highs[: len(older)], lows[: len(older)], high, low)
    while row < end:
        is_filling = row < first + length
        many = min(CHUNK, (min(end, first + length) if is_filling else end) - row)
        oldest = zeros if is_filling else values[row - length : row - length + many]
        if write_steps(values[row : row + many], oldest, unit, digits, highs, lows):
            return row
        high, low = add_up(highs[:many], lows[:many], high, low)
        written = sums[row : row + many] if len(sums) > 0 else means[row : row + many]
        write_sums(highs, lows, unit, digits, written)
        if len(means) > 0 and is_filling:
            for at in range(many):
                means[row + at] = written[at] / (row + at - first + 1)
        elif len(means) > 0 and len(sums) > 0:
            divide(written, length, means[row : row + many])
        elif len(means) > 0:
            divide_in_place(written, length)
        row += many
    return row


def divide(sums: Any, count: int, means: Any) -> None:
    """Write the quotients."""
    for at in range(len(means)):
        means[at] = sums[at] / count


def divide_in_place(sums: Any, count: int) -> None:
    """Divide; the loop of `divide` is vectorised only for two arrays."""
    for at in range(len(sums)):
        sums[at] /= count


def count_digits(length: int) -> int:
    """Return how many bits an integer may have, so that a sum of `length` of them fits."""
    bits = 0
    while (1 << bits) < length:
        bits += 1
    return min(DIGITS, DIGITS_OF_SUM - bits)


def write_steps(newest: Any, oldest: Any, unit: float, digits: int, highs: Any, lows: Any) -> bool:
    """Write the differences of the coarse and of the fine parts. Return whether a value in `newest` has no fixed-point form."""
    base = unit * 1.5 * 2.0**52
    fine_base = base * 2.0**-digits
    zero = np.float64(base).view(np.uint64)
    limit = np.uint64(1) << np.uint64(digits)
    outside = ~(limit + limit - np.uint64(1))
    lost = np.uint64(0)
    for at in range(len(newest)):
        value = np.float64(newest[at])
        gone = np.float64(oldest[at])
        coarse = value + base
        coarse_gone = gone + base
        rest = value - (coarse - base)
        fine = rest + fine_base
        fine_gone = (gone - (coarse_gone - base)) + fine_base
        bits = np.float64(coarse).view(np.uint64)
        highs[at] = bits - np.float64(coarse_gone).view(np.uint64)
        lows[at] = np.float64(fine).view(np.uint64) - np.float64(fine_gone).view(np.uint64)
        # What the two parts do not hold: 0.0, or else some bit is set, also by -0.0 and NaN. And the coarse part must be in ± limit.
        lost |= np.float64(rest - (fine - fine_base)).view(np.uint64) | ((bits - zero + limit) & outside)
    return bool(lost != np.uint64(0))


def add_up(highs: Any, lows: Any, high: Any, low: Any) -> Any:
    """Replace steps by running sums. Return the last ones."""
    for at in range(len(highs)):
        high += highs[at]
        highs[at] = high
        low += lows[at]
        lows[at] = low
    return high, low


def write_sums(highs: Any, lows: Any, unit: float, digits: int, written: Any) -> None:
    """Write the sums as floats. They are cut into three integers that are smaller than 2**52, in the last bits of floats again."""
    fine_unit = unit * 2.0**-digits
    fine_mask = (np.uint64(1) << np.uint64(digits)) - np.uint64(1)
    fine_base = np.float64(fine_unit * 2.0**52).view(np.uint64)
    fine_zero = fine_unit * (2.0**52 + 2.0 ** (digits - 1))
    middle_mask = np.uint64(0xFFFFFFFF)
    middle_base = np.float64(unit * 2.0**52).view(np.uint64)
    middle_zero = unit * (2.0**52 + 2.0**31)
    upper_base = np.float64(unit * 2.0**84).view(np.uint64)
    upper_zero = unit * (2.0**84 + 2.0**63)
    for at in range(len(written)):
        carried = highs[at] + (lows[at] >> np.uint64(digits))
        below = np.uint64((lows[at] & fine_mask) | fine_base).view(np.float64) - fine_zero
        middle = np.uint64((carried & middle_mask) | middle_base).view(np.float64) - middle_zero
        upper = np.uint64((carried >> np.uint64(32)) | upper_base).view(np.float64) - upper_zero
        # Each of the three is exact, and at most half of the least that the next can be unless it is 0. So both rounding errors are exact.
        smaller = middle + below
        total = upper + smaller
        written[at] = total + ((smaller - (total - upper)) + (below - (smaller - middle)))
