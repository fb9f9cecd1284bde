"""InterpretedExecutor: runs a pass of one aggregate in Python, over columns of any type."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sash.aggregates.base import Aggregate, unchanged, with_fields
from sash.columns.result_column import interpreted_to_arrow
from sash.engine.check_columns import input_types
from sash.engine.executors.executor import Executor, Repeat, RunPartials
from sash.engine.executors.interpreter import Interpreter
from sash.engine.executors.object_rows import ObjectRows
from sash.engine.executors.results import Results
from sash.engine.failures import Where
from sash.engine.partials import SliceCounts, SlicePartials
from sash.engine.prepare import Prepared
from sash.engine.row_block import RowBlock
from sash.kernels.kernel_arrays import Schedule
from sash.plan.sharing import Pass
from sash.slices.cuts import SliceRecords
from sash.windows import Window
from sash.windows.base import Bounds, Flags, Ints


class InterpretedExecutor(Executor):
    """Runs the loops of kernels as they stand. A partial is a Python object."""

    def __init__(self, prepared: Prepared, plan_pass: Pass, block: RowBlock | None = None) -> None:
        super().__init__(prepared, plan_pass, block)
        self.objects = ObjectRows(self.aggregates[0], prepared.schema, block)

    @property
    def present(self) -> Flags:
        """Which rows have a value in all columns."""
        return self.objects.present

    @property
    def has_nulls(self) -> bool:
        """Whether some rows may lack a value."""
        return True

    def slide_bounds(self, window: Window, bounds: Bounds) -> Results:
        """Return the results of windows, each of which is one run of rows."""
        aggregate = self.for_window(window)[0]
        return self._to_results(aggregate, self._interpreter(aggregate).slide(self.plan_pass.algorithm, bounds))

    def partials_of(self, begins: Ints, ends: Ints) -> SlicePartials:
        """Return the partials of runs of rows, which may overlap."""
        whole = with_fields(self.aggregates[0], lower=unchanged, at_least=1, empty=None)
        bounds = Bounds(begins, ends, None, None, np.empty(0, np.int64))
        objects = self._interpreter(whole, lowers=False).slide(self.plan_pass.algorithm, bounds)
        partials = np.empty(len(objects), object)
        partials[:] = objects
        return SlicePartials([partials], None, self.count_between(begins, ends))

    def combine_runs(self, window: Window, runs: RunPartials, where: Where) -> Results:
        """Return the results of windows from the partials of their runs."""
        aggregate, partials = self.for_window(window)[0], runs.partials
        results = self._interpreter(aggregate).combine_runs(
            partials.fields[0], runs.runs, partials.counts.present, runs.values, where
        )
        return self._to_results(aggregate, results)

    def rows_as_slices(self) -> SlicePartials:
        """Return each row as a slice."""
        counts, ends = SliceCounts(self.present.astype(np.int64)), np.arange(1, len(self.block) + 1)
        return SlicePartials([self._interpreter(self.aggregates[0]).lift_all()], None, counts, ends=ends)

    def cut(self, records: SliceRecords) -> SlicePartials:
        """Return the partials of slices."""
        fields = [self._interpreter(self.aggregates[0]).cut(records)]
        return SlicePartials(fields, None, self.count_in(records), ends=records.positions)

    def merge(self, partials: SlicePartials, starts: Ints) -> SlicePartials:
        """Raise TypeError: no stream stores the partials of interpreted passes."""
        raise TypeError(
            f"{self.plan_pass.label} is interpreted, so its {len(partials.counts.values)} slices cannot be merged at {starts}."
        )

    def slide_entries(
        self,
        window: Window,
        partials: SlicePartials,
        entries: Schedule,
        repeat: Repeat | None,  # noqa: ARG002 — it names the row itself
    ) -> Results:
        """Return the results of windows over slices, in the order of a schedule."""
        aggregate = self.for_window(window)[0]
        results = self._interpreter(aggregate).slide_slices(
            self.plan_pass.algorithm, partials.fields[0], partials.counts.present, entries, self.name_record(partials)
        )
        return self._to_results(aggregate, results)

    def _interpreter(self, aggregate: Aggregate[Any], *, lowers: bool = True) -> Interpreter:
        """Return the interpreter; if it `lowers`, results are tuples where an aggregate has a second number."""
        if lowers and len(self.named) > 1:
            functions = [form.lower for form in self.aggregates]
            aggregate = replace(aggregate, lower=lambda partial: tuple(lower(partial) for lower in functions))
        return Interpreter(self.plan_pass.label, aggregate, self.objects.rows, self.present, self.name_row)

    def _to_results(self, aggregate: Aggregate[Any], results: list[Any]) -> Results:
        [name] = self.plan_pass.aggregates
        types = input_types(aggregate, self.prepared.schema)
        if len(self.named) > 1:
            pairs = [result if isinstance(result, tuple) else (result, None) for result in results]
            columns = [list(column) for column in zip(*pairs, strict=True)] or [[] for _ in self.named]
            return {
                name: interpreted_to_arrow(form, values, types)
                for (name, form), values in zip(self.named.items(), columns, strict=True)
            }
        return {name: interpreted_to_arrow(aggregate, results, types, self.objects.categories)}
