"""evaluate(prepared, block, span): bounds → slide → lower. No other place arranges these steps.

    block + span ──► bounds of windows ──► slices, if they pay ──► each pass slides ──► results, in block order

It changes nothing in place: the first item that later windows need (`keep`) and the new memory of windows are part of the result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Context, localcontext
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sash.engine.cut import cut_each_row
from sash.engine.finish import finish_columns
from sash.engine.first_run import keeps_executor
from sash.engine.partials import SlicePartials
from sash.engine.passes import PassDoesNotCompileError, PassRun, Results, naming_pass
from sash.engine.prepare import Prepared
from sash.engine.row_block import RowBlock
from sash.engine.slice_block import SliceBlock
from sash.plan.sharing import Pass
from sash.slices.cuts import (
    SliceRecords,
    SliceRefs,
    all_closed,
    cut_by_bounds,
    cut_by_edges,
    records_as_items,
    refs_of,
)
from sash.windows import Window
from sash.windows.arrays import ranges
from sash.windows.base import Bounds, Flags, Ints, Items, Memory, Points, Span, whole_span

Block = RowBlock | SliceBlock
NOTHING = np.empty(0, np.int64)
WINDOW_TIMES = [("key", np.int64), ("start", np.int64), ("stop", np.int64)]
EXACT = Context(prec=76)
"""For computations with decimals: as many digits as Arrow's largest type has. Python's default of 28 would round."""


@dataclass(frozen=True)
class WindowBounds:
    """The windows of one name in a block."""

    window: Window
    rows: Bounds | None = None
    """As runs of rows, if a pass goes over rows."""
    slices: Bounds | None = None
    """As runs of slices, or of slice records."""
    refs: SliceRefs | None = None

    @property
    def bounds(self) -> Bounds:
        """The windows as runs of rows, or else of slices."""
        found = self.rows if self.rows is not None else self.slices
        assert found is not None
        return found

    def select(self, chosen: Flags) -> WindowBounds:
        """Return the chosen windows."""
        return WindowBounds(
            self.window,
            None if self.rows is None else self.rows.select(chosen),
            None if self.slices is None else self.slices.select(chosen),
            None if self.refs is None else self.refs.select(chosen),
        )


@dataclass(frozen=True)
class WindowResults:
    """The results of the windows of one name."""

    counts: Ints
    """By key: the number of windows; empty for results per row."""
    starts: Ints | None
    """Where each window begins, in ticks; None if there is no time column."""
    stops: Ints | None
    columns: Results


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
    memory: Mapping[str, Memory] | None = None,
    points: Points | None = None,
) -> Evaluated:
    """Return the results of the windows that a span emits; without a span, of all windows of a block.

    With `points`, windows that have a result per row have one per point instead.

    Raise PassDoesNotCompileError if an aggregate does not compile; `interpret_failed` then gives another `prepared`.
    """
    windows = prepared.plan.windows
    span = span or whole_span(np.diff(block.firsts))
    memory = memory or {name: window.memory.new(len(block.firsts) - 1) for name, window in windows.items()}
    items = replace(block.items(windows.values(), span), points=points)
    prepared.check_times(items.times)
    if points is not None:
        prepared.check_times(points.times)
    finder = (
        BoundsInRows(prepared, items, memory)
        if isinstance(block, RowBlock)
        else BoundsInSlices(prepared, items, memory)
    )
    passes = OpenPasses(prepared, block)
    results: dict[str, WindowResults] = {}
    keep: dict[str, Ints] = {}
    new_memory: dict[str, Memory] = {}
    # Windows are evaluated one after the other: each reuses the memory of the one before, which is faster than fresh memory.
    for names in [list(windows)] if finder.together else [[name] for name in windows]:
        found = finder.find(names)
        keep |= {name: finder.keep(one) for name, one in found.items()}
        new_memory |= {name: one.bounds.memory for name, one in found.items()}
        if span.changed is not None:
            found = {name: finder.only_changed(one, span.changed) for name, one in found.items()}
        columns = passes.slide(finder.records, found)
        results |= {name: finder.results(one, columns[name]) for name, one in found.items()}
    return Evaluated(results, keep, new_memory)


def replaced_windows(prepared: Prepared, before: Block, block: Block) -> Evaluated:
    """Return the windows of a block that new rows have replaced: they are not among the windows of the larger block.

    Both blocks have the same keys in the same order, the larger one perhaps more. There are no results, only times.
    """
    replaced = {}
    for name, window in prepared.plan.windows.items():
        found = np.empty(0, WINDOW_TIMES)
        if window.cuts and window.cuts.gap(prepared.unit) is not None:
            old, new = (_window_times(prepared, window, one) for one in (before, block))
            found = old[~np.isin(old, new)]
        counts = np.bincount(found["key"], minlength=len(block.firsts) - 1)
        replaced[name] = WindowResults(counts, found["start"].copy(), found["stop"].copy(), {})
    return Evaluated(replaced, {}, {})


def _window_times(prepared: Prepared, window: Window, block: Block) -> npt.NDArray[Any]:
    """Return the key and the times of each window of a block."""
    items = block.items([window], whole_span(np.diff(block.firsts)))
    bounds = window.bounds(items, window.memory.new(items.keys), prepared.run)
    found = np.empty(len(bounds), WINDOW_TIMES)
    found["key"] = np.searchsorted(block.firsts, bounds.begins, side="right") - 1
    found["start"], found["stop"] = bounds.starts, bounds.stops
    return found


# -- bounds ----------------------------------------------------------------------------------------------------------


class BoundsInSlices:
    """Finds windows in closed slices."""

    def __init__(self, prepared: Prepared, items: Items, memory: Mapping[str, Memory]) -> None:
        self.prepared = prepared
        self.items = items
        self.memory = memory
        self.records: SliceRecords | None = None
        """The records of the slices that rows are cut into; None before they are cut, and for a block of slices."""

    @property
    def together(self) -> bool:
        """Whether all windows must be found before one is evaluated: they share a structure."""
        return any(one.together for one in self.prepared.plan.passes)

    def find(self, names: Sequence[str]) -> dict[str, WindowBounds]:
        """Return the windows with these names."""
        found = {}
        for name in names:
            window = self.prepared.plan.windows[name]
            bounds = window.bounds(self.items, self.memory[name], self.prepared.run)
            found[name] = WindowBounds(window, slices=bounds, refs=all_closed(bounds))
        return found

    def keep(self, one: WindowBounds) -> Ints:
        """Return the first item of each key that later windows may need."""
        return one.bounds.keep

    def positions(self, one: WindowBounds) -> tuple[Ints, Ints]:
        """Return where windows begin and end among the items of the block."""
        return one.bounds.begins, one.bounds.ends

    def only_changed(self, one: WindowBounds, changed: Flags) -> WindowBounds:
        """Return the windows that hold a changed item."""
        begins, ends = self.positions(one)
        before = np.zeros(len(changed) + 1, np.int64)
        np.cumsum(changed, out=before[1:])
        return one.select(before[ends] > before[begins])

    def results(self, one: WindowBounds, columns: Results) -> WindowResults:
        """Return the results of windows, with the keys and times that they belong to."""
        bounds = one.bounds
        aggregates = self.prepared.query.aggregates
        if one.window.per_row:
            return WindowResults(NOTHING, None, None, finish_columns(aggregates, columns, self._times_of_rows))
        over_records = one.rows is None and self.records is not None
        firsts = self.records.firsts if over_records and self.records is not None else self.items.firsts
        counts = np.diff(np.searchsorted(bounds.begins, firsts))
        starts, stops = bounds.starts, bounds.stops
        if starts is None and self.prepared.time is not None:
            starts, stops = self.items.times[bounds.begins], self.items.times[bounds.ends - 1]
        ticks = NOTHING if stops is None else stops
        return WindowResults(counts, starts, stops, finish_columns(aggregates, columns, lambda: ticks))

    def _times_of_rows(self) -> Ints:
        """Return the times of the rows that have a result: those that are final, without the context."""
        items, span = self.items, self.items.span
        if items.points is not None:
            return items.points.times
        if not len(items.times):
            return NOTHING
        return items.times[ranges(items.firsts[:-1] + span.done, span.final - span.done)]


class BoundsInRows(BoundsInSlices):
    """Finds windows in rows, and cuts the rows into slices if a pass needs them."""

    def __init__(self, prepared: Prepared, items: Items, memory: Mapping[str, Memory]) -> None:
        super().__init__(prepared, items, memory)
        passes = prepared.plan.passes
        self.over_slices = any(one.over_slices for one in passes)
        self.edges = prepared.edges if self.over_slices else None
        self.over_rows = self.edges is None or any(not one.over_slices for one in passes)
        self.of_records = items
        if self.edges is not None:
            self.records = cut_by_edges(items, self.edges)
            self.of_records = records_as_items(items, self.records)

    @property
    def together(self) -> bool:
        """Whether all windows must be found before one is evaluated: they share a structure, or decide where to cut."""
        return super().together or (self.over_slices and self.edges is None)

    def find(self, names: Sequence[str]) -> dict[str, WindowBounds]:
        """Return the windows with these names."""
        run = self.prepared.run
        found = {}
        for name in names:
            window, memory = self.prepared.plan.windows[name], self.memory[name]
            one = WindowBounds(window, window.bounds(self.items, memory, run) if self.over_rows else None)
            if self.edges is not None and self.records is not None:
                bounds = window.bounds(self.of_records, memory, run)
                one = replace(one, slices=bounds, refs=refs_of(self.records, bounds.begins, bounds.ends))
            found[name] = one
        return self._cut_at(found) if self.over_slices and self.edges is None else found

    def _cut_at(self, found: dict[str, WindowBounds]) -> dict[str, WindowBounds]:
        """Cut rows where windows begin, and return the windows as references to the slices."""
        technique = self.prepared.plan.technique
        panes: list[Ints] = []
        if technique == "panes":
            cuts = [(one.window.cuts, one.bounds.memory) for one in found.values()]
            panes = [own.pane_starts(self.items, memory) for own, memory in cuts if own and own.pane_starts]
        every = [one.bounds for one in found.values()]
        self.records, refs = cut_by_bounds(self.items, every, early=technique == "cutty", also=panes)
        return {name: replace(one, refs=own) for (name, one), own in zip(found.items(), refs, strict=True)}

    def keep(self, one: WindowBounds) -> Ints:
        """Return the first row of each key that later windows may need."""
        if one.rows is None and self.records is not None:
            return np.maximum(self._places[one.bounds.keep], self.items.firsts[:-1])
        return one.bounds.keep

    def positions(self, one: WindowBounds) -> tuple[Ints, Ints]:
        """Return where windows begin and end among the rows."""
        begins, ends = super().positions(one)
        return (self._places[begins], self._places[ends]) if one.rows is None else (begins, ends)

    @cached_property
    def _places(self) -> Ints:
        """The first row of each slice record, and the row after the last one."""
        assert self.records is not None
        return np.concatenate([np.zeros(1, np.int64), self.records.positions])


# -- slide and lower -------------------------------------------------------------------------------------------------


class OpenPasses:
    """The passes of a plan over a block. Each pass reads its columns and cuts its slices once, for all windows."""

    def __init__(self, prepared: Prepared, block: Block) -> None:
        self.prepared = prepared
        self.block = block
        self._opened: dict[int, tuple[PassRun, SlicePartials | None]] = {}

    def slide(self, records: SliceRecords | None, found: Mapping[str, WindowBounds]) -> dict[str, Results]:
        """Return the results of each window's aggregates."""
        columns: dict[str, Results] = {name: {} for name in found}
        for number, one in enumerate(self.prepared.plan.passes):
            with naming_pass(one), localcontext(EXACT):
                results = self._slide_pass(number, one, records, found)
            for name, own in results.items():
                columns[name] |= own
        return columns

    def _slide_pass(
        self, number: int, one: Pass, records: SliceRecords | None, found: Mapping[str, WindowBounds]
    ) -> dict[str, Results]:
        if number not in self._opened:
            self._opened[number] = self._open(number, one, records)
        run, partials = self._opened[number]
        if partials is None:
            return {name: run.slide_rows(each.window, each.bounds) for name, each in found.items()}
        if not one.over_slices and isinstance(self.block, RowBlock):
            found = {name: replace(each, refs=all_closed(each.bounds)) for name, each in found.items()}
        results: dict[str, Results] = {}
        for names in [list(found)] if one.together else [[name] for name in found]:
            refs = [ref for name in names if (ref := found[name].refs) is not None]
            made = run.slide_slices([found[name].window for name in names], partials, refs)
            results |= dict(zip(names, made, strict=True))
        return results

    def _open(self, number: int, one: Pass, records: SliceRecords | None) -> tuple[PassRun, SlicePartials | None]:
        """Return a pass and the slices that it slides over; no slices if it slides over rows."""
        if isinstance(self.block, SliceBlock):
            return PassRun(self.prepared, one), replace(self.block.partials[number], where=self.block.name)
        run = PassRun(self.prepared, one, self.block)
        if one.over_slices:
            assert records is not None
            return run, run.cut(records)
        return run, run.rows_as_slices() if one.together else None


# -- aggregates that do not compile ------------------------------------------------------------------------------------


def interpret_failed(prepared: Prepared, failed: PassDoesNotCompileError) -> Prepared:
    """Return a prepared query that interprets those aggregates of a failed pass that do not compile."""
    reasons = {}
    for name, aggregate in failed.plan_pass.aggregates.items():
        alone = replace(failed.plan_pass, aggregates={name: aggregate})
        try:
            check_compiles(replace(prepared, plan=replace(prepared.plan, passes=(alone,))))
        except PassDoesNotCompileError as error:
            reasons[name] = str(error)
    return prepared.interpreting(reasons or dict.fromkeys(failed.plan_pass.aggregates, str(failed)))


def check_compiles(prepared: Prepared) -> None:
    """Compile all kernels of a query, by evaluating an empty block. Raise PassDoesNotCompileError if a pass does not compile."""
    nothing = prepared.empty_block()
    evaluate(prepared, nothing)
    if prepared.time is not None and prepared.stores_prefixes:
        evaluate(prepared, cut_each_row(prepared, nothing))


def compile_ahead(prepared: Prepared) -> Prepared:
    """Compile what a stream compiles before its first row. Return the query; aggregates that do not compile are interpreted.

    If each run decides whether it compiles, these are only the passes that keep their executor.
    """
    while True:
        ahead = prepared
        if prepared.compiled is None:
            passes = tuple(each for each in prepared.plan.passes if keeps_executor(prepared, each))
            if not passes:
                return prepared
            ahead = replace(prepared, cold=True, plan=replace(prepared.plan, passes=passes))
        try:
            check_compiles(ahead)
        except PassDoesNotCompileError as failed:
            prepared = interpret_failed(prepared, failed)
        else:
            return prepared
