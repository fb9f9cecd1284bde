"""Hypothesis strategies: rows that fit an aggregate, and scripts that fill, drain and slide a window."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from sash.aggregates.base import Aggregate

Script = list[tuple[str, int]]
"""Phases: fill, drain or slide by so many rows."""


def rows(aggregate: Aggregate[Any], *, nulls: bool = False) -> st.SearchStrategy[Any]:
    """Return rows for the aggregate: small integers, so that ties are many and sums are exact; tuples for two columns."""
    values: st.SearchStrategy[Any] = st.integers(-4, 9)
    if nulls:
        values = st.none() | values
    return st.tuples(*[values] * aggregate.inputs) if aggregate.inputs > 1 else values


def scripts(*, most_phases: int = 8, most_rows: int = 9) -> st.SearchStrategy[Script]:
    """Return scripts of phases: sawtooth fills and drains, and slides of m rows."""
    phases = st.tuples(st.sampled_from(["fill", "drain", "slide"]), st.integers(1, most_rows))
    return st.lists(phases, min_size=1, max_size=most_phases)


def steps(script: Script, held: int = 0) -> list[str]:
    """Return the single inserts and evicts of a script, never evicting from an empty window.

    >>> steps([("fill", 2), ("slide", 1), ("drain", 9)])
    ['insert', 'insert', 'insert', 'evict', 'evict', 'evict']
    """
    singles = []
    for phase, count in script:
        if phase in ("fill", "slide"):
            singles += ["insert"] * count
            held += count
        if phase in ("drain", "slide"):
            leaving = min(count, held)
            singles += ["evict"] * leaving
            held -= leaving
    return singles
