"""KeyEpochs: with `forget`, a key starts anew after a long gap, as if it were another key.

    rows of a key   ● ●●  ●            ●  ●● ●        forget ├───────┤
    epochs          ├─────┤            ├─────┤

A row begins a new epoch if it is `forget` or more later than the row before it. So results depend on the rows alone, not on
micro-batches. An epoch has ended when the watermark is `forget` or more past its last row: each row that arrives later is at or after the
watermark, and begins another epoch. Then its state is dropped, and what waits for later rows is treated as at the end of a stream.
Windows that are evaluated row by row have seen no row of an epoch before the epoch before it has ended, so a key stores the memory of one
epoch at most.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sash.durations import Duration, DurationLike, TimeUnit, read_duration
from sash.engine.prepare import Prepared
from sash.engine.row_block import RowBlock
from sash.engine.stream_plan import stream_plan
from sash.windows import Window
from sash.windows.base import FOREVER, NEVER, Flags, Ints


class KeyEpochs(NamedTuple):
    """Rows by epoch. Without `forget`, each key has one epoch, which never ends."""

    block: RowBlock
    """The rows; each epoch is a key of its own."""
    heads: Ints
    """By key: its first epoch."""
    ended: Flags
    """By epoch: whether no more rows can join it."""

    @property
    def owners(self) -> Ints:
        """By epoch: its key."""
        return np.repeat(np.arange(len(self.heads)), np.diff(self.heads, append=self.block.keys))

    @property
    def numbers(self) -> Ints:
        """By epoch: its number among those of its key."""
        numbers: Ints = np.arange(self.block.keys) - self.heads[self.owners]
        return numbers


def split_epochs(block: RowBlock, forget: int | None, watermark: int) -> KeyEpochs:
    """Return rows by epoch; `forget` is in ticks, None for no limit."""
    if forget is None or not len(block):
        return KeyEpochs(block, np.arange(block.keys), np.zeros(block.keys, np.bool_))
    firsts = first_rows(block.times, block.firsts, forget)
    lasts = block.times[firsts[1:] - 1]
    return KeyEpochs(
        block.regrouped(firsts), np.searchsorted(firsts, block.firsts[:-1]), has_ended(lasts, forget, watermark)
    )


def first_rows(times: Ints, firsts: Ints, forget: int) -> Ints:
    """Return the first row of each epoch, and the number of rows, given those of keys that all have rows.

    >>> first_rows(np.array([1, 3, 9, 2, 12]), np.array([0, 3, 5]), 6).tolist()
    [0, 2, 3, 4, 5]
    """
    begins = np.zeros(len(times) + 1, np.bool_)
    # Times ascend within a key. Their distance may need 64 bits without a sign.
    begins[1:-1] = np.diff(times.view(np.uint64)) >= np.uint64(forget)
    begins[firsts] = True
    return np.flatnonzero(begins)


def has_ended(lasts: Ints, forget: int, watermark: int) -> Flags:
    """Return which epochs have ended, given their last times.

    >>> has_ended(np.array([10, 11]), 5, 15).tolist()
    [True, False]
    """
    latest = watermark - forget
    ended: Flags = lasts <= latest if latest >= NEVER else np.zeros(len(lasts), np.bool_)
    return ended


def first_end(times: Ints, sizes: Ints, forget: int) -> int:
    """Return the earliest watermark at which an epoch of stored rows ends; FOREVER if there is none."""
    if not len(sizes):
        return FOREVER
    firsts = first_rows(times, np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)]), forget)
    return min(int(times[firsts[1:] - 1].min()) + forget, FOREVER)


def keeps_forever(prepared: Prepared) -> bool:
    """Return whether some window needs the state of a key until a later row arrives."""
    return any(needed_for(window, prepared.unit) is None for window in prepared.plan.windows.values())


def needed_for(window: Window, unit: TimeUnit) -> int | None:
    """Return how far apart rows of one window may be, in ticks; None if there is no limit, so that a key needs state forever."""
    if window.is_time:
        return window.extent(unit)
    return None if window.frame is None else window.frame.width(unit)


def read_forget(prepared: Prepared, forget: DurationLike | None, order: str = "time") -> Duration | None:
    """Return how long after its last row a key is forgotten. Raise ValueError if that does not fit the query."""
    if forget is None:
        return None
    duration = read_duration(forget, "forget")
    if prepared.time is None or order != "time":
        raise ValueError(
            f'forget={forget!r} needs rows in order of time. Set Query(time=…), and leave order="keys" out.'
        )
    ticks = duration.in_ticks(prepared.unit)
    windows = prepared.plan.windows.values()
    if not keeps_forever(prepared):
        listed = " and ".join(map(str, windows))
        raise ValueError(
            f"forget={forget!r} is for windows that keep every key forever, such as rows(100), delta(…), custom(…) and expanding(). The "
            f"state of {listed} expires by itself, as the watermark goes on. Leave forget out."
        )
    for window in (
        window
        for group in stream_plan(prepared).groups
        if keeps_forever(group)
        for window in group.plan.windows.values()
    ):
        needed = needed_for(window, prepared.unit)
        if needed is not None and needed >= ticks:
            raise ValueError(
                f"forget={forget!r} is too short for {window}, which holds rows that are further apart: it would lose rows of a key that "
                "is forgotten. Use a longer time, or run the windows in queries of their own."
            )
    return duration
