"""StreamPlan: what a stream of a query stores, which windows share a state, and when their rows are late."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from sash.engine.prepare import Prepared, prepare
from sash.windows.base import Ints


@dataclass(frozen=True)
class StreamPlan:
    """A prepared query as streams see it."""

    prepared: Prepared

    @cached_property
    def groups(self) -> list[Prepared]:
        """The query once for each group of windows with the same late rows, which share the state of a stream."""
        prepared = self.prepared
        names_by_rule: dict[Hashable, list[str]] = {}
        for name, window in prepared.query.windows.items():
            names_by_rule.setdefault(window.lateness.rule, []).append(name)
        if len(names_by_rule) == 1:
            return [prepared]
        again = partial(prepare, schema=prepared.schema, compiled=prepared.compiled, interpreted=prepared.interpreted)
        return [again(prepared.query.part(names)) for names in names_by_rule.values()]

    # -- state -------------------------------------------------------------------------------------------------------

    @cached_property
    def state_kinds(self) -> dict[str, list[str]]:
        """What a stream stores, "slices", "prefixes" or "rows", and for which windows."""
        kinds: dict[str, list[str]] = {}
        for group in map(stream_plan, self.groups):
            kind = "slices" if group.stores_slices else "prefixes" if group.stores_prefixes else "rows"
            kinds.setdefault(kind, []).extend(group.prepared.query.windows)
        return kinds

    @cached_property
    def stores_slices(self) -> bool:
        """Whether a stream can store slices for windows that share a state: edges follow from times alone, and partials are numbers that commute.

        Slices have no place for the memory of windows.
        """
        plan, unit = self.prepared.plan, self.prepared.unit
        windows = plan.windows.values()
        if not plan.technique or any(window.memory.parts for window in windows):
            return False
        every = [window.cuts for window in windows]
        by_time = all(cuts and (cuts.cycle(unit) or cuts.gap(unit) is not None) for cuts in every)
        columns = [column for aggregate in self.prepared.query.aggregates.values() for column in aggregate.columns]
        return by_time and self._are_numbers(columns) and all(plan_pass.stores_slices for plan_pass in plan.passes)

    @cached_property
    def stores_prefixes(self) -> bool:
        """Whether a stream can store one partial for the older rows of a key: some windows hold all of them, the others none."""
        windows = self.prepared.plan.windows.values()
        growing = [window.frame is not None and window.frame.grows for window in windows]
        for grows, window in zip(growing, windows, strict=True):
            if not grows and (window.frame is None or window.frame.in_runs or window.time_split is None):
                return False
        aggregates = self.prepared.query.aggregates.values()
        columns = [column for aggregate in aggregates for column in aggregate.named_columns]
        stored = all(plan_pass.stores_prefixes for plan_pass in self.prepared.plan.passes)
        return any(growing) and stored and self._are_numbers(columns)

    def _are_numbers(self, columns: list[str]) -> bool:
        return all(column in self.prepared.kinds for column in columns)

    # -- times -------------------------------------------------------------------------------------------------------

    def late_from(self, times: Ints) -> Ints:
        """Return for rows at these times the watermark from which on they are late: all their windows are closed.

        NEVER for rows that no window holds, as the slide may be longer than the range.
        """
        windows, unit = self.prepared.plan.windows.values(), self.prepared.unit
        ends: Ints = np.maximum.reduce([window.lateness.last_end(times, unit) for window in windows])
        return ends

    def missed_from(self, times: Ints) -> Ints:
        """Return the watermarks from which on a window may have been emitted without the rows at these times."""
        windows, unit = self.prepared.plan.windows.values(), self.prepared.unit
        marks: Ints = np.minimum.reduce([window.lateness.missed_from(times, unit) for window in windows])
        return marks

    def due_from(self, times: Ints) -> int:
        """Return the earliest watermark at which a window of rows at these times ends."""
        windows, unit = self.prepared.plan.windows.values(), self.prepared.unit
        return min(int(window.lateness.first_end(times, unit).min()) for window in windows)


def stream_plan(prepared: Prepared) -> StreamPlan:
    """Return the stream plan of a prepared query, the same one each time."""
    return prepared.once("stream_plan", lambda: StreamPlan(prepared))
