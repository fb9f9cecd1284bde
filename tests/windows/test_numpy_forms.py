"""The NumPy form of a loop ≡ the loop, for the bounds of every kind of window."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.items import items, memories
from helpers.pairwise import FULL
from helpers.windows import WINDOWS
from hypothesis import given, settings
from hypothesis import strategies as st

from sash.kernels.plain import compile_loop
from sash.windows import Window
from sash.windows.base import Items, as_it_stands
from sash.windows.by_change import find_near
from sash.windows.numpy_forms import numpy_form
from sash.windows.time_loops import find_periodic

KINDS = [pytest.param(case.drawn, id=kind) for kind, case in WINDOWS.items() if kind != "custom"]
"""Custom windows run Python functions row by row."""


def everything(chosen: Window, over: Items, memory: dict[str, Any], run: Any) -> dict[str, Any]:
    """The bounds as lists, with what they remember."""
    found = chosen.bounds(over, {name: values.copy() for name, values in memory.items()}, run)
    parts = {name: getattr(found, name) for name in ("begins", "ends", "starts", "stops", "keep")} | found.memory
    return {name: None if part is None else (part.dtype.name, part.tolist()) for name, part in parts.items()}


@pytest.mark.parametrize("windows", KINDS)
@settings(max_examples=200 if FULL else 60)
@given(data=st.data())
def test_numpy_finds_the_windows_of_the_loop(windows: st.SearchStrategy[Window], data: st.DataObject) -> None:
    chosen, over = data.draw(windows), data.draw(items())
    memory = data.draw(memories(chosen, over))
    assert everything(chosen, over, memory, numpy_form) == everything(chosen, over, memory, as_it_stands)


@settings(max_examples=200)
@given(over=items(), period=st.integers(1, 9), longer=st.integers(0, 9), offset=st.integers(0, 8))
def test_numpy_counts_periodic_windows(over: Items, period: int, longer: int, offset: int) -> None:
    nothing = (np.empty(0, np.int64),) * 4
    length, span = period + longer, over.span
    counts = []
    for run in (numpy_form, as_it_stands):
        keep = np.empty(over.keys, np.int64)
        cycle = (length, period, length, offset % period)
        marks = (span.after, span.now, span.closed)
        count = run(find_periodic)(over.times, over.firsts, marks, cycle, nothing, keep)
        counts.append((count, keep.tolist()))
    assert counts[0] == counts[1]


def test_differences_of_float32_are_rounded_as_in_compiled_loops() -> None:
    values = np.array([16777216, -1], np.float32)
    assert values[0] - values[1] == 16777216  # which a float64 would tell from 16777217
    found = []
    for run in (numpy_form, compile_loop):
        begins, ends, keep, none, both = (np.array(numbers, np.int64) for numbers in ([7, 7], [7, 7], [7], [0], [2]))
        run(find_near)(values, none, both, none.copy(), 16777216.5, begins, ends, keep)
        found.append((begins.tolist(), ends.tolist(), keep.tolist()))
    assert found == [([0, 0], [1, 2], [0])] * 2


def test_a_loop_without_a_numpy_form_stays_as_it_is() -> None:
    def loop() -> None:
        """Do nothing."""

    assert numpy_form(loop) is loop
