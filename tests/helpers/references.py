"""Every aggregate again, in plain Python and NumPy: the table that the tests of aggregates compare with."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
from hypothesis import strategies as st

from sash.aggregates import BUILT_IN
from sash.aggregates.base import Aggregate
from sash.algorithms.base import alike, same

NAN = math.nan
INF = math.inf
FEW = ["ant", "bee", "cat", ""]
EDGES = [-1.5, 0, 1, 3]
any_float = st.floats() | st.sampled_from([NAN, -0.0, 0.0, 1.0, INF, -INF])
small = st.integers(-4, 4)
quarters = st.integers(-400, 400).map(lambda number: number / 4)
"""Steps of 1/4: no two values are so close that a skewness is all rounding."""
words = st.sampled_from(FEW)
anything = st.sampled_from([NAN, -0.0, 0.0, 1, 2.5, "ant", "bee"])


def isnan(value: Any) -> bool:
    return isinstance(value, float | Decimal) and math.isnan(value)


def in_order(values: Sequence[Any]) -> list[Any]:
    """Sort with NaN last, equal ones in the order given."""
    return sorted(values, key=lambda value: (isnan(value), 0 if isnan(value) else value))


def distinct(values: Sequence[Any]) -> list[Any]:
    """Leave out what has come before."""
    found: list[Any] = []
    for value in values:
        if not any(same(value, other) for other in found):
            found.append(value)
    return found


def occurrences(values: Sequence[Any], wanted: Any) -> int:
    return sum(same(value, wanted) for value in values)


def power_sum(values: Sequence[float], power: int) -> Any:
    """Σ(x - mean)^power, in exact fractions."""
    exact = [Fraction(value) for value in values]
    mean = sum(exact, start=Fraction(0)) / len(exact)
    return sum(((value - mean) ** power for value in exact), start=Fraction(0))


def skewness_of(values: Sequence[float]) -> float:
    m2 = power_sum(values, 2)
    return math.sqrt(len(values)) * float(power_sum(values, 3)) / float(m2) ** 1.5 if m2 else NAN


def kurtosis_of(values: Sequence[float]) -> float:
    m2 = power_sum(values, 2)
    return float(len(values) * power_sum(values, 4) / (m2 * m2)) - 3 if m2 else NAN


def sample_skewness_of(values: Sequence[float]) -> float:
    n, m2 = len(values), power_sum(values, 2)
    return float(n * power_sum(values, 3)) / (n - 1) / (n - 2) / (float(m2) / (n - 1)) ** 1.5 if m2 else NAN


def sample_kurtosis_of(values: Sequence[float]) -> float:
    n, m2 = len(values), power_sum(values, 2)
    if not m2:
        return NAN
    fourth = Fraction(n * (n + 1) * (n - 1), (n - 2) * (n - 3)) * power_sum(values, 4) / (m2 * m2)
    return float(fourth - Fraction(3 * (n - 1) ** 2, (n - 2) * (n - 3)))


def correlation_of(rows: Sequence[tuple[float, float]]) -> float:
    x, y = zip(*rows, strict=True)
    return statistics.correlation(x, y) if len(set(x)) > 1 and len(set(y)) > 1 else NAN


def regression_of(rows: Sequence[tuple[float, float]], result: str) -> float:
    """NumPy's own least squares; NaN if all x are equal, as `lower` has no null."""
    y, x = np.array(rows, float).T
    if len(set(x)) < 2:
        return NAN
    slope, intercept = np.polyfit(x - x.mean(), y, 1)
    left = ((y - intercept - slope * (x - x.mean())) ** 2).sum()
    explained = 1.0 if len(set(y)) < 2 else 1.0 - left / ((y - y.mean()) ** 2).sum()
    return float({"slope": slope, "intercept": intercept - slope * x.mean(), "r_squared": explained}[result])


def weights_of(values: Sequence[Any], alpha: float) -> Any:
    return (1 - alpha) ** np.arange(len(values))[::-1]


def ewm_variance_of(values: Sequence[float], alpha: float) -> float:
    w, x = weights_of(values, alpha), np.array(values)
    mean = (w * x).sum() / w.sum()
    return float((w * (x - mean) ** 2).sum() * w.sum() / (w.sum() ** 2 - (w * w).sum()))


def weighted_mean_of(rows: Sequence[tuple[float, float]]) -> float:
    weights = sum(w for _, w in rows)
    return sum(x * w for x, w in rows) / weights if weights else NAN


def geometric_mean_of(values: Sequence[float]) -> float:
    if any(value < 0 for value in values):
        return NAN
    return statistics.geometric_mean(values) if all(values) else 0.0


def ranked_quantile_of(values: Sequence[float], q: float) -> Any:
    """The smallest value that at least a fraction q of the values do not exceed."""
    return in_order(values)[max(1, math.ceil(q * len(values))) - 1]


def rank_of(values: Sequence[Any], method: str = "average", *, pct: bool = False) -> float:
    """The ranks that equal values share, from the places of the newest value in sorted order."""
    ranks = [place for place, value in enumerate(in_order(values), 1) if same(value, values[-1])]
    rank = {"average": sum(ranks) / len(ranks), "min": ranks[0], "max": ranks[-1]}[method]
    return rank / len(values) if pct else float(rank)


@dataclass
class Reference:
    """What the result must be, from the raw rows."""

    expected: Callable[[list[Any]], Any]
    row: st.SearchStrategy[Any]
    arguments: dict[str, Any] = field(default_factory=dict)


REFERENCES = {
    "count": Reference(len, anything),
    "sum": Reference(math.fsum, quarters | st.just(NAN)),
    "product": Reference(math.prod, small.map(float) | st.just(NAN)),
    "sum_of_squares": Reference(lambda v: sum(x * x for x in v), quarters | st.just(NAN)),
    "mean": Reference(lambda v: math.fsum(v) / len(v), quarters | st.just(NAN)),
    "geometric_mean": Reference(geometric_mean_of, quarters | st.floats(1, 1e300)),
    "weighted_mean": Reference(weighted_mean_of, st.tuples(quarters, small)),
    "variance": Reference(statistics.variance, quarters),
    "var_pop": Reference(statistics.pvariance, quarters),
    "stddev": Reference(statistics.stdev, quarters),
    "stddev_pop": Reference(statistics.pstdev, quarters),
    "skewness": Reference(skewness_of, quarters),
    "kurtosis": Reference(kurtosis_of, quarters),
    "skewness_samp": Reference(sample_skewness_of, quarters),
    "kurtosis_samp": Reference(sample_kurtosis_of, quarters),
    "covariance": Reference(lambda r: statistics.covariance(*zip(*r, strict=True)), st.tuples(quarters, quarters)),
    "correlation": Reference(correlation_of, st.tuples(quarters, quarters)),
    "slope": Reference(lambda r: regression_of(r, "slope"), st.tuples(quarters, quarters)),
    "intercept": Reference(lambda r: regression_of(r, "intercept"), st.tuples(quarters, quarters)),
    "r_squared": Reference(lambda r: regression_of(r, "r_squared"), st.tuples(quarters, quarters)),
    "ewm_sum": Reference(lambda v: float((weights_of(v, 0.5) * v).sum()), quarters, {"alpha": 0.5}),
    "ewm_count": Reference(lambda v: float(weights_of(v, 0.5).sum()), anything, {"alpha": 0.5}),
    "ewm_mean": Reference(lambda v: float(np.average(v, weights=weights_of(v, 0.5))), quarters, {"alpha": 0.5}),
    "ewm_variance": Reference(lambda v: ewm_variance_of(v, 0.5), quarters, {"alpha": 0.5}),
    "ewm_stddev": Reference(lambda v: math.sqrt(ewm_variance_of(v, 0.5)), quarters, {"alpha": 0.5}),
    "max": Reference(lambda v: in_order(v)[-1], any_float),
    "min": Reference(lambda v: in_order(v)[0], any_float),
    "spread": Reference(lambda v: in_order(v)[-1] - in_order(v)[0], any_float),
    "max_count": Reference(lambda v: occurrences(v, in_order(v)[-1]), any_float | small),
    "min_count": Reference(lambda v: occurrences(v, in_order(v)[0]), any_float | small),
    "arg_max": Reference(
        lambda r: next(a for x, a in r if same(x, in_order([x for x, _ in r])[-1])), st.tuples(any_float | small, words)
    ),
    "arg_min": Reference(
        lambda r: next(a for x, a in r if same(x, in_order([x for x, _ in r])[0])), st.tuples(any_float | small, words)
    ),
    "any": Reference(any, st.booleans()),
    "all": Reference(all, st.booleans()),
    "first": Reference(lambda v: v[0], anything),
    "last": Reference(lambda v: v[-1], anything),
    "first_n": Reference(lambda v: v[:3], anything, {"n": 3}),
    "last_n": Reference(lambda v: v[-3:], anything, {"n": 3}),
    "top_k": Reference(lambda v: in_order(v)[::-1][:3], any_float | small, {"k": 3}),
    "bottom_k": Reference(lambda v: in_order(v)[:3], any_float | small, {"k": 3}),
    "collect": Reference(list, anything),
    "collect_distinct": Reference(distinct, anything),
    "concat": Reference("-".join, words, {"sep": "-"}),
    "count_distinct": Reference(lambda v: len(distinct(v)), anything),
    "mode": Reference(lambda v: max(distinct(v), key=lambda value: occurrences(v, value)), anything),
    "median": Reference(statistics.median, quarters),
    "quantile": Reference(lambda v: float(np.quantile(v, 0.8)), quarters, {"q": 0.8}),
    "nth_smallest": Reference(lambda v: in_order(v)[1], any_float | small, {"i": 2}),
    "rank": Reference(rank_of, any_float | small),
    "histogram": Reference(lambda v: np.histogram(v, EDGES)[0].tolist(), any_float | small, {"edges": EDGES}),
    "per_value": Reference(lambda v: {value: occurrences(v, value) for value in distinct(v)}, small | words),
    "approx_count_distinct": Reference(lambda v: len(distinct(v)), anything),
    "approx_quantile": Reference(lambda v: ranked_quantile_of(v, 0.8), any_float, {"q": 0.8}),
    "frequency": Reference(lambda v: occurrences(v, "bee"), anything, {"item": "bee"}),
    "may_contain": Reference(lambda v: "bee" in v, anything, {"item": "bee"}),
}
SUMS = ["sum", "sum_of_squares", "mean"]
PARTIALS_OF_NUMBERS = [
    *("count", "sum", "product", "sum_of_squares", "mean", "geometric_mean", "weighted_mean"),
    *("variance", "var_pop", "stddev", "stddev_pop", "skewness", "skewness_samp", "kurtosis", "kurtosis_samp"),
    *("covariance", "correlation"),
    *("slope", "intercept", "r_squared", "ewm_sum", "ewm_count", "ewm_mean", "ewm_variance", "ewm_stddev"),
    *("max", "min", "spread", "max_count", "min_count", "arg_max", "arg_min", "any", "all", "first", "last"),
]


def lifted(aggregate: Aggregate[Any], rows: Sequence[Any]) -> list[Any]:
    as_arguments = (row if aggregate.inputs > 1 else (row,) * aggregate.inputs for row in rows)
    return [aggregate.lift(*arguments) for arguments in as_arguments]


def from_left(aggregate: Aggregate[Any], rows: Sequence[Any]) -> Any:
    return aggregate.lower(reduce(aggregate.combine, lifted(aggregate, rows)))


def from_halves(aggregate: Aggregate[Any], rows: Sequence[Any]) -> Any:
    def fold(partials: list[Any]) -> Any:
        middle = len(partials) // 2
        return partials[0] if middle == 0 else aggregate.combine(fold(partials[:middle]), fold(partials[middle:]))

    return aggregate.lower(fold(lifted(aggregate, rows)))


def agrees(actual: Any, expected: Any) -> bool:
    if isinstance(expected, list):
        return isinstance(actual, list) and alike(tuple(actual), tuple(expected))
    return alike(float(actual), float(expected)) if isinstance(expected, float) else same(actual, expected)


def build(name: str) -> Aggregate[Any]:
    return BUILT_IN[name](**REFERENCES[name].arguments)
