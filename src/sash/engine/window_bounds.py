"""Finds the windows of a block: as runs of rows, or of the slices that rows are cut into."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from sash.engine.executors import Results
from sash.engine.executors.executor import finish_columns
from sash.engine.prepare import Prepared
from sash.slices.cuts import SliceRecords, SliceRefs, all_closed, cut_by_bounds, cut_by_edges, records_as_items, refs_of
from sash.windows import Window
from sash.windows.arrays import ranges, sums_before
from sash.windows.base import NEVER, Bounds, Flags, Ints, Items, Memory

NOTHING = np.empty(0, np.int64)


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
        bounds = self.rows if self.rows is not None else self.slices
        assert bounds is not None
        return bounds

    def select(self, chosen: Flags) -> WindowBounds:
        """Return the chosen windows."""
        parts = (self.rows, self.slices, self.refs)
        selected: list[Any] = [None if part is None else part.select(chosen) for part in parts]
        return WindowBounds(self.window, *selected)


@dataclass(frozen=True)
class WindowResults:
    """The results of the windows of one name."""

    counts: Ints
    """By key: the number of windows; empty for results per row."""
    starts: Ints | None
    """Where each window begins, in ticks; None if there is no time column."""
    stops: Ints | None
    columns: Results


class BoundsFinder:
    """Finds windows in rows or in closed slices. It cuts rows into slices if a pass needs them."""

    def __init__(self, prepared: Prepared, items: Items, memory: Mapping[str, Memory], *, are_slices: bool) -> None:
        self.prepared = prepared
        self.items = items
        self.memory = memory
        over_slices = [not are_slices and plan_pass.over_slices for plan_pass in prepared.plan.passes]
        self.edges = prepared.edges if any(over_slices) else None
        self.over_rows = not are_slices and (self.edges is None or not all(over_slices))
        self.cuts_at_windows = any(over_slices) and self.edges is None
        self.records: SliceRecords | None = None
        """The records of the slices that rows are cut into; None before they are cut, and for a block of slices."""
        self.slices = items if are_slices else None
        """The slices as windows see them, if they are known before the windows."""
        if self.edges is not None:
            self.records = cut_by_edges(items, self.edges)
            self.slices = records_as_items(items, self.records)

    @property
    def together(self) -> bool:
        """Whether all windows must be found before one is evaluated: they share a structure, or decide where to cut."""
        return self.cuts_at_windows or any(plan_pass.together for plan_pass in self.prepared.plan.passes)

    def find(self, names: Sequence[str]) -> dict[str, WindowBounds]:
        """Return the windows with these names."""
        by_name = {}
        for name in names:
            window, memory, run = self.prepared.plan.windows[name], self.memory[name], self.prepared.loops
            rows = window.bounds(self.items, memory, run) if self.over_rows else None
            slices = None if self.slices is None else window.bounds(self.slices, memory, run)
            refs = None if slices is None else all_closed(slices)
            if slices is not None and self.records is not None:
                refs = refs_of(self.records, slices.begins, slices.ends)
            by_name[name] = WindowBounds(window, rows, slices, refs)
        return self._cut_at(by_name) if self.cuts_at_windows else by_name

    def _cut_at(self, by_name: dict[str, WindowBounds]) -> dict[str, WindowBounds]:
        """Cut rows where windows begin, and return the windows as references to the slices."""
        technique = self.prepared.plan.technique
        panes: list[Ints] = []
        if technique == "panes":
            panes = [
                cuts.pane_starts(self.items, found.bounds.memory)
                for found in by_name.values()
                if (cuts := found.window.cuts) and cuts.pane_starts
            ]
        every = [found.bounds for found in by_name.values()]
        self.records, refs = cut_by_bounds(self.items, every, early=technique == "cutty", also=panes)
        return {name: replace(by_name[name], refs=found) for name, found in zip(by_name, refs, strict=True)}

    def _over_records(self, window_bounds: WindowBounds) -> bool:
        """Return whether the bounds of windows are slice records rather than items of the block."""
        return window_bounds.rows is None and self.records is not None

    def keep(self, window_bounds: WindowBounds) -> Ints:
        """Return the first item of each key that later windows may need."""
        keep = window_bounds.bounds.keep
        return np.maximum(self._first_rows[keep], self.items.firsts[:-1]) if self._over_records(window_bounds) else keep

    def only_changed(self, window_bounds: WindowBounds, changed: Flags) -> WindowBounds:
        """Return the windows that hold a changed item."""
        begins, ends = window_bounds.bounds.begins, window_bounds.bounds.ends
        if self._over_records(window_bounds):
            begins, ends = self._first_rows[begins], self._first_rows[ends]
        before = sums_before(changed)
        return window_bounds.select(before[ends] > before[begins])

    def results(self, window_bounds: WindowBounds, columns: Results) -> WindowResults:
        """Return the results of windows, with the keys and times that they belong to."""
        bounds = window_bounds.bounds
        aggregates = self.prepared.query.aggregates
        if window_bounds.window.per_row:
            finished = finish_columns(aggregates, columns, lambda: self._times_of_frames(bounds))
            return WindowResults(NOTHING, bounds.starts, bounds.stops, finished)
        items = self.slices if self.slices is not None and window_bounds.rows is None else self.items
        places = bounds.begins.searchsorted(items.firsts)
        counts = places[1:] - places[:-1]
        starts, stops = bounds.starts, bounds.stops
        if starts is None and self.prepared.time is not None:
            starts, stops = self.items.times[bounds.begins], self.items.times[bounds.ends - 1]
        ticks = NOTHING if stops is None else stops
        return WindowResults(counts, starts, stops, finish_columns(aggregates, columns, lambda: ticks))

    def _times_of_frames(self, bounds: Bounds) -> Ints:
        """Return the times that results per row belong to: those where windows end, or else those of the rows or points."""
        if bounds.stops is None:
            return self._times_of_rows()
        times: Ints = np.where(bounds.stops == NEVER, 0, bounds.stops)  # a window without rows may have any time
        return times

    def _times_of_rows(self) -> Ints:
        """Return the times of the rows that have a result: those that are final, without the context."""
        items, span = self.items, self.items.span
        if items.points is not None:
            return items.points.times
        if not len(items.times):
            return NOTHING
        return items.times[ranges(items.firsts[:-1] + span.done, span.final - span.done)]

    @cached_property
    def _first_rows(self) -> Ints:
        """The first row of each slice record, and the row after the last one."""
        assert self.records is not None
        return np.concatenate([np.zeros(1, np.int64), self.records.positions])
