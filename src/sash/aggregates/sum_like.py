"""Sum-like aggregates: count, sum, product, sum_of_squares.

sum and sum_of_squares come in several forms, of which `Aggregate.of_kind` picks one. Only integers have an exact
inverse: a float that was added can't be taken out again without leaving its rounding behind, and one 1e90 would spoil all
windows after it.

    form         partial        inverse    commutative   for
    (generic)    total          inexact    sum: no       any object with +; sum concatenates strings and lists
    "float"      total          inexact    yes           float64
    "int"        (high, low)    exact      yes           int64 and bool: see `integers`
"""

from __future__ import annotations

from typing import Any

from sash.aggregates import integers
from sash.aggregates.base import Aggregate, unchanged
from sash.aggregates.binding import over


def count(column: str | None = None) -> Aggregate[int]:
    """Count the rows, or with a column its values that are not null.

    >>> rows = count()
    >>> rows.lower(rows.combine(rows.lift(), rows.lift()))
    2
    """
    rows = Aggregate(
        name="count",
        lift=one_row if column is None else one_value,
        combine=add,
        inputs=0 if column is None else 1,
        inverse=subtract,
        identity=0,
        commutative=True,
        empty=0,
        at_least=0,
    )
    return over(rows, column)


def sum(column: str | None = None) -> Aggregate[Any]:
    """Add the values: integers to an int64 (an overflow is an error), floats to a float64, strings to one string.

    >>> total = sum()
    >>> total.combine(total.lift(3), total.lift(4)), total.combine(total.lift("ab"), total.lift("c"))
    (7, 'abc')
    """
    whole = Aggregate(
        name="sum",
        lift=integers.split,
        combine=integers.add,
        lower=integers.join,
        inverse=integers.subtract,
        identity=integers.ZERO,
        commutative=True,
    )
    real = Aggregate(
        name="sum",
        lift=as_float,
        combine=add,
        inverse=subtract,
        inverse_is_exact=False,
        identity=0.0,
        commutative=True,
    )
    generic = Aggregate(
        name="sum",
        lift=unchanged,
        combine=add,
        inverse=subtract,
        inverse_is_exact=False,
        variants={"int": whole, "bool": whole, "float": real},
    )
    return over(generic, column)


def product(column: str | None = None) -> Aggregate[float]:
    """Multiply the values, as float64.

    >>> volume = product()
    >>> volume.combine(volume.lift(2), volume.lift(4))
    8.0
    """
    return over(Aggregate(name="product", lift=as_float, combine=multiply, identity=1.0, commutative=True), column)


def sum_of_squares(column: str | None = None) -> Aggregate[Any]:
    """Add the squares of the values: those of integers to an int64 (an overflow is an error).

    >>> energy = sum_of_squares()
    >>> energy.combine(energy.lift(3), energy.lift(4))
    25
    """
    whole = Aggregate(
        name="sum_of_squares",
        lift=integers.split_square,
        combine=integers.add,
        lower=integers.join,
        inverse=integers.subtract,
        identity=integers.ZERO,
        commutative=True,
    )
    real = Aggregate(
        name="sum_of_squares",
        lift=float_square,
        combine=add,
        inverse=subtract,
        inverse_is_exact=False,
        identity=0.0,
        commutative=True,
    )
    generic = Aggregate(
        name="sum_of_squares",
        lift=square,
        combine=add,
        inverse=subtract,
        inverse_is_exact=False,
        commutative=True,
        variants={"int": whole, "bool": whole, "float": real},
    )
    return over(generic, column)


def one_row() -> int:
    """Lift a row, whatever is in it, to a count."""
    return 1


def one_value(value: object) -> int:  # noqa: ARG001 — it counts because it is there
    """Lift a value, whatever it is, to a count."""
    return 1


def add(older: Any, newer: Any) -> Any:
    """Return the sum, which for strings and lists depends on the order."""
    return older + newer


def subtract(whole: Any, older: Any) -> Any:
    """Return what is left of a sum."""
    return whole - older


def multiply(older: float, newer: float) -> float:
    """Return the product."""
    return older * newer


def as_float(value: Any) -> float:
    """Return a number of any kind as float64; Numba's float() alone leaves float32 as it is and takes no bool."""
    return float(value * 1)


def square(value: Any) -> Any:
    """Return the square in the value's own type."""
    return value * value


def float_square(value: Any) -> float:
    """Return the square as float64."""
    return as_float(value) * as_float(value)
