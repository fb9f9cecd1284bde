"""prepare(query, schema): check types, make the plan. A prepared query never changes, and threads may share it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from sash.durations import TimeUnit
from sash.engine.column_types import check_types, interpreted_form, is_number, kind_of, why_interpreted
from sash.engine.kernel_pool import KernelPool
from sash.engine.recent import Recent
from sash.engine.row_block import RowBlock, RowLayout, read_rows
from sash.engine.time_column import TimeColumn, check_times, time_column
from sash.kernels.functions import CannotCompileError, fingerprint, fingerprint_any
from sash.kernels.plain import compile_loop
from sash.plan.declared import Declared
from sash.plan.sharing import Plan, make_plan
from sash.slices.borders import Borders, borders_of
from sash.slices.edges import Edges, cut_edges
from sash.windows.base import NO_UNIT, Ints, LoopCompiler
from sash.windows.numpy_forms import numpy_form

MOST_SCHEMAS = 8
"""The number of schemas for which a cache holds a prepared query."""


@dataclass(frozen=True)
class Prepared:
    """A query for data of one schema."""

    query: Declared
    schema: pa.Schema
    time: TimeColumn | None
    interpreted: Mapping[str, str]
    """The reasons why aggregates are interpreted, by the names of those that are."""
    plan: Plan
    compiled: bool | None = None
    """Whether everything is compiled that can be, or nothing is; None if each run decides (see `executors/bind.py`)."""
    loops: LoopCompiler = compile_loop
    """Returns a loop that finds windows or sorts rows as it runs: compiled, or its NumPy form."""
    kernels: KernelPool = field(default_factory=KernelPool, compare=False, repr=False)
    derived: dict[Hashable, Any] = field(init=False, default_factory=dict, compare=False, repr=False)
    """What other modules compute once for this query, by a name of their choice."""

    def interpreting(self, reasons: Mapping[str, str]) -> Prepared:
        """Return the same query with some aggregates interpreted, because they do not compile."""
        interpreted = {**self.interpreted, **reasons}
        return replace(self, interpreted=interpreted, plan=_plan(self.query, self.schema, interpreted))

    @cached_property
    def unit(self) -> TimeUnit:
        """The unit of the time column."""
        return self.time.unit if self.time is not None else NO_UNIT

    @cached_property
    def identity(self) -> str:
        """A name for the query and the schema, which is the same in other processes."""
        query = self.query
        own = [one for one in query.aggregates.values() if not one.is_built_in]
        functions = [function for one in own for function in (one.lift, one.combine, one.lower)]
        texts = list(
            map(repr, (query.aggregates, query.windows, query.by, query.time, query.order_by, self.interpreted))
        )
        choices = (query.algorithm, query.objective, query.slicing, str(self.schema.remove_metadata()))
        try:
            return fingerprint(*texts, *choices, *functions)
        except CannotCompileError:  # a function uses a value that is never compiled
            return fingerprint_any(*texts, *choices, *functions)

    @cached_property
    def layout(self) -> RowLayout:
        """The columns that order rows."""
        hidden = tuple(str(name) for name in self.query.computed)
        return RowLayout(self.query.by, self.time, self.query.order_by, hidden)

    @cached_property
    def kinds(self) -> dict[str, str]:
        """The kinds of the columns that hold numbers: "bool", "int" or "float"."""
        return kinds_of(self.schema)

    @cached_property
    def edges(self) -> Edges | None:
        """The edges of slices, if all windows repeat in time, so that rows are cut before windows are known."""
        cuts = [window.cuts for window in self.plan.windows.values()]
        cycles = [None if own is None else own.cycle(self.unit) for own in cuts]
        known = [cycle for cycle in cycles if cycle is not None]
        return cut_edges(known, self.plan.technique) if self.plan.technique and len(known) == len(cycles) else None

    @cached_property
    def borders(self) -> Borders:
        """The borders of slices that are stored or sent, for all windows together."""
        return borders_of(self.plan.windows.values(), self.unit, self.plan.technique)

    @cached_property
    def stores_slices(self) -> bool:
        """Whether a stream can store slices for windows that share a state: edges follow from times alone, and partials are numbers that commute.

        Slices have no place for the memory of windows.
        """
        windows = self.plan.windows.values()
        if any(window.memory.parts for window in windows):
            return False
        cuts = [window.cuts for window in windows]
        by_time = all(one and (one.cycle(self.unit) or one.gap(self.unit) is not None) for one in cuts)
        columns = [column for aggregate in self.query.aggregates.values() for column in aggregate.columns]
        numbers = all(is_number(self.schema.field(column).type) for column in columns)
        return bool(self.plan.technique) and by_time and numbers and all(one.stores_slices for one in self.plan.passes)

    @cached_property
    def stores_prefixes(self) -> bool:
        """Whether a stream can store one partial for the older rows of a key: some windows hold all of them, the others none."""
        windows = self.plan.windows.values()
        frames = [window.frame for window in windows]
        growing = [frame is not None and frame.grows for frame in frames]
        fit = all(
            grows or (frame is not None and not frame.in_runs and window.time_split is not None)
            for grows, frame, window in zip(growing, frames, windows, strict=True)
        )
        columns = [column for aggregate in self.query.aggregates.values() for column in aggregate.named_columns]
        numbers = all(is_number(self.schema.field(column).type) for column in columns)
        return any(growing) and fit and numbers and all(one.stores_prefixes for one in self.plan.passes)

    @cached_property
    def state_kinds(self) -> dict[str, list[str]]:
        """What a stream stores, "slices", "prefixes" or "rows", and for which windows."""
        kinds: dict[str, list[str]] = {}
        for part in self.parts:
            kind = "slices" if part.stores_slices else "prefixes" if part.stores_prefixes else "rows"
            kinds.setdefault(kind, []).extend(part.query.windows)
        return kinds

    def block(self, table: pa.Table, first: int = 0) -> RowBlock:
        """Return the rows of a table sorted by key and time; `first` is the number of its first row, in a stream."""
        return read_rows(table, self.layout, self.loops, first).sorted(self.loops)

    @cached_property
    def no_rows(self) -> pa.Table:
        """A table without rows. `schema.empty_table()` would import pandas, which takes as long as the first result of a stream."""
        return pa.Table.from_arrays([pa.nulls(0, column.type) for column in self.schema], schema=self.schema)

    def empty_block(self) -> RowBlock:
        """Return a block without rows."""
        return self.block(self.no_rows)

    def late_from(self, times: Ints) -> Ints:
        """Return for rows at these times the watermark from which on they are late: all their windows are closed.

        NEVER for rows that no window holds, as the slide may be longer than the range.
        """
        windows = self.plan.windows.values()
        ends: Ints = np.maximum.reduce([window.lateness.last_end(times, self.unit) for window in windows])
        return ends

    def missed_from(self, times: Ints) -> Ints:
        """Return the watermarks from which on a window may have been emitted without the rows at these times."""
        windows = self.plan.windows.values()
        marks: Ints = np.minimum.reduce([window.lateness.missed_from(times, self.unit) for window in windows])
        return marks

    @cached_property
    def parts(self) -> list[Prepared]:
        """The query once for each group of windows with the same late rows, which share the state of a stream."""
        groups: dict[Hashable, list[str]] = {}
        for name, window in self.query.windows.items():
            groups.setdefault(window.lateness.rule, []).append(name)
        if len(groups) == 1:
            return [self]
        queries = [self.query.part(names) for names in groups.values()]
        return [prepare(one, self.schema, compiled=self.compiled, interpreted=self.interpreted) for one in queries]

    def due_from(self, times: Ints) -> int:
        """Return the earliest watermark at which a window of rows at these times ends."""
        return min(int(window.lateness.first_end(times, self.unit).min()) for window in self.plan.windows.values())

    def check_times(self, times: Ints) -> None:
        """Raise OverflowError if windows over these times would reach beyond 64 bits."""
        if self.time is not None and self._extent is not None:
            check_times(times, 2 * self._extent, self.time.name)

    @cached_property
    def _extent(self) -> int | None:
        """How far from the time of a row its windows begin or end, in ticks; None if no window needs times."""
        windows = self.plan.windows.values()
        return max(one.extent(self.unit) for one in windows) if any(one.needs_time for one in windows) else None


def prepare(
    query: Declared, schema: pa.Schema, *, compiled: bool | None = None, interpreted: Mapping[str, str] | None = None
) -> Prepared:
    """Return a query for data of one schema. Raise TypeError or ValueError if it cannot read this data.

    `interpreted` names aggregates that are known not to compile, with the reasons.
    """
    check_types(query, schema)
    time = None
    if query.time is not None:
        time = time_column(query.time, schema.field(query.time).type)
        query = query.in_unit(time.unit)
        for window in query.windows.values():
            window.check(time.unit)
        if query.lateness is not None:
            query.lateness.in_ticks(time.unit)
    reasons = {**why_interpreted(query, schema, compiled=compiled is not False), **(interpreted or {})}
    loops = numpy_form if compiled is False else compile_loop
    return Prepared(query, schema, time, reasons, _plan(query, schema, reasons), compiled, loops)


def _plan(query: Declared, schema: pa.Schema, interpreted: Mapping[str, str]) -> Plan:
    return make_plan(
        query.windows,
        {
            name: interpreted_form(aggregate, schema) if name in interpreted else aggregate
            for name, aggregate in query.aggregates.items()
        },
        algorithm=query.algorithm,
        objective=query.objective,
        slicing=query.slicing,
        kinds=kinds_of(schema),
        interpreted=interpreted,
    )


def kinds_of(schema: pa.Schema) -> dict[str, str]:
    """Return the kinds of the columns that hold numbers."""
    return {column.name: kind_of(column.type) for column in schema if is_number(column.type)}


@dataclass
class PreparedCache:
    """The prepared queries of a `Query`, by schema: a second run over data of the same schema does not prepare again.

    The key includes the fingerprints of the user's functions, so that a changed global variable is noticed. Values that no executor copies
    count by type.
    """

    query: Declared
    _known: Recent[Hashable, Prepared] = field(default_factory=lambda: Recent(MOST_SCHEMAS))

    def get(self, schema: pa.Schema, *, compiled: bool | None) -> Prepared:
        """Return the prepared query."""
        key = self._key(schema, compiled)
        known = self._known.get(key)
        if known is None:
            known = prepare(self.query, schema, compiled=compiled)
            self.put(known)
        return known

    def put(self, prepared: Prepared) -> None:
        """Store a prepared query, in place of one for the same schema."""
        self._known[self._key(prepared.schema, prepared.compiled)] = prepared

    def _key(self, schema: pa.Schema, compiled: bool | None) -> Hashable:
        functions = [
            fingerprint_any(aggregate.lift, aggregate.combine, aggregate.lower, aggregate.inverse)
            for aggregate in self.query.aggregates.values()
            if not aggregate.is_built_in
        ]
        return schema.remove_metadata(), compiled, *functions
