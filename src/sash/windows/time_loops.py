"""The loops that find windows of time, and their NumPy forms."""

from __future__ import annotations

import numpy as np

from sash.windows.arrays import ranges, search_in_keys
from sash.windows.base import FOREVER, NEVER, Ints
from sash.windows.numpy_forms import numpy_form_of


def find_time_frames(
    times: Ints,
    firsts: Ints,
    done: Ints,
    final: Ints,
    now: Ints,
    length: int,
    with_oldest: bool,
    with_own: bool,
    begins: Ints,
    ends: Ints,
    keep: Ints,
) -> None:
    """Write the window of each row: the rows of its key that are at most, or less than, `length` older.

    Rows of equal time are all new or all context, so the search for a row's peers starts at the first new row.
    """
    count = 0
    reach = length if with_oldest else length - 1
    for key in range(len(firsts) - 1):
        begin = firsts[key]
        last = firsts[key + 1]
        fresh = end = firsts[key] + done[key]
        for row in range(fresh, firsts[key] + final[key]):
            time = times[row]
            begin += 1 if times[begin] < time - reach else 0  # mostly none or one leaves: no branch to mispredict
            while times[begin] < time - reach:  # stops at the row itself
                begin += 1
            if row == fresh or time != times[row - 1]:
                end = row
                while with_own and end < last and times[end] == time:
                    end += 1
            begins[count] = min(begin, end)
            ends[count] = end
            count += 1
        oldest = last if now[key] == FOREVER else firsts[key]
        while oldest < last and times[oldest] < now[key] - reach:
            oldest += 1
        keep[key] = min(oldest, firsts[key] + final[key])


@numpy_form_of(find_time_frames)
def time_frames_in_numpy(
    times: Ints,
    firsts: Ints,
    done: Ints,
    final: Ints,
    now: Ints,
    length: int,
    with_oldest: bool,
    with_own: bool,
    begins: Ints,
    ends: Ints,
    keep: Ints,
) -> None:
    """Write the window of each row by binary search."""
    reach = length if with_oldest else length - 1
    counts = final - done
    rows = ranges(firsts[:-1] + done, counts)
    own = times if len(rows) == len(times) else times[rows]
    # A row's peers are the rows of equal time. They begin where another time or key begins.
    is_first = np.ones(len(times), np.bool_)
    np.not_equal(times[1:], times[:-1], out=is_first[1:])
    is_first[firsts[:-1][np.diff(firsts) > 0]] = True
    peers = np.append(np.flatnonzero(is_first), len(times))
    number = np.cumsum(is_first)
    if len(rows) < len(times):
        number = number[rows]
    ends[:] = peers[number if with_own else number - 1]
    begins[:] = np.minimum(search_in_keys(times, firsts, own - reach, counts), ends)
    reached = np.maximum(now, NEVER + reach) - reach
    oldest = search_in_keys(times, firsts, reached, np.ones(len(now), np.int64))
    keep[:] = np.minimum(np.where(now == FOREVER, firsts[1:], oldest), firsts[:-1] + final)


def find_periodic(  # noqa: C901, PLR0912 — one loop, compiled as it stands
    times: Ints,
    firsts: Ints,
    after: Ints,
    now: Ints,
    closed: Ints,
    length: int,
    period: int,
    step: int,
    offset: int,
    begins: Ints,
    ends: Ints,
    starts: Ints,
    stops: Ints,
    keep: Ints,
) -> int:
    """Write the windows that hold a row and end after `after`, by `now`; only count them if the arrays are empty."""
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
def periodic_in_numpy(
    times: Ints,
    firsts: Ints,
    after: Ints,
    now: Ints,
    closed: Ints,
    length: int,
    period: int,
    step: int,
    offset: int,
    begins: Ints,
    ends: Ints,
    starts: Ints,
    stops: Ints,
    keep: Ints,
) -> int:
    """Write the windows of each row, and return their number; only count them if the arrays are empty.

    A row is the first one of the windows that start after the row before it, at or before its own time, and that end after it.
    """
    if not len(times):
        keep[:] = firsts[:-1]
        return 0
    sizes = np.diff(firsts)
    # Windows end after the earliest row and by the end of the last window that holds the latest row. So NEVER and FOREVER may be
    # replaced by times that leave room for sums.
    least, most = int(times.min()), int(times.max())
    emitted = np.clip(after, least - 1, most + length)
    by = np.clip(now, least - 1, most + length)
    starts_after = times - length
    np.maximum(starts_after[1:], times[:-1], out=starts_after[1:])
    heads = firsts[:-1][sizes > 0]
    starts_after[heads] = times[heads] - length  # the row before is of another key
    np.maximum(starts_after, np.repeat(emitted - length, sizes), out=starts_after)
    starts_by = np.minimum(times, np.repeat(by - step, sizes))
    before = (starts_after - offset) // period
    held = np.maximum((starts_by - offset) // period - before, 0)
    first_rows = np.flatnonzero(held)
    held = held[first_rows]
    own_starts = ranges((before[first_rows] + 1) * period + offset, held, period)
    rows = np.repeat(first_rows, held)
    keys = np.searchsorted(firsts, rows, side="right") - 1
    # Of each start, the ends after `after` and after the first row, by `now`.
    skipped = (np.maximum(times[rows], emitted[keys]) - own_starts) // step
    made = np.maximum(np.minimum((by[keys] - own_starts) // step, length // step) - skipped, 0)
    count = int(made.sum())
    keep[:] = _first_needed(times, firsts, closed, length, period, offset)
    if not len(begins):
        return count
    starts[:count] = np.repeat(own_starts, made)
    stops[:count] = ranges(own_starts + (skipped + 1) * step, made, step)
    begins[:count] = np.repeat(rows, made)
    by_key = np.bincount(keys, made, len(sizes)).astype(np.int64)
    ends[:count] = search_in_keys(times, firsts, stops[:count], by_key)
    return count


def _first_needed(times: Ints, firsts: Ints, closed: Ints, length: int, period: int, offset: int) -> Ints:
    """Return for each key the first item of windows that are not closed."""
    reached = np.maximum(closed, NEVER + length + period) - length - offset
    oldest = search_in_keys(times, firsts, reached // period * period + period + offset, np.ones(len(closed), np.int64))
    return np.where(closed == FOREVER, firsts[1:], oldest)
