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
    """Return a strategy for the rows of an aggregate: small integers, or tuples of them if it reads several columns.

    Small integers have many ties, and their sums are exact. `aggregate` is the aggregate; `nulls=True` adds None.

    >>> from hypothesis import given
    >>> from sash import agg
    >>> from sash.testing import strategies
    >>> @given(strategies.rows(agg.arg_max()))
    ... def check(row):
    ...     assert len(row) == 2
    >>> check()
    """
    values: st.SearchStrategy[Any] = st.integers(-4, 9)
    if nulls:
        values = st.none() | values
    return st.tuples(*[values] * aggregate.inputs) if aggregate.inputs > 1 else values


def scripts(*, most_phases: int = 8, most_rows: int = 9) -> st.SearchStrategy[Script]:
    """Return a strategy for scripts that fill, drain and slide a window.

    A script has up to `most_phases` phases of up to `most_rows` rows each; `steps` turns it into inserts and evicts.

    >>> from hypothesis import given
    >>> from sash.testing import strategies
    >>> @given(strategies.scripts(most_rows=3))
    ... def check(script):
    ...     assert all(kind in ("fill", "drain", "slide") and 1 <= count <= 3 for kind, count in script)
    >>> check()
    """
    phases = st.tuples(st.sampled_from(["fill", "drain", "slide"]), st.integers(1, most_rows))
    return st.lists(phases, min_size=1, max_size=most_phases)


def steps(script: Script, held: int = 0) -> list[str]:
    """Return the inserts and evicts of a script. They never evict from an empty window.

    `script` is a list of phases; `held` is the number of rows in the window before.

    >>> from sash.testing import strategies
    >>> strategies.steps([("fill", 2), ("slide", 1), ("drain", 9)])
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
    """Return a strategy for streams: lists of rows, in order of time or not.

    A row has `key`, the time `t`, the columns `x` and `y` with nulls, and `v` and `mark` for delta and punctuated windows. Times have ties
    and gaps and may be negative. `keys` is the number of keys, up to 4, null among them unless it is 1. A stream has from `least_rows` to
    `most_rows` rows.

    >>> from hypothesis import given
    >>> from sash.testing import strategies
    >>> @given(strategies.streams(keys=1, most_rows=5))
    ... def check(rows):
    ...     assert len(rows) <= 5 and all(row["key"] == "a" for row in rows)
    >>> check()
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
