"""The oracle: every result recomputed from the raw rows of its window. It shares nothing with the engine."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from sash.aggregates.base import Aggregate, object_lift


def recompute(aggregate: Aggregate[Any], rows: Iterable[Any], ticks: int | None = None) -> Any:
    """Return the aggregate of rows, oldest first, combined one by one from the left.

    `aggregate` is the aggregate. `rows` are values, or tuples if it reads several columns; an aggregate that reads the time has it last,
    as an integer. `ticks` is the time that the result belongs to, such as that of the row; None if it does not matter.

    Nulls and NaN: rows with a null are skipped; NaN is a value.
    Result: a Python value; None if there are too few values, 0 for a count.
    Errors: those of the functions of the aggregate.

    >>> import sash
    >>> from sash import agg
    >>> sash.testing.recompute(agg.arg_max(), [(3, "a"), (8, "b"), (None, "c"), (8, "d")])
    'b'
    """
    lift = object_lift(aggregate)
    partials = []
    for row in rows:
        values = row if aggregate.inputs > 1 else (row,) * aggregate.inputs
        if not any(value is None for value in values):
            partials.append(lift(*values))
    if len(partials) < max(1, aggregate.result.at_least):
        return aggregate.result.empty
    total = partials[0]
    for partial in partials[1:]:
        total = aggregate.combine(total, partial)
    result, rule = aggregate.lower(total), aggregate.result
    if rule.finish is None or rule.auxiliary is None:
        return result
    auxiliary = rule.auxiliary(total)
    times = np.array([auxiliary if ticks is None else ticks])
    return rule.finish(np.array([result]), np.array([auxiliary]), times).tolist()[0]
