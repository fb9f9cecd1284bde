"""A plan, run in this process over Arrow.

table ──► block ──► windows ──► slices ──► aggregators ──► table
          sorted    bounds      records    passes
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from sash.aggregator.columns import empty_column, to_arrow
from sash.engines.block import Block, Layout
from sash.engines.passes import PassOver, Results, is_number
from sash.engines.times import TimeType, read_time_type, refuse_far_times
from sash.engines.types import refuse_wrong_types, why_interpreted
from sash.kernels import CannotCompileError
from sash.kernels.kernel import KINDS
from sash.kernels.plain import compile_loop
from sash.plan.declared import Declared
from sash.plan.sharing import Pass, Plan, make_plan
from sash.slices.cuts import Reads, Records, as_rows, cut_by_bounds, cut_by_edges, reads_of
from sash.slices.edges import Edges, cut_edges
from sash.windows import Window
from sash.windows.base import Bounds, Ints, Memory, Rows, as_it_stands
from sash.windows.by_rows import EveryRows
from sash.windows.by_time import Periodic

T = TypeVar("T")


@dataclass
class Found:
    """The windows of one name in a block."""

    window: Window
    rows: Bounds | None
    """As stretches of rows, where they were asked for."""
    records: Bounds | None
    """As stretches of records of slices."""
    reads: Reads | None

    @property
    def bounds(self) -> Bounds:
        """The windows as stretches of something."""
        found = self.rows if self.rows is not None else self.records
        assert found is not None
        return found


class Local:
    """A query made ready for tables of one schema."""

    def __init__(self, declared: Declared, schema: pa.Schema, *, compiled: bool = True) -> None:
        """Check all that can be known before rows are, and plan."""
        self.declared = declared
        self.schema = schema
        refuse_wrong_types(declared, schema)
        self.time: TimeType | None = None
        if declared.time is not None:
            self.time = read_time_type(declared.time, schema.field(declared.time).type)
            for window in declared.windows.values():
                window.check(self.time.tick, self.time.name)
        self.layout = Layout(declared.by, self.time, declared.order_by)
        self.run_loop = compile_loop if compiled else as_it_stands
        self.interpreted = why_interpreted(declared, schema, compiled=compiled)
        self.kinds = {
            field.name: KINDS[empty_column(field.type).values.dtype.name] for field in schema if is_number(field.type)
        }
        self.plan = self._make_plan()

    def _make_plan(self) -> Plan:
        declared = self.declared
        return make_plan(
            declared.windows,
            declared.aggregates,
            algorithm=declared.algorithm,
            objective=declared.objective,
            slicing=declared.slicing,
            kinds=self.kinds,
            interpreted=self.interpreted,
        )

    def run(self, table: pa.Table) -> pa.Table:
        """Return the results for rows that are all there is: for rows, only the columns of results, in the order given."""
        block = Block(table, self.layout, self.run_loop)
        rows = self.rows_of(block)
        memory = {name: window.new_memory(block.keys) for name, window in self.plan.windows.items()}
        records, found = self.find(rows, memory)
        answers = self.answer(block, records, found)
        if self.plan.per_row:
            return self.of_rows(answers, block.order.restore)
        return self.of_windows(block, records, found, answers)

    def rows_of(self, block: Block, **piece: Ints) -> Rows:
        """Return what windows see of a block."""
        rows = block.rows(self.plan.windows.values(), **piece)
        if self.time is not None:
            refuse_far_times(rows.times, self.reach, self.time.name)
        return rows

    @property
    def reach(self) -> int:
        """How far windows of time reach, in ticks."""
        assert self.time is not None
        lengths = [0]
        for window in self.plan.windows.values():
            for name in ("range", "gap", "offset", "period"):
                duration = getattr(window, name, None)
                if window.needs_time and duration is not None:
                    lengths.append(abs(duration.in_ticks(self.time.tick, self.time.name)))
        return max(lengths) * 2

    # -- windows and slices ----------------------------------------------------------------------------------------

    @property
    def edges(self) -> Edges | None:
        """The edges of the windows, if they are periodic, so that slices are cut without looking at windows."""
        windows = list(self.plan.windows.values())
        if not self.plan.technique or self.time is None or not all(isinstance(one, Periodic) for one in windows):
            return None
        cycles = [one.cycle(self.time.tick, self.time.name) for one in windows if isinstance(one, Periodic)]
        return cut_edges(cycles, self.plan.technique)

    def find(self, rows: Rows, memory: Mapping[str, Memory]) -> tuple[Records | None, dict[str, Found]]:
        """Return where the windows of a block are, and the records of their slices."""
        over_rows = any(not one.over_slices for one in self.plan.passes)
        over_slices = any(one.over_slices for one in self.plan.passes)
        edges = self.edges if over_slices else None
        found = {name: Found(window, None, None, None) for name, window in self.plan.windows.items()}
        records = None
        if edges is None or over_rows:
            for name, window in self.plan.windows.items():
                found[name].rows = window.bounds(rows, memory[name], self.run_loop)
        if edges is not None:
            records = cut_by_edges(rows, edges, self.run_loop)
            of_records = as_rows(rows, records)
            for name, window in self.plan.windows.items():
                bounds = window.bounds(of_records, memory[name], self.run_loop)
                found[name].records = bounds
                found[name].reads = reads_of(records, bounds.begins, bounds.ends)
        elif over_slices:
            every = [one.bounds for one in found.values()]
            also = self._panes(rows, memory) if self.plan.technique == "panes" else []
            records, reads = cut_by_bounds(rows, every, early=self.plan.technique == "cutty", also=also)
            for one, own in zip(found.values(), reads, strict=True):
                one.reads = own
        return records, found

    def _panes(self, rows: Rows, memory: Mapping[str, Memory]) -> list[Ints]:
        """Return where panes of a number of rows are cut."""
        windows = self.plan.windows.items()
        return [window.panes(rows, memory[name]) for name, window in windows if isinstance(window, EveryRows)]

    # -- passes ----------------------------------------------------------------------------------------------------

    def answer(self, block: Block, records: Records | None, found: Mapping[str, Found]) -> dict[str, Results]:
        """Return the results of each window's aggregates."""
        answers: dict[str, Results] = {name: {} for name in found}
        for one in self.plan.passes:
            for name, results in self._answer_pass(one, block, records, found).items():
                answers[name] |= results
        return answers

    def _answer_pass(
        self, one: Pass, block: Block, records: Records | None, found: Mapping[str, Found]
    ) -> dict[str, Results]:
        """Return the results of one pass; what turns out not to compile is interpreted from then on."""
        try:
            return run_pass(PassOver(one, block), records, found)
        except CannotCompileError as error:
            if len(one.aggregates) == 1:
                self.interpreted[next(iter(one.aggregates))] = str(error)
                alone = [self._pass_of(name) for name in one.aggregates]
            else:  # one of them can't be compiled, the others can
                alone = [replace(one, aggregates={name: each}) for name, each in one.aggregates.items()]
        answers: dict[str, Results] = {name: {} for name in found}
        for each in alone:
            for name, results in self._answer_pass(each, block, records, found).items():
                answers[name] |= results
        return answers

    def _pass_of(self, aggregate: str) -> Pass:
        """Return the pass of an aggregate in a plan that knows what is interpreted."""
        self.plan = self._make_plan()
        return next(one for one in self.plan.passes if aggregate in one.aggregates)

    # -- results ---------------------------------------------------------------------------------------------------

    def of_rows(self, answers: Mapping[str, Results], place: Callable[[pa.Array], pa.Array]) -> pa.Table:
        """Return a column for each aggregate and window; `place` puts it in the order of the rows that were given."""
        return pa.table(
            {
                self.declared.result_name(aggregate, window): place(results[aggregate])
                for aggregate in self.declared.aggregates
                for window, results in answers.items()
            }
        )

    def of_windows(
        self, block: Block, records: Records | None, found: Mapping[str, Found], answers: Mapping[str, Results]
    ) -> pa.Table:
        """Return a row for each window: by window, key and time."""
        parts = [self._of_window(name, one, block, records, answers[name]) for name, one in found.items()]
        return parts[0] if len(parts) == 1 else pa.concat_tables(parts)

    def _of_window(self, name: str, one: Found, block: Block, records: Records | None, results: Results) -> pa.Table:
        bounds = one.bounds
        firsts = block.firsts if one.rows is not None or records is None else records.firsts
        columns: dict[str, pa.Array] = {}
        if self.declared.by:
            counts = np.diff(np.searchsorted(bounds.begins, firsts))
            keys = np.repeat(np.arange(block.keys), counts)
            heads = block.firsts[:-1] if block.order.rows is None else block.order.rows[block.firsts[:-1]]
            of_keys = block.table.select(list(self.declared.by)).take(pa.array(heads))
            columns |= {key: to_arrow(of_keys[key]).take(pa.array(keys)) for key in self.declared.by}
        if self.declared.several:
            names = pa.array(list(self.plan.windows))
            number = np.full(len(bounds), list(self.plan.windows).index(name), np.int32)
            columns["window"] = pa.DictionaryArray.from_arrays(pa.array(number), names)
        if self.time is not None:
            starts, stops = bounds.starts, bounds.stops
            if starts is None or stops is None:
                starts, stops = block.times[bounds.begins], block.times[bounds.ends - 1]
            columns |= {"window_start": self.time.write(starts), "window_end": self.time.write(stops)}
        return pa.table({**columns, **{aggregate: results[aggregate] for aggregate in self.declared.aggregates}})


def run_pass(over: PassOver, records: Records | None, found: Mapping[str, Found]) -> dict[str, Results]:
    """Return the results of each window's aggregates of one pass."""
    if not over.one.over_slices:
        return {name: over.slide_rows(one.window, _given(one.rows)) for name, one in found.items()}
    slices = over.cut(_given(records))
    return {name: over.slide_slices(one.window, slices, _given(one.reads)) for name, one in found.items()}


def _given(value: T | None) -> T:
    assert value is not None
    return value
