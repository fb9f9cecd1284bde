"""Every aggregate of `sash.agg` over columns of the rows, and what DuckDB calls it; "" if it has no such aggregate over a frame."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from sash import agg
from sash.aggregates import BUILT_IN
from sash.aggregates.base import Aggregate

WORD, NUMBER = "w3", 3
EDGES = [-3, -1, 0, 1, 3]
CALLS: dict[str, tuple[Aggregate[Any], str]] = {
    "all": (agg.all("b"), "bool_and(b)"),
    "any": (agg.any("b"), "bool_or(b)"),
    "approx_count_distinct": (agg.approx_count_distinct("i"), "approx_count_distinct(i)"),
    "approx_quantile": (agg.approx_quantile("x", 0.5), "approx_quantile(x, 0.5)"),
    "arg_max": (agg.arg_max("x", "w"), "arg_max(w, x)"),
    "arg_min": (agg.arg_min("x", "w"), "arg_min(w, x)"),
    "bottom_k": (agg.bottom_k("x", 5), "min(x, 5)"),
    "collect": (agg.collect("x"), "list(x)"),
    "collect_distinct": (agg.collect_distinct("w"), "list(DISTINCT w)"),
    "concat": (agg.concat("w", ","), "string_agg(w, ',')"),
    "correlation": (agg.correlation("x", "y"), "corr(y, x)"),
    "count": (agg.count("w"), "count(w)"),
    "count_distinct": (agg.count_distinct("i"), "count(DISTINCT i)"),
    "covariance": (agg.covariance("x", "y"), "covar_samp(y, x)"),
    "ewm_count": (agg.ewm_count("x", alpha=0.1), ""),
    "ewm_mean": (agg.ewm_mean("x", alpha=0.1), ""),
    "ewm_stddev": (agg.ewm_stddev("x", alpha=0.1), ""),
    "ewm_sum": (agg.ewm_sum("x", alpha=0.1), ""),
    "ewm_variance": (agg.ewm_variance("x", alpha=0.1), ""),
    "first": (agg.first("w"), "first(w)"),
    "first_n": (agg.first_n("x", 5), ""),
    "frequency": (agg.frequency("w", WORD), f"count(*) FILTER (w = '{WORD}')"),
    "geometric_mean": (agg.geometric_mean("z"), "geomean(z)"),
    "histogram": (agg.histogram("x", EDGES), ""),
    "intercept": (agg.intercept("y", "x"), "regr_intercept(y, x)"),
    "kurtosis": (agg.kurtosis("x"), ""),  # DuckDB's is another one
    "kurtosis_samp": (agg.kurtosis_samp("x"), "kurtosis(x)"),
    "last": (agg.last("w"), "last(w)"),
    "last_n": (agg.last_n("x", 5), ""),
    "max": (agg.max("w"), "max(w)"),
    "max_count": (agg.max_count("i"), ""),
    "may_contain": (agg.may_contain("i", NUMBER), f"bool_or(i = {NUMBER})"),
    "mean": (agg.mean("x"), "avg(x)"),
    "median": (agg.median("x"), "median(x)"),
    "min": (agg.min("x"), "min(x)"),
    "min_count": (agg.min_count("i"), ""),
    "mode": (agg.mode("w"), "mode(w)"),
    "nth_smallest": (agg.nth_smallest("x", 5), ""),
    "per_value": (agg.per_value("w", agg.count("x")), "histogram(w)"),
    "product": (agg.product("z"), "product(z)"),
    "quantile": (agg.quantile("x", 0.9), "quantile_cont(x, 0.9)"),
    "r_squared": (agg.r_squared("y", "x"), "regr_r2(y, x)"),
    "rank": (agg.rank("x"), ""),
    "skewness": (agg.skewness("x"), ""),  # neither is this one the same
    "skewness_samp": (agg.skewness_samp("x"), "skewness(x)"),
    "slope": (agg.slope("y", "x"), "regr_slope(y, x)"),
    "spread": (agg.spread("x"), "max(x) OVER frame - min(x) OVER frame"),
    "stddev": (agg.stddev("x"), "stddev_samp(x)"),
    "stddev_pop": (agg.stddev_pop("x"), "stddev_pop(x)"),
    "sum": (agg.sum("x"), "sum(x)"),
    "sum_of_squares": (agg.sum_of_squares("x"), "sum(x * x)"),
    "top_k": (agg.top_k("x", 5), "max(x, 5)"),
    "var_pop": (agg.var_pop("x"), "var_pop(x)"),
    "variance": (agg.variance("x"), "var_samp(x)"),
    "weighted_mean": (agg.weighted_mean("x", "z"), "sum(x * z) OVER frame / sum(z) OVER frame"),
}
assert set(CALLS) == set(BUILT_IN), set(CALLS) ^ set(BUILT_IN)

Answer = Callable[[list[Any]], Any]
EXACT: dict[str, Answer] = {
    "approx_count_distinct": lambda values: len(set(values)),
    "approx_quantile": lambda values: sorted(values)[max(0, math.ceil(0.5 * len(values)) - 1)],
    "frequency": lambda values: values.count(WORD),
    "may_contain": lambda values: NUMBER in values,
}
"""The right answers of aggregates that are made to estimate them."""
UNORDERED = ("collect_distinct", "per_value")
"""Of these, DuckDB orders values as it likes."""
UNCERTAIN = ("approx_count_distinct", "approx_quantile", "mode")
"""Of these, DuckDB gives estimates, or another one of the most frequent values."""
