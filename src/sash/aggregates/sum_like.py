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

from collections.abc import Callable
from dataclasses import replace
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
        gives="number",
    )
    return over(rows, column)


def sum(column: str | None = None) -> Aggregate[Any]:
    """Add the values: a column of integers to an int64 (an overflow is an error), floats to a float64, strings to one.

    Python's own integers, given one by one, have no limit.

    >>> total = sum()
    >>> total.combine(total.lift(3), total.lift(4)), total.combine(total.lift("ab"), total.lift("c"))
    (7, 'abc')
    """
    whole = exact_sum("sum", integers.split)
    generic = Aggregate(name="sum", lift=unchanged, combine=add, inverse=subtract, inverse_is_exact=False)
    real = replace(generic, lift=as_float, identity=0.0, commutative=True)
    return over(in_three_forms(generic, real, whole), column)


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
    whole = exact_sum("sum_of_squares", integers.split_square)
    generic = replace(sum(), name="sum_of_squares", lift=square, commutative=True, variants={})
    real = replace(generic, lift=float_square, identity=0.0)
    return over(in_three_forms(generic, real, whole), column)


def exact_sum(name: str, lift: Callable[..., integers.Total]) -> Aggregate[integers.Total]:
    """Return the form for integers: exact, invertible, and an error where the result doesn't fit."""
    return Aggregate(
        name=name,
        lift=lift,
        combine=integers.add,
        lower=integers.join,
        inverse=integers.subtract,
        identity=integers.ZERO,
        commutative=True,
    )


def in_three_forms(generic: Aggregate[Any], real: Aggregate[Any], whole: Aggregate[Any]) -> Aggregate[Any]:
    """Return the generic form, which `of_kind` turns into that for floats or that for integers and booleans."""
    return replace(generic, variants={"float": real, "int": whole, "bool": whole})


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
