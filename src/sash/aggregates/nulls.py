"""An aggregate whose partials may hold no values, for algorithms in which a null must be a row."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sash.aggregates.base import Aggregate

Counted = tuple[int, Any]
NO_VALUES: Counted = (0, None)


def counting_values(aggregate: Aggregate[Any]) -> Aggregate[Counted]:
    """Return the aggregate with partials (number of values, their partial); a null lifts to `NO_VALUES`.

    The count keeps an inverse exact: without it, sum's inverse returns 0 both for a remaining zero and for no values.

    >>> from sash import agg
    >>> total = counting_values(agg.sum())
    >>> older, newer = total.lift(5), total.lift(None)
    >>> total.inverse(total.combine(older, newer), older)
    (0, None)
    """

    def lift(*values: Any) -> Counted:
        return NO_VALUES if any(value is None for value in values) else (1, aggregate.lift(*values))

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
        return aggregate.empty if partial[0] < max(1, aggregate.at_least) else aggregate.lower(partial[1])

    return replace(
        aggregate,
        lift=lift,
        combine=combine,
        lower=lower,
        inverse=inverse if aggregate.inverse is not None else None,
        identity=NO_VALUES,
        selective=False,
        rank=None,
        between=None,
        place=None,
        distinct=False,
        modal=False,
        at_least=0,
        variants={},
    )
