"""What the tests share: the registries, aggregates with sharp edges, counters."""

from __future__ import annotations

import os
from typing import Any

from benchmarks.papers.counting import Counter, partials_held
from sash import agg
from sash.aggregates import BUILT_IN
from sash.aggregates.base import Aggregate
from sash.aggregates.definition import aggregate
from sash.algorithms import ALGORITHMS, Algorithm, TwoStacks
from sash.algorithms.base import fits

__all__ = [
    "AGGREGATES",
    "ARGUMENTS",
    "SKETCHES",
    "SOAK",
    "Counter",
    "affine",
    "compiled_by",
    "fitting",
    "partials_held",
]

SOAK = bool(os.environ.get("SASH_SOAK"))
"""Whether to compile every pair of algorithm and aggregate, and not only a sample: minutes more (make soak)."""

affine = aggregate(
    "affine",
    lift=lambda x: (x % 7 + 1, x),
    combine=lambda older, newer: ((older[0] * newer[0]) % 1009, (older[1] * newer[0] + newer[1]) % 1009),
    lower=lambda maps: maps[0] * 1009 + maps[1],
)
"""Maps x → a·x + b composed in order, modulo a prime: numbers, exact, and not commutative."""

ARGUMENTS: dict[str, dict[str, Any]] = {
    "frequency": {"item": 3},
    "may_contain": {"item": 3},
    "first_n": {"n": 3},
    "last_n": {"n": 3},
    "top_k": {"k": 3},
    "bottom_k": {"k": 3},
    "quantile": {"q": 0.8},
    "approx_quantile": {"q": 0.8},
    "nth_smallest": {"i": 2},
    "histogram": {"edges": [-2, 0, 1.5, 9]},
    **{name: {"alpha": 0.5} for name in ("ewm_sum", "ewm_count", "ewm_mean", "ewm_variance", "ewm_stddev")},
}

AGGREGATES: dict[str, Aggregate[Any]] = {
    **{name: factory(**ARGUMENTS.get(name, {})) for name, factory in BUILT_IN.items()},
    "concat_dash": agg.concat(sep="-"),
    "sum_of_integers": agg.sum().of_kind("int"),
    "mean_of_integers": agg.mean().of_kind("int"),
    "affine": affine,
}

SKETCHES = ("approx_count_distinct", "approx_quantile", "frequency", "may_contain")


def fitting(algorithm: type[Algorithm[Any]]) -> dict[str, Aggregate[Any]]:
    """Every aggregate that fits an algorithm, by name."""
    return {name: chosen for name, chosen in AGGREGATES.items() if fits(algorithm.about, chosen)}


def compiled_by(chosen: Aggregate[Any]) -> type[Algorithm[Any]]:
    """The algorithm that keeps an aggregate's values and answers itself, where there is one: then no other compiles it."""
    keepers = [algorithm for algorithm in ALGORITHMS if algorithm.keeps_values]
    return next((algorithm for algorithm in keepers if algorithm.about.needs in chosen.laws), TwoStacks)
