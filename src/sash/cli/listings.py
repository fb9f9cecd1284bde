"""`sash algorithms` and `sash aggregates`: catalogues. `sash warm`: compile ahead."""

from __future__ import annotations

import inspect
import re
import time as clock

import typer

import sash
from sash.aggregates import BUILT_IN
from sash.algorithms.catalogue import HEADINGS
from sash.cli.inputs import open_input
from sash.cli.local_run import input_of, temporary_folder
from sash.cli.terminal import print_listing
from sash.cli.text_query import TextQuery
from sash.hints import did_you_mean
from sash.language.aggregate_names import KEEP_NULLS, SWAPPED, SYNONYMS, WITHIN_GROUP

SHOWN = ("algorithm", "order", "laws needed", "amortised", "worst", "space", "paper")
"""The columns of the catalogue that fit a terminal."""


def list_algorithms() -> None:
    """Print the catalogue of algorithms."""
    rows = [[HEADINGS[name](about).strip("`") for name in SHOWN] for about in sash.catalogue()]
    print_listing(SHOWN, rows)


def list_aggregates() -> None:
    """Print the aggregates: a call, its other names in SQL, its result, and what it computes."""
    rows = [
        [call_of(name), ", ".join(other_names(name)), section(name, "Result"), summary(name)]
        for name in sorted(BUILT_IN)
    ]
    print_listing(("aggregate", "also", "result", "what it computes"), rows)


def show_aggregate(name: str) -> None:
    """Print all about one aggregate. Raise ValueError if there is none of this name."""
    lower = name.lower()
    own = (SYNONYMS | SWAPPED | WITHIN_GROUP | KEEP_NULLS).get(lower, lower)
    if own not in BUILT_IN:
        message = f"There is no aggregate {name}.{did_you_mean(name, [*BUILT_IN, *SYNONYMS, *SWAPPED])} sash aggregates lists them."
        raise ValueError(message)
    also = f"\nIn SQL also: {', '.join(other_names(own))}" if other_names(own) else ""
    typer.echo(f"{call_of(own)}{also}\n\n{inspect.getdoc(BUILT_IN[own])}")


def call_of(name: str) -> str:
    """Return how an aggregate is called.

    >>> call_of("arg_max"), call_of("quantile")
    ('arg_max(x, a)', 'quantile(x, q=0.5)')
    """
    parameters = inspect.signature(BUILT_IN[name]).parameters.values()
    texts = [
        one.name if one.default in (one.empty, None) else f"{one.name}={one.default!r}"
        for one in parameters
        if one.name != "where"
    ]
    return f"{name}({', '.join(texts)})"


def other_names(name: str) -> list[str]:
    """Return the other names of an aggregate in texts.

    >>> other_names("mean"), other_names("arg_max")
    (['avg', 'average'], ['max_by'])
    """
    return [
        other
        for other, own in (SYNONYMS | SWAPPED | WITHIN_GROUP | KEEP_NULLS).items()
        if own == name and other != name
    ]


def summary(name: str) -> str:
    """Return the first sentence about an aggregate."""
    return (inspect.getdoc(BUILT_IN[name]) or "").partition("\n")[0]


def section(name: str, heading: str) -> str:
    """Return the first sentence of a section about an aggregate.

    >>> section("count", "Result")
    'int64; 0 if the window has no values.'
    """
    found = re.search(
        rf"^{heading}: (.*?)(?:\.(?:\s|$)|\n(?:[A-Z]\w+:|\n))",
        inspect.getdoc(BUILT_IN[name]) or "",
        re.MULTILINE | re.DOTALL,
    )
    return " ".join(found[1].split()) + "." if found else ""


def warm_up(text: str, source: str | None, input_format: str | None, time: str | None) -> None:
    """Compile a query for the types of an input."""
    query = TextQuery(text, time)
    with temporary_folder() as temporary:
        schema = open_input(input_of(query, source), input_format, temporary).schema
    query.declared(schema)
    begin = clock.perf_counter()
    sash.warm(query.plain(schema), schema)
    typer.echo(f"Compiled in {clock.perf_counter() - begin:.1f} s.")
