"""evaluate(prepared, block, span): bounds → slide → lower. No other place arranges these steps.

    block + span ──► bounds of windows ──► slices, if they pay ──► each pass slides ──► results, in block order

It changes nothing in place: the first item that later windows need (`keep`) and the new memory of windows are part of the result.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Context, localcontext
from typing import Any

import numpy as np
import numpy.typing as npt

from sash.columns.lists import plain_lists
from sash.engine.executors import Executor, Results, naming_pass, open_pass
from sash.engine.partials import SlicePartials
from sash.engine.prepare import Prepared
from sash.engine.row_block import RowBlock
from sash.engine.slice_block import SliceBlock, cut_each_row
from sash.engine.stream_plan import stream_plan
from sash.engine.window_bounds import BoundsFinder, WindowBounds, WindowResults
from sash.plan.sharing import Pass
from sash.slices.cuts import SliceRecords, all_closed
from sash.windows import Window
from sash.windows.base import Ints, Memory, Points, Span, whole_span

Block = RowBlock | SliceBlock
Memories = Mapping[str, Memory]
"""By window: what it remembers of each key."""
WINDOW_TIMES = [("key", np.int64), ("start", np.int64), ("stop", np.int64)]
OpenPass = tuple[Executor, SlicePartials | None]
"""An executor, and the slices that it slides over; None if it slides over rows."""
EXACT = Context(prec=76)
"""For computations with decimals: as many digits as Arrow's largest type has. Python's default of 28 would round."""


@dataclass(frozen=True)
class Evaluated:
    """The results of a block, in block order, and what callers carry to the next one."""

    windows: dict[str, WindowResults]
    keep: dict[str, Ints]
    """By window and key: the first item of the block that later windows may need."""
    memory: dict[str, Memory]
    """By window: what it remembers of each key."""


def evaluate(
    prepared: Prepared,
    block: Block,
    span: Span | None = None,
    memory: Memories | None = None,
    points: Points | None = None,
    *,
    copies: bool = True,
) -> Evaluated:
    """Return the results of the windows that a span emits; without a span, of all windows of a block.

    With `points`, windows that have a result per row have one per point instead. Without `copies`, lists may be `ListColumn`s: callers that
    put results into another order copy their values only then.

    Raise PassFailedError if the executor of a pass cannot run it; `executors/bind.py` then binds it to another one.
    """
    windows = prepared.plan.windows
    firsts = block.firsts
    span = span or whole_span(firsts[1:] - firsts[:-1])
    memory = memory or {name: window.memory.new(len(firsts) - 1) for name, window in windows.items()}
    items = block.items(windows.values(), span)
    prepared.check_times(items.times)
    if points is not None:
        items = replace(items, points=points)
        prepared.check_times(points.times)
    finder = BoundsFinder(prepared, items, memory, are_slices=isinstance(block, SliceBlock))
    passes = OpenPasses(prepared, block)
    results: dict[str, WindowResults] = {}
    keep: dict[str, Ints] = {}
    new_memory: dict[str, Memory] = {}
    # Windows are evaluated one after the other: each reuses the memory of the one before, which is faster than fresh memory.
    for names in [list(windows)] if finder.together else [[name] for name in windows]:
        bounds = finder.find(names)
        keep |= {name: finder.keep(window_bounds) for name, window_bounds in bounds.items()}
        new_memory |= {name: window_bounds.bounds.memory for name, window_bounds in bounds.items()}
        if span.changed is not None:
            bounds = {name: finder.only_changed(window_bounds, span.changed) for name, window_bounds in bounds.items()}
        columns = passes.slide(finder.records, bounds)
        if copies:
            columns = {name: plain_results(of_window) for name, of_window in columns.items()}
        results |= {name: finder.results(window_bounds, columns[name]) for name, window_bounds in bounds.items()}
    return Evaluated(results, keep, new_memory)


def plain_results(results: Results) -> Results:
    """Return results with lists in Arrow's own form."""
    return {name: plain_lists(column) for name, column in results.items()}


def replaced_windows(prepared: Prepared, before: Block, block: Block) -> Evaluated:
    """Return the windows of a block that new rows have replaced: they are not among the windows of the larger block.

    Both blocks have the same keys in the same order, the larger one perhaps more. There are no results, only times.
    """
    replaced = {}
    for name, window in prepared.plan.windows.items():
        gone = np.empty(0, WINDOW_TIMES)
        if window.cuts and window.cuts.gap(prepared.unit) is not None:
            old, new = (_window_times(prepared, window, either) for either in (before, block))
            gone = old[~np.isin(old, new)]
        counts = np.bincount(gone["key"], minlength=len(block.firsts) - 1)
        replaced[name] = WindowResults(counts, gone["start"].copy(), gone["stop"].copy(), {})
    return Evaluated(replaced, {}, {})


def _window_times(prepared: Prepared, window: Window, block: Block) -> npt.NDArray[Any]:
    """Return the key and the times of each window of a block."""
    items = block.items([window], whole_span(np.diff(block.firsts)))
    bounds = window.bounds(items, window.memory.new(items.keys), prepared.loops)
    times = np.empty(len(bounds), WINDOW_TIMES)
    times["key"] = np.searchsorted(block.firsts, bounds.begins, side="right") - 1
    times["start"], times["stop"] = bounds.starts, bounds.stops
    return times


# -- slide and lower -------------------------------------------------------------------------------------------------


class OpenPasses:
    """The passes of a plan over a block. Each pass reads its columns and cuts its slices once, for all windows."""

    def __init__(self, prepared: Prepared, block: Block) -> None:
        self.prepared = prepared
        self.block = block
        self._opened: dict[int, OpenPass] = {}

    def slide(self, records: SliceRecords | None, bounds: Mapping[str, WindowBounds]) -> dict[str, Results]:
        """Return the results of each window's aggregates."""
        columns: dict[str, Results] = {name: {} for name in bounds}
        for number, plan_pass in enumerate(self.prepared.plan.passes):
            with naming_pass(plan_pass), localcontext(EXACT):
                results = self._slide_pass(number, plan_pass, records, bounds)
            for name, window_columns in results.items():
                columns[name] |= window_columns
        return columns

    def _slide_pass(
        self, number: int, plan_pass: Pass, records: SliceRecords | None, bounds: Mapping[str, WindowBounds]
    ) -> dict[str, Results]:
        if number not in self._opened:
            self._opened[number] = self._open(number, plan_pass, records)
        run, partials = self._opened[number]
        if partials is None:
            return {name: run.slide_rows(found.window, found.bounds) for name, found in bounds.items()}
        if not plan_pass.over_slices and isinstance(self.block, RowBlock):
            bounds = {name: replace(found, refs=all_closed(found.bounds)) for name, found in bounds.items()}
        results: dict[str, Results] = {}
        for names in [list(bounds)] if plan_pass.together else [[name] for name in bounds]:
            refs = [ref for name in names if (ref := bounds[name].refs) is not None]
            window_results = run.slide_slices([bounds[name].window for name in names], partials, refs)
            results |= dict(zip(names, window_results, strict=True))
        return results

    def _open(self, number: int, plan_pass: Pass, records: SliceRecords | None) -> OpenPass:
        """Return a pass and the slices that it slides over; no slices if it slides over rows."""
        if isinstance(self.block, SliceBlock):
            return open_pass(self.prepared, plan_pass), replace(self.block.partials[number], where=self.block.name)
        run = open_pass(self.prepared, plan_pass, self.block)
        if plan_pass.over_slices:
            assert records is not None
            return run, run.cut(records)
        return run, run.rows_as_slices() if plan_pass.together else None


def check_compiles(prepared: Prepared) -> None:
    """Compile all kernels of a query, by evaluating an empty block. Raise PassFailedError if a pass does not compile."""
    nothing = prepared.empty_block()
    evaluate(prepared, nothing)
    if prepared.time is not None and stream_plan(prepared).stores_tails:
        evaluate(prepared, cut_each_row(prepared, nothing))
