"""StreamPlan: what a stream of a query stores, which windows share a state, and when their rows are late."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from sash.durations import TimeUnit
from sash.engine.prepare import Prepared, prepare
from sash.plan.tree import and_between
from sash.windows.base import FOREVER, Ints
from sash.windows.capabilities import Frame


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
        """What a stream stores, "slices", "prefixes", "tails" or "rows", and for which windows."""
        kinds: dict[str, list[str]] = {}
        for group in map(stream_plan, self.groups):
            kinds.setdefault(group.state_kind, []).extend(group.prepared.query.windows)
        return kinds

    @cached_property
    def state_kind(self) -> str:
        """What a stream stores for windows that share a state."""
        if self.stores_slices:
            return "slices"
        if not self.stores_tails:
            return "rows"
        return "prefixes" if all(frame.grows for frame in self._edged) else "tails"

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
    def stores_tails(self) -> bool:
        """Whether a stream stores slices in place of older rows, and the rows after them."""
        return bool(self._edged) and not self.why_rows

    @cached_property
    def why_rows(self) -> str:
        """Why slices cannot stand for the older rows of frames that begin at edges; empty if they can."""
        windows, unit = self.prepared.plan.windows.values(), self.prepared.unit
        for window in windows:
            if window.frame is None or window.frame.held is None:
                if window.frame is not None and window.frame.needs_end:
                    return f"results of {window} wait for the end of the stream"
                return f"{window} tells older rows apart"
        for plan_pass in self.prepared.plan.passes:
            if not plan_pass.stores_tails:
                several = len(plan_pass.aggregates) > 1
                how = (
                    "are interpreted" if several else "is interpreted",
                    "need all values" if several else "needs all values",
                )
                return f"{and_between(list(plan_pass.aggregates))} {how[not plan_pass.compact]}"
        for name, aggregate in self.prepared.query.aggregates.items():
            if not self._are_numbers(aggregate.named_columns):
                return f"{name} is not of numbers"
        longest = max((_ticks_back(frame, unit) for frame in self._edged), default=0)
        for window in windows:
            assert window.frame is not None
            if not window.frame.begins_at_edges(unit) and _ticks_back(window.frame, unit) >= longest:
                return f"{window} needs rows as old"
        return ""

    @cached_property
    def _edged(self) -> list[Frame]:
        """The frames that begin at edges."""
        frames = [window.frame for window in self.prepared.plan.windows.values()]
        return [frame for frame in frames if frame is not None and frame.begins_at_edges(self.prepared.unit)]

    def _are_numbers(self, columns: Iterable[str]) -> bool:
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


def _ticks_back(frame: Frame, unit: TimeUnit) -> int:
    """Return how many ticks a frame reaches back; FOREVER without limit."""
    reach = frame.reach(unit)
    return FOREVER if reach is None else reach.ticks


def stream_plan(prepared: Prepared) -> StreamPlan:
    """Return the stream plan of a prepared query, the same one each time."""
    return prepared.once("stream_plan", lambda: StreamPlan(prepared))
