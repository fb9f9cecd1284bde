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
    "skewness_pop": "skewness",
    "kurtosis_pop": "kurtosis",
    **dict.fromkeys(("approx_percentile", "percentile_approx"), "approx_quantile"),
    "approx_distinct": "approx_count_distinct",
    "earliest_by_offset": "first",
    "latest_by_offset": "last",
    "regr_slope": "slope",
    "regr_intercept": "intercept",
    "regr_r2": "r_squared",
}
"""Other names of aggregates with the same arguments."""
SWAPPED = {"max_by": "arg_max", "min_by": "arg_min"}
"""Other names of aggregates whose arguments come in the opposite order: `max_by(plug, load)` is `agg.arg_max("load", "plug")`."""
OF_PAPERS = ("argmax", "argmin")
"""Spellings that, in CQL, have the arguments in the order of the papers: `ARGMAX(load, plug)`."""
KEEP_NULLS = {"first_value": "first", "last_value": "last", "array_agg": "collect", "list": "collect"}
"""Functions of SQL that include nulls, which aggregates of Sash skip."""
WITHIN_GROUP = {"percentile_cont": "quantile", "median": "median", "mode": "mode"}
"""Aggregates over `WITHIN GROUP (ORDER BY column)`."""
OF_CONDITION = {"count_if": "sum"}
"""Functions of a condition, and the aggregate of its 0 and 1."""
OTHER_NAMES = SYNONYMS | SWAPPED | WITHIN_GROUP | KEEP_NULLS
"""The built-in aggregate of each other name."""
OF_ROWS = {"row_number": "", "lag": "x", "lead": "x", "nth_value": "x, 2"}
"""Functions that need OVER, and an example of their arguments."""
NO_AGGREGATES = ("dense_rank", "percent_rank", "cume_dist", "ntile")
"""Functions that look at all rows of a key, so that Sash does not evaluate them."""
REGISTERED: dict[str, Aggregate[Any]] = {}
"""Users' own aggregates, by their names as `plain` returns them."""


def plain(name: str) -> str:
    """Return a name without regard to case and underscores.

    >>> plain("MaxCount") == plain("max_count")
    True
    """
    return name.lower().replace("_", "")


BY_NAME = {
    plain(name): built_in for name, built_in in ({name: name for name in BUILT_IN} | OTHER_NAMES | OF_CONDITION).items()
}
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


def is_swapped(name: str, *, is_cql: bool) -> bool:
    """Return whether the value that a call compares is its second argument, as it is in all but the papers' spelling.

    >>> is_swapped("ARG_MAX", is_cql=True), is_swapped("ArgMax", is_cql=True), is_swapped("ArgMax", is_cql=False)
    (True, False, True)
    """
    return is_one_of(name, [*SWAPPED, *OF_PAPERS]) and not (is_cql and name.lower() in OF_PAPERS)


def unknown(name: str) -> str:
    """Return the message for a function that is not an aggregate.

    >>> unknown("averag")
    "There is no aggregate averag. Did you mean 'average'?"
    """
    if is_one_of(name, OF_ROWS):
        arguments = next(shown for other, shown in OF_ROWS.items() if is_one_of(name, [other]))
        return f"{name} needs an order of rows, as in {name}({arguments}) OVER (PARTITION BY house ORDER BY ts)."
    if is_one_of(name, NO_AGGREGATES):
        own = f"in a SELECT of its own: SELECT *, {name.lower()}(…) OVER (…) FROM t"  # noqa: S608 — a message
        return f"Sash does not evaluate {name}. Let DuckDB or Spark do so {own}."
    known = [*BUILT_IN, *OTHER_NAMES, *OF_CONDITION, *(aggregate.name for aggregate in REGISTERED.values())]
    return f"There is no aggregate {name}.{did_you_mean(name, known)}"
