"""Aggregates of decimals, computed with numbers of 64 bits: what kernels read of a column, and what becomes of their results.

    decimals of up to 18 digits   12.50, 3.25   ──unscaled──►  1250, 325   ──kernel──►  1575 = (0, 1575)   ──joined──►  15.75
    results that are floats       12.50, 3.25   ──as_floats──► 12.5, 3.25  ──kernel──►  float64

A sum of 18 digits may need more than 64 bits, so kernels return its two halves (see `integers`), and NumPy joins these to decimals.
Results have the digits that the same aggregates have in the interpreter, where a partial is a Decimal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

from sash.aggregates.base import Aggregate, Functions
from sash.aggregates.definition import Fields, define
from sash.aggregates.integers import LOW_BITS

if TYPE_CHECKING:  # `import sash` does not import NumPy
    import numpy as np
    import numpy.typing as npt

MOST_DIGITS = 18
"""Decimals of so many digits are integers of 64 bits."""
EXACT_POWERS = 22
"""Powers of ten up to this one are exact as float64."""
MOST_STEPS = 1_000_000
"""Quantiles of more digits are interpolated with the float that they are."""
EXACT_INTEGERS = 2**53
"""Integers up to this one are exact as float64: a division by an exact power rounds once."""
WORD = 64
SAFE = 1 << 62
"""Integers up to here can be added without overflow."""
Join = Callable[[Sequence[Any], Any], Any]
"""Makes a column of decimals of the columns of several results and an Arrow type."""


def unscaled(column: Any) -> Any:
    """Return the digits of decimals of up to 18 digits, as integers.

    >>> import pyarrow as pa
    >>> from decimal import Decimal
    >>> unscaled(pa.array([Decimal("12.50"), None, Decimal("-3.25")], pa.decimal128(9, 2))[1:]).to_pylist()
    [None, -325]
    """
    import numpy as np  # noqa: PLC0415
    import pyarrow as pa  # noqa: PLC0415

    width = column.type.bit_width
    validity, data = column.buffers()
    if data is None:
        return pa.nulls(len(column), pa.int64())
    words = np.frombuffer(data, np.int32 if width < WORD else np.int64)
    step = max(1, width // WORD)
    digits = words[column.offset * step : (column.offset + len(column)) * step : step].astype(np.int64)
    if column.null_count == 0:
        validity = None
    elif column.offset:
        validity = column.is_valid().buffers()[1]
    return pa.Array.from_buffers(pa.int64(), len(column), [validity, pa.py_buffer(digits)])


def as_floats(column: Any) -> Any:
    """Return numbers as float64. Decimals of up to 18 digits are rounded once, as Python's float() does; longer ones as Arrow does.

    >>> import pyarrow as pa
    >>> from decimal import Decimal
    >>> as_floats(pa.array([Decimal("0.29"), None, Decimal("9007199254740.993")], pa.decimal128(18, 3))).to_pylist()
    [0.29, None, 9007199254740.992]
    """
    import pyarrow as pa  # noqa: PLC0415

    dtype = column.type
    if is_short(dtype) and 0 <= dtype.scale <= EXACT_POWERS:
        return _divided(unscaled(column), 10**dtype.scale)
    column = column.cast(pa.int8()) if pa.types.is_boolean(dtype) else column
    return column.cast(pa.float64(), safe=False)


def _divided(digits: Any, power: int) -> Any:
    """Return integers divided by a power of ten. NumPy rounds twice where an integer is not a float64; Python's integers round once."""
    import numpy as np  # noqa: PLC0415
    import pyarrow as pa  # noqa: PLC0415

    numbers = _numbers(digits)
    floats = numbers / float(power)
    for place in np.flatnonzero(np.abs(numbers) > EXACT_INTEGERS).tolist():
        floats[place] = int(numbers[place]) / power
    validity = digits.is_valid().buffers()[1] if digits.null_count else None
    return pa.Array.from_buffers(pa.float64(), len(digits), [validity, pa.py_buffer(floats)])


def is_short(dtype: Any) -> bool:
    """Return whether the values of an Arrow type are decimals of up to 18 digits, without a type of 256 bits."""
    import pyarrow as pa  # noqa: PLC0415

    return bool(pa.types.is_decimal(dtype) and dtype.precision <= MOST_DIGITS and dtype.bit_width <= 2 * WORD)


def over_digits(name: str, functions: Functions, lowers: Sequence[Any], join: Join, **fields: Any) -> Aggregate[Any]:
    """Return the aggregate of the digits of decimals, whose results `join` makes of numbers.

    `lowers` has for each number the function that lowers a partial to it, or the fields that are its own.
    """
    own = (lower if isinstance(lower, dict) else {"lower": lower} for lower in lowers)
    defined = {**fields, "functions": functions}
    entries = tuple(define(name, None, **with_lower(defined, one)) for one in own)
    return define(name, None, **defined, entries=entries, join=join, reads=unscaled)


def with_lower(fields: Fields, own: Fields) -> Fields:
    """Return the fields of an aggregate with those that are its own."""
    functions = fields["functions"]._replace(lower=own["lower"])
    return {**fields, **{name: value for name, value in own.items() if name != "lower"}, "functions": functions}


def join_total(results: Sequence[Any], dtype: Any) -> Any:
    """Return sums from their high and low halves.

    >>> import pyarrow as pa
    >>> halves = [pa.array([2**40, -1, None]), pa.array([7, 2**32 - 25, None])]
    >>> join_total(halves, pa.decimal128(28, 0)).to_pylist()
    [Decimal('4722366482869645213703'), Decimal('-25'), None]
    """
    import numpy as np  # noqa: PLC0415

    high, low = (_numbers(column) for column in results)
    high += low >> 32
    digits = (high << 32).view(np.uint64) | (low & LOW_BITS).view(np.uint64)
    return _decimals(digits, high >> 32, results[0], dtype)


def join_mean(results: Sequence[Any], dtype: Any) -> Any:
    """Return means from sums in halves and counts, rounded half up to four more digits than the sums have.

    >>> import pyarrow as pa
    >>> join_mean([pa.array([0, -1]), pa.array([200, 2**32 - 200]), pa.array([3, 3])], pa.decimal128(16, 6)).to_pylist()
    [Decimal('0.666667'), Decimal('-0.666667')]
    """
    import numpy as np  # noqa: PLC0415

    high, low, counts = (_numbers(column) for column in results)
    high += low >> 32
    small = (high >= -(1 << 14)) & (high < 1 << 14)  # then a sum with four more digits fits in 60 bits
    doubled = 2 * MORE_DIGITS_FACTOR * np.where(small, (high << 32) | (low & LOW_BITS), 0)
    counts = np.maximum(counts, 1)  # of windows without a value
    magnitude = (np.abs(doubled) + counts) // (2 * counts)
    means = np.where(doubled < 0, -magnitude, magnitude)
    whole = means.astype(object)
    for number in np.flatnonzero(~small).tolist():
        total = 2 * MORE_DIGITS_FACTOR * ((int(high[number]) << 32) | (int(low[number]) & LOW_BITS))
        count = int(counts[number])
        rounded = (abs(total) + count) // (2 * count)
        whole[number] = -rounded if total < 0 else rounded
    return _of_integers(means if small.all() else whole, results[0], dtype)


MORE_DIGITS_FACTOR = 10_000
"""A mean and a quantile have four more digits than the values."""


@cache
def steps_of(fraction: float) -> int:
    """Return the denominator of a fraction as written in decimal, such as 100 for 0.57; 0 if it is larger than MOST_STEPS.

    >>> steps_of(0.57), steps_of(0.5), steps_of(1 / 3)
    (100, 2, 0)
    """
    denominator = Fraction(str(float(fraction))).denominator
    return denominator if denominator <= MOST_STEPS else 0


def exact_part(part: float, steps: int) -> tuple[int, int]:
    """Return the numerator and denominator of a part of a rank, rounded to a multiple of 1 / steps. Without steps, those of the float itself.

    >>> exact_part(0.28 * 25 - 6, 25), exact_part(0.1, 10), exact_part(0.25, 0)
    ((25, 25), (1, 10), (1, 4))
    """
    return (round(part * steps), steps) if steps else part.as_integer_ratio()


def join_quantile(results: Sequence[Any], dtype: Any, steps: int = 0) -> Any:
    """Return quantiles from the values below and above a rank and the fraction of the rank, rounded half up to four more digits.

    `exact_part` rounds the fraction to a multiple of 1 / steps.

    >>> import pyarrow as pa
    >>> parts = [pa.array([125, 125, None]), pa.array([130, 130, None]), pa.array([0.0, 0.5, None])]
    >>> join_quantile(parts, pa.decimal128(38, 6)).to_pylist()
    [Decimal('1.250000'), Decimal('1.275000'), None]
    """
    import numpy as np  # noqa: PLC0415

    below, above, parts = (_numbers(column) for column in results)
    low, width = below.astype(object) * MORE_DIGITS_FACTOR, (above.astype(object) - below.astype(object))
    scaled = low
    for part in np.unique(parts).tolist():  # windows of as many rows have the same one
        if part != 0.0:
            numerator, denominator = exact_part(part, steps)
            numbers = parts == part
            scaled[numbers] = [
                _round_half_up(begin * denominator + step * numerator * MORE_DIGITS_FACTOR, denominator)
                for begin, step in zip(low[numbers], width[numbers], strict=True)
            ]
    return _of_integers(scaled, results[0], dtype)


def _round_half_up(numerator: int, denominator: int) -> int:
    """Return a quotient rounded to the nearest integer, halves away from zero.

    >>> _round_half_up(5, 2), _round_half_up(-5, 2), _round_half_up(7, 3)
    (3, -3, 2)
    """
    magnitude = (2 * abs(numerator) + denominator) // (2 * denominator)
    return -magnitude if numerator < 0 else magnitude


def join_value(results: Sequence[Any], dtype: Any) -> Any:
    """Return integers as decimals.

    >>> import pyarrow as pa
    >>> join_value([pa.array([-325, None])], pa.decimal128(10, 2)).to_pylist()
    [Decimal('-3.25'), None]
    """
    return _of_integers(_numbers(results[0]), results[0], dtype)


def _numbers(column: Any) -> npt.NDArray[Any]:
    """Return a copy of numbers, 0 where they are null."""
    import numpy as np  # noqa: PLC0415

    dtype = column.type.to_pandas_dtype()
    data: Any = (
        np.frombuffer(column.buffers()[1], dtype)[column.offset : column.offset + len(column)] if len(column) else []
    )
    numbers = np.array(data, dtype)
    if column.null_count:
        numbers[_nulls(column)] = 0
    return numbers


def _nulls(column: Any) -> npt.NDArray[np.bool_]:
    import numpy as np  # noqa: PLC0415

    bits = column.is_null().buffers()[1]
    return np.unpackbits(np.frombuffer(bits, np.uint8), count=len(column), bitorder="little").view(np.bool_)


def _of_integers(numbers: npt.NDArray[Any], like: Any, dtype: Any) -> Any:
    """Return integers of 64 bits, or Python's, as decimals with the nulls of a column."""
    import numpy as np  # noqa: PLC0415

    if numbers.dtype != object:
        return _decimals(numbers.view(np.uint64), numbers >> 63, like, dtype)
    width = dtype.bit_width // 8
    words = np.frombuffer(b"".join(number.to_bytes(width, "little", signed=True) for number in numbers), np.uint64)
    return _decimals(words[::2], words[1::2].view(np.int64), like, dtype)


def _decimals(low: Any, high: Any, like: Any, dtype: Any) -> Any:
    """Return decimals of 128 bits from their halves, with the nulls of a column."""
    import numpy as np  # noqa: PLC0415
    import pyarrow as pa  # noqa: PLC0415

    words = np.empty((len(low), 2), np.uint64)
    words[:, 0], words[:, 1] = low, high.view(np.uint64)
    validity = like.is_valid().buffers()[1] if like.null_count else None
    return pa.Array.from_buffers(dtype, len(low), [validity, pa.py_buffer(words)])
