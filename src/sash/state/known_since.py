"""KnownSince: from when on a state knows its rows, its windows and its results, if the query has changed.

    rows before the change   ● ●  ● ● │● ●● ● ●   rows after it
    a new window, of time             │├────►     is not emitted if it begins before
    a new result, of other windows  null, null,   while its window holds rows before

No result is ever that of some rows: where rows may be missing, a window is not emitted, or its new results are null.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.columns.buffers import as_arrow
from sash.engine.assemble import runs_of
from sash.engine.evaluate import Evaluated
from sash.engine.prepare import Prepared
from sash.engine.row_block import RowBlock
from sash.engine.window_bounds import WindowResults
from sash.windows.base import NEVER, Flags, Span


@dataclass(frozen=True)
class NewResult:
    """Results that are null while their window may hold rows before a time."""

    since: int
    aggregates: list[str]
    """Of all windows."""
    windows: list[str]
    """All aggregates of these."""


@dataclass(frozen=True)
class KnownSince:
    """From when on a state knows what; the default is always."""

    rows_since: int = NEVER
    """It gets no older rows."""
    emits_since: Mapping[str, int] = field(default_factory=dict)
    """By window: the time at which its first window begins."""
    new: Sequence[NewResult] = field(default_factory=list)

    @property
    def is_always(self) -> bool:
        """Whether the state knows everything."""
        return self.time == NEVER and not self.new

    @property
    def time(self) -> int:
        """The time from which on it knows all windows that it has; NEVER if it always did."""
        return max(self.rows_since, *self.emits_since.values(), NEVER)

    def known_windows(self, prepared: Prepared, results: pa.Table) -> pa.Table:
        """Return the results of the windows that began since they are known."""
        if not self.emits_since:
            return results
        assert prepared.time is not None
        starts = prepared.time.read(results["window_start"])
        if "window" not in results.column_names:
            return results.filter(as_arrow(starts >= max(self.emits_since.values())))
        names = results["window"].cast(pa.string()).to_pylist()
        since = np.array([self.emits_since.get(name, NEVER) for name in names], np.int64)
        return results.filter(as_arrow(starts >= since))

    def known_results(self, prepared: Prepared, block: RowBlock, span: Span, evaluated: Evaluated) -> Evaluated:
        """Return results with null in place of new ones whose window holds rows before they were new, or may hold them."""
        windows = dict(evaluated.windows)
        for new in self.new:
            for name, results in windows.items():
                columns = dict(results.columns)
                unknown = list(columns) if name in new.windows else new.aggregates
                if not unknown:
                    continue
                is_older = _begins_before(prepared, name, new.since, block, span, results)
                for aggregate in unknown:
                    column = columns[aggregate]
                    columns[aggregate] = pc.if_else(as_arrow(is_older), pa.nulls(len(column), column.type), column)
                windows[name] = replace(results, columns=columns)
        return replace(evaluated, windows=windows)


ALWAYS = KnownSince()


def _begins_before(
    prepared: Prepared, name: str, since: int, block: RowBlock, span: Span, results: WindowResults
) -> Flags:
    """Return which windows hold rows before a time, or may hold them."""
    window = prepared.plan.windows[name]
    if window.frame is None:
        assert results.starts is not None
        return results.starts < since
    reach = window.frame.reach(prepared.unit)
    assert reach is not None  # evolve() has checked it
    firsts = block.firsts
    rows = runs_of(firsts[:-1] + span.done, firsts[:-1] + span.final)
    older = np.zeros(len(block) + 1, np.int64)
    np.cumsum(block.times < since, out=older[1:])
    first_new = firsts[:-1] + older[firsts[1:]] - older[firsts[:-1]]  # rows of a key are in order of time
    since_then = rows - np.repeat(first_new, span.final - span.done)
    # Older rows may have left the state, so that a key without them need not be new.
    return (block.times[rows] - reach.ticks < since) | (since_then < reach.rows)
