"""Makes a case that fails smaller, as long as it fails in the same way: fewer aggregates, windows, options and rows."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import TypeVar

from fuzz.cases import Case
from fuzz.check import Outcome, check

T = TypeVar("T")
MOST_SECONDS = 20
"""How long a case is made smaller."""


def shrink(case: Case, outcome: Outcome) -> tuple[Case, Outcome]:
    """Return a smaller case that fails with the same signature, and its outcome."""
    deadline = time.monotonic() + MOST_SECONDS
    is_smaller = True
    while is_smaller:
        is_smaller = False
        for smaller in smaller_cases(case):
            if time.monotonic() > deadline:
                return case, outcome
            found = check(smaller)
            if found.kind == "finding" and found.signature.split(",")[0] == outcome.signature.split(",")[0]:
                case, outcome, is_smaller = smaller, found, True
                break
    return case, outcome


def smaller_cases(case: Case) -> Iterator[Case]:
    """Return cases with a bit less, those with much less first."""
    yield from smaller_queries(case)
    if case.labels is not None and case.labels.rows > 1:
        for half in halves(case.labels.rows):
            yield replace(case, labels=case.labels.take(half))
    for half in halves(case.table.rows):
        yield replace(case, table=case.table.take(half))
    yield from simpler_parts(case)
    used = used_columns(case)
    if len(used) < len(case.table.columns):
        yield replace(case, table=case.table.only(used))


def smaller_queries(case: Case) -> Iterator[Case]:
    """Return cases with fewer aggregates, windows, overrides, options and keys."""
    for name in case.aggregates if len(case.aggregates) > 1 else ():
        yield replace(case, aggregates=without(case.aggregates, name))
    for name in case.windows if len(case.windows) > 1 else ():
        yield replace(case, windows=without(case.windows, name))
    for name in ("algorithm", "slicing", "objective"):
        if name in case.declared:
            yield replace(case, declared=without(case.declared, name))
    if case.form != "table" and case.kind == "arrow":
        yield replace(case, form="table")
    if case.options and case.kind != "stream":  # the rows of a stream may be in the order that an option says
        yield replace(case, options={})
    if case.by:
        yield replace(case, by=case.by[1:])
    if case.order_by:
        yield replace(case, order_by=())


def simpler_parts(case: Case) -> Iterator[Case]:
    """Return cases whose aggregates and windows have fewer arguments."""
    for name, call in case.aggregates.items():
        if call.where is not None:
            yield replace(case, aggregates=case.aggregates | {name: replace(call, where=None)})
    for name, window in case.windows.items():
        for keyword in {"min_rows", "empty", "offset", "exclude"} & set(window.keywords):
            simpler = replace(window, keywords=without(window.keywords, keyword))
            yield replace(case, windows=case.windows | {name: simpler})


def without(named: dict[str, T], left_out: str) -> dict[str, T]:
    """Return a dictionary without a name."""
    return {name: value for name, value in named.items() if name != left_out}


def used_columns(case: Case) -> list[str]:
    """Return the columns that a case needs, by name."""
    text = case.query
    return [
        name
        for name in case.table.columns
        if name in ("id", "t")
        or name in case.by
        or name in case.order_by
        or f'"{name}"' in text
        or "custom" in text
        or "where" in text
        or "expr" in text
    ]


def halves(rows: int) -> Iterator[list[int]]:
    """Return the places that are left without a part of the rows: first without a half, at last without one row."""
    size = rows // 2
    while size:
        for first in range(0, rows, size):
            yield [*range(first), *range(min(rows, first + size), rows)]
        size //= 2
