"""The loops that find windows of time, and their NumPy forms.

`marks` are the parts of a span that a loop needs, by key; it writes the arrays in `found`.
"""

from __future__ import annotations

import numpy as np

from sash.windows.arrays import ranges, search_in_keys, starts_of_runs
from sash.windows.base import FOREVER, NEVER, Cycle, Ints
from sash.windows.numpy_forms import numpy_form_of

Three = tuple[Ints, Ints, Ints]
Four = tuple[Ints, Ints, Ints, Ints]


def find_time_frames(times: Ints, firsts: Ints, marks: Three, before: int, after: int, bounds: Three) -> None:
    """Write the window of each row: the rows of its key from `before` ticks before its time to `after` ticks after it."""
    done, final, now = marks
    begins, ends, keep = bounds
    count = 0
    for key in range(len(firsts) - 1):
        begin = end = first = firsts[key]
        last = firsts[key + 1]
        next_row = first + final[key]
        for row in range(first + done[key], next_row):
            time = times[row]
            if before != FOREVER:
                since = time - before
                # Mostly none or one leaves: no branch to mispredict.
                begin += 1 if begin < row and times[begin] < since else 0
                while begin < last and times[begin] < since:
                    begin += 1
            if after == FOREVER:
                end = last
            else:
                until = time + after
                end += 1 if end < last and times[end] <= until else 0
                while end < last and times[end] <= until:
                    end += 1
            begins[count] = min(begin, end)
            ends[count] = end
            count += 1
        oldest = first
        if now[key] == FOREVER:
            oldest = next_row
        elif before != FOREVER:
            reached = now[key] if next_row == last else min(now[key], times[next_row])
            while oldest < next_row and times[oldest] < reached - before:
                oldest += 1
        keep[key] = oldest


def find_places(times: Ints, firsts: Ints, wanted: Ints, counts: Ints, shift: int, places: Ints) -> None:
    """Write for each wanted time, moved by `shift`, the first item of its key that is not earlier, or the end of the key.

    `counts` of the wanted times belong to each key; those of a key are in order.
    """
    count = 0
    for key in range(len(firsts) - 1):
        place, last = firsts[key], firsts[key + 1]
        for _ in range(counts[key]):
            time = wanted[count] + shift
            while place < last and times[place] < time:
                place += 1
            places[count] = place
            count += 1


@numpy_form_of(find_places)
def places_in_numpy(times: Ints, firsts: Ints, wanted: Ints, counts: Ints, shift: int, places: Ints) -> None:
    """Write the places by binary search."""
    places[:] = search_in_keys(times, firsts, wanted + shift, counts)


@numpy_form_of(find_time_frames)
def time_frames_in_numpy(times: Ints, firsts: Ints, marks: Three, before: int, after: int, bounds: Three) -> None:
    """Write the window of each row by binary search."""
    done, final, now = marks
    begins, ends, keep = bounds
    counts = final - done
    rows = ranges(firsts[:-1] + done, counts)
    row_times = times if len(rows) == len(times) else times[rows]
    if after == FOREVER:
        ends[:] = np.repeat(firsts[1:], counts)
    else:
        ends[:] = _first_after(times, firsts, row_times, after, counts, rows)
    next_rows = firsts[:-1] + final
    if before == FOREVER:
        begins[:] = np.repeat(firsts[:-1], counts)
        keep[:] = np.where(now == FOREVER, next_rows, firsts[:-1])
        return
    begins[:] = np.minimum(search_in_keys(times, firsts, row_times - before, counts), ends)
    reached = np.maximum(first_later(times, firsts, final, now), NEVER + max(before, 0)) - before
    oldest = search_in_keys(times, firsts, reached, np.ones(len(now), np.int64))
    keep[:] = np.minimum(np.where(now == FOREVER, next_rows, oldest), next_rows)


def first_later(times: Ints, firsts: Ints, final: Ints, now: Ints) -> Ints:
    """Return by key a time that no later row is before: `now`, or the time of the next row that is here."""
    next_rows = firsts[:-1] + final
    reached = now.copy()
    waiting = next_rows < firsts[1:]
    reached[waiting] = np.minimum(reached[waiting], times[next_rows[waiting]])
    return reached


def _first_after(times: Ints, firsts: Ints, row_times: Ints, after: int, counts: Ints, rows: Ints) -> Ints:
    """Return for each row the first row of its key that is more than `after` ticks later."""
    if after not in (0, -1):
        return search_in_keys(times, firsts, row_times + (after + 1), counts)
    is_first = starts_of_runs(times, firsts)
    peers = np.append(np.flatnonzero(is_first), len(times))
    number = np.cumsum(is_first)
    if len(rows) < len(times):
        number = number[rows]
    later: Ints = peers[number + after]
    return later


def find_periodic(times: Ints, firsts: Ints, marks: Three, cycle: Cycle, bounds: Four, keep: Ints) -> int:  # noqa: C901, PLR0912 — one loop, compiled as it stands
    """Write the windows that hold a row and end after `after`, by `now`; only count them if the arrays are empty."""
    after, now, closed = marks
    length, period, step, offset = cycle
    begins, ends, starts, stops = bounds
    # Window n starts at n * period + offset. `(t - length - offset) // period * period + period + offset` is the first start
    # whose window ends after t.
    count = 0
    for key in range(len(firsts) - 1):
        begin = end = firsts[key]
        last = firsts[key + 1]
        start = 0
        if begin < last:
            start = (max(times[begin], after[key]) - length - offset) // period * period + period + offset
        while begin < last and start <= now[key] - step:
            if times[begin] < start:
                begin += 1
            elif times[begin] - start >= length:  # a gap: continue with the first window that holds the next row
                start = (times[begin] - length - offset) // period * period + period + offset
            else:
                stop = start
                if after[key] > start:  # earlier ends were emitted before
                    stop += (after[key] - start) // step * step
                while stop - start < length and stop <= now[key] - step:
                    stop += step
                    while end < last and times[end] < stop:
                        end += 1
                    if end > begin and after[key] < stop <= now[key]:
                        if len(begins) > 0:
                            begins[count] = begin
                            ends[count] = end
                            starts[count] = start
                            stops[count] = stop
                        count += 1
                start += period
        oldest = firsts[key]
        if closed[key] == FOREVER:
            oldest = last
        else:
            start = (closed[key] - length - offset) // period * period + period + offset
            while oldest < last and times[oldest] < start:
                oldest += 1
        keep[key] = oldest
    return count


@numpy_form_of(find_periodic)
def periodic_in_numpy(times: Ints, firsts: Ints, marks: Three, cycle: Cycle, bounds: Four, keep: Ints) -> int:
    """Write the windows of each row, and return their number; only count them if the arrays are empty.

    A row is the first one of the windows that start after the row before it, at or before its own time, and that end after it.
    """
    after, now, closed = marks
    length, period, step, offset = cycle
    begins, ends, starts, stops = bounds
    if not len(times):
        keep[:] = firsts[:-1]
        return 0
    # Windows end after the earliest row and by the end of the last window that holds the latest row. So NEVER and FOREVER may be
    # replaced by times that leave room for sums.
    least, most = int(times.min()), int(times.max())
    emitted, by = (np.clip(limit, least - 1, most + length) for limit in (after, now))
    before, held = starts_of_rows(times, firsts, emitted, by, cycle)
    first_rows = np.flatnonzero(held)
    held = held[first_rows]
    own_starts = ranges((before[first_rows] + 1) * period + offset, held, period)
    rows = np.repeat(first_rows, held)
    keys = np.searchsorted(firsts, rows, side="right") - 1
    # Of each start, the ends after `after` and after the first row, by `now`.
    skipped = (np.maximum(times[rows], emitted[keys]) - own_starts) // step
    end_counts = np.maximum(np.minimum((by[keys] - own_starts) // step, length // step) - skipped, 0)
    count = int(end_counts.sum())
    keep[:] = first_needed(times, firsts, closed, cycle)
    if not len(begins):
        return count
    starts[:count] = np.repeat(own_starts, end_counts)
    stops[:count] = ranges(own_starts + (skipped + 1) * step, end_counts, step)
    begins[:count] = np.repeat(rows, end_counts)
    by_key = np.bincount(keys, end_counts, len(firsts) - 1).astype(np.int64)
    ends[:count] = search_in_keys(times, firsts, stops[:count], by_key)
    return count


def starts_of_rows(times: Ints, firsts: Ints, after: Ints, now: Ints, cycle: Cycle) -> tuple[Ints, Ints]:
    """Return for each item the number of the window before those whose first item it is, and the number of these windows.

    They start after the item before it, and less than `length` before itself; they end after `after`, and by `now`.
    """
    length, period, step, offset = cycle
    sizes = np.diff(firsts)
    starts_after = times - length
    np.maximum(starts_after[1:], times[:-1], out=starts_after[1:])
    heads = firsts[:-1][sizes > 0]
    starts_after[heads] = times[heads] - length  # the item before is of another key
    np.maximum(starts_after, np.repeat(after - length, sizes), out=starts_after)
    starts_by = np.minimum(times, np.repeat(now - step, sizes))
    before: Ints = (starts_after - offset) // period
    return before, np.maximum((starts_by - offset) // period - before, 0)


def first_needed(times: Ints, firsts: Ints, closed: Ints, cycle: Cycle) -> Ints:
    """Return for each key the first item of windows that are not closed."""
    length, period, _, offset = cycle
    reached = np.maximum(closed, NEVER + length + period) - length - offset
    oldest = search_in_keys(times, firsts, reached // period * period + period + offset, np.ones(len(closed), np.int64))
    return np.where(closed == FOREVER, firsts[1:], oldest)
