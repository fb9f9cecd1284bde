"""Aggregates in which a null is a row: its partial holds no values, or is the neutral one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

from sash.aggregates.base import Aggregate, Functions, object_lift, result_of, with_fields

Counted = tuple[int, Any]
NO_VALUES: Counted = (0, None)


def counting_values(aggregate: Aggregate[Any]) -> Aggregate[Counted]:
    """Return the aggregate with partials (number of values, their partial); a null lifts to `NO_VALUES`.

    The count keeps an inverse exact: without it, sum's inverse returns 0 both for a remaining zero and for no values. If the result
    belongs to the newest row, a third field says whether that row has a value.

    >>> from sash import agg
    >>> total = counting_values(agg.sum())
    >>> older, newer = total.lift(5), total.lift(None)
    >>> total.inverse(total.combine(older, newer), older)
    (0, None)
    """
    lift_values, rule = object_lift(aggregate), aggregate.result

    def lift(*values: Any) -> Counted:
        return NO_VALUES if any(value is None for value in values) else (1, lift_values(*values))

    def combine(older: Counted, newer: Counted) -> Counted:
        if older[0] == 0 or newer[0] == 0:
            return newer if older[0] == 0 else older
        return older[0] + newer[0], aggregate.combine(older[1], newer[1])

    def inverse(whole: Counted, older: Counted) -> Counted:
        assert aggregate.inverse is not None
        left = whole[0] - older[0]
        if left == 0 or older[0] == 0:
            return NO_VALUES if left == 0 else whole
        return left, aggregate.inverse(whole[1], older[1])

    def lower(partial: Counted) -> Any:
        return rule.empty if partial[0] < max(1, rule.at_least) else result_of(aggregate, partial[1])

    functions = Functions(lift, combine, lower, inverse if aggregate.inverse is not None else None, NO_VALUES)
    laws = replace(aggregate.laws.over_partials(), selective=False)
    result = replace(rule, auxiliary=None, finish=None, at_least=0)
    counted = with_fields(aggregate, functions, laws=laws, result=result, variants={})
    return _knowing_newest(counted) if rule.of_newest else counted


def _knowing_newest(counted: Aggregate[Any]) -> Aggregate[Any]:
    """Return the aggregate with partials (number of values, their partial, whether the newest row has a value).

    The neutral partial has no newest row, and so None in the third field.
    """

    def lift(*values: Any) -> Any:
        count, partial = counted.lift(*values)
        return count, partial, count > 0

    def combine(older: Any, newer: Any) -> Any:
        return *counted.combine(older[:2], newer[:2]), older[2] if newer[2] is None else newer[2]

    def inverse(whole: Any, older: Any) -> Any:
        assert counted.inverse is not None
        return *counted.inverse(whole[:2], older[:2]), whole[2]

    def lower(partial: Any) -> Any:
        return counted.lower(partial[:2]) if partial[2] else counted.result.empty

    neutral = (*NO_VALUES, None)
    return with_fields(counted, Functions(lift, combine, lower, inverse if counted.inverse else None, neutral))


def neutral_if_null(aggregate: Aggregate[Any]) -> Aggregate[Any]:
    """Return the aggregate with a further input, whether the row has a value: a row without one lifts to the identity.

    So a kernel takes the same path for each row. It does not count values: its caller knows which windows hold too few.

    >>> from sash import agg
    >>> total = neutral_if_null(agg.sum().of_kind("int"))
    >>> total.lift(5, False) == agg.sum().of_kind("int").identity
    True
    """
    counts, result = aggregate.coding.counts, replace(aggregate.result, at_least=1, empty=None)
    lift = lift_or_neutral(aggregate.lift, aggregate.identity)
    lower = lower_or_zero(aggregate.lower, counts[0]) if counts else aggregate.lower
    unbound: dict[str, Any] = {"inputs": 2, "columns": (), "counts": (), "variants": {}, "sql": None}
    return with_fields(aggregate, lift=lift, lower=lower, result=result, **unbound)


@cache
def lift_or_neutral(lift_value: Callable[[Any], Any], neutral: Any) -> Callable[[Any, bool], Any]:
    """Return the function that lifts a value, or a null to the neutral partial; the same one for equal arguments."""

    def lift(value: Any, present: bool) -> Any:
        return lift_value(value) if present else neutral

    return lift


@cache
def lower_or_zero(lower_partial: Callable[[Any], Any], count: int) -> Callable[[Any], Any]:
    """Return the function that lowers a partial, or one without values to 0: a mean would divide by their number."""

    def lower(partial: Any) -> Any:
        return lower_partial(partial) if partial[count] > 0 else 0.0

    return lower
