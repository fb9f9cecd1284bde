"""KernelExecutor: what the compiled and the NumPy executor have in common. Both call kernels with the same methods over columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from sash.aggregates.base import Aggregate
from sash.algorithms import Algorithm
from sash.algorithms.recalculate import Recalculate
from sash.columns.buffers import NO_BITS, slice_bits
from sash.columns.column_types import KINDS
from sash.engine.check_columns import interpreted_form
from sash.engine.executors.executor import Executor, Repeat, RunPartials
from sash.engine.executors.interpreted_executor import InterpretedExecutor
from sash.engine.executors.pass_columns import PassColumns
from sash.engine.executors.results import Results, join_results, kernel_forms, to_results
from sash.engine.failures import ErrorNotes, Where
from sash.engine.partials import SliceCounts, SlicePartials
from sash.engine.prepare import Prepared
from sash.engine.row_block import RowBlock
from sash.kernels import loops
from sash.kernels.fused_partial import Shape, read_fields
from sash.kernels.kernel_arrays import ResultColumn, Schedule
from sash.plan.sharing import Pass
from sash.slices.cuts import SliceRecords
from sash.slices.open_slice import OpenSlice
from sash.windows import Window
from sash.windows.base import Bounds, Flags, Ints

WINDOWS_PER_CALL = 1 << 15
"""Windows of several runs that are evaluated together: 2 M centred sums without their row took 0.25 s at once, and 0.14 s so."""


@dataclass(frozen=True)
class KernelKey:
    """What distinguishes the kernels of a pass."""

    algorithm: type[Algorithm[Any]]
    loop: Any
    nullable: bool
    """Whether rows or slices may lack a value."""
    min_rows: int = 1
    over: Shape | None = None
    """The shape of partials that replace rows."""
    length: int = 0
    """Of the windows of `loops.slide_rows`."""
    inputs: tuple[str, ...] = ()
    """The types of the columns."""
    computes: str = ""
    """What it computes, if not the aggregates of the pass: the fields of their partials, for example."""


class KernelExecutor(Executor):
    """Runs a pass by kernels over columns. Subclasses make the kernels."""

    def __init__(self, prepared: Prepared, plan_pass: Pass, block: RowBlock | None = None) -> None:
        super().__init__(prepared, plan_pass, block)
        self.columns = PassColumns(plan_pass, prepared.schema, block)

    def make_kernel(self, key: KernelKey, aggregates: list[Aggregate[Any]]) -> Any:
        """Return a kernel. Raise CannotCompileError or CannotVectorizeError if there is none."""
        raise NotImplementedError

    def kernel(
        self, algorithm: type[Algorithm[Any]], loop: Any, aggregates: list[Aggregate[Any]] | None = None, **options: Any
    ) -> Any:
        """Return a kernel of this pass, for its own aggregates unless others are given; `options` are fields of `KernelKey`."""
        forms = kernel_forms(self.aggregates if aggregates is None else aggregates)
        # Slices may be without values; so may rows, if there are nulls.
        nullable = loop is loops.slide_slices or options.get("over") is not None or self.has_nulls
        key = KernelKey(algorithm, loop, **{"nullable": nullable, "inputs": self.columns.dtypes, **options})
        name = (type(self), *self.plan_pass.aggregates, key)
        return self.prepared.kernels.get(name, partial(self.make_kernel, key, forms))

    @property
    def present(self) -> Flags:
        """Which rows have a value in all columns."""
        return self.columns.present

    @property
    def has_nulls(self) -> bool:
        """Whether some rows lack a value."""
        return len(self.columns.bits) > 0

    # -- over rows ---------------------------------------------------------------------------------------------------

    def slide_bounds(self, window: Window, bounds: Bounds) -> Results:
        """Return the results of windows, each of which is one run of rows."""
        kernel = self.between(window)
        with self.notes(lambda other: other.slide_rows(window, bounds)) as notes:
            kernel.where = lambda number: notes.at(self.name_row(int(bounds.ends[number]) - 1))
            answers = kernel.slide_between(self.columns.values, bounds.begins, bounds.ends, self.columns.bits)
        return self.to_results(answers)

    def between(self, window: Window) -> Any:
        """Return the kernel for windows with given bounds."""
        return self.kernel(
            self.plan_pass.algorithm, loops.slide_between, self.for_window(window), min_rows=window.min_rows
        )

    def slide_runs(self, window: Window, bounds: Bounds) -> Results:
        """Return the results of windows that consist of several runs of rows.

        Some windows at a time: the partials of all runs would take more time to move than to compute.
        """
        longest = max(int((ends - begins).max(initial=0)) for begins, ends in bounds.runs)
        step = max(WINDOWS_PER_CALL, 8 * longest)  # each call starts with the rows of a whole window
        if self.columns.dictionary is not None or len(bounds) <= step:
            return super().slide_runs(window, bounds)
        sections = []
        for first in range(0, len(bounds), step):
            windows = slice(first, first + step)
            runs = tuple((begins[windows], ends[windows]) for begins, ends in bounds.runs)
            section = Bounds(bounds.begins[windows], bounds.ends[windows], None, None, bounds.keep, runs=runs)
            sections.append(super().slide_runs(window, section))
        return join_results(sections)

    def partials_of(self, begins: Ints, ends: Ints) -> SlicePartials:
        """Return the partials of runs of rows, which may overlap."""
        shape, fields = self.fields
        kernel = self.kernel(self.plan_pass.algorithm, loops.slide_between, fields, computes="fields")
        # Bounds never move back. A loop begins with the first row, so it gets only those of its windows.
        first, last = (int(begins[0]), int(ends[-1])) if len(begins) else (0, 0)
        values = tuple(column[first:last] for column in self.columns.values)
        bits = slice_bits(self.columns.bits, first, last - first) if self.has_nulls else NO_BITS
        with self.notes():
            answers = kernel.slide_between(values, begins - first, ends - first, bits)
        return self.as_partials(answers, shape, self.count_between(begins, ends))

    def as_partials(self, answers: list[ResultColumn], shape: Shape, counts: SliceCounts) -> SlicePartials:
        """Return what a kernel for `fields` has computed."""
        return SlicePartials([answer.values for answer in answers], shape, counts, self.columns.dictionary)

    @cached_property
    def fields(self) -> tuple[Shape, list[Aggregate[Any]]]:
        """The structure of a partial, and the aggregates whose results are its fields."""
        shape = self.kernel(OpenSlice, loops.cut_slices).layout.shape
        dtypes = self.columns.dtypes
        forms = [form.of_kind(KINDS[dtypes[0]]) if form.inputs == 1 else form for form in kernel_forms(self.aggregates)]
        return shape, read_fields(forms, dtypes, shape)

    def combine_runs(self, window: Window, runs: RunPartials, where: Where) -> Results:
        """Return the results of windows from the partials of their runs."""
        partials = runs.partials
        kernel = self.kernel(
            Recalculate, loops.combine_runs, self.for_window(window), min_rows=window.min_rows, over=partials.shape
        )
        with self.notes() as notes:
            kernel.where = lambda number: notes.at(where(number))
            answers = kernel.combine_runs(tuple(partials.fields), runs.runs, runs.values, partials.counts.bits)
        return self.to_results(answers, partials)

    def rows_as_slices(self) -> SlicePartials:
        """Return each row as a slice."""
        counts, ends = SliceCounts(self.present.astype(np.int64)), np.arange(1, len(self.block) + 1)
        return SlicePartials(self.columns.values, None, counts, self.columns.dictionary, ends)

    def cut(self, records: SliceRecords) -> SlicePartials:
        """Return the partials of slices."""
        kernel = self.kernel(OpenSlice, loops.cut_slices)
        with self.notes(lambda other: other.cut(records)):
            fields = kernel.cut_slices(self.columns.values, records.positions, records.closes, self.columns.bits)
        shape, counts = kernel.layout.shape, self.count_in(records)
        return SlicePartials(fields, shape, counts, self.columns.dictionary, records.positions)

    # -- over slices -------------------------------------------------------------------------------------------------

    def merge(self, partials: SlicePartials, starts: Ints) -> SlicePartials:
        """Combine the slices from each of the `starts` to the next into one."""
        values = partials.counts.values
        if len(starts) == len(values):
            return partials
        # A kernel that cuts rows into slices also merges slices: `over` makes it read partials instead of lifting rows.
        kernel = self.kernel(OpenSlice, loops.cut_slices, over=partials.shape)
        closes, ends = np.ones(len(starts), np.bool_), np.append(starts[1:], len(values))
        with self.notes():
            fields = kernel.cut_slices(tuple(partials.fields), ends, closes, SliceCounts(values).bits)
        return SlicePartials(fields, partials.shape, SliceCounts(np.add.reduceat(values, starts)), partials.dictionary)

    def slide_entries(
        self, window: Window, partials: SlicePartials, entries: Schedule, repeat: Repeat | None
    ) -> Results:
        """Return the results of windows over slices, in the order of a schedule."""
        kernel = self.kernel(
            self.plan_pass.algorithm,
            loops.slide_slices,
            self.for_window(window),
            min_rows=window.min_rows,
            over=partials.shape,
        )
        where = self.name_record(partials)
        with self.notes(repeat) as notes:
            kernel.where = lambda number: notes.at(where(int(entries.ends[number]) - 1))
            answers = kernel.slide_slices(tuple(partials.fields), entries, partials.counts.bits)
        return self.to_results(answers, partials)

    # -- results and errors ------------------------------------------------------------------------------------------

    def to_results(self, answers: list[ResultColumn], partials: SlicePartials | None = None) -> Results:
        """Return the results of windows over rows, or over partials."""
        dictionary = self.columns.dictionary
        if partials is not None and partials.dictionary is not None:
            dictionary = partials.dictionary
        return to_results(self.named, answers, self.columns.columns, dictionary, self.prepared.schema)

    def notes(self, repeat: Repeat | None = None) -> ErrorNotes:
        """Return a context manager that adds the row to errors, by calling `repeat` with the interpreter."""

        def runs() -> Iterator[Callable[[], object]]:
            if repeat is None:
                return
            for name, aggregate in self.plan_pass.aggregates.items():
                form = interpreted_form(aggregate, self.prepared.schema)
                alone = replace(self.plan_pass, aggregates={name: form})
                yield partial(repeat, InterpretedExecutor(self.prepared, alone, self.rows))

        return ErrorNotes(self.plan_pass.label, runs)
