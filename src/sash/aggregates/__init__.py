"""The built-in aggregates. Users import this package as `sash.agg`.

    counts and sums            count sum product sum_of_squares
    means                      mean geometric_mean weighted_mean
    moments                    variance var_pop stddev stddev_pop skewness skewness_samp kurtosis kurtosis_samp
    two columns                covariance correlation weighted_mean arg_max arg_min
    lines, also over time      slope intercept r_squared
    exponential weights        ewm_sum ewm_count ewm_mean ewm_variance ewm_stddev
    largest and smallest       max min spread max_count min_count top_k bottom_k nth_smallest
    first and last             first last first_n last_n
    true and false             any all
    all values                 collect collect_distinct concat
    distinct values            count_distinct mode approx_count_distinct
    quantiles                  median quantile approx_quantile
    ranks and bins             rank histogram
    by the values of a column  per_value
    one item                   frequency may_contain

Each name is a function that takes the names of columns and returns an aggregate for a query, such as `agg.max("load")`.
Without columns, as in `agg.max()`, the aggregate serves a `sash.Aggregator` or `sash.testing`. Aggregates skip nulls.
`BUILT_IN` maps names to functions.

>>> BUILT_IN["arg_max"]("load", "plug").columns
('load', 'plug')
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from sash.aggregates.base import Aggregate
from sash.aggregates.bins import histogram
from sash.aggregates.collect_like import collect, collect_distinct, concat, count_distinct, mode
from sash.aggregates.ends import bottom_k, first, first_n, last, last_n, top_k
from sash.aggregates.exponential import ewm_count, ewm_mean, ewm_stddev, ewm_sum, ewm_variance
from sash.aggregates.item_sketches import frequency, may_contain
from sash.aggregates.joint_moments import correlation, covariance
from sash.aggregates.max_like import all, any, arg_max, arg_min, max, max_count, min, min_count, spread
from sash.aggregates.means import geometric_mean, mean, weighted_mean
from sash.aggregates.median_like import median, nth_smallest, quantile, rank
from sash.aggregates.moments import (
    kurtosis,
    kurtosis_samp,
    skewness,
    skewness_samp,
    stddev,
    stddev_pop,
    var_pop,
    variance,
)
from sash.aggregates.per_value import per_value
from sash.aggregates.regression import intercept, r_squared, slope
from sash.aggregates.sketches import approx_count_distinct, approx_quantile
from sash.aggregates.sum_like import count, product, sum, sum_of_squares
from sash.hints import no_attribute

# fmt: off
__all__ = [
    "BUILT_IN", "all", "any", "approx_count_distinct", "approx_quantile", "arg_max", "arg_min", "bottom_k",
    "collect", "collect_distinct", "concat", "correlation", "count", "count_distinct", "covariance",
    "ewm_count", "ewm_mean", "ewm_stddev", "ewm_sum", "ewm_variance", "first", "first_n", "frequency",
    "geometric_mean", "histogram", "intercept", "kurtosis", "kurtosis_samp", "last", "last_n", "max", "max_count", "may_contain",
    "mean", "median", "min", "min_count", "mode", "nth_smallest", "per_value", "product", "quantile",
    "r_squared", "rank", "skewness", "skewness_samp", "slope", "spread", "stddev", "stddev_pop", "sum", "sum_of_squares",
    "top_k", "var_pop", "variance", "weighted_mean",
]
# fmt: on

BUILT_IN: Mapping[str, Callable[..., Aggregate[Any]]] = MappingProxyType(
    {name: globals()[name] for name in __all__ if name != "BUILT_IN"}
)
"""The factories of all built-in aggregates by name."""

NAMES_ELSEWHERE = {
    **dict.fromkeys(("avg", "average"), "agg.mean"),
    **dict.fromkeys(("std", "stdev", "stddev_samp", "sd"), "agg.stddev"),
    **dict.fromkeys(("var", "var_samp"), "agg.variance"),
    **dict.fromkeys(("nunique", "n_unique", "distinct", "countDistinct"), "agg.count_distinct"),
    **dict.fromkeys(("len", "size", "length", "row_count"), "agg.count"),
    **dict.fromkeys(("prod", "mul"), "agg.product"),
    **dict.fromkeys(("skew",), "agg.skewness_samp, or agg.skewness of the population"),
    **dict.fromkeys(("kurt",), "agg.kurtosis_samp, or agg.kurtosis of the population"),
    **dict.fromkeys(("corr",), "agg.correlation"),
    **dict.fromkeys(("cov", "covar_samp"), "agg.covariance"),
    **dict.fromkeys(("ewm", "ema", "ewma", "ewm_avg"), 'agg.ewm_mean("x", half_life="1h")'),
    **dict.fromkeys(("ewm_std",), 'agg.ewm_stddev("x", half_life="1h")'),
    **dict.fromkeys(("ewm_var",), 'agg.ewm_variance("x", half_life="1h")'),
    **dict.fromkeys(("regr_slope",), 'agg.slope("y", "x")'),
    **dict.fromkeys(("regr_intercept",), 'agg.intercept("y", "x")'),
    **dict.fromkeys(("regr_r2",), 'agg.r_squared("y", "x")'),
    **dict.fromkeys(("percentile", "quantile_cont"), 'agg.quantile("x", 0.9)'),
    **dict.fromkeys(("approx_percentile", "percentile_approx"), 'agg.approx_quantile("x", 0.9)'),
    **dict.fromkeys(("approx_n_unique", "approxCountDistinct"), "agg.approx_count_distinct"),
    **dict.fromkeys(("idxmax", "argmax", "max_by"), 'agg.arg_max("x", "a"), the a of the row with the largest x'),
    **dict.fromkeys(("idxmin", "argmin", "min_by"), 'agg.arg_min("x", "a"), the a of the row with the smallest x'),
    **dict.fromkeys(("list", "collect_list", "array_agg"), "agg.collect"),
    **dict.fromkeys(("set", "collect_set", "unique"), "agg.collect_distinct"),
    **dict.fromkeys(("string_agg", "join", "listagg"), 'agg.concat("x", ", ")'),
    **dict.fromkeys(("head", "limit"), 'agg.first_n("x", 3)'),
    **dict.fromkeys(("tail",), 'agg.last_n("x", 3)'),
    **dict.fromkeys(("nlargest",), 'agg.top_k("x", 3)'),
    **dict.fromkeys(("nsmallest",), 'agg.bottom_k("x", 3)'),
    **dict.fromkeys(("hist", "cut"), 'agg.histogram("x", [0, 10, 20])'),
    **dict.fromkeys(("value_counts",), 'agg.per_value("x"), which counts rows'),
    **dict.fromkeys(("percent_rank", "rank_pct"), 'agg.rank("x", pct=True)'),
    **dict.fromkeys(("range", "ptp"), "agg.spread"),
    **dict.fromkeys(("lag", "shift", "prev", "previous"), 'agg.last("x") over window.lag(1)'),
    **dict.fromkeys(("lead", "next"), 'agg.last("x") over window.lead(1)'),
    **dict.fromkeys(("diff", "pct_change"), 'agg.last("x") over window.lag(1), and subtract its result'),
    "row_number": "agg.count() over window.rows(before=None, after=0)",
    **dict.fromkeys(
        ("cumsum", "cum_sum", "cummax", "cummin", "cumcount"), "agg.sum and the like over window.expanding()"
    ),
    "quantiles": 'agg.quantile("x", [0.5, 0.9])',
    **dict.fromkeys(("apply", "udf", "agg"), "sash.aggregate, which makes an aggregate of your own functions"),
}
"""What to write instead of the names that other libraries use."""


def __dir__() -> list[str]:
    return __all__


if not TYPE_CHECKING:  # a type checker that sees __getattr__ accepts every name

    def __getattr__(name: str) -> object:
        raise no_attribute("sash.agg", name, __all__, NAMES_ELSEWHERE)
