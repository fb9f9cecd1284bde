"""Executor: runs one pass of a plan over rows or slices. The compiled, the NumPy and the interpreted executor return the same results.

rows ──cut──► partials of slices ──slide_slices──► results
└───────────────slide_rows─────────────────────► results

The results of some aggregates depend on more than `lower` (see `aggregator/column_io.py`). A pass lowers the second number as a result of its
own, under a name that no column of the user has. `evaluate` calls `finish_columns` for each window, so that all engines share this
step. The times are those of the rows, or `window_end`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.aggregates.base import Aggregate, with_fields
from sash.aggregator.column_io import finish_column, lowered_by_kernel
from sash.columns.buffers import as_arrow
from sash.engine.failures import Where, name_row
from sash.engine.partials import SliceCounts, SlicePartials, concat_partials, make_schedule, taken
from sash.engine.prepare import Prepared
from sash.engine.row_block import RowBlock
from sash.kernels import CannotCompileError
from sash.kernels.kernel_arrays import Schedule
from sash.kernels.traced import CannotVectorizeError
from sash.plan.sharing import Pass
from sash.slices.cuts import SliceRecords, SliceRefs
from sash.windows import Window
from sash.windows.arrays import sums_before
from sash.windows.base import Bounds, Flags, Ints

Results = dict[str, pa.Array]
"""By the names of aggregates."""
SUFFIX = "\0auxiliary"


class PassFailedError(Exception):
    """An executor cannot run a pass: Numba rejects an aggregate, or NumPy cannot go on."""

    def __init__(self, plan_pass: Pass, error: CannotCompileError | CannotVectorizeError) -> None:
        super().__init__(str(error))
        self.plan_pass = plan_pass


@contextmanager
def naming_pass(plan_pass: Pass) -> Iterator[None]:
    """Raise PassFailedError, which names the pass, if its executor cannot run it."""
    try:
        yield
    except (CannotCompileError, CannotVectorizeError) as error:
        raise PassFailedError(plan_pass, error) from error


class RunPartials(NamedTuple):
    """The partials of windows that consist of several runs: first those of all windows' first runs, then of their second, and so on."""

    partials: SlicePartials
    runs: int
    values: Ints
    """How many values each window holds."""


Repeat = Callable[["Executor"], object] | None
"""Does the same with another executor, to find the row of an error; None if the rows are not available."""


class Executor(ABC):
    """Runs one pass of a prepared query over the rows of a block; without a block, over partials of slices only."""

    has_nulls: bool
    """Whether some rows may lack a value."""

    def __init__(self, prepared: Prepared, plan_pass: Pass, block: RowBlock | None = None) -> None:
        self.prepared = prepared
        self.plan_pass = plan_pass
        self.named = plan_pass.once("named", lambda: with_auxiliary(plan_pass.aggregates))
        """By the names of results: the aggregates of the pass, and what the last step of some of them needs (`finish`)."""
        self.aggregates = list(self.named.values())
        self.rows = block

    @property
    def block(self) -> RowBlock:
        """The rows. Only callers that go over rows use it."""
        assert self.rows is not None
        return self.rows

    # -- what each executor does in its own way -------------------------------------------------------------------------

    @property
    @abstractmethod
    def present(self) -> Flags:
        """Which rows have a value in all columns."""

    @abstractmethod
    def cut(self, records: SliceRecords) -> SlicePartials:
        """Return the partials of slices."""

    @abstractmethod
    def rows_as_slices(self) -> SlicePartials:
        """Return each row as a slice, so that several kinds of windows can share one structure."""

    @abstractmethod
    def merge(self, partials: SlicePartials, starts: Ints) -> SlicePartials:
        """Combine the slices from each of the `starts` to the next into one."""

    @abstractmethod
    def slide_bounds(self, window: Window, bounds: Bounds) -> Results:
        """Return the results of windows, each of which is one run of rows."""

    @abstractmethod
    def partials_of(self, begins: Ints, ends: Ints) -> SlicePartials:
        """Return the partials of runs of rows, which may overlap."""

    @abstractmethod
    def combine_runs(self, window: Window, runs: RunPartials, where: Where) -> Results:
        """Return the results of windows from the partials of their runs; `where` names a window."""

    @abstractmethod
    def slide_entries(self, window: Window, partials: SlicePartials, entries: Schedule, repeat: Repeat) -> Results:
        """Return the results of windows over slices, in the order of a schedule."""

    # -- what all have in common ----------------------------------------------------------------------------------------

    def slide_rows(self, window: Window, bounds: Bounds) -> Results:
        """Return the results of windows of rows."""
        slide = self.slide_runs if bounds.frames or bounds.runs else self.slide_bounds
        results = slide(window, bounds)
        belong = [name for name, aggregate in self.plan_pass.aggregates.items() if aggregate.result.of_newest]
        if belong and len(self.block):
            newest = as_arrow(self.present[np.maximum(bounds.newest, 0)])  # of an empty window there is no result
            for name in belong:
                nulls = pa.nulls(len(newest), results[name].type)  # None would import pandas
                results[name] = pc.if_else(newest, results[name], nulls)
        return results

    def slide_runs(self, window: Window, bounds: Bounds) -> Results:
        """Return the results of windows that consist of several runs of rows: each run is a slice."""
        runs = [self.partials_of(begins, ends) for begins, ends in bounds.runs]
        return self.combine_runs(window, join_runs(runs), lambda number: self.name_row(int(bounds.ends[number]) - 1))

    def slide_slices(self, windows: list[Window], partials: SlicePartials, refs: list[SliceRefs]) -> list[Results]:
        """Return the results of windows over slices; several kinds of windows share one structure."""
        schedule = make_schedule(refs, partials.counts)
        results = self.slide_entries(windows[0], partials, schedule.entries, cut_again(windows, partials, refs))
        return [{name: taken(column, places) for name, column in results.items()} for places in schedule.positions]

    def for_window(self, window: Window) -> list[Aggregate[Any]]:
        """Return the aggregates with the window's `min_rows`."""
        if window.min_rows == 1:
            return self.aggregates
        return [with_min_rows(aggregate, window.min_rows) for aggregate in self.aggregates]

    @cached_property
    def _values_before(self) -> Ints:
        """The number of values before each row, and before the end."""
        return sums_before(self.present)

    def count_between(self, begins: Ints, ends: Ints) -> SliceCounts:
        """Count the values in runs of rows."""
        if self.has_nulls:
            begins, ends = self._values_before[begins], self._values_before[ends]
        return SliceCounts(ends - begins)

    def count_in(self, records: SliceRecords) -> SliceCounts:
        """Count the values in each slice up to the record."""
        ends = self._values_before[records.positions] if self.has_nulls else records.positions
        if records.all_close:
            counts = ends.copy()
            counts[1:] -= ends[:-1]
            return SliceCounts(counts)
        begins = np.concatenate([np.zeros(1, np.int64), ends[records.closes]])
        return SliceCounts(ends - begins[np.cumsum(records.closes) - records.closes], records.closes)

    def name_row(self, position: int) -> str:
        """Return the name of a row in error messages: its key and its time."""
        layout = self.block.layout
        row = int(self.block.source_rows(np.array([position]))[0])
        names = [*layout.by, *([layout.time.name] if layout.time else [])]
        if not names:
            return f"row {self.block.source.first + row}"
        return f"the row of {name_row(self.block.table, names, row)}"

    def name_record(self, partials: SlicePartials) -> Where:
        """Return a function that names the records of slices."""
        ends = partials.ends
        if ends is not None and self.rows is not None:  # a stream stores slices, and drops their rows
            return lambda record: self.name_row(int(ends[record]) - 1)
        return partials.where or (lambda _: "")


def join_runs(runs: Sequence[SlicePartials]) -> RunPartials:
    """Return the partials of the runs of windows; each item holds one run of every window."""
    values = runs[0].counts.values.copy()
    for run in runs[1:]:
        values += run.counts.values
    return RunPartials(concat_partials(runs), len(runs), values)


def cut_again(windows: list[Window], partials: SlicePartials, refs: list[SliceRefs]) -> Repeat:
    """Return a function that cuts and slides the same slices with another executor; None if the rows are not available."""
    if partials.ends is None:
        return None
    ends, closes = partials.ends, partials.counts.closes

    def repeat(other: Executor) -> object:
        nothing = np.empty(0, np.int64)
        every = np.ones(len(ends), np.bool_) if closes is None else closes
        return other.slide_slices(windows, other.cut(SliceRecords(ends, every, nothing, nothing)), refs)

    return repeat


# -- results -----------------------------------------------------------------------------------------------------------


def kernel_forms(aggregates: Sequence[Aggregate[Any]]) -> list[Aggregate[Any]]:
    """Return the aggregates that a kernel computes: for a list, those of its entries.

    >>> from sash import agg
    >>> kernel_forms([agg.quantile("x", [0.5, 0.9]), agg.median("x")])
    [quantile("x", 0.5), quantile("x", 0.9), median("x")]
    """
    return [form for aggregate in aggregates for form in aggregate.forms.entries or (aggregate,)]


def as_lists(entries: Sequence[pa.Array]) -> pa.Array:
    """Return a column of lists from the columns of their entries; a list is null if its entries are.

    >>> as_lists([pa.array([1, None]), pa.array([2, None])]).to_pylist()
    [[1, 2], None]
    """
    width, windows = len(entries), len(entries[0])
    positions = np.arange(windows)[:, None] + windows * np.arange(width)
    values = pa.concat_arrays(entries).take(as_arrow(positions.ravel()))
    offsets = as_arrow(np.arange(windows + 1, dtype=np.int32) * np.int32(width))
    mask = entries[0].is_null() if entries[0].null_count else None
    return pa.ListArray.from_arrays(offsets, values, mask=mask)


def join_results(sections: Sequence[Results]) -> Results:
    """Return the results of sections, one after the other."""
    return {name: pa.concat_arrays([section[name] for section in sections]) for name in sections[0]}


def with_min_rows(aggregate: Aggregate[Any], min_rows: int) -> Aggregate[Any]:
    """Return an aggregate whose result is null for fewer than `min_rows` values; this holds for counts, too.

    >>> from sash import agg
    >>> with_min_rows(agg.count(), 3).result.empty is None
    True
    """
    forms, at_least = aggregate.forms, max(min_rows, aggregate.result.at_least)
    variants = {kind: with_min_rows(variant, min_rows) for kind, variant in forms.variants.items()}
    entries = tuple(with_min_rows(entry, min_rows) for entry in forms.entries)
    return with_fields(aggregate, at_least=at_least, empty=None, variants=variants, entries=entries)


def with_auxiliary(aggregates: Mapping[str, Aggregate[Any]]) -> dict[str, Aggregate[Any]]:
    """Return aggregates by the names of their results, followed by those that lower second numbers from the same partials.

    >>> from sash import agg
    >>> [form.lower.__name__ for form in with_auxiliary({"s": agg.slope("y", "x"), "n": agg.count()}).values()]
    ['slope_of', 'unchanged', 'x_moment']
    """
    lowered = {name: lowered_by_kernel(aggregate) for name, aggregate in aggregates.items()}
    return {**aggregates, **{f"{name}{SUFFIX}": second for name, forms in lowered.items() for second in forms[1:]}}


def finish_columns(aggregates: Mapping[str, Aggregate[Any]], columns: Results, ticks: Callable[[], Ints]) -> Results:
    """Return the final results; `ticks` returns the times that they belong to."""
    names = [name for name in columns if not name.endswith(SUFFIX)]
    return {name: finish_column(aggregates[name], columns[name], columns.get(name + SUFFIX), ticks) for name in names}
