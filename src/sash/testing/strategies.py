"""Hypothesis strategies: rows that fit an aggregate, scripts that fill, drain and slide a window, streams of rows."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

from hypothesis import strategies as st

from sash.aggregates.base import Aggregate

Script = list[tuple[str, int]]
"""Phases: fill, drain or slide by n rows."""

GAPS = (0, 0, 0, 1, 1, 2, 3, 5, 23)
"""Differences between neighbouring times: many ties, and some gaps longer than most windows."""


def rows(aggregate: Aggregate[Any], *, nulls: bool = False) -> st.SearchStrategy[Any]:
    """Return rows for an aggregate: small integers, so that there are many ties and sums are exact; tuples for several columns."""
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


@st.composite
def streams(draw: st.DrawFn, *, keys: int = 3, least_rows: int = 0, most_rows: int = 24) -> list[dict[str, Any]]:
    """Return rows of a stream, in order or not: key, time `t`, columns `x` and `y` with nulls, `v` and `mark` for windows.

    Times have ties and gaps and may lie before the epoch; keys are few, one, or null.
    """
    values = st.none() | st.integers(-4, 9)
    columns = {
        "key": st.sampled_from([None, "b", "c", "d"][:keys] if keys > 1 else ["a"]),
        "x": values,
        "y": values,
        "v": st.integers(-6, 6),
        "mark": st.sampled_from([None, False, False, True]),
    }
    steps_between = draw(st.lists(st.sampled_from(GAPS), min_size=least_rows, max_size=most_rows))
    times = list(accumulate(steps_between, initial=draw(st.integers(-40, 20))))[1:]
    if draw(st.booleans()):
        times = draw(st.permutations(times))
    return [{"t": time, **draw(st.fixed_dictionaries(columns))} for time in times]
