"""PassRun: one pass of a plan over rows or slices, compiled or interpreted by the same loops.

rows ──cut──► partials of slices ──slide_slices──► results
└───────────────slide_rows─────────────────────► results
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, partial
from itertools import pairwise
from operator import add
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sash.aggregates.base import Aggregate, unchanged
from sash.aggregates.nulls import neutral_if_null
from sash.aggregator.columns import Column, empty_column, present_in_all, results_to_arrow, types_of
from sash.aggregator.time_results import gives_for
from sash.algorithms import Algorithm
from sash.algorithms.recalculate import Recalculate
from sash.engine.column_types import input_types, interpreted_form, is_number
from sash.engine.failures import ErrorNotes, name_row
from sash.engine.finish import lower_all, with_besides
from sash.engine.interpreter import Interpreter, Where
from sash.engine.partials import SliceCounts, SlicePartials, concat_partials
from sash.engine.prepare import Prepared
from sash.engine.result_types import decoded, interpreted_to_arrow
from sash.engine.row_block import FLIPPED, TICKS, RowBlock
from sash.engine.schedule import make_schedule
from sash.kernels import CannotCompileError, Kernel, loops
from sash.kernels.kernel_io import NO_BITS, Bits, Columns, ResultColumn, as_arrow, put_results, slice_bits
from sash.kernels.layout import Shape
from sash.kernels.numpy_kernel import NumpyKernel
from sash.kernels.parts import KINDS, read_fields
from sash.kernels.whole_column import column_kernel, numpy_column_kernel
from sash.plan.sharing import Pass
from sash.slices.cuts import SliceRecords, SliceRefs
from sash.slices.open_slice import OpenSlice
from sash.windows import Window
from sash.windows.arrays import ranges
from sash.windows.base import Bounds, Flags, Ints, NewestRows
from sash.windows.row_frame import bounds_around, cut_sections

MASKED_INPUTS = (("float64",), ("int64",), ("bool",))
"""The types of columns for which the identity of an aggregate has the type of its partials."""
ROWS_PER_CALL = 10_000
"""A call of a kernel takes about as long as this many rows."""
WINDOWS_PER_CALL = 1 << 15
"""Windows of several runs that are evaluated together: 2 M centred sums without their row took 0.25 s at once, and 0.14 s so."""
WINDOWS_PER_SPLIT = 1 << 18
"""As above, where all windows have the same length, so that the loop works on several sections at once."""
NOTHING = np.empty(0, np.int64)
Results = dict[str, pa.Array]
"""By the names of aggregates."""


class PassDoesNotCompileError(Exception):
    """A pass contains an aggregate that Numba rejects."""

    def __init__(self, plan_pass: Pass, error: CannotCompileError) -> None:
        super().__init__(str(error))
        self.plan_pass = plan_pass


@contextmanager
def naming_pass(plan_pass: Pass) -> Iterator[None]:
    """Raise PassDoesNotCompileError, which names the pass, in place of CannotCompileError."""
    try:
        yield
    except CannotCompileError as error:
        raise PassDoesNotCompileError(plan_pass, error) from error


class PassRun:
    """One pass of a prepared query, over the rows of a block; without a block, over partials of slices only."""

    def __init__(self, prepared: Prepared, one: Pass, block: RowBlock | None = None) -> None:
        self.prepared = prepared
        self.one = one
        self.named = with_besides(one.aggregates)
        """By the names of results: the aggregates of the pass, and what the last step of some of them needs (`finish`)."""
        self.aggregates = list(self.named.values())
        self.rows = block
        self.dictionary: pa.Array | None = None
        """The values that the integers of the last column stand for, if it is coded."""
        self.columns: list[Column] = []
        if one.interpreted:
            return
        for name, coding in codings(one, prepared.schema):
            if block is None:
                kind = prepared.schema.field(name).type if coding in ("", FLIPPED) else pa.int32()
                kind = pa.int64() if coding == TICKS else kind
                self.columns.append(empty_column(kind, compared=coding == FLIPPED))
            else:
                coded = block.coded(name, coding)
                self.columns.append(coded.column)
                self.dictionary = coded.values
        if not self.aggregates[0].columns:
            self.columns = [block.ones() if block is not None else empty_column(pa.bool_())]

    @property
    def block(self) -> RowBlock:
        """The rows. Only callers that go over rows use it."""
        assert self.rows is not None
        return self.rows

    # -- over rows ---------------------------------------------------------------------------------------------------

    def slide_rows(self, window: Window, bounds: Bounds) -> Results:
        """Return the results of windows that are runs of rows."""
        results = self._slide_runs(window, bounds) if bounds.frames or bounds.runs else self._slide_rows(window, bounds)
        belong = [name for name, aggregate in self.one.aggregates.items() if aggregate.of_newest]
        if belong and len(self.block):
            newest = as_arrow(self._present[np.maximum(bounds.newest, 0)])  # of an empty window there is no result
            for name in belong:
                nulls = pa.nulls(len(newest), results[name].type)  # None would import pandas
                results[name] = pc.if_else(newest, results[name], nulls)
        return results

    def _slide_rows(self, window: Window, bounds: Bounds) -> Results:
        aggregates = self._for_window(window)
        if self.one.interpreted:
            return self._object_results(aggregates[0], self._interpret(aggregates[0]).slide(self.one.algorithm, bounds))
        if bounds.frame is not None and self._pays_by_key(bounds.frame):
            try:
                return self._slide_keys(window, bounds, bounds.frame)
            except Exception as error:
                if isinstance(error, CannotCompileError) or not bounds.frame.ahead:
                    raise  # otherwise it may come from windows at an end of the key that no row has
        kernel = self._between(window)
        with self._notes(lambda run: run.slide_rows(window, bounds)) as notes:
            kernel.where = lambda number: notes.at(self._name_row(int(bounds.ends[number]) - 1))
            answers = kernel.slide_between(self._values, bounds.begins, bounds.ends, self._bits)
        return self._results(answers)

    def _slide_runs(self, window: Window, bounds: Bounds) -> Results:
        """Return the results of windows that consist of several runs of rows: each run is a slice.

        Some windows at a time: the partials of all runs would take more time to move than to compute.
        """
        is_plain = not self.one.interpreted and not len(self._bits) and self.dictionary is None
        if bounds.frames and is_plain and self._pays_by_key(bounds.frames[0]):
            try:
                return self._slide_split(window, bounds)
            except Exception as error:
                if isinstance(error, CannotCompileError):
                    raise  # otherwise it may come from windows at an end of the key that no row has
        longest = max(int((ends - begins).max(initial=0)) for begins, ends in bounds.runs)
        step = max(WINDOWS_PER_CALL, 8 * longest)  # each call starts with the rows of a whole window
        if self.one.interpreted or self.dictionary is not None or len(bounds) <= step:
            return self._slide_some_runs(window, bounds)
        parts = []
        for first in range(0, len(bounds), step):
            own = slice(first, first + step)
            runs = tuple((begins[own], ends[own]) for begins, ends in bounds.runs)
            some = Bounds(bounds.begins[own], bounds.ends[own], None, None, bounds.keep, runs=runs)
            parts.append(self._slide_some_runs(window, some))
        return {name: pa.concat_arrays([part[name] for part in parts]) for name in parts[0]}

    def _slide_split(self, window: Window, bounds: Bounds) -> Results:
        """Return the results of windows whose runs are frames of the newest rows: some rows at a time, as above."""
        parts = []
        reach = [(frame.length - 1 - frame.ahead, frame.ahead) for frame in bounds.frames]
        before, after = (max(one) for one in zip(*reach, strict=True))
        for own, rows, firsts in cut_sections(bounds.frames[0].firsts, before, after, WINDOWS_PER_SPLIT):
            runs = [self._partials_by_key(own, rows, frame._replace(firsts=firsts)) for frame in bounds.frames]
            within = slice(own.start - rows.start, own.stop - rows.start)
            some = [run.select(within) for run in runs]
            parts.append(self._combine_runs(window, partial(add, own.start), some))
        return {name: pa.concat_arrays([part[name] for part in parts]) for name in parts[0]}

    def _slide_some_runs(self, window: Window, bounds: Bounds) -> Results:
        runs = [self._partials_of(begins, ends) for begins, ends in bounds.runs]
        return self._combine_runs(window, lambda number: int(bounds.ends[number]) - 1, runs)

    def _combine_runs(self, window: Window, row_of: Callable[[int], int], runs: Sequence[SlicePartials]) -> Results:
        """Return the results of windows from the partials of their runs; an error names the row of a window."""
        partials = concat_partials(runs)
        values = runs[0].counts.values.copy()
        for run in runs[1:]:
            values += run.counts.values
        aggregates = self._for_window(window)
        counts = partials.counts

        def where(number: int) -> str:
            return self._name_row(row_of(number))

        if self.one.interpreted:
            made = self._interpret(aggregates[0]).combine_runs(
                partials.fields[0], len(runs), counts.present, values, where
            )
            return self._object_results(aggregates[0], made)
        kernel = self._kernel(Recalculate, aggregates, loops.combine_runs, window.min_rows, over=partials.shape)
        validity = NO_BITS if counts.all_present else np.packbits(counts.present, bitorder="little")
        with self._notes() as notes:
            kernel.where = lambda number: notes.at(where(number))
            answers = kernel.combine_runs(tuple(partials.fields), len(runs), values, validity)
        return self._results(answers, partials.dictionary)

    def _partials_of(self, begins: Ints, ends: Ints) -> SlicePartials:
        """Return the partials of runs of rows, which may overlap."""
        counts = SliceCounts(ends - begins)
        if self.one.interpreted or len(self._bits):
            counts = SliceCounts(self._values_before[ends] - self._values_before[begins])
        if self.one.interpreted:
            whole = replace(self.aggregates[0], lower=unchanged, at_least=1, empty=None)
            bounds = Bounds(begins, ends, None, None, NOTHING)
            made = self._interpret(whole, lowers=False).slide(self.one.algorithm, bounds)
            partials = np.empty(len(made), object)
            partials[:] = made
            return SlicePartials([partials], None, counts)
        shape, fields = self._fields
        kernel = self._kernel(self.one.algorithm, fields, loops.slide_between, part="fields")
        # Bounds never move back. A loop begins with the first row, so it gets only those of its windows.
        first, last = (int(begins[0]), int(ends[-1])) if len(begins) else (0, 0)
        values = tuple(column[first:last] for column in self._values)
        bits = slice_bits(self._bits, first, last - first) if len(self._bits) else NO_BITS
        with self._notes():
            answers = kernel.slide_between(values, begins - first, ends - first, bits)
        return SlicePartials([answer.values for answer in answers], shape, counts, self.dictionary)

    def _partials_by_key(self, own: slice, rows: slice, frame: NewestRows) -> SlicePartials:
        """Return the partial of the newest rows for each of some rows, key by key; it is undefined for rows that are not `own`."""
        shape, fields = self._fields
        kernel = self._kernel(self.one.algorithm, fields, loops.slide_rows, length=frame.length, part="fields")
        with self._notes():
            values = tuple(column[rows] for column in self._values)
            answers = kernel.slide_keys(values, frame.firsts, frame.length, NO_BITS, frame.ahead)
            # The rows are cut at the ends of a key, or so far from `own` that its windows do not reach the cut.
            if rows.stop - own.stop < frame.ahead or own.start - rows.start < -frame.ahead:
                between = self._kernel(self.one.algorithm, fields, loops.slide_between, part="fields")
                self._put_cut_off(answers, between, frame, values)
        return SlicePartials([answer.values for answer in answers], shape, SliceCounts(frame.held))

    @cached_property
    def _fields(self) -> tuple[Shape, list[Aggregate[Any]]]:
        """The structure of a partial, and the aggregates whose results are its fields."""
        shape = self._kernel(OpenSlice, self.aggregates, loops.cut_slices).layout.shape
        forms = kernel_forms(self.aggregates)
        forms = [one.of_kind(KINDS[self._inputs[0]]) if one.inputs == 1 else one for one in forms]
        return shape, read_fields(forms, self._inputs, shape)

    def _between(self, window: Window) -> Any:
        """Return the kernel for windows with given bounds."""
        return self._kernel(self.one.algorithm, self._for_window(window), loops.slide_between, window.min_rows)

    def _pays_by_key(self, frame: NewestRows) -> bool:
        """Return whether one call per key is faster: its loop need not read bounds, and works on several sections at once."""
        keys = len(frame.firsts) - 1
        return keys > 0 and not self._is_cold and int(frame.firsts[-1]) >= ROWS_PER_CALL * keys

    def _slide_keys(self, window: Window, bounds: Bounds, frame: NewestRows) -> Results:
        """Return the results of windows of the newest rows, key by key."""
        aggregates = self._for_window(window)
        masked = [] if frame.ahead else self._masked(aggregates)
        if masked:
            return self._slide_masked(aggregates, masked, frame)
        kernel = self._kernel(self.one.algorithm, aggregates, loops.slide_rows, window.min_rows, length=frame.length)
        with self._notes(lambda run: run.slide_rows(window, bounds)) as notes:
            kernel.where = lambda number: notes.at(self._name_row(number))
            answers = kernel.slide_keys(self._values, frame.firsts, frame.length, self._bits, frame.ahead)
            if frame.ahead:
                self._put_cut_off(answers, self._between(window), frame, self._values, self._bits)
        return self._results(answers)

    def _masked(self, aggregates: list[Aggregate[Any]]) -> list[Aggregate[Any]]:
        """Return the forms in which a null is a neutral row, if there are nulls and every aggregate has such a form.

        A branch on random nulls is mispredicted, and keeps a kernel from working on several sections at once: over rows(1000), half
        of them null, max takes 2.5 times as long as without nulls instead of 5.
        """
        if not len(self._bits) or self._inputs not in MASKED_INPUTS or self.one.algorithm.keeps_values:
            return []
        forms = [one.of_kind(KINDS[self._inputs[0]]) for one in kernel_forms(aggregates)]
        return (
            [neutral_if_null(one) for one in forms]
            if all(one.is_built_in and one.has_identity for one in forms)
            else []
        )

    def _slide_masked(
        self, aggregates: list[Aggregate[Any]], masked: list[Aggregate[Any]], frame: NewestRows
    ) -> Results:
        """Return the results of windows of the newest rows; nulls are neutral rows."""
        kernel = self._kernel(
            self.one.algorithm,
            masked,
            loops.slide_rows,
            length=frame.length,
            part="masked",
            inputs=(*self._inputs, "bool"),
        )
        with self._notes():
            answers = kernel.slide_keys((*self._values, self._present), frame.firsts, frame.length)
        forms = kernel_forms(aggregates)
        few = {least: rows_with_few(self._present, frame, least) for least in {max(1, one.at_least) for one in forms}}
        done = [null_if_few(one, answer, few[max(1, one.at_least)]) for one, answer in zip(forms, answers, strict=True)]
        return self._results(done)

    def _put_cut_off(
        self, answers: list[ResultColumn], between: Any, frame: NewestRows, columns: Columns, bits: Bits = NO_BITS
    ) -> None:
        """Add the results of the windows that one end of a key cuts off: they are the newest rows of no row."""
        lengths = np.diff(frame.firsts)
        counts = np.minimum(abs(frame.ahead), lengths)
        places = ranges(frame.firsts[1:] - counts if frame.ahead > 0 else frame.firsts[:-1], counts)
        begins, ends = bounds_around(places, frame.firsts, counts, frame.length - 1 - frame.ahead, frame.ahead)
        # Only rows of these windows: the loop goes over all rows between them.
        counts = counts[counts > 0]
        last = np.cumsum(counts) - 1
        first_rows, held = begins[last - counts + 1], ends[last] - begins[last - counts + 1]
        rows = ranges(first_rows, held)
        left_out = np.repeat(first_rows - (np.cumsum(held) - held), counts)
        bits = np.packbits(self._present[rows], bitorder="little") if len(bits) else NO_BITS
        values = tuple(column[rows] for column in columns)
        cut_off = between.slide_between(values, begins - left_out, ends - left_out, bits)
        for number, (answer, own) in enumerate(zip(answers, cut_off, strict=True)):
            answers[number] = put_results(answer, places, own)

    def rows_as_slices(self) -> SlicePartials:
        """Return each row as a slice, so that several kinds of windows can share one structure."""
        ends = np.arange(1, len(self.block) + 1)
        if self.one.interpreted:
            partials = [self._interpret(self.aggregates[0]).lift_all()]
            return SlicePartials(partials, None, SliceCounts(self._present.astype(np.int64)), ends=ends)
        return SlicePartials(self._values, None, SliceCounts(self._present.astype(np.int64)), self.dictionary, ends)

    def cut(self, records: SliceRecords) -> SlicePartials:
        """Return the partials of slices."""
        closes = None if records.all_close else records.closes
        counts = SliceCounts(self._count_values(records), closes)
        if self.one.interpreted:
            fields = [self._interpret(self.aggregates[0]).cut(records)]
            return SlicePartials(fields, None, counts, ends=records.positions)
        kernel = self._kernel(OpenSlice, self.aggregates, loops.cut_slices)
        with self._notes(lambda run: run.cut(records)):
            fields = kernel.cut_slices(self._values, records.positions, records.closes, self._bits)
        return SlicePartials(fields, kernel.layout.shape, counts, self.dictionary, records.positions)

    # -- over slices -------------------------------------------------------------------------------------------------

    def merge(self, partials: SlicePartials, starts: Ints) -> SlicePartials:
        """Combine the slices from each of the `starts` to the next into one."""
        values = partials.counts.values
        if len(starts) == len(values):
            return partials
        # A kernel that cuts rows into slices also merges slices: `over` makes it read partials instead of lifting rows.
        kernel = self._kernel(OpenSlice, self.aggregates, loops.cut_slices, over=partials.shape)
        validity = NO_BITS if (values > 0).all() else np.packbits(values > 0, bitorder="little")
        closes = np.ones(len(starts), np.bool_)
        with self._notes():
            fields = kernel.cut_slices(tuple(partials.fields), np.append(starts[1:], len(values)), closes, validity)
        return SlicePartials(fields, partials.shape, SliceCounts(np.add.reduceat(values, starts)), partials.dictionary)

    def slide_slices(
        self, windows: Sequence[Window], partials: SlicePartials, refs: Sequence[SliceRefs]
    ) -> list[Results]:
        """Return the results of windows over slices; several kinds of windows share one structure."""
        schedule = make_schedule(refs, partials.counts)
        algorithm, again = self.one.algorithm, slice_again(windows, partials, refs)
        aggregates = self._for_window(windows[0])
        counts = partials.counts
        entries = schedule.entries
        where = self._record_names(partials)
        if self.one.interpreted:
            made = self._interpret(aggregates[0]).slide_slices(
                algorithm, partials.fields[0], counts.present, entries, where
            )
            results = self._object_results(aggregates[0], made)
        else:
            kernel = self._kernel(algorithm, aggregates, loops.slide_slices, windows[0].min_rows, over=partials.shape)
            validity = NO_BITS if counts.all_present else np.packbits(counts.present, bitorder="little")
            with self._notes(again) as notes:
                kernel.where = lambda number: notes.at(where(int(entries.ends[number]) - 1))
                answers = kernel.slide_slices(tuple(partials.fields), entries, validity)
            results = self._results(answers, partials.dictionary)
        return [
            {name: schedule.of_kind(number, column) for name, column in results.items()}
            for number in range(len(windows))
        ]

    def _kernel(
        self,
        algorithm: type[Algorithm[Any]],
        aggregates: list[Aggregate[Any]],
        loop: Any,
        min_rows: int = 1,
        over: Shape | None = None,
        length: int = 0,
        part: str = "",
        inputs: tuple[str, ...] = (),
    ) -> Any:
        """Return a kernel for this pass; `part` distinguishes kernels whose other arguments are equal.

        `inputs` are the types of columns if they are not those of the pass; they are then without nulls.
        """
        aggregates = kernel_forms(aggregates)
        # Slices may be without values; so may rows, if there are nulls.
        nullable = loop is loops.slide_slices or over is not None or (len(self._bits) > 0 and not inputs)
        inputs = inputs or self._inputs

        def make() -> Kernel:
            return column_kernel(algorithm, aggregates, inputs, loop, nullable=nullable, length=length, over=over)

        key = (*self.one.aggregates, algorithm, loop, min_rows, nullable, over, inputs, length, part)
        pool = self.prepared.kernels
        vectorised = None
        if self._is_cold:
            vectorised = pool.get_vectorised(
                key, lambda: numpy_column_kernel(algorithm, aggregates, inputs, over, lambda: pool.get(key, make))
            )
        return pool.get(key, make) if vectorised is None else vectorised

    @property
    def _is_cold(self) -> bool:
        """Whether NumPy evaluates this pass rather than compiled code."""
        return self.prepared.cold or not self.prepared.rejected.isdisjoint(self.one.aggregates)

    @property
    def vectorises(self) -> bool:
        """Whether NumPy can evaluate this pass."""
        return self._vectorised is not None

    @property
    def seconds_per_row(self) -> float | None:
        """The expected time of a row with NumPy; None if NumPy cannot evaluate this pass."""
        kernel = self._vectorised
        return None if kernel is None else kernel.seconds_per_row * len(kernel_forms(self.aggregates))

    @property
    def _vectorised(self) -> NumpyKernel | None:
        if self.one.interpreted:
            return None
        key = (*self.one.aggregates, "vectorises", self._inputs)
        make = partial(numpy_column_kernel, self.one.algorithm, kernel_forms(self.aggregates), self._inputs)
        return self.prepared.kernels.get_vectorised(key, make)

    @cached_property
    def _inputs(self) -> tuple[str, ...]:
        """The types of the columns that the aggregates read."""
        return types_of(self.aggregates[0], self.columns)

    # -- columns -----------------------------------------------------------------------------------------------------

    @property
    def _values(self) -> tuple[npt.NDArray[Any], ...]:
        return tuple(column.values for column in self.columns)

    @cached_property
    def _bits(self) -> Bits:
        """Arrow's validity bitmap of rows that have a value in all columns; empty if all have."""
        return present_in_all(self.columns)

    @cached_property
    def _present(self) -> Flags:
        """Which rows have a value in all columns."""
        if self.one.interpreted:
            return np.array([None not in row for row in self._objects], np.bool_)
        if not len(self._bits):
            return np.ones(len(self.block), np.bool_)
        return np.unpackbits(self._bits, count=len(self.block), bitorder="little").view(np.bool_)

    @cached_property
    def _objects(self) -> list[tuple[Any, ...]]:
        """The rows as Python objects, for the interpreter."""
        if self.rows is None:
            return []
        names = self.aggregates[0].named_columns
        columns = [self._read_objects(place) for place in range(len(names))]
        self.dictionary = self._categories(len(names) - 1) if names else None
        if self.aggregates[0].reads_time:
            columns.append(self.block.times.tolist())
        return list(zip(*columns, strict=True)) if columns else [()] * len(self.block)

    def _read_objects(self, place: int) -> list[Any]:
        """Return a column as Python objects; the values of an ordered dictionary as their ranks."""
        name = self.aggregates[0].named_columns[place]
        if self._categories(place) is None:
            return self.block.objects(name, self._type_for_objects(self.prepared.schema.field(name).type))
        coded = self.block.coded(name, "ordered")
        valid = np.ones(len(coded.column), np.bool_)
        if len(coded.column.bits):
            valid = np.unpackbits(coded.column.bits, count=len(valid), bitorder="little").view(np.bool_)
        return [code if ok else None for code, ok in zip(coded.column.values.tolist(), valid, strict=True)]

    def _categories(self, place: int) -> pa.Array | None:
        """Return the values of an ordered dictionary if the aggregate reads their ranks in their place; None for other columns."""
        name = self.aggregates[0].named_columns[place]
        kind = self.prepared.schema.field(name).type
        is_key = place < self.aggregates[0].inputs - self._innermost.inputs  # of a map
        is_ranked = pa.types.is_dictionary(kind) and kind.ordered and self._innermost.codes and not is_key
        return self.block.coded(name, "ordered").values if is_ranked else None

    def _type_for_objects(self, kind: pa.DataType) -> pa.DataType | None:
        """Return the type that a column is cast to before it is read as Python objects; None for its own."""
        # Python compares and subtracts times of one zone by wall clock, which is wrong when clocks are set back.
        if pa.types.is_timestamp(kind) and kind.tz is not None and self._ignores_clocks:
            return pa.timestamp(kind.unit, "UTC")
        # Python does not subtract times of day; their ticks are subtracted instead.
        if pa.types.is_time(kind) and self._innermost.is_built_in and self._innermost.gives == "difference":
            return pa.int32() if kind.bit_width == 32 else pa.int64()  # noqa: PLR2004
        return None

    @property
    def _innermost(self) -> Aggregate[Any]:
        """The aggregate, or the one of the items if its results are maps."""
        first = self.aggregates[0]
        while first.inner is not None:
            first = first.inner
        return first

    @property
    def _ignores_clocks(self) -> bool:
        """Whether the aggregate reads times as points in time, so that the clock of their zone does not matter."""
        first = self._innermost
        if first.is_built_in:
            return first.gives != "text"
        try:
            gives_for(first, input_types(first, self.prepared.schema))
        except CannotCompileError:
            return False
        return True

    @cached_property
    def _values_before(self) -> Ints:
        """The number of values before each row, and before the end."""
        before = np.zeros(len(self.block) + 1, np.int64)
        np.cumsum(self._present, out=before[1:])
        return before

    def _count_values(self, records: SliceRecords) -> Ints:
        """Count the non-null rows in each slice up to the record."""
        ends = records.positions
        if self.one.interpreted or len(self._bits):
            before = np.zeros(len(self.block) + 1, np.int64)
            np.cumsum(self._present, out=before[1:])
            ends = before[ends]
        if records.all_close:
            counts = ends.copy()
            counts[1:] -= ends[:-1]
            return counts
        begins = np.concatenate([np.zeros(1, np.int64), ends[records.closes]])
        values: Ints = ends - begins[np.cumsum(records.closes) - records.closes]
        return values

    def _for_window(self, window: Window) -> list[Aggregate[Any]]:
        """Return the aggregates with the window's `min_rows`."""
        if window.min_rows == 1:
            return self.aggregates
        return [with_min_rows(aggregate, window.min_rows) for aggregate in self.aggregates]

    def _interpret(self, aggregate: Aggregate[Any], *, lowers: bool = True) -> Interpreter:
        """Return the interpreter; if it `lowers`, results are tuples where an aggregate has a second number."""
        if lowers and len(self.named) > 1:
            aggregate = replace(aggregate, lower=partial(lower_all, [one.lower for one in self.aggregates]))
        return Interpreter(self.one.label, aggregate, self._objects, self._present, self._name_row)

    # -- results -----------------------------------------------------------------------------------------------------

    def _results(self, answers: list[ResultColumn], dictionary: pa.Array | None = None) -> Results:
        dictionary = self.dictionary if dictionary is None else dictionary
        results = {}
        remaining = iter(answers)
        for name, aggregate in self.named.items():
            if aggregate.entries:
                results[name] = as_lists([self._result(entry, next(remaining)) for entry in aggregate.entries])
                continue
            array = self._result(aggregate, next(remaining))
            if aggregate.gives == "value" and dictionary is not None:
                array = decoded(array, dictionary, self.prepared.schema.field(aggregate.columns[-1]).type)
            results[name] = array
        return results

    def _result(self, aggregate: Aggregate[Any], answer: ResultColumn) -> pa.Array:
        if answer.bits is not None and len(answer.values) and answer.valid.all():
            answer = replace(answer, bits=None)  # Arrow has no bitmap without nulls
        return results_to_arrow(answer, aggregate, self.columns)

    def _object_results(self, aggregate: Aggregate[Any], results: list[Any]) -> Results:
        [name] = self.one.aggregates
        types = input_types(aggregate, self.prepared.schema)
        if len(self.named) > 1:
            columns = zip(*(one if isinstance(one, tuple) else (one, None) for one in results), strict=True)
            lists = [list(column) for column in columns] or [[] for _ in self.named]
            made = zip(self.named.items(), lists, strict=True)
            return {result: interpreted_to_arrow(own, values, types) for (result, own), values in made}
        return {name: interpreted_to_arrow(aggregate, results, types, self.dictionary)}

    # -- errors ------------------------------------------------------------------------------------------------------

    def _notes(self, again: Callable[[PassRun], object] | None = None) -> ErrorNotes:
        """Return a context manager that adds the row to errors, by calling `again` with an interpreted pass."""

        def runs() -> Iterator[Callable[[], object]]:
            if again is None:
                return
            for name, aggregate in self.one.aggregates.items():
                form = interpreted_form(aggregate, self.prepared.schema)
                alone = replace(self.one, aggregates={name: form}, interpreted="to find the row of an error")
                yield partial(again, PassRun(self.prepared, alone, self.rows))

        return ErrorNotes(self.one.label, runs)

    def _name_row(self, place: int) -> str:
        """Return the name of a row in error messages: its key and its time."""
        layout = self.block.layout
        row = int(self.block.source_rows(np.array([place]))[0])
        names = [*layout.by, *([layout.time.name] if layout.time else [])]
        if not names:
            return f"row {self.block.source.first + row}"
        return f"the row of {name_row(self.block.table, names, row)}"

    def _record_names(self, partials: SlicePartials) -> Where:
        ends = partials.ends
        if ends is not None and self.rows is not None:  # a stream stores slices, and drops their rows
            return lambda record: self._name_row(int(ends[record]) - 1)
        return partials.where or (lambda _: "")


def kernel_forms(aggregates: Sequence[Aggregate[Any]]) -> list[Aggregate[Any]]:
    """Return the aggregates that a kernel computes: for a list, those of its entries.

    >>> from sash import agg
    >>> kernel_forms([agg.quantile("x", [0.5, 0.9]), agg.median("x")])
    [quantile("x", 0.5), quantile("x", 0.9), median("x")]
    """
    return [form for aggregate in aggregates for form in aggregate.entries or (aggregate,)]


def as_lists(entries: Sequence[pa.Array]) -> pa.Array:
    """Return a column of lists from the columns of their entries; a list is null if its entries are.

    >>> as_lists([pa.array([1, None]), pa.array([2, None])]).to_pylist()
    [[1, 2], None]
    """
    width, windows = len(entries), len(entries[0])
    places = np.arange(windows)[:, None] + windows * np.arange(width)
    values = pa.concat_arrays(entries).take(as_arrow(places.ravel()))
    offsets = as_arrow(np.arange(windows + 1, dtype=np.int32) * np.int32(width))
    mask = entries[0].is_null() if entries[0].null_count else None
    return pa.ListArray.from_arrays(offsets, values, mask=mask)


def rows_with_few(present: Flags, frame: NewestRows, least: int) -> Ints:
    """Return the rows whose window of the newest rows holds fewer than `least` values, in any order.

    It asks for each value how far the one `least` values later is, which takes a third of the time of counts by row.

    >>> rows_with_few(np.array([True, False, False, True, True]), NewestRows(np.array([0, 3, 5]), 2), 1).tolist()
    [2]
    """
    places = np.flatnonzero(present)
    found: list[Ints] = []
    for first, end in pairwise(frame.firsts.tolist()):
        own = places[slice(*np.searchsorted(places, [first, end]))]
        enough = int(own[least - 1]) if len(own) >= least else end
        found.append(np.arange(first, enough))
        if enough == end:
            continue
        # A window has enough values until it loses the oldest of `least` values before it gets the next.
        loses = own[: len(own) - least] + frame.length
        short = np.flatnonzero(loses < own[least:])
        found.append(ranges(loses[short], own[least:][short] - loses[short]))
        found.append(np.arange(int(own[-least]) + frame.length, end))
    return np.concatenate(found) if found else NOTHING


def null_if_few(aggregate: Aggregate[Any], answer: ResultColumn, few: Ints) -> ResultColumn:
    """Return results that are null, or those of an empty window, where windows hold too few values. It changes them in place."""
    if not len(few):
        return answer
    answer.values[few] = 0 if aggregate.empty is None else aggregate.empty
    if aggregate.empty is not None:
        return answer
    valid = np.ones(len(answer.values), np.bool_)
    valid[few] = False
    return replace(answer, bits=np.packbits(valid, bitorder="little"))


def codings(one: Pass, schema: pa.Schema) -> list[tuple[str, str]]:
    """Return the columns of a pass, and how each is coded; "" if it holds numbers."""
    first = next(iter(one.aggregates.values()))
    compared = all(aggregate.only_compares for aggregate in one.aggregates.values())

    def coding(kind: pa.DataType, place: int) -> str:
        if not is_number(kind):
            return first.codes[place]
        return FLIPPED if compared and kind == pa.uint64() else ""

    coded = [(name, coding(schema.field(name).type, place)) for place, name in enumerate(first.named_columns)]
    return [*coded, (first.columns[-1], TICKS)] if first.reads_time else coded


def slice_again(
    windows: Sequence[Window], partials: SlicePartials, refs: Sequence[SliceRefs]
) -> Callable[[PassRun], object] | None:
    """Return a function that cuts the same slices with another pass; None if the rows are not available."""
    if partials.ends is None:
        return None
    ends, closes = partials.ends, partials.counts.closes

    def again(run: PassRun) -> object:
        nothing = np.empty(0, np.int64)
        every = np.ones(len(ends), np.bool_) if closes is None else closes
        return run.slide_slices(windows, run.cut(SliceRecords(ends, every, nothing, nothing)), refs)

    return again


def with_min_rows(aggregate: Aggregate[Any], min_rows: int) -> Aggregate[Any]:
    """Return an aggregate whose result is null for fewer than `min_rows` values; this holds for counts, too.

    >>> from sash import agg
    >>> with_min_rows(agg.count(), 3).empty is None
    True
    """
    variants: Mapping[str, Aggregate[Any]] = {
        kind: with_min_rows(variant, min_rows) for kind, variant in aggregate.variants.items()
    }
    entries = tuple(with_min_rows(entry, min_rows) for entry in aggregate.entries)
    return replace(
        aggregate, at_least=max(min_rows, aggregate.at_least), empty=None, variants=variants, entries=entries
    )
