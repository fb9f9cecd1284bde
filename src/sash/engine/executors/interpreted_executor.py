"""InterpretedExecutor: runs a pass of one aggregate in Python, over columns of any type. Errors name the row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sash.aggregates.base import Aggregate, unchanged, with_fields
from sash.algorithms import Algorithm
from sash.algorithms.recalculate import Recalculate
from sash.columns.buffers import unpack
from sash.columns.column_types import column_type, plain_type
from sash.columns.result_column import interpreted_to_arrow
from sash.columns.time_probes import gives_for
from sash.engine.check_columns import input_types
from sash.engine.executors.executor import Executor, Repeat, Results, RunPartials
from sash.engine.failures import COMBINING, LIFTING, LOWERING, Where, failure
from sash.engine.partials import SliceCounts, SlicePartials
from sash.kernels import CannotCompileError, loops
from sash.kernels.kernel_arrays import Schedule
from sash.slices.cuts import SliceRecords
from sash.slices.open_slice import OpenSlice
from sash.windows import Window
from sash.windows.base import Bounds, Flags, Ints

Objects = npt.NDArray[np.object_]


@dataclass
class Interpreter:
    """Runs the loops of kernels uncompiled, with the functions of an aggregate."""

    label: str
    """The names of the result and the aggregate, for errors."""
    aggregate: Aggregate[Any]
    rows: list[tuple[Any, ...]]
    where: Where
    """Names a row, or what takes its place."""
    row: int = 0
    step: str = LIFTING

    @contextmanager
    def noting(self) -> Iterator[None]:
        """Add the place to an error that one of the aggregate's functions raises."""
        try:
            yield
        except Exception as error:
            error.add_note(failure(self.label, self.step, self.where(self.row)))
            raise

    def lift(self, row: int) -> Any:
        """Return the partial of a row."""
        self.row, self.step = row, LIFTING
        partial = self.aggregate.lift(*self.rows[row])
        self.step = COMBINING  # until the next lift or lower
        return partial

    def taking(self, partials: Objects, windows: int) -> Callable[[int], Any]:
        """Return a function that returns a partial; every so many belong to the same windows."""

        def take(record: int) -> Any:
            self.row, self.step = record % windows, COMBINING
            return partials[record]

        return take

    def slide(
        self, loop: Any, window: Algorithm[Any], arguments: Sequence[Any], ends: Ints, present: Flags, lifted: Any
    ) -> list[Any]:
        """Return the results of windows; window n ends before `ends[n]`."""
        results = [self.aggregate.result.empty] * len(ends)

        def emit(number: int, _: int, partial: Any) -> None:
            if not self.aggregate.result.has_enough(partial):
                return
            self.step = LOWERING
            try:
                results[number] = self.aggregate.lower(partial)
            except Exception:
                self.row = int(ends[number]) - 1
                raise
            self.step = COMBINING

        listed = [column.tolist() if isinstance(column, np.ndarray) else column for column in arguments]
        with self.noting():
            at_least = self.aggregate.result.rows_needed
            loop(window, len(ends), *listed, at_least, lambda row: bool(present[row]), lifted, emit)
        return results


class InterpretedExecutor(Executor):
    """Runs the loops of kernels as they stand, over rows of Python objects. A partial is a Python object."""

    has_nulls = True

    def slide_bounds(self, window: Window, bounds: Bounds) -> Results:
        """Return the results of windows, each of which is one run of rows."""
        return self._to_results(*self._slide(self._interpreter(window), bounds.begins, bounds.ends))

    def partials_of(self, begins: Ints, ends: Ints) -> SlicePartials:
        """Return the partials of runs of rows, which may overlap."""
        run = self._interpreter()
        run.aggregate = with_fields(self.aggregates[0], lower=unchanged, at_least=1, empty=None)
        _, objects = self._slide(run, begins, ends)
        partials = np.empty(len(objects), object)
        partials[:] = objects
        return SlicePartials([partials], None, self.count_between(begins, ends))

    def _slide(self, run: Interpreter, begins: Ints, ends: Ints) -> tuple[Aggregate[Any], list[Any]]:
        structure = self.plan_pass.algorithm(run.aggregate)
        return run.aggregate, run.slide(loops.slide_between, structure, (begins, ends), ends, self.present, run.lift)

    def combine_runs(self, window: Window, runs: RunPartials, where: Where) -> Results:
        """Return the results of windows from the partials of their runs."""
        run, partials, ends = self._interpreter(window, where), runs.partials, np.arange(1, len(runs.values) + 1)
        take = run.taking(partials.fields[0], len(ends))
        arguments, structure = (runs.runs, runs.values), Recalculate(run.aggregate)
        results = run.slide(loops.combine_runs, structure, arguments, ends, partials.counts.present, take)
        return self._to_results(run.aggregate, results)

    def rows_as_slices(self) -> SlicePartials:
        """Return each row as a slice."""
        run, partials = self._interpreter(), np.empty(len(self.block), object)
        with run.noting():
            for row in np.flatnonzero(self.present).tolist():
                partials[row] = run.lift(row)
        counts, ends = SliceCounts(self.present.astype(np.int64)), np.arange(1, len(self.block) + 1)
        return SlicePartials([partials], None, counts, ends=ends)

    def cut(self, records: SliceRecords) -> SlicePartials:
        """Return the partials of slices."""
        run, partials = self._interpreter(), np.empty(len(records), object)
        positions, closes = records.positions.tolist(), records.closes.tolist()
        with run.noting():
            present, keep = (lambda row: bool(self.present[row])), partials.__setitem__
            loops.cut_slices(OpenSlice(run.aggregate), len(records), positions, closes, present, run.lift, keep)
        return SlicePartials([partials], None, self.count_in(records), ends=records.positions)

    def merge(self, partials: SlicePartials, starts: Ints) -> SlicePartials:
        """Raise TypeError: no stream stores the partials of interpreted passes."""
        raise TypeError(
            f"{self.plan_pass.label} is interpreted, so its {len(partials.counts.values)} slices cannot be merged at {starts}."
        )

    def slide_entries(self, window: Window, partials: SlicePartials, entries: Schedule, _: Repeat) -> Results:
        """Return the results of windows over slices, in the order of a schedule."""
        run, fields = self._interpreter(window, self.name_record(partials)), partials.fields[0]
        structure, take = self.plan_pass.algorithm(run.aggregate, entries.ranges), run.taking(fields, len(fields))
        results = run.slide(loops.slide_slices, structure, entries[:6], entries.ends, partials.counts.present, take)
        return self._to_results(run.aggregate, results)

    def _interpreter(self, window: Window | None = None, where: Where | None = None) -> Interpreter:
        """Return the interpreter; results are tuples where an aggregate has a second number."""
        aggregate = self.aggregates[0] if window is None else self.for_window(window)[0]
        if len(self.named) > 1:
            functions = [form.lower for form in self.aggregates]
            aggregate = replace(aggregate, lower=lambda partial: tuple(lower(partial) for lower in functions))
        return Interpreter(self.plan_pass.label, aggregate, self.objects, where or self.name_row)

    def _to_results(self, aggregate: Aggregate[Any], results: list[Any]) -> Results:
        types = input_types(aggregate, self.prepared.schema)
        if len(self.named) > 1:
            pairs = [result if isinstance(result, tuple) else (result, None) for result in results]
            columns = [list(column) for column in zip(*pairs, strict=True)] or [[] for _ in self.named]
            arrays = [interpreted_to_arrow(*both, types) for both in zip(self.aggregates, columns, strict=True)]
            return dict(zip(self.named, arrays, strict=True))
        last = len(aggregate.named_columns) - 1
        categories = self._categories(last) if last >= 0 and self.rows is not None else None
        return {name: interpreted_to_arrow(aggregate, results, types, categories) for name in self.named}

    # -- rows as Python objects ----------------------------------------------------------------------------------------

    @cached_property
    def objects(self) -> list[tuple[Any, ...]]:
        """The rows, with None for nulls."""
        if self.rows is None:
            return []
        columns = [self._read(number) for number in range(len(self.aggregates[0].named_columns))]
        if self.aggregates[0].time is not None:
            columns.append(self.block.times.tolist())
        return list(zip(*columns, strict=True)) if columns else [()] * len(self.block)

    @cached_property
    def present(self) -> Flags:
        """Which rows have a value in all columns."""
        return np.array([None not in row for row in self.objects], np.bool_)

    def _read(self, number: int) -> list[Any]:
        """Return a column as Python objects; the values of an ordered dictionary as their ranks."""
        name = self.aggregates[0].named_columns[number]
        if self._categories(number) is None:
            return self.block.objects(name, self.cast_to(self.prepared.schema.field(name).type))
        column = self.block.coded(name, "ordered").column
        valid = unpack(column.bits, len(column))
        return [code if ok else None for code, ok in zip(column.values.tolist(), valid, strict=True)]

    def _categories(self, number: int) -> pa.Array | None:
        """Return the values of an ordered dictionary if the aggregate reads their ranks in their place; None for other columns."""
        aggregate = self.aggregates[0]
        name = aggregate.named_columns[number]
        dtype = self.prepared.schema.field(name).type
        is_key = number < aggregate.inputs - self._innermost.inputs  # of a map
        is_ranked = plain_type(dtype) != dtype and dtype.ordered and self._innermost.coding.codes and not is_key
        return self.block.coded(name, "ordered").values if is_ranked else None

    def cast_to(self, dtype: pa.DataType) -> pa.DataType | None:
        """Return the type that a column is cast to before it is read as Python objects; None for its own."""
        # Python compares and subtracts times of one zone by wall clock, which is wrong when clocks are set back.
        row = column_type(dtype)
        if row.group == "timestamp" and dtype.tz is not None and self._ignores_clocks:
            return pa.timestamp(dtype.unit, "UTC")
        # Python does not subtract times of day; their ticks are subtracted instead.
        if row.group == "time" and self._innermost.is_built_in and self._innermost.result.gives == "difference":
            return row.numbers
        return None

    @cached_property
    def _innermost(self) -> Aggregate[Any]:
        """The aggregate, or the one of the items if its results are maps."""
        aggregate = self.aggregates[0]
        while aggregate.forms.inner is not None:
            aggregate = aggregate.forms.inner
        return aggregate

    @property
    def _ignores_clocks(self) -> bool:
        """Whether the aggregate reads times as points in time, so that the clock of their zone does not matter."""
        if self._innermost.is_built_in:
            return self._innermost.result.gives != "text"
        try:
            gives_for(self._innermost, input_types(self._innermost, self.prepared.schema))
        except CannotCompileError:
            return False
        return True
