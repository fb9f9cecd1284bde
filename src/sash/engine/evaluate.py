"""evaluate(prepared, block, span): bounds → slide → lower. No other place arranges these steps.

    block + span ──► bounds of windows ──► slices, if they pay ──► each pass slides ──► results, in block order

It changes nothing in place: the first item that later windows need (`keep`) and the new memory of windows are part of the result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Context, localcontext

import numpy as np

from sash.engine.partials import SlicePartials
from sash.engine.passes import PassRun, Results
from sash.engine.prepare import Prepared
from sash.engine.row_block import RowBlock
from sash.engine.slice_block import SliceBlock
from sash.kernels import CannotCompileError
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
from sash.windows.base import Bounds, Flags, Ints, Items, Memory, Span, whole_span

Block = RowBlock | SliceBlock
NOTHING = np.empty(0, np.int64)
DIGITS = 76
"""Digits of decimals in computations, those of Arrow's largest type: Python's default of 28 would round."""


class PassDoesNotCompileError(Exception):
    """A pass contains an aggregate that Numba rejects."""

    def __init__(self, one: Pass, error: CannotCompileError) -> None:
        super().__init__(str(error))
        self.one = one


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
) -> Evaluated:
    """Return the results of the windows that a span emits; without a span, of all windows of a block.

    Raise PassDoesNotCompileError if an aggregate does not compile; `interpret_failed` then gives another `prepared`.
    """
    windows = prepared.plan.windows
    span = span or whole_span(np.diff(block.firsts))
    memory = memory or {name: window.new_memory(len(block.firsts) - 1) for name, window in windows.items()}
    items = block.items(windows.values(), span)
    prepared.check_times(items.times)
    if isinstance(block, RowBlock):
        found, records = find_in_rows(prepared, items, memory)
    else:
        found, records = find_in_slices(prepared, items, memory), None
    positions = None if records is None else np.concatenate([np.zeros(1, np.int64), records.positions])
    keep = {name: _keep(one, items, positions) for name, one in found.items()}
    changed = span.changed
    if changed is not None:
        found = {name: _only_changed(one, changed, span.unseen_after, positions) for name, one in found.items()}
    columns = _slide(prepared, block, records, found)
    times = None if prepared.time is None else items.times
    firsts = items.firsts
    results = {name: _window_results(one, columns[name], times, firsts, records) for name, one in found.items()}
    return Evaluated(results, keep, {name: one.bounds.memory for name, one in found.items()})


# -- bounds ----------------------------------------------------------------------------------------------------------


def find_in_rows(
    prepared: Prepared, items: Items, memory: Mapping[str, Memory]
) -> tuple[dict[str, WindowBounds], SliceRecords | None]:
    """Return the windows of rows, and the records of their slices, if a pass goes over slices."""
    plan, run = prepared.plan, prepared.run
    over_slices = any(one.over_slices for one in plan.passes)
    edges = prepared.edges if over_slices else None
    found = {name: WindowBounds(window) for name, window in plan.windows.items()}
    if edges is None or any(not one.over_slices for one in plan.passes):
        for name, window in plan.windows.items():
            found[name] = WindowBounds(window, window.bounds(items, memory[name], run))
    if edges is not None:
        records = cut_by_edges(items, edges, run)
        of_records = records_as_items(items, records)
        for name, one in found.items():
            bounds = one.window.bounds(of_records, memory[name], run)
            found[name] = replace(one, slices=bounds, refs=refs_of(records, bounds.begins, bounds.ends))
        return found, records
    if not over_slices:
        return found, None
    every = {name: one.bounds for name, one in found.items()}
    panes: list[Ints] = []
    if plan.technique == "panes":
        counted = [(name, window) for name, window in plan.windows.items() if window.row_cycle is not None]
        panes = [window.pane_starts(items, every[name].memory) for name, window in counted]
    records, refs = cut_by_bounds(items, list(every.values()), early=plan.technique == "cutty", also=panes)
    for (name, one), own in zip(found.items(), refs, strict=True):
        found[name] = replace(one, refs=own)
    return found, records


def find_in_slices(prepared: Prepared, items: Items, memory: Mapping[str, Memory]) -> dict[str, WindowBounds]:
    """Return the windows of closed slices."""
    found = {}
    for name, window in prepared.plan.windows.items():
        bounds = window.bounds(items, memory[name], prepared.run)
        found[name] = WindowBounds(window, slices=bounds, refs=all_closed(bounds))
    return found


def _keep(one: WindowBounds, items: Items, positions: Ints | None) -> Ints:
    """Return the first item of each key that later windows may need."""
    if one.rows is None and positions is not None:
        return np.maximum(positions[one.bounds.keep], items.firsts[:-1])
    return one.bounds.keep


def _only_changed(one: WindowBounds, changed: Flags, unseen_after: int, positions: Ints | None) -> WindowBounds:
    """Return the windows that hold a changed item, or that end after a time."""
    begins, ends, stops = one.bounds.begins, one.bounds.ends, one.bounds.stops
    assert stops is not None
    if one.rows is None and positions is not None:
        begins, ends = positions[begins], positions[ends]
    before = np.zeros(len(changed) + 1, np.int64)
    np.cumsum(changed, out=before[1:])
    unseen = stops > unseen_after if one.window.half_open else stops >= unseen_after
    return one.select((before[ends] > before[begins]) | unseen)


# -- slide and lower -------------------------------------------------------------------------------------------------


def _slide(
    prepared: Prepared, block: Block, records: SliceRecords | None, found: Mapping[str, WindowBounds]
) -> dict[str, Results]:
    """Return the results of each window's aggregates."""
    columns: dict[str, Results] = {name: {} for name in found}
    for number, one in enumerate(prepared.plan.passes):
        try:
            with localcontext(Context(prec=DIGITS)):
                results = _slide_pass(prepared, one, block, number, records, found)
        except CannotCompileError as error:
            raise PassDoesNotCompileError(one, error) from error
        for name, own in results.items():
            columns[name] |= own
    return columns


def _slide_pass(
    prepared: Prepared,
    one: Pass,
    block: Block,
    number: int,
    records: SliceRecords | None,
    found: Mapping[str, WindowBounds],
) -> dict[str, Results]:
    if isinstance(block, SliceBlock):
        partials = replace(block.partials[number], where=block.name)
        return _slide_slices(PassRun(prepared, one), partials, found)
    run = PassRun(prepared, one, block)
    if one.over_slices:
        assert records is not None
        return _slide_slices(run, run.cut(records), found)
    if one.together:
        of_rows = {name: replace(each, refs=all_closed(each.bounds)) for name, each in found.items()}
        return _slide_slices(run, run.rows_as_slices(), of_rows)
    return {name: run.slide_rows(each.window, each.bounds) for name, each in found.items()}


def _slide_slices(run: PassRun, partials: SlicePartials, found: Mapping[str, WindowBounds]) -> dict[str, Results]:
    """Return the results of windows over slices: one structure for all kinds of windows, or one for each."""
    results: dict[str, Results] = {}
    for names in [list(found)] if run.one.together else [[name] for name in found]:
        refs: Sequence[SliceRefs] = [ref for name in names if (ref := found[name].refs) is not None]
        made = run.slide_slices([found[name].window for name in names], partials, refs)
        results |= dict(zip(names, made, strict=True))
    return results


def _window_results(
    one: WindowBounds, columns: Results, times: Ints | None, firsts: Ints, records: SliceRecords | None
) -> WindowResults:
    bounds = one.bounds
    if one.window.per_row:
        return WindowResults(NOTHING, None, None, columns)
    if one.rows is None and records is not None:
        firsts = records.firsts
    counts = np.diff(np.searchsorted(bounds.begins, firsts))
    starts, stops = bounds.starts, bounds.stops
    if starts is None and times is not None:
        starts, stops = times[bounds.begins], times[bounds.ends - 1]
    return WindowResults(counts, starts, stops, columns)


# -- aggregates that do not compile ------------------------------------------------------------------------------------


def interpret_failed(prepared: Prepared, failed: PassDoesNotCompileError) -> Prepared:
    """Return a prepared query that interprets those aggregates of a failed pass that do not compile."""
    reasons = {}
    for name, aggregate in failed.one.aggregates.items():
        alone = replace(failed.one, aggregates={name: aggregate})
        try:
            check_compiles(replace(prepared, plan=replace(prepared.plan, passes=(alone,))))
        except PassDoesNotCompileError as error:
            reasons[name] = str(error)
    return prepared.interpreting(reasons or dict.fromkeys(failed.one.aggregates, str(failed)))


def check_compiles(prepared: Prepared) -> None:
    """Compile all kernels of a query, by evaluating an empty block. Raise PassDoesNotCompileError if a pass does not compile."""
    evaluate(prepared, prepared.empty_block())


def compile_ahead(prepared: Prepared) -> Prepared:
    """Compile all kernels of a query. Return the query; aggregates that do not compile are interpreted."""
    while True:
        try:
            check_compiles(prepared)
        except PassDoesNotCompileError as failed:
            prepared = interpret_failed(prepared, failed)
        else:
            return prepared
