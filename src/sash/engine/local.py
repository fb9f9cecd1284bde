"""A plan, run in this process over Arrow.

table ──► block ──► windows ──► slices ──► aggregators ──► table
          sorted    bounds      records    passes
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from decimal import Context, localcontext
from typing import TypeVar

import numpy as np
import pyarrow as pa

from sash.aggregator.columns import to_arrow
from sash.engine.column_types import refuse_wrong_types, why_interpreted
from sash.engine.found import Found, run_pass
from sash.engine.joined import Heads, heads_of, join_columns, join_windows
from sash.engine.passes import PassOver, Results, coding_of, interpreted_form, is_number, kind_of
from sash.engine.row_block import Block, Layout, Source, make_block
from sash.engine.time_column import TimeType, read_time_type, refuse_far_times
from sash.kernels import CannotCompileError
from sash.kernels.plain import compile_loop
from sash.plan.declared import Declared
from sash.plan.sharing import Pass, Plan, make_plan
from sash.slices.cuts import Records, as_rows, cut_by_bounds, cut_by_edges, reads_of
from sash.slices.edges import Edges, cut_edges
from sash.windows import Window
from sash.windows.base import Bounds, Ints, Memory, Rows, as_it_stands
from sash.windows.by_rows import EveryRows
from sash.windows.by_time import Periodic

S = TypeVar("S")
T = TypeVar("T")

ROWS_OF_PART = 1 << 18
"""Rows are answered in parts of at least so many: below, starting a thread takes longer than it saves; above, memory that is
fetched anew for each part costs more than the work on it."""
MANY = 2
DIGITS = 76
"""Of decimals while they are computed: as many as Arrow's largest have."""


class Local:
    """A query made ready for tables of one schema."""

    def __init__(
        self,
        declared: Declared,
        schema: pa.Schema,
        *,
        compiled: bool = True,
        threads: int | None = None,
        interpreted: Mapping[str, str] | None = None,
    ) -> None:
        """Check all that can be known before rows are, and plan; `interpreted` says what is known not to compile."""
        self.declared = declared
        self.schema = schema
        self.threads = threads or os.cpu_count() or 1
        refuse_wrong_types(declared, schema)
        self.time: TimeType | None = None
        if declared.time is not None:
            self.time = read_time_type(declared.time, schema.field(declared.time).type)
            for window in declared.windows.values():
                window.check(self.time.tick, self.time.name)
            if declared.lateness is not None:
                declared.lateness.in_ticks(self.time.tick, self.time.name)
        self.layout = Layout(declared.by, self.time, declared.order_by)
        self.run_loop = compile_loop if compiled else as_it_stands
        self.interpreted = {**why_interpreted(declared, schema, compiled=compiled), **(interpreted or {})}
        self.kinds = {field.name: kind_of(field.type) for field in schema if is_number(field.type)}
        self.plan = self._make_plan()
        self.rows_before = 0
        """How many rows each key had before the first that is here."""
        self._settled = False

    def _make_plan(self) -> Plan:
        declared = self.declared
        return make_plan(
            declared.windows,
            {
                name: interpreted_form(aggregate, self.schema) if name in self.interpreted else aggregate
                for name, aggregate in declared.aggregates.items()
            },
            algorithm=declared.algorithm,
            objective=declared.objective,
            slicing=declared.slicing,
            kinds=self.kinds,
            interpreted=self.interpreted,
        )

    def run(self, table: pa.Table) -> pa.Table:
        """Return the results for rows that are all there is: for rows, only the columns of results, in the order given."""
        return self.run_block(make_block(table, self.layout, self.run_loop))

    def run_block(self, block: Block) -> pa.Table:
        """Return the results for rows in order that are all there is."""
        parts = block.parts(self.parts_for(len(block)))
        self.prepare(block.source, len(parts))
        if self.plan.per_row:
            answered = self.in_threads(self._answer_rows, parts)
            columns = [join_columns([part[name] for part in answered]) for name in answered[0]]
            if block.order.rows is not None:
                columns = self.in_threads(lambda column: block.order.restore(to_arrow(column)), columns)
            return pa.table(dict(zip(answered[0], columns, strict=True)))
        return join_windows(self.in_threads(self._answer_windows, parts), self.declared)

    def parts_for(self, rows: int) -> int:
        """Return into how many parts so many rows are cut: for threads, and so that one uses another's memory again."""
        return max(1, rows // ROWS_OF_PART)

    def prepare(self, source: Source, parts: int) -> None:
        """Do beforehand what threads would do several times."""
        if parts < MANY:
            return
        self.settle()
        for one in self.plan.passes:
            for name, how in [] if one.interpreted else coding_of(one, self.schema):
                source.number(name, how)

    def settle(self) -> None:
        """Find out what is compiled, by running over no rows."""
        if not self._settled:
            self._settled = True
            self.run(self.schema.empty_table())

    def in_threads(self, work: Callable[[S], T], items: Sequence[S]) -> list[T]:
        """Return what work makes of items, with a thread for each."""
        if len(items) < MANY or self.threads < MANY:
            return [work(item) for item in items]
        with ThreadPoolExecutor(self.threads) as pool:
            return list(pool.map(work, items))

    def _find_all(self, block: Block) -> tuple[Records | None, dict[str, Found]]:
        memory = {name: self.new_memory(window, block.keys) for name, window in self.plan.windows.items()}
        return self.find(self.rows_of(block), memory)

    def new_memory(self, window: Window, keys: int) -> Memory:
        """Return what a window remembers of keys of which nothing was seen here."""
        memory = window.new_memory(keys)
        if self.rows_before and isinstance(window, EveryRows):
            memory["seen"][:] = self.rows_before
        return memory

    def _answer_rows(self, block: Block) -> Results:
        """Return a column for each aggregate and window, for rows in order."""
        return self.of_rows(self.answer(block, *self._find_all(block)))

    def _answer_windows(self, block: Block) -> dict[str, pa.Table]:
        records, found = self._find_all(block)
        answers = self.answer(block, records, found)
        return self.of_windows(heads_of(block), block.times, found, answers, records)

    def rows_of(self, block: Block, **piece: Ints) -> Rows:
        """Return what windows see of a block."""
        rows = block.rows(self.plan.windows.values(), **piece)
        if self.time is not None and any(window.needs_time for window in self.plan.windows.values()):
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
        periodic = all(isinstance(window, Periodic) for window in self.plan.windows.values())
        return self.edges_by(self.plan.technique) if self.plan.technique and periodic else None

    def edges_by(self, technique: str, windows: Iterable[Window] | None = None) -> Edges:
        """Return the edges of the periodic windows among some, or among all."""
        assert self.time is not None
        ticks = (self.time.tick, self.time.name)
        some = self.plan.windows.values() if windows is None else windows
        return cut_edges([window.cycle(*ticks) for window in some if isinstance(window, Periodic)], technique)

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
            with localcontext(Context(prec=DIGITS)):  # of decimals, which have 28 in Python otherwise
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

    def of_rows(self, answers: Mapping[str, Results]) -> Results:
        """Return a column for each aggregate and window."""
        return {
            self.declared.result_name(aggregate, window): results[aggregate]
            for aggregate in self.declared.aggregates
            for window, results in answers.items()
        }

    def of_windows(
        self,
        heads: Heads,
        times: Ints,
        found: Mapping[str, Found],
        answers: Mapping[str, Results],
        records: Records | None = None,
    ) -> dict[str, pa.Table]:
        """Return a row for each window, by the names of windows, in order of key and time."""
        parts = {}
        for name, one in found.items():
            firsts = heads.firsts if one.rows is not None or records is None else records.firsts
            columns = self._name_windows(name, one.bounds, replace(heads, firsts=firsts), times)
            parts[name] = pa.table({**columns, **{key: answers[name][key] for key in self.declared.aggregates}})
        return parts

    def _name_windows(self, name: str, bounds: Bounds, heads: Heads, times: Ints) -> dict[str, pa.Array]:
        """Return the columns that say which window a result is of."""
        columns: dict[str, pa.Array] = {}
        if self.declared.by:
            counts = np.diff(np.searchsorted(bounds.begins, heads.firsts))
            keys = pa.array(np.repeat(np.arange(len(counts)), counts))
            columns |= {key: to_arrow(heads.keys[key]).take(keys) for key in self.declared.by}
        if self.declared.several:
            names = pa.array(list(self.plan.windows))
            number = np.full(len(bounds), list(self.plan.windows).index(name), np.int32)
            columns["window"] = pa.DictionaryArray.from_arrays(pa.array(number), names)
        if self.time is not None:
            starts, stops = bounds.starts, bounds.stops
            if starts is None or stops is None:
                starts, stops = times[bounds.begins], times[bounds.ends - 1]
            columns |= {"window_start": self.time.write(starts), "window_end": self.time.write(stops)}
        return columns
