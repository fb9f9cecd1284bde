"""`sash algorithms` and `sash aggregates`: catalogues. `sash warm`: compile ahead."""

from __future__ import annotations

import inspect
import re
import time as clock

import typer

import sash
from sash.aggregates import BUILT_IN
from sash.algorithms.catalogue import HEADINGS
from sash.cli.display import print_listing
from sash.cli.local_run import input_schema
from sash.cli.text_query import LastSelect, TextQuery
from sash.hints import did_you_mean
from sash.language.aggregate_names import OTHER_NAMES, SWAPPED, SYNONYMS

SHOWN = ("algorithm", "order", "laws needed", "amortised", "worst", "space", "paper")
"""The columns of the catalogue that fit a terminal."""


def list_algorithms() -> None:
    """Print the catalogue of algorithms."""
    rows = [[HEADINGS[name](about).strip("`") for name in SHOWN] for about in sash.catalogue()]
    print_listing(SHOWN, rows)


def list_aggregates() -> None:
    """Print the aggregates: a call, its other names in SQL, its result, and what it computes."""
    rows = []
    for name in sorted(BUILT_IN):
        summary = (inspect.getdoc(BUILT_IN[name]) or "").partition("\n")[0]
        rows.append([call_of(name), ", ".join(other_names(name)), section(name, "Result"), summary])
    print_listing(("aggregate", "also", "result", "what it computes"), rows)


def show_aggregate(name: str) -> None:
    """Print the documentation of an aggregate. Raise ValueError if there is no aggregate of this name."""
    lower = name.lower()
    built_in = OTHER_NAMES.get(lower, lower)
    if built_in not in BUILT_IN:
        hint = did_you_mean(name, [*BUILT_IN, *SYNONYMS, *SWAPPED])
        raise ValueError(f"There is no aggregate {name}.{hint} sash aggregates lists them.")
    others = other_names(built_in)
    also = f"\nIn SQL also: {', '.join(others)}" if others else ""
    typer.echo(f"{call_of(built_in)}{also}\n\n{inspect.getdoc(BUILT_IN[built_in])}")


def call_of(name: str) -> str:
    """Return how an aggregate is called.

    >>> call_of("arg_max"), call_of("quantile")
    ('arg_max(x, a)', 'quantile(x, q=0.5)')
    """
    parameters = inspect.signature(BUILT_IN[name]).parameters.values()
    arguments = [
        parameter.name if parameter.default in (parameter.empty, None) else f"{parameter.name}={parameter.default!r}"
        for parameter in parameters
        if parameter.name != "where"
    ]
    return f"{name}({', '.join(arguments)})"


def other_names(name: str) -> list[str]:
    """Return the other names of an aggregate in SQL.

    >>> other_names("mean"), other_names("arg_max")
    (['avg', 'average'], ['max_by(a, x)'])
    """
    others = [other for other, built_in in OTHER_NAMES.items() if built_in == name and other != name]
    return [f"{other}(a, x)" if other in SWAPPED else other for other in others]


def section(name: str, heading: str) -> str:
    """Return the first sentence of a section about an aggregate.

    >>> section("count", "Result")
    'int64; 0 if the window has no values.'
    """
    pattern = rf"^{heading}: (.*?)(?:\.(?:\s|$)|\n(?:[A-Z]\w+:|\n))"
    match = re.search(pattern, inspect.getdoc(BUILT_IN[name]) or "", re.MULTILINE | re.DOTALL)
    return " ".join(match[1].split()) + "." if match else ""


def warm_up(query: TextQuery | LastSelect, source: str | None, input_format: str | None) -> None:
    """Compile a query for the types of an input."""
    schema = input_schema(query, source, input_format)
    windows = query.checked(schema)
    begin = clock.perf_counter()
    sash.warm(windows, schema)
    typer.echo(f"Compiled in {clock.perf_counter() - begin:.1f} s.")
