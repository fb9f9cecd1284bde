"""Max-like aggregates: max, min, spread, max_count, min_count, arg_max, arg_min, any, all.

None has an inverse. Most are selective: combine returns one of its arguments, the older one where they tie. The order is
that of `order`: NaN is larger than every number and equal to NaN, so max is NaN with a NaN in the window, and min only if
there is nothing else. any and all are max and min of truth values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sash.aggregates.base import Aggregate, P, unchanged
from sash.aggregates.binding import over
from sash.aggregates.order import is_above

LARGEST_INTEGER = (1 << 63) - 1


def max(column: str | None = None) -> Aggregate[Any]:
    """Take the largest value.

    >>> max().combine(3, 9), max().combine("ant", "bee")
    (9, 'bee')
    """
    return over(_extreme("max", larger, larger_number), column)


def min(column: str | None = None) -> Aggregate[Any]:
    """Take the smallest value.

    >>> min().combine(3, 9), min().combine(float("nan"), 9.0)
    (3, 9.0)
    """
    return over(_extreme("min", smaller, smaller_number), column)


def _extreme(name: str, combine: Callable[[Any, Any], Any], of_numbers: Callable[[Any, Any], Any]) -> Aggregate[Any]:
    generic = Aggregate(
        name=name, lift=unchanged, combine=combine, commutative=True, selective=True, gives="value", codes=("ordered",)
    )
    numbers = replace(generic, combine=of_numbers)
    return replace(generic, variants={"int": numbers, "float": numbers, "bool": numbers})


def spread(column: str | None = None) -> Aggregate[tuple[Any, Any]]:
    """Take the largest value minus the smallest.

    >>> width = spread()
    >>> width.lower(width.combine(width.lift(3), width.lift(9)))
    6
    """
    whole = Aggregate(
        name="spread", lift=twice, combine=widen, lower=integer_width, commutative=True, gives="difference"
    )
    variants = {"int": whole, "bool": whole}
    generic = Aggregate(
        name="spread",
        lift=twice,
        combine=widen,
        lower=width_between,
        commutative=True,
        variants=variants,
        gives="difference",
    )
    return over(generic, column)


def max_count(column: str | None = None) -> Aggregate[tuple[Any, int]]:
    """Count how often the largest value occurs.

    >>> peaks = max_count()
    >>> peaks.lower(peaks.combine(peaks.lift(9), peaks.lift(9)))
    2
    """
    aggregate = Aggregate(
        name="max_count",
        lift=counted,
        combine=count_larger,
        lower=second,
        commutative=True,
        gives="number",
        codes=("ordered",),
    )
    return over(aggregate, column)


def min_count(column: str | None = None) -> Aggregate[tuple[Any, int]]:
    """Count how often the smallest value occurs.

    >>> lows = min_count()
    >>> lows.lower(lows.combine(lows.lift(3), lows.lift(9)))
    1
    """
    aggregate = Aggregate(
        name="min_count",
        lift=counted,
        combine=count_smaller,
        lower=second,
        commutative=True,
        gives="number",
        codes=("ordered",),
    )
    return over(aggregate, column)


def arg_max(x: str | None = None, a: str | None = None) -> Aggregate[tuple[Any, Any]]:
    """Take `a` of the first row where x is largest.

    >>> who = arg_max()
    >>> who.lower(who.combine(who.lift(9, "Ann"), who.lift(9, "Bob")))
    'Ann'
    """
    aggregate = Aggregate(
        name="arg_max",
        lift=pair,
        combine=larger_first,
        lower=second,
        inputs=2,
        selective=True,
        gives="value",
        codes=("ordered", "any"),
    )
    return over(aggregate, x, a)


def arg_min(x: str | None = None, a: str | None = None) -> Aggregate[tuple[Any, Any]]:
    """Take `a` of the first row where x is smallest.

    >>> who = arg_min()
    >>> who.lower(who.combine(who.lift(9, "Ann"), who.lift(3, "Bob")))
    'Bob'
    """
    aggregate = Aggregate(
        name="arg_min",
        lift=pair,
        combine=smaller_first,
        lower=second,
        inputs=2,
        selective=True,
        gives="value",
        codes=("ordered", "any"),
    )
    return over(aggregate, x, a)


def any(column: str | None = None) -> Aggregate[bool]:
    """Tell whether at least one value is true.

    >>> any().combine(False, True)
    True
    """
    aggregate = Aggregate(name="any", lift=truth, combine=either, identity=False, commutative=True, selective=True)
    return over(aggregate, column)


def all(column: str | None = None) -> Aggregate[bool]:
    """Tell whether every value is true.

    >>> all().combine(False, True)
    False
    """
    aggregate = Aggregate(name="all", lift=truth, combine=both, identity=True, commutative=True, selective=True)
    return over(aggregate, column)


def larger(older: P, newer: P) -> P:
    """Return the larger value, the older one of equals."""
    return newer if is_above(newer, older) else older


def smaller(older: P, newer: P) -> P:
    """Return the smaller value, the older one of equals."""
    return newer if is_above(older, newer) else older


def larger_number(older: Any, newer: Any) -> Any:
    """Return what `larger` does of two numbers; compiled, two selections: a branch that is guessed wrong costs more."""
    winner = newer if newer > older else older  # noqa: FURB136 — that of CPython and that of Numba differ for NaN
    return newer if newer != newer else winner


def smaller_number(older: Any, newer: Any) -> Any:
    """Return what `smaller` does of two numbers, by two selections."""
    winner = newer if newer < older else older  # noqa: FURB136 — as above
    return newer if older != older else winner


def twice(value: P) -> tuple[P, P]:
    """Lift a value to the smallest and the largest one."""
    return value, value


def widen(older: tuple[P, P], newer: tuple[P, P]) -> tuple[P, P]:
    """Return the smallest and the largest of both."""
    return smaller(older[0], newer[0]), larger(older[1], newer[1])


def width_between(ends: tuple[Any, Any]) -> Any:
    """Return the largest minus the smallest."""
    return ends[1] - ends[0]


def integer_width(ends: tuple[int, int]) -> int:
    """Return the largest minus the smallest, or raise if it needs more than 64 bits."""
    width = int(ends[1]) - int(ends[0])
    if width < 0 or width > LARGEST_INTEGER:  # negative where 64 bits wrap, too large where integers are unbounded
        raise OverflowError("The spread of the integers of a window needs more than 64 bits: cast them to float64.")
    return width


def counted(value: P) -> tuple[P, int]:
    """Lift a value to an extreme that occurs once."""
    return value, 1


def count_larger(older: tuple[P, int], newer: tuple[P, int]) -> tuple[P, int]:
    """Return the larger extreme, or both counts together where they are equal."""
    if is_above(newer[0], older[0]):
        return newer
    if is_above(older[0], newer[0]):
        return older
    return older[0], older[1] + newer[1]


def count_smaller(older: tuple[P, int], newer: tuple[P, int]) -> tuple[P, int]:
    """Return the smaller extreme, or both counts together where they are equal."""
    if is_above(older[0], newer[0]):
        return newer
    if is_above(newer[0], older[0]):
        return older
    return older[0], older[1] + newer[1]


def pair(value: Any, argument: Any) -> tuple[Any, Any]:
    """Lift a row to the value that is compared and what belongs to it."""
    return value, argument


def larger_first(older: tuple[Any, Any], newer: tuple[Any, Any]) -> tuple[Any, Any]:
    """Return the pair with the larger value, the older one of equals."""
    return newer if is_above(newer[0], older[0]) else older


def smaller_first(older: tuple[Any, Any], newer: tuple[Any, Any]) -> tuple[Any, Any]:
    """Return the pair with the smaller value, the older one of equals."""
    return newer if is_above(older[0], newer[0]) else older


def second(partial: tuple[Any, Any]) -> Any:
    """Return what belongs to the extreme."""
    return partial[1]


def truth(value: Any) -> bool:
    """Lift a value to whether it is true."""
    return bool(value)


def either(older: bool, newer: bool) -> bool:
    """Return whether one of both is true."""
    return older or newer


def both(older: bool, newer: bool) -> bool:
    """Return whether both are true."""
    return older and newer
