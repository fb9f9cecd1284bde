"""The loops that move a window over columns: interpreted unchanged, or fused with an algorithm and compiled.

`window` is the algorithm. `present(row)` tells whether the row is not null, `lifted(row)` is its partial, and
`emit(row, held, partial)` writes the results of a window of `held` values. A window with fewer than `at_least` values (1 or
more) emits nothing: the result keeps its initial value. `keep(record, partial)` writes the partial itself.
"""

from __future__ import annotations

from collections.abc import Callable, MutableSequence, Sequence
from typing import Any

from sash.algorithms.base import Algorithm
from sash.algorithms.fiba import FiBA

Window = Algorithm[Any]
Ints = Sequence[int]
Present = Callable[[int], bool]
Lifted = Callable[[int], Any]
Emit = Callable[[int, int, Any], None]
EmitRange = Callable[[int, int, int, Any], None]
Keep = Callable[[int, Any], None]

ROOM_FOR_SPLITS = 64
"""The nodes that an insert may add to a tree: one for each level, and a root."""


def slide_rows(
    window: Window, rows: int, length: int, at_least: int, present: Present, lifted: Lifted, emit: Emit
) -> None:
    """Emit for each row the aggregate of the newest `length` rows."""
    for row in range(rows):
        if row >= length and present(row - length):
            window.evict()
        if present(row):
            window.insert(lifted(row))
        held = window.end - window.begin
        if held >= at_least:
            emit(row, held, window.query())


def slide_between(
    window: Window, rows: int, begins: Ints, ends: Ints, at_least: int, present: Present, lifted: Lifted, emit: Emit
) -> None:
    """Emit for each row the aggregate of the rows begins[row] … ends[row] - 1; the bounds never move back."""
    inserted = 0
    evicted = 0
    for row in range(rows):
        while evicted < begins[row] and evicted < inserted:
            if present(evicted):
                window.evict()
            evicted += 1
        while inserted < ends[row]:
            if present(inserted):
                window.insert(lifted(inserted))
            inserted += 1
            if evicted < begins[row]:  # a row between two windows is in no window
                if present(evicted):
                    window.evict()
                evicted += 1
        held = window.end - window.begin
        if held >= at_least:
            emit(row, held, window.query())


def slide_ranges(
    window: Window, rows: int, ranges: int, lengths: Ints, at_least: int, lifted: Lifted, emit: EmitRange
) -> None:
    """Emit for each row the aggregates of several ranges, the widest first."""
    for row in range(rows):
        if row >= lengths[0]:
            window.evict()
        window.insert(lifted(row))
        for number in range(ranges):
            held = min(lengths[number], row + 1)
            if held >= at_least:
                emit(number, row, held, window.query_range(ranges - 1 - number, held))


def advance(
    window: Window,
    rows: int,
    steps: int,
    limit: int,
    ranges: int,
    lengths: Ints,
    numbers: Ints,
    span: MutableSequence[int],
    before: MutableSequence[int],
    ring: int,
    at_least: int,
    present: Present,
    lifted: Lifted,
    emit: EmitRange,
) -> None:
    """Continue a persistent window: evict rows until `limit` are left, then insert rows and emit after each.

    `span` holds the first row of the window and the row after the last, counted from the first row ever inserted. Nulls
    are rows too, but no algorithm sees them: `before` is, by row, the number of values before it. `lengths` are the
    ranges to emit, the widest first, and `numbers` their places among the ranges of the algorithm. Without rows, one step
    emits the current results, and no step only evicts.
    """
    first = span[0]
    after = span[1]
    while after - first > limit:
        if before[(first + 1) & ring] > before[first & ring]:
            window.evict()
        first += 1
    for row in range(steps):
        if rows > 0:
            if after - first == limit:
                if before[(first + 1) & ring] > before[first & ring]:
                    window.evict()
                first += 1
            if present(row):
                window.insert(lifted(row))
            after += 1
            before[after & ring] = window.end
        for number in range(ranges):
            start = max(after - lengths[number], first)
            held = window.end - before[start & ring]
            if held >= at_least:
                emit(number, row, held, window.query_range(numbers[number], held))
    span[0] = first
    span[1] = after


def slide_times(
    window: FiBA[Any],
    first: int,
    rows: int,
    times: Ints,
    length: int,
    nodes: int,
    newest: MutableSequence[int],
    at_least: int,
    present: Present,
    lifted: Lifted,
    emit: Emit,
) -> None:
    """Emit for each row, in order of arrival, the aggregate of the times after newest - length, from row `first` on.

    `newest` holds the newest time so far, and then the first row for which the tree of `nodes` nodes may have no room.
    """
    latest = newest[0]
    newest[1] = rows
    for row in range(first, rows):
        if window.fresh + ROOM_FOR_SPLITS > nodes:
            newest[1] = row
            break
        latest = max(latest, times[row])
        if times[row] > latest - length and present(row):
            window.insert_at(lifted(row), times[row])
        oldest = window.oldest_time()
        while window.end > window.begin and oldest <= latest - length:
            window.evict_oldest()
            oldest = window.oldest_time()
        held = window.end - window.begin
        if held >= at_least:
            emit(row, held, window.query())
    newest[0] = latest


def cut_slices(
    window: Window, records: int, positions: Ints, closes: Sequence[bool], present: Present, lifted: Lifted, keep: Keep
) -> None:
    """Write the partial of the open slice at each position, and begin a new slice where one closes."""
    row = 0
    for record in range(records):
        while row < positions[record]:
            if present(row):
                window.insert(lifted(row))
            row += 1
        if window.end > window.begin:
            keep(record, window.query())
        if closes[record]:
            window.evict()


def slide_slices(
    window: Window,
    rows: int,
    begins: Ints,
    ends: Ints,
    lasts: Ints,
    numbers: Ints,
    opens: Ints,
    values: Ints,
    at_least: int,
    present: Present,
    lifted: Lifted,
    emit: Emit,
) -> None:
    """Emit for each window the aggregate of the newest lasts[row] slices up to ends[row] - 1, combined with opens[row].

    opens[row] is the record of a slice that is read while it is open, or -1. Windows of several kinds are interleaved in
    the order of their ends, with the numbers of their kinds. Slices are held from begins[row] on, the begin of the widest
    window. `present` are the records of closed slices with a value; values[row] is the number of values in the window.
    """
    inserted = 0
    evicted = 0
    for row in range(rows):
        while evicted < begins[row] and evicted < inserted:
            if present(evicted):
                window.evict()
            evicted += 1
        while inserted < ends[row]:
            if inserted >= begins[row] and present(inserted):
                window.insert(lifted(inserted))
            inserted += 1
        evicted = max(evicted, begins[row])
        if values[row] >= at_least:
            if lasts[row] > 0:
                partial = window.query_range(numbers[row], lasts[row])
                if opens[row] >= 0:
                    partial = window.combine(partial, lifted(opens[row]))
            else:
                partial = lifted(opens[row])
            emit(row, values[row], partial)


def combine_runs(
    window: Window, rows: int, runs: int, values: Ints, at_least: int, present: Present, lifted: Lifted, emit: Emit
) -> None:
    """Emit for each window the aggregate of its runs, which do not overlap; values[row] is the number of values in the window.

    Run k of each window is a record: those of the first runs of all windows come first, then those of the second runs.
    """
    for row in range(rows):
        if values[row] >= at_least:
            record = row
            while not present(record):
                record += rows
            partial = lifted(record)
            record += rows
            while record < runs * rows:
                if present(record):
                    partial = window.combine(partial, lifted(record))
                record += rows
            emit(row, values[row], partial)
