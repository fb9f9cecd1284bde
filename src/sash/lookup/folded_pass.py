"""FoldedPass: one pass of a plan over the few rows and slices of a key, in plain Python, with the aggregates' own lift, combine and lower.

    windows    ├──────────────────┤
                        ├─────────┤
                              ├───┤
    items      ▪ ▪ ▪ ▪ ▪ ▪ ▪ ▪ ▪ ▪        newest first: combine(older, newer); the partial at the begin of a window is its own

Windows that end together share one fold. For some ten rows that is a hundred times faster than a call of NumPy for each step. Passes that
stream state holds slices of read numbers, times as ticks, as kernels do; others read Python objects, as the interpreter does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, compress, pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from sash.aggregates.base import ABSENT, Aggregate, unchanged
from sash.columns.buffers import NO_BITS
from sash.columns.column_types import KINDS, column_type
from sash.columns.read_column import TYPE_NAMES, Column
from sash.columns.result_column import interpreted_to_arrow, results_to_arrow
from sash.engine.check_columns import input_types, interpreted_form, replacing_form
from sash.engine.executors.executor import SUFFIX, with_auxiliary, with_min_rows
from sash.engine.executors.interpreted_executor import InterpretedExecutor
from sash.engine.partials import SlicePartials
from sash.engine.prepare import Prepared
from sash.kernels.fused_partial import PartialLayout, Shape, as_partial, fuse_partials, split_shape
from sash.plan.query_spec import QuerySpec
from sash.plan.sharing import Pass
from sash.state.key_layout import KeyLayout

PLAIN = {pa.float64(): float, pa.int64(): int, pa.string(): str, pa.bool_(): bool, pa.large_string(): str}
"""The types of results that Python has, too."""
NUMBERS = (int, float, np.number, np.bool_)
LIMIT = 1 << 63


class Windows:
    """The windows of a key at a time, as items of the key."""

    def __init__(self, bounds: Sequence[tuple[int, int]], now: int) -> None:
        self.bounds = bounds
        """Where each begins and ends."""
        self.now = now
        self.first = min(begin for begin, _ in bounds)
        self.last = max(self.first, *(end for _, end in bounds))
        by_end: dict[int, list[tuple[int, int]]] = {}
        for window, (begin, end) in enumerate(bounds):
            by_end.setdefault(end, []).append((begin, window))
        self.by_end = [(end, sorted(begins, reverse=True)) for end, begins in by_end.items()]
        """Those that end together, the shortest first."""

    def without_empty(self, counts: Sequence[int]) -> Windows:
        """Return the same windows of the items that have values."""
        places = list(accumulate(map(bool, counts), initial=0))
        return Windows([(places[begin], places[end]) for begin, end in self.bounds], self.now)


class FoldedOutput(NamedTuple):
    """One result of a pass over one window."""

    name: str
    component: int
    lower: Callable[[Any], Any]
    rule: Any
    """The ResultRule of the aggregate over this window."""
    rows_needed: int
    auxiliary: Callable[[Any], Any] | None
    convert: Callable[[Any], Any]


class Read(NamedTuple):
    """How a pass reads a column: as numbers, with ticks for times, or as Python objects, cast to a type before that."""

    name: str
    as_numbers: bool = False
    cast_to: pa.DataType | None = None


class FoldedComponent(NamedTuple):
    """A part of the partials of a pass."""

    lift: Callable[..., Any]
    combine: Callable[[Any, Any], Any]
    from_fields: Callable[..., Any] = unchanged
    """Makes a partial of the fields of a slice."""
    fields: slice = slice(0)
    """Which fields of a slice are its own."""


class NotFoldedError(Exception):
    """A pass that only the evaluation driver evaluates."""


class FoldedPass:
    """A pass over the items of one key.

    Raises NotFoldedError if the evaluation driver has to evaluate it.
    """

    def __init__(self, prepared: Prepared, layout: KeyLayout, number: int, types: pa.Schema) -> None:
        self.prepared = prepared
        self.plan_pass: Pass = prepared.plan.passes[number]
        self.query: QuerySpec = prepared.query
        self.number = number
        first = next(iter(self.plan_pass.aggregates.values()))
        self.columns: list[Read] = []
        """The columns that it reads, besides the time."""
        self.reads_time = first.time is not None
        self.names = [str(name) for name in first.named_columns]
        self._check(prepared)
        self.reads_numbers = bool(layout.shapes) or self._is_numeric
        """Whether it reads numbers and ticks, as kernels do, rather than Python objects."""
        if self.reads_numbers:
            self._fuse(layout.shapes[number] if layout.shapes else None)
        else:
            self._interpret()
        self.outputs = [self._outputs(window, types) for window in prepared.plan.windows]

    def _check(self, prepared: Prepared) -> None:
        schema = prepared.schema
        for aggregate in self.plan_pass.aggregates.values():
            is_replaced = replacing_form(prepared.query, aggregate, schema) is not None
            if is_replaced or aggregate.coding.reads is not None:
                raise NotFoldedError
        if any(schema.field(name).type == pa.uint64() for name in self.names):  # kernels read int64
            raise NotFoldedError

    @property
    def is_compact(self) -> bool:
        """Whether the partial of many rows is no larger than that of few."""
        return self.plan_pass.compact

    @property
    def _is_numeric(self) -> bool:
        """Whether its partials are those of kernels over numbers."""
        is_built_in = all(aggregate.is_built_in for aggregate in self.plan_pass.aggregates.values())
        return self.plan_pass.compact and is_built_in and all(name in self.prepared.kinds for name in self.names)

    def _fuse(self, shape: Shape | None) -> None:
        """Read numbers: the components are those of the partials of slices."""
        schema, named = self.prepared.schema, with_auxiliary(self.plan_pass.aggregates)
        types = input_types(next(iter(named.values())), schema)
        dtypes = tuple(_number_type(dtype) for dtype in types)
        forms = {name: one.of_kind(KINDS[dtypes[0]]) if one.inputs == 1 else one for name, one in named.items()}
        fused = fuse_partials(list(forms.values()), dtypes)
        self.components = [FoldedComponent(one.aggregate.lift, one.aggregate.combine) for one in fused.components]
        self.reads = [(forms[name], out.component, out.lower) for name, out in zip(named, fused.outputs, strict=True)]
        self.results = list(named)
        self.columns = [Read(name, as_numbers=True) for name in self.names]
        if shape is not None:
            shapes = split_shape(shape, len(self.components))
            ends = list(accumulate((len(PartialLayout(one).fields) for one in shapes), initial=0))
            self.components = [
                component._replace(from_fields=as_partial(one), fields=slice(begin, end))
                for component, one, (begin, end) in zip(self.components, shapes, pairwise(ends), strict=True)
            ]
        columns = [Column(np.empty(0, np.int64), NO_BITS, dtype) for dtype in types]

        def to_arrow(aggregate: Aggregate[Any], result: Any) -> pa.Array:
            if isinstance(result, NUMBERS):
                return results_to_arrow(np.array([result]), None, aggregate, columns)
            return interpreted_to_arrow(
                aggregate, [result], types
            )  # the list of a histogram: a kernel has a number for each bin

        self.to_arrow = to_arrow

    def _interpret(self) -> None:
        """Read Python objects: each aggregate has a component of its own."""
        schema, named = self.prepared.schema, with_auxiliary(self.plan_pass.aggregates)
        forms = {name: interpreted_form(one, schema) for name, one in named.items()}
        self.components, self.reads, self.results = [], [], list(named)
        self.columns = self._read_objects(forms)
        places: dict[Any, int] = {}
        for form in forms.values():
            functions = (form.lift, form.combine)
            if functions not in places:
                places[functions] = len(self.components)
                self.components.append(FoldedComponent(*functions))
            self.reads.append((form, places[functions], form.lower))

        def to_arrow(aggregate: Aggregate[Any], result: Any) -> pa.Array:
            return interpreted_to_arrow(aggregate, [result], input_types(aggregate, schema))

        self.to_arrow = to_arrow

    def _read_objects(self, forms: Mapping[str, Aggregate[Any]]) -> list[Read]:
        """Return the columns as the interpreter reads them; times of some zones in UTC, for example."""
        read = set()
        for name, form in forms.items():
            run = InterpretedExecutor(self.prepared, replace(self.plan_pass, aggregates={name: form}))
            types = [self.prepared.schema.field(column).type for column in self.names]
            read.add(tuple(map(run.cast_to, types)))
        if len(read) > 1:
            raise NotFoldedError
        return [Read(name, cast_to=dtype) for name, dtype in zip(self.names, *read, strict=True)]

    def _outputs(self, window: str, types: pa.Schema) -> list[FoldedOutput]:
        """Return the results of a window."""
        least = self.prepared.plan.windows[window].min_rows
        lowers = {name: lower for name, (_, _, lower) in zip(self.results, self.reads, strict=True)}
        outputs = []
        for name, (form, component, lower) in zip(self.results, self.reads, strict=True):
            if name.endswith(SUFFIX):
                continue
            rule = (form if least == 1 else with_min_rows(form, least)).result
            result = self.query.result_name(name, window)
            convert = self._converter(form, types.field(result).type)
            more = (rule, rule.rows_needed, lowers.get(name + SUFFIX), convert)
            outputs.append(FoldedOutput(result, component, lower, *more))
        return outputs

    def _converter(self, aggregate: Aggregate[Any], dtype: pa.DataType) -> Callable[[Any], Any]:
        """Return a function that makes of what `lower` returns what `to_pylist` gives for the result."""
        expected, to_arrow = PLAIN.get(dtype), self.to_arrow
        has_finish = aggregate.result.finish is not None

        def convert(result: Any) -> Any:
            if type(result) is expected and (expected is not int or _is_int64(result)):
                return result
            if expected is float and type(result) is int:
                return float(result)
            if has_finish:  # a number that a function of NumPy has returned
                return pa.array([result], dtype).to_pylist()[0]
            return to_arrow(aggregate, result).to_pylist()[0]

        return convert

    # -- fold ----------------------------------------------------------------------------------------------------------

    def fold(
        self,
        columns: Sequence[Sequence[Any]],
        rows: int,
        slices: SlicePartials | None,
        windows: Windows,
        results: dict[str, Any],
    ) -> None:
        """Add the results of windows over the items of a key: its slices, then its rows, with a value in each of the columns."""
        has_value = [1] * rows
        if any(None in column for column in columns):
            has_value = [int(None not in row) for row in zip(*columns, strict=True)]
        counts = has_value if slices is None else [*slices.counts.values.tolist(), *has_value]
        filled = windows
        if 0 in counts:
            filled = windows.without_empty(counts)
            columns = [list(compress(column, has_value)) for column in columns]
            rows = sum(has_value)
            slices = None if slices is None else slices.select(slices.counts.present)
        partials = [self._partials(component, filled, columns, rows, slices) for component in self.components]
        totals = list(accumulate(counts, initial=0))
        for place, ((begin, end), outputs) in enumerate(zip(windows.bounds, self.outputs, strict=True)):
            held = totals[end] - totals[begin] if begin < end else 0
            for name, component, lower, rule, needed, auxiliary, convert in outputs:
                if held < needed or (rule.of_newest and not counts[end - 1]):
                    results[name] = None if rule.of_newest else rule.empty
                    continue
                partial = partials[component][place]
                if rule.held is not None and not rule.has_enough(partial):
                    results[name] = rule.empty
                    continue
                result = lower(partial)
                if rule.finish is not None:
                    result = _finished(rule, result, None if auxiliary is None else auxiliary(partial), windows.now)
                results[name] = None if result is None else convert(result)

    def _partials(
        self, component: FoldedComponent, windows: Windows, columns: Any, rows: int, slices: SlicePartials | None
    ) -> list[Any]:
        """Return the partial of a component over each window; not defined for windows without items."""
        lift, combine, from_fields, fields = component
        stored = 0 if slices is None else len(slices.counts.values)
        needed = slice(max(windows.first - stored, 0), max(windows.last - stored, 0))
        of_rows = [column[needed] for column in columns]
        items = list(map(lift, *of_rows)) if of_rows else [lift() for _ in range(*needed.indices(rows))]
        if slices is not None and windows.first < stored:
            of_slices = (field[windows.first : windows.last].tolist() for field in slices.fields[fields])
            items = [*map(from_fields, *of_slices), *items]
        found: list[Any] = [None] * len(windows.bounds)
        for end, begins in windows.by_end:
            place, whole = end - windows.first, ABSENT
            for begin, window in begins:
                for item in reversed(items[begin - windows.first : place]):
                    whole = item if whole is ABSENT else combine(item, whole)
                place = min(place, begin - windows.first)
                found[window] = whole
        return found


def _is_int64(result: Any) -> bool:
    return bool(-LIMIT <= result < LIMIT)


def _finished(rule: Any, result: Any, auxiliary: Any, now: int) -> Any:
    """Return a result after the last step of its aggregate; None if it is null."""
    numbers = None if auxiliary is None else np.array([auxiliary])
    final = np.ma.MaskedArray(rule.finish(np.array([result]), numbers, np.array([now])))
    return None if np.ma.getmaskarray(final)[0] else final.data[0].item()


def _number_type(dtype: pa.DataType) -> str:
    """Return the NumPy type of the numbers that kernels read of a column."""
    numbers = column_type(dtype).numbers
    if numbers is None:
        raise NotFoldedError
    return TYPE_NAMES[np.dtype(numbers.to_pandas_dtype())]
