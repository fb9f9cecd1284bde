"""Slices in the place of rows: by key and edge, with the partials of each pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pyarrow as pa

from sash.engine.found import Found, slide_all
from sash.engine.joined import Heads
from sash.engine.keys import Order, cut_evenly
from sash.engine.local import Local
from sash.engine.names import name_row, shown
from sash.engine.passes import PassOver, Results, Slices
from sash.engine.schedule import Counts
from sash.slices.cuts import Records, reads_of
from sash.windows.base import FOREVER, NEVER, Ints, Rows
from sash.windows.by_rows import LastRows


@dataclass(frozen=True)
class SliceBlock:
    """Slices of some keys, in order."""

    heads: Heads
    """The keys, and where the slices of each begin."""
    records: Records
    slices: list[Slices]
    """For each pass."""
    sizes: Ints | None = None
    """How many rows each stands for, where windows count them."""
    lasts: Ints | None = None
    """When the last row of each came, where windows ask for it."""

    def answer(
        self, local: Local, passes: Sequence[PassOver], after: int, now: int
    ) -> tuple[dict[str, pa.Table], dict[str, Ints]]:
        """Return the results of windows that end after one time and by another, and the first slice each needs, by key."""
        rows = self._as_rows(local, after, now)
        results: dict[str, pa.Table] = {}
        needed: dict[str, Ints] = {}
        for found, answers in self._slide(local, passes, rows):
            results |= local.of_windows(self.heads, rows.times, found, answers)
            needed |= {name: one.bounds.keep for name, one in found.items()}
        return results, needed

    def answer_rows(self, local: Local, passes: Sequence[PassOver], done: Ints) -> Results:
        """Return a column for each aggregate and window, for slices of one row each; by key so many come before these."""
        rows = replace(self._as_rows(local, NEVER, FOREVER), done=done)
        every: dict[str, Results] = {}
        for _, answers in self._slide(local, passes, rows):
            every |= answers
        return local.of_rows(every)

    def _slide(
        self, local: Local, passes: Sequence[PassOver], rows: Rows
    ) -> Iterator[tuple[dict[str, Found], dict[str, Results]]]:
        """Yield windows and their results."""
        names = list(local.plan.windows)
        together = any(over.one.together for over in passes)
        for some in [names] if together else [[name] for name in names]:  # one by one they use the same memory again
            found = {name: self._find(local, name, rows) for name in some}
            answers: dict[str, Results] = {name: {} for name in some}
            for over, slices in zip(passes, self.slices, strict=True):
                named = replace(slices, where=partial(self._name, local))
                for name, own in slide_all(over, named, found).items():
                    answers[name] |= own
            yield found, answers

    def _name(self, local: Local, record: int) -> str:
        """Return what a message calls a slice, whose rows are gone."""
        assert local.time is not None
        key = int(np.searchsorted(self.heads.firsts, record, side="right")) - 1
        start = local.time.write(self.records.times[record : record + 1])[0]
        owner = f"of {name_row(self.heads.keys, local.declared.by, key)} " if local.declared.by else ""
        return f"the slice {owner}from {local.time.name}={shown(start)} on"

    def _find(self, local: Local, name: str, rows: Rows) -> Found:
        window = local.plan.windows[name]
        if isinstance(window, LastRows) and self.sizes is not None:
            bounds = window.bounds_over(rows, self.sizes)
        else:
            bounds = window.bounds(rows, {}, local.run_loop)
        return Found(window, bounds, None, reads_of(self.records, bounds.begins, bounds.ends))

    def _as_rows(self, local: Local, after: int, now: int) -> Rows:
        assert local.time is not None
        keys = len(self.heads.firsts) - 1
        nothing, final = np.zeros(keys, np.int64), np.diff(self.heads.firsts)
        span = (np.full(keys, after, np.int64), np.full(keys, now, np.int64))
        named = (local.time.tick, local.time.name)
        return Rows(self.records.times, self.heads.firsts, {}, nothing, final, *span, *named, self.lasts)

    def parts(self, count: int) -> list[SliceBlock]:
        """Return blocks of about equally many slices, that together have all keys, in order."""
        return [self._part(first, last) for first, last in cut_evenly(self.heads.firsts, count)]

    def _part(self, first: int, last: int) -> SliceBlock:
        firsts = self.heads.firsts
        begin, end = int(firsts[first]), int(firsts[last])
        heads = Heads(self.heads.keys.slice(first, last - first), firsts[first : last + 1] - begin)
        here = slice(begin, end)
        records = Records(
            self.records.positions[here], self.records.closes[here], self.records.times[here], heads.firsts
        )
        slices = [
            Slices(
                [field[here] for field in one.fields],
                one.shape,
                Counts(one.counts.values[here], one.counts.closes[here]),
            )
            for one in self.slices
        ]
        return SliceBlock(heads, records, slices)


def arrange_slices(slices: Slices, order: Order) -> Slices:
    """Return slices in another order."""
    counts = Counts(order.arrange(slices.counts.values), order.arrange(slices.counts.closes))
    return Slices([order.arrange(field) for field in slices.fields], slices.shape, counts)
