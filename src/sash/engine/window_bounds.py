"""Finds the windows of a block: as runs of rows, or of the slices that rows are cut into."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sash.engine.executors import Results
from sash.engine.executors.results import finish_columns
from sash.engine.prepare import Prepared
from sash.slices.cuts import SliceRecords, SliceRefs, all_closed, cut_by_bounds, cut_by_edges, records_as_items, refs_of
from sash.windows import Window
from sash.windows.arrays import ranges
from sash.windows.base import Bounds, Flags, Ints, Items, Memory

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
        return any(plan_pass.together for plan_pass in self.prepared.plan.passes)

    def find(self, names: Sequence[str]) -> dict[str, WindowBounds]:
        """Return the windows with these names."""
        by_name = {}
        for name in names:
            window = self.prepared.plan.windows[name]
            bounds = window.bounds(self.items, self.memory[name], self.prepared.loops)
            by_name[name] = WindowBounds(window, slices=bounds, refs=all_closed(bounds))
        return by_name

    def keep(self, window_bounds: WindowBounds) -> Ints:
        """Return the first item of each key that later windows may need."""
        return window_bounds.bounds.keep

    def positions(self, window_bounds: WindowBounds) -> tuple[Ints, Ints]:
        """Return where windows begin and end among the items of the block."""
        return window_bounds.bounds.begins, window_bounds.bounds.ends

    def only_changed(self, window_bounds: WindowBounds, changed: Flags) -> WindowBounds:
        """Return the windows that hold a changed item."""
        begins, ends = self.positions(window_bounds)
        before = np.zeros(len(changed) + 1, np.int64)
        np.cumsum(changed, out=before[1:])
        return window_bounds.select(before[ends] > before[begins])

    def results(self, window_bounds: WindowBounds, columns: Results) -> WindowResults:
        """Return the results of windows, with the keys and times that they belong to."""
        bounds = window_bounds.bounds
        aggregates = self.prepared.query.aggregates
        if window_bounds.window.per_row:
            return WindowResults(NOTHING, None, None, finish_columns(aggregates, columns, self._times_of_rows))
        over_records = window_bounds.rows is None and self.records is not None
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
        self.over_slices = any(plan_pass.over_slices for plan_pass in passes)
        self.edges = prepared.edges if self.over_slices else None
        self.over_rows = self.edges is None or any(not plan_pass.over_slices for plan_pass in passes)
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
        run = self.prepared.loops
        by_name = {}
        for name in names:
            window, memory = self.prepared.plan.windows[name], self.memory[name]
            window_bounds = WindowBounds(window, window.bounds(self.items, memory, run) if self.over_rows else None)
            if self.edges is not None and self.records is not None:
                bounds = window.bounds(self.of_records, memory, run)
                window_bounds = replace(
                    window_bounds, slices=bounds, refs=refs_of(self.records, bounds.begins, bounds.ends)
                )
            by_name[name] = window_bounds
        return self._cut_at(by_name) if self.over_slices and self.edges is None else by_name

    def _cut_at(self, by_name: dict[str, WindowBounds]) -> dict[str, WindowBounds]:
        """Cut rows where windows begin, and return the windows as references to the slices."""
        technique = self.prepared.plan.technique
        panes: list[Ints] = []
        if technique == "panes":
            panes = [
                cuts.pane_starts(self.items, window_bounds.bounds.memory)
                for window_bounds in by_name.values()
                if (cuts := window_bounds.window.cuts) and cuts.pane_starts
            ]
        every = [window_bounds.bounds for window_bounds in by_name.values()]
        self.records, refs = cut_by_bounds(self.items, every, early=technique == "cutty", also=panes)
        return {
            name: replace(window_bounds, refs=window_refs)
            for (name, window_bounds), window_refs in zip(by_name.items(), refs, strict=True)
        }

    def keep(self, window_bounds: WindowBounds) -> Ints:
        """Return the first row of each key that later windows may need."""
        if window_bounds.rows is None and self.records is not None:
            return np.maximum(self._first_rows[window_bounds.bounds.keep], self.items.firsts[:-1])
        return window_bounds.bounds.keep

    def positions(self, window_bounds: WindowBounds) -> tuple[Ints, Ints]:
        """Return where windows begin and end among the rows."""
        begins, ends = super().positions(window_bounds)
        return (self._first_rows[begins], self._first_rows[ends]) if window_bounds.rows is None else (begins, ends)

    @cached_property
    def _first_rows(self) -> Ints:
        """The first row of each slice record, and the row after the last one."""
        assert self.records is not None
        return np.concatenate([np.zeros(1, np.int64), self.records.positions])
