"""KernelExecutor: what the compiled and the NumPy executor have in common. Both call kernels with the same methods over columns.

NumpyExecutor compiles nothing, and does not import Numba.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from sash.aggregates.base import Aggregate
from sash.algorithms import Algorithm
from sash.algorithms.recalculate import Recalculate
from sash.columns.buffers import NO_BITS, all_valid, slice_bits, unpack
from sash.columns.column_types import KINDS, column_type, plain_type
from sash.columns.read_column import nulls, ones, present_in_all, types_of
from sash.columns.result_column import decimal_type, decoded, results_to_arrow
from sash.engine.check_columns import interpreted_form
from sash.engine.executors.executor import Executor, Repeat, Results, RunPartials, as_lists, join_results, kernel_forms
from sash.engine.executors.interpreted_executor import InterpretedExecutor
from sash.engine.failures import EVALUATING, ErrorPlace, Where, failure
from sash.engine.partials import SliceCounts, SlicePartials
from sash.engine.prepare import Prepared
from sash.engine.row_block import FLIPPED, TICKS, Coded, RowBlock
from sash.kernels import CannotCompileError, loops
from sash.kernels.fused_partial import Shape, read_fields
from sash.kernels.kernel_arrays import ResultColumn, Schedule
from sash.kernels.numpy_kernel import NumpyKernel
from sash.kernels.traced import CannotVectorizeError
from sash.kernels.whole_column import numpy_column_kernel
from sash.plan.sharing import Pass
from sash.slices.cuts import SliceRecords
from sash.slices.open_slice import OpenSlice
from sash.windows import Window
from sash.windows.base import Bounds, Flags, Ints

WINDOWS_PER_CALL = 1 << 15
"""Windows of several runs that are evaluated together: 2 M centred sums without their row took 0.25 s at once, and 0.14 s so."""


class KernelKey(NamedTuple):
    """What distinguishes the kernels of a pass."""

    loop: Any
    algorithm: type[Algorithm[Any]]
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
        self.dictionary: pa.Array | None = None
        """The values that the integers of the last column stand for, if it is coded."""
        self.columns = []
        schema = prepared.schema
        for name, coding in codings(plan_pass, schema):
            if block is None:
                dtype = schema.field(name).type if coding in ("", FLIPPED) else pa.int32()
                if callable(coding):
                    dtype = coding(pa.nulls(0, schema.field(name).type)).type
                dtype = pa.int64() if coding == TICKS else dtype
                self.columns.append(nulls(0, dtype, compared=coding == FLIPPED))
            else:
                coded = block.coded(name, coding)
                self.columns.append(coded.column)
                self.dictionary = coded.values
        if not self.aggregates[0].columns:
            self.columns = [ones(0 if block is None else len(block))]
        self.dtypes = types_of(self.aggregates[0], self.columns)
        self.values = tuple(column.values for column in self.columns)
        """The values of each column; undefined at nulls."""
        self.bits = present_in_all(self.columns)
        """Arrow's validity bitmap of rows that have a value in all columns; empty if all have."""
        self.has_nulls = len(self.bits) > 0

    def make_kernel(self, key: KernelKey, aggregates: list[Aggregate[Any]]) -> Any:
        """Return a kernel. Raise CannotCompileError or CannotVectorizeError if there is none."""
        raise NotImplementedError

    def kernel(
        self, loop: Any, aggregates: list[Aggregate[Any]] | None = None, window: Window | None = None, **options: Any
    ) -> Any:
        """Return a kernel of this pass, for its own aggregates unless others are given; `options` are fields of `KernelKey`."""
        if window is not None:
            aggregates, options["min_rows"] = self.for_window(window), window.min_rows
        forms = kernel_forms(self.aggregates if aggregates is None else aggregates)
        # Slices may be without values; so may rows, if there are nulls.
        nullable = loop is loops.slide_slices or options.get("over") is not None or self.has_nulls
        usual = {"algorithm": self.plan_pass.algorithm, "nullable": nullable, "inputs": self.dtypes}
        key = KernelKey(loop, **{**usual, **options})
        name = (type(self), *self.plan_pass.aggregates, key)
        return self.prepared.kernels.get(name, partial(self.make_kernel, key, forms))

    @cached_property
    def present(self) -> Flags:
        """Which rows have a value in all columns."""
        return unpack(self.bits, len(self.columns[0]))

    # -- over rows ---------------------------------------------------------------------------------------------------

    def slide_bounds(self, window: Window, bounds: Bounds) -> Results:
        """Return the results of windows, each of which is one run of rows."""
        kernel = self.kernel(loops.slide_between, window=window)
        with self.notes(lambda other: other.slide_rows(window, bounds)) as notes:
            kernel.where = lambda number: notes.at(self.name_row(int(bounds.ends[number]) - 1))
            answers = kernel.slide_between(self.values, bounds.begins, bounds.ends, self.bits)
        return self.to_results(answers)

    def slide_runs(self, window: Window, bounds: Bounds) -> Results:
        """Return the results of windows that consist of several runs of rows.

        Some windows at a time: the partials of all runs would take more time to move than to compute.
        """
        longest = max(int((ends - begins).max(initial=0)) for begins, ends in bounds.runs)
        step = max(WINDOWS_PER_CALL, 8 * longest)  # each call starts with the rows of a whole window
        if self.dictionary is not None or len(bounds) <= step:
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
        kernel = self.kernel(loops.slide_between, fields, computes="fields")
        # Bounds never move back. A loop begins with the first row, so it gets only those of its windows.
        first, last = (int(begins[0]), int(ends[-1])) if len(begins) else (0, 0)
        values = tuple(column[first:last] for column in self.values)
        bits = slice_bits(self.bits, first, last - first) if self.has_nulls else NO_BITS
        with self.notes():
            answers = kernel.slide_between(values, begins - first, ends - first, bits)
        return self.as_partials(answers, shape, self.count_between(begins, ends))

    def as_partials(self, answers: list[ResultColumn], shape: Shape, counts: SliceCounts) -> SlicePartials:
        """Return what a kernel for `fields` has computed."""
        return SlicePartials([answer.values for answer in answers], shape, counts, self.dictionary)

    @cached_property
    def fields(self) -> tuple[Shape, list[Aggregate[Any]]]:
        """The structure of a partial, and the aggregates whose results are its fields."""
        shape = self.kernel(loops.cut_slices, algorithm=OpenSlice).layout.shape
        dtypes = self.dtypes
        forms = [form.of_kind(KINDS[dtypes[0]]) if form.inputs == 1 else form for form in kernel_forms(self.aggregates)]
        return shape, read_fields(forms, dtypes, shape)

    def combine_runs(self, window: Window, runs: RunPartials, where: Where) -> Results:
        """Return the results of windows from the partials of their runs."""
        partials = runs.partials
        kernel = self.kernel(loops.combine_runs, window=window, algorithm=Recalculate, over=partials.shape)
        with self.notes() as notes:
            kernel.where = lambda number: notes.at(where(number))
            answers = kernel.combine_runs(tuple(partials.fields), runs.runs, runs.values, partials.counts.bits)
        return self.to_results(answers, partials)

    def rows_as_slices(self) -> SlicePartials:
        """Return each row as a slice."""
        counts, ends = SliceCounts(self.present.astype(np.int64)), np.arange(1, len(self.block) + 1)
        return SlicePartials(self.values, None, counts, self.dictionary, ends)

    def cut(self, records: SliceRecords) -> SlicePartials:
        """Return the partials of slices."""
        kernel = self.kernel(loops.cut_slices, algorithm=OpenSlice)
        with self.notes(lambda other: other.cut(records)):
            fields = kernel.cut_slices(self.values, records.positions, records.closes, self.bits)
        shape, counts = kernel.layout.shape, self.count_in(records)
        return SlicePartials(fields, shape, counts, self.dictionary, records.positions)

    # -- over slices -------------------------------------------------------------------------------------------------

    def merge(self, partials: SlicePartials, starts: Ints) -> SlicePartials:
        """Combine the slices from each of the `starts` to the next into one."""
        values = partials.counts.values
        if len(starts) == len(values):
            return partials
        # A kernel that cuts rows into slices also merges slices: `over` makes it read partials instead of lifting rows.
        kernel = self.kernel(loops.cut_slices, algorithm=OpenSlice, over=partials.shape)
        closes, ends = np.ones(len(starts), np.bool_), np.append(starts[1:], len(values))
        with self.notes():
            fields = kernel.cut_slices(tuple(partials.fields), ends, closes, SliceCounts(values).bits)
        return SlicePartials(fields, partials.shape, SliceCounts(np.add.reduceat(values, starts)), partials.dictionary)

    def slide_entries(self, window: Window, partials: SlicePartials, entries: Schedule, repeat: Repeat) -> Results:
        """Return the results of windows over slices, in the order of a schedule."""
        kernel = self.kernel(loops.slide_slices, window=window, over=partials.shape)
        where = self.name_record(partials)
        with self.notes(repeat) as notes:
            kernel.where = lambda number: notes.at(where(int(entries.ends[number]) - 1))
            answers = kernel.slide_slices(tuple(partials.fields), entries, partials.counts.bits)
        return self.to_results(answers, partials)

    # -- results and errors ------------------------------------------------------------------------------------------

    def to_results(self, answers: list[ResultColumn], partials: SlicePartials | None = None) -> Results:
        """Return the results of windows over rows, or over partials."""
        dictionary = self.dictionary
        if partials is not None and partials.dictionary is not None:
            dictionary = partials.dictionary
        results = {}
        remaining = iter(answers)
        for name, aggregate in self.named.items():
            arrays = [self._to_arrow(form, next(remaining)) for form in kernel_forms([aggregate])]
            results[name] = self._joined(aggregate, arrays)
            if aggregate.result.gives == "value" and dictionary is not None and not aggregate.forms.entries:
                dtype = self.prepared.schema.field(aggregate.columns[-1]).type
                results[name] = decoded(arrays[0], dictionary, dtype)
        return results

    def _joined(self, aggregate: Aggregate[Any], arrays: list[pa.Array]) -> pa.Array:
        """Return the column of an aggregate from those that its kernels have computed."""
        if aggregate.forms.join is not None:
            plain = plain_type(self.prepared.schema.field(aggregate.columns[0]).type)
            return aggregate.forms.join(arrays, decimal_type(plain, aggregate.result.decimals))
        return as_lists(arrays) if aggregate.forms.entries else arrays[0]

    def _to_arrow(self, aggregate: Aggregate[Any], answer: ResultColumn) -> pa.Array:
        bits, windows = answer.bits, len(answer.values)
        if bits is not None and windows and all_valid(bits, windows):
            bits = None  # Arrow has no bitmap without nulls
        return results_to_arrow(answer.values, bits, aggregate, self.columns)

    @contextmanager
    def notes(self, repeat: Repeat = None) -> Iterator[ErrorPlace]:
        """Add a note to errors in the functions of aggregates.

        Machine code does not tell where it failed. The interpreter does, so `repeat` is called with it. An overflow of a sum already
        names its window, so the interpreter does not search for it.
        """
        place = ErrorPlace()
        try:
            yield place
        except (CannotCompileError, CannotVectorizeError):
            raise
        except Exception as error:
            is_known = place.where and isinstance(error, OverflowError)
            original = None if is_known or repeat is None else self._interpreted_error(repeat, type(error))
            if original is None:
                error.add_note(failure(self.plan_pass.label, EVALUATING, place.where))
            else:
                error.add_note(original.__notes__[-1])
                error.__cause__ = original  # which shows the line of the function
            raise

    def _interpreted_error(self, repeat: Callable[[Executor], object], error_type: type[Exception]) -> Exception | None:
        """Return the same error as the interpreter raises it, with its note."""
        for name, aggregate in self.plan_pass.aggregates.items():
            alone = replace(self.plan_pass, aggregates={name: interpreted_form(aggregate, self.prepared.schema)})
            try:
                repeat(InterpretedExecutor(self.prepared, alone, self.rows))
            except Exception as error:  # noqa: BLE001 — whatever a user's function raises; another error is not the one
                if type(error) is error_type and getattr(error, "__notes__", None):
                    return error
        return None


class NumpyExecutor(KernelExecutor):
    """Runs a pass by kernels whose steps go over whole columns."""

    def make_kernel(self, key: KernelKey, aggregates: list[Aggregate[Any]]) -> NumpyKernel:
        """Return a kernel. Raise CannotVectorizeError if NumPy cannot evaluate an aggregate."""
        return numpy_column_kernel(key.algorithm, aggregates, key.inputs, key.over)

    @property
    def seconds_per_row(self) -> float | None:
        """The expected time of a row; None if NumPy cannot evaluate this pass."""
        forms = kernel_forms(self.aggregates)
        try:
            kernel = numpy_column_kernel(self.plan_pass.algorithm, forms, self.dtypes)
        except CannotVectorizeError:
            return None
        return kernel.seconds_per_row * len(forms)


def codings(plan_pass: Pass, schema: pa.Schema) -> list[tuple[str, Coded]]:
    """Return the columns of a pass, and how each is coded; "" if it holds numbers. A pass belongs to one schema."""
    return plan_pass.once("codings", lambda: _codings(plan_pass, schema))


def _codings(plan_pass: Pass, schema: pa.Schema) -> list[tuple[str, Coded]]:
    first = next(iter(plan_pass.aggregates.values()))
    compared = all(aggregate.only_compares for aggregate in plan_pass.aggregates.values())

    def coding(dtype: pa.DataType, number: int) -> Coded:
        if first.coding.reads is not None:
            return first.coding.reads
        if column_type(dtype).numbers is None:
            return first.coding.codes[number]
        return FLIPPED if compared and dtype == pa.uint64() else ""

    coded = [(name, coding(schema.field(name).type, number)) for number, name in enumerate(first.named_columns)]
    return [*coded, (first.columns[-1], TICKS)] if first.time is not None else coded
