"""One pass of a plan over a block: rows → slices → results, compiled or interpreted by the same loops."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sash.aggregates.base import Aggregate
from sash.aggregator.columns import Column, empty_column, present_in_all, results_to_arrow
from sash.algorithms import Algorithm
from sash.engine.failures import Telling
from sash.engine.interpreter import Interpreter, Where
from sash.engine.names import name_row
from sash.engine.result_types import interpreted_to_arrow
from sash.engine.row_block import Block
from sash.engine.schedule import Counts, take_turns
from sash.kernels import Kernel, loops
from sash.kernels.kernel import KINDS
from sash.kernels.kernel_io import NO_BITS, Bits, ResultColumn
from sash.kernels.layout import Shape
from sash.kernels.whole_column import column_kernel
from sash.plan.explain import is_built_in
from sash.plan.sharing import Pass
from sash.slices.cuts import Reads, Records
from sash.slices.open_slice import OpenSlice
from sash.windows import Window
from sash.windows.base import Bounds, Ints

Results = dict[str, pa.Array]
"""By the names of aggregates."""


@dataclass(frozen=True)
class Slices:
    """The partials of records, as one pass keeps them."""

    fields: list[npt.NDArray[Any]]
    """A column for each field; interpreted, one column of partials."""
    shape: Shape | None
    """How the fields make a partial; None if they are Python's own, or values of rows."""
    counts: Counts
    ends: Ints | None = None
    """The row after the last one of each record; None if the rows are gone."""
    where: Where | None = None
    """What a message calls a record whose rows are gone, if anything is known of it."""


class PassOver:
    """A pass and the block that it goes over."""

    def __init__(self, one: Pass, block: Block) -> None:
        self.one = one
        self.block = block
        self.aggregates = list(one.aggregates.values())
        first = self.aggregates[0]
        self.columns: list[Column] = []
        self.decode: pa.Array | None = None
        self.objects: list[tuple[Any, ...]] = []
        if one.interpreted:
            columns = [self._read_objects(name) for name in first.columns]
            self.objects = list(zip(*columns, strict=True)) if columns else [()] * len(block)
            self.present = np.array([None not in row for row in self.objects], np.bool_)
            return
        for name, how in coding_of(one, block.table.schema):
            coded = block.number(name, how)
            self.columns.append(coded.column)
            self.decode = coded.values
        if not first.columns:
            self.columns = [block.ones()]
        self.bits: Bits = present_in_all(self.columns)
        self.inputs = tuple(column.values.dtype.name for column in self.columns[: first.inputs])

    def _read_objects(self, name: str) -> list[Any]:
        """Return a column as Python's own objects; in place of those that have an order of their own, their places in it."""
        kind = self.block.table.schema.field(name).type
        if not (pa.types.is_dictionary(kind) and kind.ordered and self.aggregates[0].codes):
            # Python compares and subtracts times of one zone by what its clocks show, which is wrong where they are put back.
            zoned = pa.types.is_timestamp(kind) and kind.tz is not None and is_built_in(self.aggregates[0])
            return self.block.objects(name, pa.timestamp(kind.unit, "UTC") if zoned else None)
        coded = self.block.number(name, "ordered")
        self.decode = coded.values
        valid = np.ones(len(coded.column), np.bool_)
        if len(coded.column.bits):
            valid = np.unpackbits(coded.column.bits, count=len(valid), bitorder="little").view(np.bool_)
        return [code if ok else None for code, ok in zip(coded.column.values.tolist(), valid, strict=True)]

    # -- over rows -------------------------------------------------------------------------------------------------

    def slide_rows(self, window: Window, bounds: Bounds) -> Results:
        """Return the results of windows that are stretches of rows, each kind by itself."""
        aggregates = self._for_window(window)
        if self.one.interpreted:
            return self._as_objects(aggregates[0], self._interpret(aggregates[0]).slide(self.one.algorithm, bounds))
        nullable = len(self.bits) > 0
        kernel = self._kernel(self.one.algorithm, aggregates, loops.slide_between, window.min_rows, nullable=nullable)
        with self.telling(lambda over: over.slide_rows(window, bounds)) as failed:
            kernel.where = lambda number: failed.at(self._name_row(int(bounds.ends[number]) - 1))
            answers = kernel.slide_between(self._values, bounds.begins, bounds.ends, self.bits)
        return self._as_results(answers)

    def as_slices(self) -> Slices:
        """Return rows in the place of slices, for windows of several kinds that share one structure."""
        every, ends = np.ones(len(self.block), np.bool_), np.arange(1, len(self.block) + 1)
        if self.one.interpreted:
            partials = self._interpret(self.aggregates[0]).lift_all()
            return Slices([partials], None, Counts(self.present.astype(np.int64), every), ends)
        present = np.ones(len(self.block), np.int64)
        if len(self.bits):
            present = np.unpackbits(self.bits, count=len(self.block), bitorder="little").astype(np.int64)
        return Slices(list(self._values), None, Counts(present, every), ends)

    # -- over slices -----------------------------------------------------------------------------------------------

    def cut(self, records: Records) -> Slices:
        """Return the partials of slices."""
        values = Counts(self._count_values(records), records.closes)
        if self.one.interpreted:
            return Slices([self._interpret(self.aggregates[0]).cut(records)], None, values, records.positions)
        kernel = self._kernel(OpenSlice, self.aggregates, loops.cut_slices, nullable=len(self.bits) > 0)
        with self.telling(lambda over: over.cut(records)):
            fields = kernel.cut_slices(self._values, records.positions, records.closes, self.bits)
        return Slices(fields, kernel.layout.shape, values, records.positions)

    def combining(self, shape: Shape | None) -> Kernel:
        """Return the kernel that makes fewer slices of slices."""
        return self._kernel(OpenSlice, self.aggregates, loops.cut_slices, nullable=True, over=shape)

    def slide_slices(self, windows: Sequence[Window], slices: Slices, reads: Sequence[Reads]) -> list[Results]:
        """Return the results of windows that are combined of slices: several kinds by one structure, in turns."""
        aggregates = self._for_window(windows[0])
        counts = slices.counts
        together = take_turns(reads, counts)
        turns = together.turns
        where = self._names_of(slices)
        if self.one.interpreted:
            made = self._interpret(aggregates[0]).slide_slices(
                self.one.algorithm, slices.fields[0], counts.present, turns, where
            )
            results = self._as_objects(aggregates[0], made)
        else:
            kernel = self._kernel(
                self.one.algorithm,
                aggregates,
                loops.slide_slices,
                windows[0].min_rows,
                nullable=True,
                over=slices.shape,
            )
            validity = NO_BITS if counts.all_present else np.packbits(counts.present, bitorder="little")
            with self.telling(slice_again(windows, slices, reads)) as failed:
                kernel.where = lambda number: failed.at(where(int(turns.ends[number]) - 1))
                answers = kernel.slide_slices(tuple(slices.fields), turns, validity)
            results = self._as_results(answers)
        return [
            {name: together.of_kind(number, column) for name, column in results.items()}
            for number in range(len(windows))
        ]

    def _kernel(
        self,
        algorithm: type[Algorithm[Any]],
        aggregates: list[Aggregate[Any]],
        loop: Any,
        least: int = 1,
        *,
        nullable: bool,
        over: Shape | None = None,
    ) -> Kernel:
        """Return a kernel for this pass."""

        def make() -> Kernel:
            return column_kernel(algorithm, aggregates, self.inputs, loop, nullable=nullable, over=over)

        key = (*self.one.aggregates, algorithm, loop, least, nullable, over, self.inputs)
        return self.block.source.kernels.get(key, make)

    # -- details ---------------------------------------------------------------------------------------------------

    @property
    def _values(self) -> tuple[npt.NDArray[Any], ...]:
        return tuple(column.values for column in self.columns)

    def _for_window(self, window: Window) -> list[Aggregate[Any]]:
        """Return the aggregates with what the window asks of the number of values."""
        if window.min_rows == 1:
            return self.aggregates
        return [with_least(aggregate, window.min_rows) for aggregate in self.aggregates]

    def _interpret(self, aggregate: Aggregate[Any]) -> Interpreter:
        return Interpreter(self.label, aggregate, self.objects, self.present, self._name_row)

    @property
    def label(self) -> str:
        """The names of the results and the aggregates, for errors."""
        return " and ".join(
            f"{name!r}: {aggregate.name}({', '.join(aggregate.columns)})"
            for name, aggregate in self.one.aggregates.items()
        )

    def telling(self, again: Callable[[PassOver], object] | None = None) -> Telling:
        """Note where compiled functions raise, by doing it again with a pass that is interpreted, if it can be done."""

        def runs() -> Iterator[Callable[[], object]]:
            if again is None:
                return
            for name, aggregate in self.one.aggregates.items():
                form = interpreted_form(aggregate, self.block.table.schema)
                alone = replace(self.one, aggregates={name: form}, interpreted="an error in it is looked for")
                yield partial(again, PassOver(alone, self.block))

        return Telling(self.label, runs)

    def _name_row(self, place: int) -> str:
        """Return how an error calls a row: by its key and its time."""
        layout = self.block.layout
        row = int(self.block.given(np.array([place]))[0])
        names = [*layout.by, *([layout.time.name] if layout.time else [])]
        if not names:
            return f"row {self.block.source.first + row}"
        return f"the row of {name_row(self.block.table, names, row)}"

    def _names_of(self, slices: Slices) -> Where:
        ends = slices.ends
        if ends is not None:
            return lambda record: self._name_row(int(ends[record]) - 1)
        return slices.where or (lambda _: "")

    def _count_values(self, records: Records) -> Ints:
        """Return how many rows with a value each record holds: those since its slice began."""
        if self.one.interpreted or len(self.bits):
            present = (
                self.present
                if self.one.interpreted
                else np.unpackbits(self.bits, count=len(self.block), bitorder="little")
            )
            before = np.zeros(len(self.block) + 1, np.int64)
            np.cumsum(present, out=before[1:])
            ends = before[records.positions]
        else:
            ends = records.positions
        begins = np.concatenate([np.zeros(1, np.int64), ends[records.closes]])
        values: Ints = ends - begins[np.cumsum(records.closes) - records.closes]
        return values

    def _as_results(self, answers: list[ResultColumn]) -> Results:
        results = {}
        for (name, aggregate), answer in zip(self.one.aggregates.items(), answers, strict=True):
            if answer.bits is not None and len(answer.values) and answer.valid.all():
                answer = replace(answer, bits=None)  # noqa: PLW2901 — as Arrow has it
            array = results_to_arrow(answer, aggregate, self.columns)
            if aggregate.gives == "value" and self.decode is not None:
                array = decoded(array, self.decode, self.block.table.schema.field(aggregate.columns[-1]).type)
            results[name] = array
        return results

    def _as_objects(self, aggregate: Aggregate[Any], results: list[Any]) -> Results:
        [name] = self.one.aggregates
        types = [self.block.table.schema.field(column).type for column in aggregate.columns]
        if aggregate.gives == "value" and self.decode is not None:
            return {name: decoded(pa.array(results, pa.int32()), self.decode, types[-1])}
        return {name: interpreted_to_arrow(aggregate, results, types)}


def coding_of(one: Pass, schema: pa.Schema) -> list[tuple[str, str]]:
    """Return the columns of a pass and how their values are replaced by numbers: not at all, if they are numbers."""
    first = next(iter(one.aggregates.values()))
    return [
        (name, "" if is_number(schema.field(name).type) else first.codes[place])
        for place, name in enumerate(first.columns)
    ]


def slice_again(
    windows: Sequence[Window], slices: Slices, reads: Sequence[Reads]
) -> Callable[[PassOver], object] | None:
    """Return what cuts the same slices with another pass and answers the same windows, unless their rows are gone."""
    if slices.ends is None:
        return None
    nothing = np.empty(0, np.int64)
    records = Records(slices.ends, slices.counts.closes, nothing, nothing)
    return lambda over: over.slide_slices(windows, over.cut(records), reads)


def interpreted_form(aggregate: Aggregate[Any], schema: pa.Schema) -> Aggregate[Any]:
    """Return the form of an aggregate for the numbers of its column; kernels find theirs themselves."""
    if aggregate.inputs != 1:
        return aggregate
    [column] = aggregate.columns
    kind = schema.field(column).type
    times = pa.types.is_temporal(kind) or pa.types.is_null(kind)  # Python's own, or none
    return aggregate if times else aggregate.of_kind(kind_of(kind))


def kind_of(kind: pa.DataType) -> str:
    """Return the kind of a column's values, as aggregates have forms for it."""
    return KINDS[empty_column(kind).values.dtype.name] if is_number(kind) else "object"


def decoded(codes: pa.Array, values: pa.Array, given: pa.DataType) -> pa.Array:
    """Return the values that numbers stand for, in the type of the column."""
    if not pa.types.is_dictionary(given):
        return values.take(codes)
    if len(values) <= np.iinfo(given.index_type.to_pandas_dtype()).max:
        codes = codes.cast(given.index_type)
    return pa.DictionaryArray.from_arrays(codes, values, ordered=given.ordered)


def with_least(aggregate: Aggregate[Any], least: int) -> Aggregate[Any]:
    """Return an aggregate that gives null for fewer than so many values, a count too.

    >>> from sash import agg
    >>> with_least(agg.count(), 3).empty is None
    True
    """
    variants: Mapping[str, Aggregate[Any]] = {
        kind: with_least(variant, least) for kind, variant in aggregate.variants.items()
    }
    return replace(aggregate, at_least=max(least, aggregate.at_least), empty=None, variants=variants)


def is_number(kind: pa.DataType) -> bool:
    """Tell whether a kernel takes a column of this type as it is."""
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_null(kind)
        or (pa.types.is_temporal(kind) and kind.bit_width in (32, 64))
    )
