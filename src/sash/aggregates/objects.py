"""How Python objects are lifted, and how one window of them is lowered, without columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sash.aggregates.base import Aggregate, P


def object_lift(aggregate: Aggregate[P]) -> Callable[..., P]:
    """Return the `lift` for Python objects, whose kind is known only row by row.

    An integer is lifted by the form for integers if both forms combine alike: as a float it would lose digits beyond 2^53.

    >>> from sash import agg
    >>> object_lift(agg.stddev())(2**53 + 1), object_lift(agg.stddev())(3.0)
    ((1.0, (4503599627370496, 1.0), 0.0), (1.0, (1.5, 0.0), 0.0))
    """
    exact = aggregate.forms.variants.get("int")
    plain = aggregate.lift
    if aggregate.inputs != 1 or exact is None or (exact.combine, exact.lower) != (aggregate.combine, aggregate.lower):
        return plain
    exact_lift = exact.lift

    def lift(value: Any) -> P:
        partial: P = exact_lift(value) if isinstance(value, int) else plain(value)
        return partial

    return lift


def result_of(aggregate: Aggregate[P], partial: P) -> Any:
    """Return the result of one window as of its newest value: lowered, and with the last step if there is one.

    >>> from sash import agg
    >>> slope = agg.slope("y", "x")
    >>> vertical = slope.combine(slope.lift(1.0, 5.0), slope.lift(3.0, 5.0))
    >>> slope.lower(vertical), result_of(slope, vertical)
    (nan, None)
    """
    result, rule = aggregate.lower(partial), aggregate.result
    if rule.finish is None:
        return result
    import numpy as np  # noqa: PLC0415 — `import sash` does not need NumPy

    auxiliary = np.array([] if rule.auxiliary is None else [rule.auxiliary(partial)])
    return rule.finish(np.array([result]), auxiliary, auxiliary).tolist()[0]
