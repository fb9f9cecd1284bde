"""CompiledExecutor: runs a pass by compiled kernels. Long keys are evaluated one by one, in several sections at once."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from sash.aggregates.base import ABSENT, Aggregate
from sash.aggregates.nulls import neutral_if_null
from sash.columns.buffers import NO_BITS, Bits, pack
from sash.columns.column_types import KINDS
from sash.engine.executors.executor import Results, join_results, join_runs, kernel_forms
from sash.engine.executors.kernel_executor import KernelExecutor, KernelKey
from sash.engine.partials import SliceCounts, SlicePartials
from sash.kernels import CannotCompileError, Kernel, loops
from sash.kernels.kernel_arrays import Columns, ResultColumn, null_if_few, put_results
from sash.kernels.whole_column import column_kernel
from sash.windows import Window
from sash.windows.arrays import ranges
from sash.windows.base import Bounds, Flags, Ints, NewestRows
from sash.windows.row_frame import bounds_around, cut_sections

MASKED_INPUTS = (("float64",), ("int64",), ("bool",))
"""The types of columns for which the identity of an aggregate has the type of its partials."""
ROWS_PER_CALL = 10_000
"""A call of a kernel takes about as long as this many rows."""
WINDOWS_PER_SPLIT = 1 << 18
"""Windows of several runs that are evaluated together, if all have the same length, so that a loop works on several sections at once."""
NOTHING = np.empty(0, np.int64)


class CompiledExecutor(KernelExecutor):
    """Runs a pass by compiled loops."""

    def make_kernel(self, key: KernelKey, aggregates: list[Aggregate[Any]]) -> Kernel:
        """Return a kernel. Raise CannotCompileError if Numba rejects an aggregate."""
        return column_kernel(
            key.algorithm, aggregates, key.inputs, key.loop, nullable=key.nullable, length=key.length, over=key.over
        )

    def slide_bounds(self, window: Window, bounds: Bounds) -> Results:
        """Return the results of windows, each of which is one run of rows."""
        if bounds.frame is not None and pays_by_key(bounds.frame):
            try:
                return self._slide_keys(window, bounds, bounds.frame)
            except Exception as error:
                if isinstance(error, CannotCompileError) or not bounds.frame.ahead:
                    raise  # otherwise it may come from windows at an end of the key that no row has
        return super().slide_bounds(window, bounds)

    def _slide_keys(self, window: Window, bounds: Bounds, frame: NewestRows) -> Results:
        """Return the results of windows of the newest rows, key by key."""
        aggregates = self.for_window(window)
        masked = [] if frame.ahead else self._masked(aggregates)
        if masked:
            return self._slide_masked(aggregates, masked, frame)
        values, bits = self.values, self.bits
        kernel = self.kernel(loops.slide_rows, window=window, length=frame.length)
        with self.notes(lambda other: other.slide_rows(window, bounds)) as notes:
            kernel.where = lambda number: notes.at(self.name_row(number))
            answers = kernel.slide_keys(values, frame.firsts, frame.length, bits, frame.ahead)
            if frame.ahead:
                self._put_cut_off(answers, self.kernel(loops.slide_between, window=window), frame, values, bits)
        return self.to_results(answers)

    # -- nulls as neutral rows ---------------------------------------------------------------------------------------

    def _masked(self, aggregates: list[Aggregate[Any]]) -> list[Aggregate[Any]]:
        """Return the forms in which a null is a neutral row, if there are nulls and every aggregate has such a form.

        A branch on random nulls is mispredicted, and keeps a kernel from working on several sections at once: over rows(1000), half
        of them null, max takes 2.5 times as long as without nulls instead of 5.
        """
        dtypes = self.dtypes
        if not self.has_nulls or dtypes not in MASKED_INPUTS or self.plan_pass.algorithm.keeps_values:
            return []
        forms = [form.of_kind(KINDS[dtypes[0]]) for form in kernel_forms(aggregates)]
        has_form = all(form.is_built_in and form.identity is not ABSENT for form in forms)
        return [neutral_if_null(form) for form in forms] if has_form else []

    def _slide_masked(
        self, aggregates: list[Aggregate[Any]], masked: list[Aggregate[Any]], frame: NewestRows
    ) -> Results:
        """Return the results of windows of the newest rows; nulls are neutral rows."""
        inputs = (*self.dtypes, "bool")
        kernel = self.kernel(
            loops.slide_rows, masked, length=frame.length, computes="masked", inputs=inputs, nullable=False
        )
        with self.notes():
            answers = kernel.slide_keys((*self.values, self.present), frame.firsts, frame.length)
        results = [form.result for form in kernel_forms(aggregates)]
        few = {
            least: rows_with_few(self.present, frame, least) for least in {max(1, rule.at_least) for rule in results}
        }
        for number, (rule, answer) in enumerate(zip(results, answers, strict=True)):
            answers[number] = null_if_few(answer.values, few[max(1, rule.at_least)], rule.empty)
        return self.to_results(answers)

    # -- windows of several runs -------------------------------------------------------------------------------------

    def slide_runs(self, window: Window, bounds: Bounds) -> Results:
        """Return the results of windows that consist of several runs of rows."""
        is_plain = not self.has_nulls and self.dictionary is None
        if bounds.frames and is_plain and pays_by_key(bounds.frames[0]):
            try:
                return self._slide_sections(window, bounds)
            except Exception as error:
                if isinstance(error, CannotCompileError):
                    raise  # otherwise it may come from windows at an end of the key that no row has
        return super().slide_runs(window, bounds)

    def _slide_sections(self, window: Window, bounds: Bounds) -> Results:
        """Return the results of windows whose runs are frames of the newest rows: some rows at a time."""
        sections = []
        reach = [(frame.length - 1 - frame.ahead, frame.ahead) for frame in bounds.frames]
        before, after = (max(distances) for distances in zip(*reach, strict=True))
        for section, rows, firsts in cut_sections(bounds.frames[0].firsts, before, after, WINDOWS_PER_SPLIT):
            runs = [self._partials_by_key(section, rows, frame._replace(firsts=firsts)) for frame in bounds.frames]
            within = slice(section.start - rows.start, section.stop - rows.start)
            chosen = join_runs([run.select(within) for run in runs])
            where = partial(lambda first, row: self.name_row(first + row), section.start)
            sections.append(self.combine_runs(window, chosen, where))
        return join_results(sections)

    def _partials_by_key(self, section: slice, rows: slice, frame: NewestRows) -> SlicePartials:
        """Return the partial of the newest rows for each of some rows, key by key; it is undefined for rows outside the section."""
        shape, fields = self.fields
        kernel = self.kernel(loops.slide_rows, fields, length=frame.length, computes="fields")
        with self.notes():
            values = tuple(column[rows] for column in self.values)
            answers = kernel.slide_keys(values, frame.firsts, frame.length, NO_BITS, frame.ahead)
            # The rows are cut at the ends of a key, or so far from the section that its windows do not reach the cut.
            if rows.stop - section.stop < frame.ahead or section.start - rows.start < -frame.ahead:
                between = self.kernel(loops.slide_between, fields, computes="fields")
                self._put_cut_off(answers, between, frame, values)
        return self.as_partials(answers, shape, SliceCounts(frame.held))

    def _put_cut_off(
        self, answers: list[ResultColumn], between: Any, frame: NewestRows, columns: Columns, bits: Bits = NO_BITS
    ) -> None:
        """Add the results of the windows that one end of a key cuts off: they are the newest rows of no row."""
        lengths = np.diff(frame.firsts)
        counts = np.minimum(abs(frame.ahead), lengths)
        rows_cut_off = ranges(frame.firsts[1:] - counts if frame.ahead > 0 else frame.firsts[:-1], counts)
        begins, ends = bounds_around(rows_cut_off, frame.firsts, counts, frame.length - 1 - frame.ahead, frame.ahead)
        # Only rows of these windows: the loop goes over all rows between them.
        counts = counts[counts > 0]
        last = np.cumsum(counts) - 1
        first_rows, held = begins[last - counts + 1], ends[last] - begins[last - counts + 1]
        rows = ranges(first_rows, held)
        left_out = np.repeat(first_rows - (np.cumsum(held) - held), counts)
        bits = pack(self.present[rows]) if len(bits) else NO_BITS
        values = tuple(column[rows] for column in columns)
        cut_off = between.slide_between(values, begins - left_out, ends - left_out, bits)
        for number, (answer, cut_off_column) in enumerate(zip(answers, cut_off, strict=True)):
            answers[number] = put_results(answer, rows_cut_off, cut_off_column)


def pays_by_key(frame: NewestRows) -> bool:
    """Return whether one call per key is faster: its loop need not read bounds, and works on several sections at once."""
    keys = len(frame.firsts) - 1
    return keys > 0 and int(frame.firsts[-1]) >= ROWS_PER_CALL * keys


def rows_with_few(present: Flags, frame: NewestRows, least: int) -> Ints:
    """Return the rows whose window of the newest rows holds fewer than `least` values, in any order.

    It asks for each value how far the one `least` values later is, which takes a third of the time of counts by row.

    >>> rows_with_few(np.array([True, False, False, True, True]), NewestRows(np.array([0, 3, 5]), 2), 1).tolist()
    [2]
    """
    values = np.flatnonzero(present)
    few: list[Ints] = []
    for first, end in pairwise(frame.firsts.tolist()):
        of_key = values[slice(*np.searchsorted(values, [first, end]))]
        enough = int(of_key[least - 1]) if len(of_key) >= least else end
        few.append(np.arange(first, enough))
        if enough == end:
            continue
        # A window has enough values until it loses the oldest of `least` values before it gets the next.
        loses = of_key[: len(of_key) - least] + frame.length
        short = np.flatnonzero(loses < of_key[least:])
        few.append(ranges(loses[short], of_key[least:][short] - loses[short]))
        few.append(np.arange(int(of_key[-least]) + frame.length, end))
    return np.concatenate(few) if few else NOTHING
