"""What `explain()` says of the state of a stream: how many slices and rows of a key it stores, how large they are, and what a restart reads."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import pyarrow as pa

from sash.durations import TimeUnit, to_text
from sash.engine.prepare import Prepared
from sash.engine.stream_plan import stream_plan
from sash.plan.expected import NUMBER, Expected, bytes_to_text
from sash.plan.tree import and_between
from sash.slices.cuts import borders_of
from sash.slices.edges import Family, count_together

OFFSET = 4
"""Bytes of a text or a list in a row, besides its content."""
SECOND = 1_000_000_000
"""Nanoseconds."""
READ_AGAIN = 3
"""A restart on Spark reads at most so many times the bytes of a base: the base, and changes that are up to twice as large (`state_log.is_due`)."""


@dataclass(frozen=True)
class DeclaredSize:
    """What a stream stores of a key, for windows that share a state, as far as that is known before rows are read."""

    kind: str
    """"slices", "prefixes", "tails" or "rows"."""
    slices: int | None
    """How many slices at most; None if that is not known. A slice has at least one row."""
    slice_bytes: int
    rows: int | None
    """How many rows at most; None if that depends on how many come in a time."""
    row_bytes: int
    """Without the content of texts and lists."""
    has_content: bool
    """Whether rows have texts or lists."""
    stretch: str
    """The time of which rows are needed without slices; empty if that is not a time."""
    stretch_seconds: float = 0
    """The same in seconds; 0 if that is not a time."""
    why_rows: str = ""
    """Why rows are stored, though slices could stand for those of some windows."""

    def total(self, rows: int = 0) -> int | None:
        """Return the bytes of a key of which so many rows are stored; None if it is not known how many slices there are."""
        return None if self.slices is None else self.slices * self.slice_bytes + rows * self.row_bytes

    def __str__(self) -> str:
        """Return it in words."""
        each_row = f"{self.row_bytes} B" + (" and its texts" if self.has_content else "")
        older = (
            f"each row of the last {self.stretch}, {each_row}"
            if self.stretch
            else f"the rows that open or later windows need, {each_row} each"
        )
        if self.kind == "rows":
            if self.rows is not None:
                older = f"the last {self.rows:,} rows of a key, {each_row} each: {bytes_to_text(self.rows * self.row_bytes)}"
            return older + (f"; slices cannot stand for older rows, because {self.why_rows}" if self.why_rows else "")
        total = self.total()
        if total is None:
            held = f"the slices of open windows, {self.slice_bytes} B each"
        else:
            held = f"up to {self.slices:,} slice{'s' * (self.slices != 1)} a key, {self.slice_bytes} B each: {bytes_to_text(total)}"
        if self.kind == "slices":
            return held
        needs = "that other windows need or that waits" if self.rows != 0 else "that waits"
        rest = f"{held}; and each row {needs} for the watermark, {each_row}"
        return f"{rest}. Without tails: {older}" if self.kind == "tails" else rest


def declared_sizes(prepared: Prepared, schema: pa.Schema) -> list[DeclaredSize]:
    """Return what a stream stores of a key, for each group of windows that share a state; rows have the columns of a schema."""
    return [_size_of(group, schema) for group in stream_plan(prepared).groups]


def describe_state(prepared: Prepared, schema: pa.Schema) -> tuple[str, ...]:
    """Return what a stream stores of a key, and what a restart reads, in words; nothing if the query cannot run on a stream."""
    if prepared.time is None or any(window.emits_empty for window in prepared.plan.windows.values()):
        return ()
    sizes = declared_sizes(prepared, schema)
    groups = stream_plan(prepared).groups
    named = [
        f"for {and_between(list(group.query.windows))}: {size}" if len(groups) > 1 else str(size)
        for group, size in zip(groups, sizes, strict=True)
    ]
    restart = (
        f"a restart on Spark reads up to {READ_AGAIN} times its bytes: the last full copy, and the changes since then"
    )
    return (*(f"a stream stores {text}" for text in named), restart)


def _size_of(group: Prepared, schema: pa.Schema) -> DeclaredSize:
    plan = stream_plan(group)
    windows = group.plan.windows.values()
    widths = [_width(field.type) for field in schema]
    frames = [window.frame for window in windows if window.frame is not None]
    edged = any(frame.begins_at_edges(group.unit) for frame in frames)
    rows = _rows_held(group) if plan.state_kind == "rows" else None if len(frames) > 1 else 0
    stretch = _stretch(group)
    return DeclaredSize(
        plan.state_kind,
        _slices_held(group),
        slice_bytes(group),
        rows,
        int(sum(width or OFFSET for width in widths)),
        None in widths,
        _stretch_text(stretch, group.unit),
        (stretch or 0) * (group.unit.tick or 0) / SECOND,
        why_rows=plan.why_rows if edged and plan.state_kind == "rows" else "",
    )


def _width(dtype: pa.DataType) -> float | None:
    """Return the bytes of a value; None if they depend on the value."""
    try:
        bits: int = dtype.bit_width
    except ValueError:
        return None
    return bits / 8


def _rows_held(group: Prepared) -> int | None:
    """Return how many rows of a key windows of rows reach back to; None if other windows decide."""
    reaches = [window.frame and window.frame.reach(group.unit) for window in group.plan.windows.values()]
    rows = [reach.rows for reach in reaches if reach and not reach.ticks]
    return max(rows) if rows and len(rows) == len(reaches) else None


def _stretch(group: Prepared) -> int | None:
    """Return how long the frames are that reach back furthest, without their tails, in ticks; None if that is not known."""
    unit, longest = group.unit, 0
    for window in group.plan.windows.values():
        reach = window.frame and window.frame.reach(unit)
        if window.frame is None or reach is None or reach.rows:
            return None
        longest = max(longest, reach.ticks - ((window.frame.begin_edges(unit) or 1) - 1))
    return longest


def _stretch_text(ticks: int | None, unit: TimeUnit) -> str:
    if ticks is None:
        return ""
    return to_text(ticks * unit.tick) if unit.tick else f"{ticks:,}"


def slice_bytes(group: Prepared) -> int:
    """Return the bytes of a slice: its time, and for each pass a count and the partial."""
    windows = group.plan.windows.values()
    counts_rows = any(window.frame is not None and not window.frame.reads_times for window in windows)
    has_gap = any(window.cuts is not None and window.cuts.gap(group.unit) is not None for window in windows)
    known = (Expected(group.plan, one, group.kinds, group.query.objective).numbers() for one in group.plan.passes)
    return NUMBER * (1 + counts_rows + has_gap + sum(1 + numbers for numbers in known if numbers is not None))


def _slices_held(group: Prepared) -> int | None:
    """Return how many slices of a key are stored at most; None if that is not known."""
    plan, unit = stream_plan(group), group.unit
    windows = group.plan.windows.values()
    if plan.state_kind == "rows":
        return 0
    if plan.state_kind != "slices":
        frames = [window.frame for window in windows if window.frame is not None]
        edges = {
            frame.width(unit): (Family(tail, 0),) for frame in frames if (tail := frame.begin_edges(unit)) is not None
        }
        return slices_between([(width, families) for width, families in edges.items() if width is not None]) + 1
    open_edges: list[tuple[int, tuple[Family, ...]]] = []
    for window in windows:
        cycle = None if window.cuts is None or window.by_calendar else window.cuts.cycle(unit)
        if cycle is None:
            return None
        families = borders_of([window], unit, group.plan.technique).edges.closing
        open_edges.append((cycle.length + cycle.every, families))
    return slices_between(open_edges)


def slices_between(edges: Iterable[tuple[int, tuple[Family, ...]]]) -> int:
    """Return how many slices begin at the edges of windows, each with how far back it needs its own edges.

    >>> slices_between([(24, (Family(4, 0),)), (12, (Family(3, 0),))])  # 3, 4, 6, 8, 9 and 12; then 16, 20 and 24
    9
    """
    reaches = list(edges)
    limits = [0, *sorted({reach for reach, _ in reaches})]
    return sum(
        count_together(tuple({family for reach, own in reaches if reach >= far for family in own}), near, far)
        for near, far in pairwise(limits)
    )
