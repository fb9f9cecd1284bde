"""prepare(query, schema): check types, make the plan. A prepared query never changes, and threads may share it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from threading import Lock
from typing import Any, TypeVar

import pyarrow as pa

from sash.aggregates.base import Aggregate
from sash.columns.column_types import CannotCompileError, column_type
from sash.durations import TimeUnit
from sash.engine.check_columns import check_types, interpreted_form, replacing_form, why_interpreted
from sash.engine.row_block import KEY_HASH, RowBlock, RowLayout, read_rows
from sash.engine.time_column import TimeColumn, check_times, time_column
from sash.kernels.functions import fingerprint, fingerprint_any
from sash.kernels.plain import compile_loop
from sash.plan.query_spec import QuerySpec
from sash.plan.sharing import Pass, Plan, make_plan
from sash.slices.cuts import Borders, borders_of
from sash.slices.edges import Edges, edges_of
from sash.windows.base import NO_UNIT, Ints, LoopCompiler
from sash.windows.numpy_forms import numpy_form

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")
T = TypeVar("T")


class Recent(dict[Key, Value]):
    """A dictionary of at most `most` entries: a new one replaces the oldest.

    >>> recent = Recent[str, int](2)
    >>> recent["a"], recent["b"], recent["c"] = 1, 2, 3
    >>> recent
    {'b': 2, 'c': 3}
    """

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most

    def __setitem__(self, key: Key, value: Value) -> None:
        """Store an entry."""
        while len(self) >= self.most:
            self.pop(next(iter(self)), None)  # another thread may have removed it
        super().__setitem__(key, value)


MOST_SCHEMAS = 8
"""The number of schemas for which a cache holds a prepared query."""


class KernelPool:
    """Kernels by what they compute, shared by threads.

    One thread makes a kernel. Every caller gets a copy, because a kernel stores the progress of its current call.
    """

    def __init__(self) -> None:
        self._made: dict[tuple[Hashable, ...], Any] = {}
        self._making = Lock()

    @property
    def has_any(self) -> bool:
        """Whether a kernel was made."""
        return bool(self._made)

    def get(self, key: tuple[Hashable, ...], make: Callable[[], Any]) -> Any:
        """Return a kernel; make it if it is the first of its kind."""
        with self._making:
            if key not in self._made:
                self._made[key] = make()
        return self._made[key].copy_for_thread()


@dataclass(frozen=True)
class Prepared:
    """A query for data of one schema."""

    query: QuerySpec
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

    def once(self, name: Hashable, make: Callable[[], T]) -> T:
        """Return what a function makes of this query, the same each time."""
        if name not in self.derived:
            self.derived[name] = make()
        made: T = self.derived[name]
        return made

    def interpreting(self, reasons: Mapping[str, str]) -> Prepared:
        """Return the same query with some aggregates interpreted, because they do not compile."""
        interpreted = {**self.interpreted, **reasons}
        return replace(self, interpreted=interpreted, plan=_plan(self.query, self.schema, interpreted))

    def with_passes(self, passes: Sequence[Pass]) -> Prepared:
        """Return the same query with other passes."""
        return replace(self, plan=replace(self.plan, passes=tuple(passes)))

    @cached_property
    def unit(self) -> TimeUnit:
        """The unit of the time column."""
        return self.time.unit if self.time is not None else NO_UNIT

    @cached_property
    def identity(self) -> str:
        """A name for the query and the schema, which is the same in other processes."""
        query = self.query
        custom = [aggregate for aggregate in query.aggregates.values() if not aggregate.is_built_in]
        functions = [function for one in custom for function in (one.lift, one.combine, one.lower)]
        parts = (query.aggregates, query.windows, query.by, query.time, query.order_by, self.interpreted)
        texts = list(map(repr, parts))
        choices = (query.algorithm, query.objective, query.slicing, str(self.schema.remove_metadata()))
        try:
            return fingerprint(*texts, *choices, *functions)
        except CannotCompileError:  # a function uses a value that is never compiled
            return fingerprint_any(*texts, *choices, *functions)

    @cached_property
    def layout(self) -> RowLayout:
        """The columns that order rows."""
        by = self.query.by
        carried = (KEY_HASH,) if by and KEY_HASH in self.schema.names and KEY_HASH not in by else ()
        hidden = (*(str(name) for name in self.query.computed), *carried)
        return RowLayout(by, self.time, self.query.order_by, hidden, carried)

    @cached_property
    def kinds(self) -> dict[str, str]:
        """The kinds of the columns that hold numbers: "bool", "int" or "float"."""
        return kinds_of(self.schema)

    @cached_property
    def edges(self) -> Edges | None:
        """The edges of slices, if all windows repeat in time, so that rows are cut before windows are known."""
        technique = self.plan.technique
        return edges_of(self.plan.windows.values(), self.unit, technique) if technique else None

    @cached_property
    def borders(self) -> Borders:
        """The borders of slices that are stored or sent, for all windows together."""
        return borders_of(self.plan.windows.values(), self.unit, self.plan.technique)

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

    @cached_property
    def reads_times(self) -> bool:
        """Whether results depend on times, beyond the order of rows."""
        frames = [window.frame for window in self.plan.windows.values()]
        return (
            any(frame is None or frame.reads_times for frame in frames)
            or any(aggregate.time is not None for aggregate in self.query.aggregates.values())
            or any(plan_pass.over_slices for plan_pass in self.plan.passes)
        )

    def check_times(self, times: Ints) -> None:
        """Raise OverflowError if windows over these times would reach beyond 64 bits."""
        if self.time is not None and self.extent is not None:
            check_times(times, 2 * self.extent, self.time.name)

    @cached_property
    def extent(self) -> int | None:
        """How far from the time of a row its windows begin or end, in ticks; None if no window needs times."""
        windows = self.plan.windows.values()
        if not any(window.needs_time for window in windows):
            return None
        return max(window.extent(self.unit) for window in windows)


def prepare(
    query: QuerySpec, schema: pa.Schema, *, compiled: bool | None = None, interpreted: Mapping[str, str] | None = None
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


def _plan(query: QuerySpec, schema: pa.Schema, interpreted: Mapping[str, str]) -> Plan:
    forms = {name: interpreted_form(one, schema) for name, one in query.aggregates.items() if name in interpreted}
    choices = {"algorithm": query.algorithm, "objective": query.objective, "slicing": query.slicing}
    others = {name: one for name, one in query.aggregates.items() if name not in interpreted}
    replaced = {name: form for name, one in others.items() if (form := replacing_form(query, one, schema)) is not None}
    aggregates = {**query.aggregates, **forms, **replaced}
    return make_plan(query.windows, aggregates, **choices, kinds=kinds_of(schema), interpreted=interpreted)


def kinds_of(schema: pa.Schema) -> dict[str, str]:
    """Return the kinds of the columns that hold numbers."""
    rows = {field.name: column_type(field.type) for field in schema}
    return {name: row.kind for name, row in rows.items() if row.numbers is not None}


@dataclass
class PreparedCache:
    """The prepared queries of a `Query`, by schema: a second run over data of the same schema does not prepare again.

    The key includes the fingerprints of the user's functions, so that a changed global variable is noticed. Values that no executor copies
    count by type.
    """

    query: QuerySpec
    headers: dict[bytes, bytes] = field(default_factory=dict)
    """The headers of the states of keys that the query has made, by id."""
    _known: tuple[tuple[Hashable, Prepared], ...] = ()
    """The newest first, each with what its results depend on besides the schema. Schemas are compared, which is faster than to hash one."""

    @cached_property
    def at_points(self) -> PreparedCache:
        """The prepared queries as of points in time, such as those of labels."""
        return self if self.query.per_row else PreparedCache(self.query.at_points())

    def get(self, schema: pa.Schema, *, compiled: bool | None) -> Prepared:
        """Return the prepared query."""
        key = self._key(compiled)
        for known_key, known in self._known:
            if known_key == key and known.schema.equals(schema):
                return known
        prepared = prepare(self.query, schema, compiled=compiled)
        self.put(prepared)
        return prepared

    def put(self, prepared: Prepared) -> None:
        """Store a prepared query, in place of one for the same schema."""
        key, schema = self._key(prepared.compiled), prepared.schema
        others = [entry for entry in self._known if entry[0] != key or not entry[1].schema.equals(schema)]
        self._known = ((key, prepared), *others[: MOST_SCHEMAS - 1])

    @cached_property
    def _custom(self) -> list[Aggregate[Any]]:
        """The aggregates that a user wrote."""
        return [aggregate for aggregate in self.query.aggregates.values() if not aggregate.is_built_in]

    def _key(self, compiled: bool | None) -> Hashable:
        return compiled, *(fingerprint_any(one.lift, one.combine, one.lower, one.inverse) for one in self._custom)
