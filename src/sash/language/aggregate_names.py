"""Aggregates by the names that SQL and CQL use. Case and underscores do not matter: `MaxCount` is `max_count`."""

from __future__ import annotations

from typing import Any

from sash.aggregates import BUILT_IN
from sash.aggregates.base import Aggregate
from sash.hints import did_you_mean

SYNONYMS = {
    **dict.fromkeys(("avg", "average"), "mean"),
    **dict.fromkeys(("stddev_samp", "std", "stdev"), "stddev"),
    **dict.fromkeys(("var_samp", "var", "variance_samp"), "variance"),
    "stddev_population": "stddev_pop",
    "variance_pop": "var_pop",
    "covar_samp": "covariance",
    "corr": "correlation",
    **dict.fromkeys(("bool_and", "every"), "all"),
    **dict.fromkeys(("bool_or", "some"), "any"),
    "any_value": "first",
    "collect_list": "collect",
    "collect_set": "collect_distinct",
    **dict.fromkeys(("string_agg", "listagg", "group_concat"), "concat"),
    **dict.fromkeys(("quantile_cont", "percentile"), "quantile"),
    **dict.fromkeys(("approx_percentile", "percentile_approx"), "approx_quantile"),
    "approx_distinct": "approx_count_distinct",
    "regr_slope": "slope",
    "regr_intercept": "intercept",
    "regr_r2": "r_squared",
}
"""Other names of aggregates with the same arguments."""
SWAPPED = {"max_by": "arg_max", "min_by": "arg_min"}
"""Other names of aggregates whose arguments come in the opposite order: `max_by(plug, load)` is `arg_max(load, plug)`."""
KEEP_NULLS = {"first_value": "first", "last_value": "last", "array_agg": "collect", "list": "collect"}
"""Functions of SQL that include nulls. Aggregates of Sash skip them, so the text must say IGNORE NULLS."""
WITHIN_GROUP = {"percentile_cont": "quantile", "median": "median", "mode": "mode"}
"""Aggregates over `WITHIN GROUP (ORDER BY column)`."""
OTHER_NAMES = SYNONYMS | SWAPPED | WITHIN_GROUP | KEEP_NULLS
"""The built-in aggregate of each other name."""
NO_AGGREGATES = ("row_number", "dense_rank", "percent_rank", "cume_dist", "ntile", "lag", "lead", "nth_value")
"""Functions that need OVER in SQL, but do not combine values."""
REGISTERED: dict[str, Aggregate[Any]] = {}
"""Users' own aggregates, by their names as `plain` returns them."""


def plain(name: str) -> str:
    """Return a name without regard to case and underscores.

    >>> plain("MaxCount") == plain("max_count")
    True
    """
    return name.lower().replace("_", "")


BY_NAME = {plain(name): built_in for name, built_in in ({name: name for name in BUILT_IN} | OTHER_NAMES).items()}
"""The built-in aggregate of each name."""


def register(aggregate: Aggregate[Any], name: str | None = None) -> None:
    """Make an aggregate available by a name. Raise TypeError for other objects, ValueError if the name is taken."""
    if not isinstance(aggregate, Aggregate):
        raise TypeError(f"register got {type(aggregate).__name__}. Pass what sash.aggregate returned.")
    called = name or aggregate.name
    if plain(called) in BY_NAME:
        advice = "Pass name= to register yours under another one."
        raise ValueError(f"{called!r} is the name of a built-in aggregate. {advice}")
    REGISTERED[plain(called)] = aggregate


def is_one_of(name: str, names: Any) -> bool:
    """Return whether a name is one of several."""
    return plain(name) in map(plain, names)


def unknown(name: str) -> str:
    """Return the message for a function that is not an aggregate.

    >>> unknown("averag")
    "There is no aggregate averag. Did you mean 'average'?"
    """
    if is_one_of(name, NO_AGGREGATES):
        return f"{name} combines no values of several rows, so it is not an aggregate, and Sash does not evaluate it."
    known = [*BUILT_IN, *OTHER_NAMES, *(aggregate.name for aggregate in REGISTERED.values())]
    return f"There is no aggregate {name}.{did_you_mean(name, known)}"
