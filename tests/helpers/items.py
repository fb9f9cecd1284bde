"""Hypothesis strategies for rows or slices as windows see them: keys without items, times with ties, context, watermarks."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from sash.testing.strategies import GAPS
from sash.windows import Window
from sash.windows.base import FOREVER, NEVER, Ints, Items, Memory, Span

NUMBERS = ("int32", "int64", "float32", "float64")


@st.composite
def items(draw: st.DrawFn, *, scale: int = 1) -> Items:
    """Return a strategy for the items of up to four keys; `scale` is multiplied with all times."""
    listed = [_times(draw) for _ in range(draw(st.integers(0, 4)))]
    firsts = np.array([0, *accumulate(map(len, listed))], np.int64)
    times = np.array([time for own in listed for time in own], np.int64) * scale
    values = draw(st.lists(st.integers(-6, 6), min_size=len(times), max_size=len(times)))
    marks = draw(st.lists(st.booleans(), min_size=len(times), max_size=len(times)))
    kind = draw(st.sampled_from(NUMBERS))
    factor = 1 if kind.startswith("int") else 1.1
    columns = {"v": (np.array(values) * factor).astype(kind), "mark": np.array(marks, np.bool_)}
    return Items(times, firsts, _span(draw, listed, scale), columns=columns)


def _times(draw: st.DrawFn) -> list[int]:
    steps = draw(st.lists(st.sampled_from(GAPS), max_size=12))
    return list(accumulate(steps, initial=draw(st.integers(-40, 20))))[1:]


def _span(draw: st.DrawFn, listed: list[list[int]], scale: int) -> Span:
    """Return a span. Items of equal time are all context or all new, all final or all not."""
    pairs = [sorted(draw(st.lists(st.sampled_from(_between(own)), min_size=2, max_size=2))) for own in listed]
    marks = [sorted(draw(st.lists(st.integers(-45, 70), min_size=2, max_size=2))) for _ in listed]
    after = [draw(st.sampled_from([NEVER, least * scale])) for least, _ in marks]
    closed = [draw(st.sampled_from([FOREVER, most * scale])) for _, most in marks]
    now = [FOREVER for _ in closed] if draw(st.booleans()) else closed
    done, final = zip(*pairs, strict=True) if pairs else ((), ())
    columns = [np.array(numbers, np.int64) for numbers in (done, final, after, now, closed)]
    return Span(columns[0], columns[1], columns[2], columns[3], columns[4])


def _between(times: list[int]) -> list[int]:
    """Return the places before which another time begins, and the end."""
    return [place for place in range(len(times)) if place == 0 or times[place] != times[place - 1]] + [len(times)]


def memories(window: Window, given: Items) -> st.SearchStrategy[Memory]:
    """Return a strategy for what a window may remember of the items before."""
    return st.fixed_dictionaries(
        {name: _part(name, np.dtype(kind), given) for name, kind in window.memory.parts.items()}
    )


def _part(name: str, kind: np.dtype[Any], given: Items) -> st.SearchStrategy[npt.NDArray[Any]]:
    drawn = st.booleans() if kind == np.bool_ else st.integers(0, 9)
    most: Ints = given.span.done if name == "behind" else np.full(given.keys, 9)
    return st.lists(drawn, min_size=given.keys, max_size=given.keys).map(
        lambda listed: np.minimum(np.array(listed, kind), most.astype(kind))
    )
