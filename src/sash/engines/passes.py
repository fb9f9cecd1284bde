"""One pass of a plan over a block: rows → slices → results, compiled or interpreted by the same loops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sash.aggregates.base import Aggregate
from sash.aggregator.columns import Column, present_in_all, results_to_arrow
from sash.algorithms import OrderStatisticsTree
from sash.engines.block import Block
from sash.engines.results import interpreted_to_arrow
from sash.kernels import Kernel, loops
from sash.kernels.kernel import NO_BITS, Answer, Bits
from sash.kernels.layout import Shape
from sash.kernels.ranks import RankKernel
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
    shape: Shape
    """How the fields make a partial; "object" if interpreted."""
    values: Ints
    """How many rows with a value are in each record."""
    closes: npt.NDArray[np.bool_]


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
            columns = [block.objects(name) for name in first.columns]
            self.objects = list(zip(*columns, strict=True)) if columns else [()] * len(block)
            self.present = np.array([None not in row for row in self.objects], np.bool_)
            return
        for place, name in enumerate(first.columns):
            coded = block.number(name, self._code(place, name))
            self.columns.append(coded.column)
            self.decode = coded.values
        if not first.columns:
            self.columns = [block.ones()]
        self.bits: Bits = present_in_all(self.columns)
        self.inputs = tuple(column.values.dtype.name for column in self.columns[: first.inputs])

    def _code(self, place: int, name: str) -> str:
        """Return how the values of a column are replaced by numbers: not at all, if they are numbers."""
        return "" if is_number(self.block.table.schema.field(name).type) else self.aggregates[0].codes[place]

    # -- over rows -------------------------------------------------------------------------------------------------

    def slide_rows(self, window: Window, bounds: Bounds) -> Results:
        """Return the results of windows that are stretches of rows."""
        aggregates = self._for_window(window)
        if self.one.interpreted:
            return self._interpret(
                aggregates,
                bounds,
                [aggregates[0].lift(*row) if ok else None for row, ok in zip(self.objects, self.present, strict=True)],
            )
        if self.one.algorithm is OrderStatisticsTree:  # what is known as a whole can be sorted beforehand
            kernel: Kernel = RankKernel(aggregates[0], self.inputs)
        else:
            kernel = Kernel(
                self.one.algorithm, aggregates, self.inputs, loops.slide_between, nullable=len(self.bits) > 0
            )
        return self._as_results(kernel.slide_between(self._values, bounds.begins, bounds.ends, self.bits))

    # -- over slices -----------------------------------------------------------------------------------------------

    def cut(self, records: Records) -> Slices:
        """Return the partials of slices."""
        values = self._count_values(records)
        if self.one.interpreted:
            partials = np.empty(len(records), object)
            lift = self.aggregates[0].lift

            def keep(record: int, partial: Any) -> None:
                partials[record] = partial

            loops.cut_slices(
                OpenSlice(self.aggregates[0]),
                len(records),
                records.positions.tolist(),
                records.closes.tolist(),
                lambda row: bool(self.present[row]),
                lambda row: lift(*self.objects[row]),
                keep,
            )
            return Slices([partials], "object", values, records.closes)
        kernel = Kernel(OpenSlice, self.aggregates, self.inputs, loops.cut_slices, nullable=len(self.bits) > 0)
        fields = kernel.cut_slices(self._values, records.positions, records.closes, self.bits)
        return Slices(fields, kernel.layout.shape, values, records.closes)

    def slide_slices(self, window: Window, slices: Slices, reads: Reads) -> Results:
        """Return the results of windows that are combined of slices."""
        aggregates = self._for_window(window)
        present = slices.closes & (slices.values > 0)
        before = np.zeros(len(present) + 1, np.int64)
        np.cumsum(np.where(slices.closes, slices.values, 0), out=before[1:])
        held = before[reads.ends] - before[reads.begins]
        opens = reads.opens
        if len(slices.values):
            read_open = np.where(opens >= 0, slices.values[opens], 0)
            held += read_open
            opens = np.where(read_open > 0, opens, -1)
        if self.one.interpreted:
            return self._interpret_slices(aggregates[0], slices.fields[0], present, reads, opens, held)
        kernel = Kernel(
            self.one.algorithm, aggregates, self.inputs, loops.slide_slices, nullable=True, over=slices.shape
        )
        validity = NO_BITS if present.all() else np.packbits(present, bitorder="little")
        return self._as_results(
            kernel.slide_slices(tuple(slices.fields), reads.begins, reads.ends, opens, held, validity)
        )

    # -- details ---------------------------------------------------------------------------------------------------

    @property
    def _values(self) -> tuple[npt.NDArray[Any], ...]:
        return tuple(column.values for column in self.columns)

    def _for_window(self, window: Window) -> list[Aggregate[Any]]:
        """Return the aggregates with what the window asks of the number of values."""
        if window.min_rows == 1:
            return self.aggregates
        return [with_least(aggregate, window.min_rows) for aggregate in self.aggregates]

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

    def _as_results(self, answers: list[Answer]) -> Results:
        results = {}
        for (name, aggregate), answer in zip(self.one.aggregates.items(), answers, strict=True):
            if answer.bits is not None and len(answer.values) and answer.valid.all():
                answer = replace(answer, bits=None)  # noqa: PLW2901 — as Arrow has it
            array = results_to_arrow(answer, aggregate, self.columns)
            if aggregate.gives == "value" and self.decode is not None:
                array = self.decode.take(array)
                given = self.block.table.schema.field(aggregate.columns[-1]).type
                array = array.cast(given) if array.type != given else array
            results[name] = array
        return results

    def _interpret(self, aggregates: list[Aggregate[Any]], bounds: Bounds, partials: list[Any]) -> Results:
        """Slide over partials of rows, by the same loop as compiled."""
        aggregate = aggregates[0]
        results = [aggregate.empty] * len(bounds)

        def emit(row: int, _: int, partial: Any) -> None:
            results[row] = aggregate.lower(partial)

        loops.slide_between(
            self.one.algorithm(aggregate),
            len(bounds),
            bounds.begins.tolist(),
            bounds.ends.tolist(),
            max(1, aggregate.at_least),
            lambda row: bool(self.present[row]),
            lambda row: partials[row],
            emit,
        )
        return self._as_objects(aggregate, results)

    def _interpret_slices(
        self, aggregate: Aggregate[Any], partials: npt.NDArray[Any], present: Any, reads: Reads, opens: Ints, held: Ints
    ) -> Results:
        results = [aggregate.empty] * len(held)

        def emit(row: int, _: int, partial: Any) -> None:
            results[row] = aggregate.lower(partial)

        loops.slide_slices(
            self.one.algorithm(aggregate),
            len(held),
            reads.begins.tolist(),
            reads.ends.tolist(),
            opens.tolist(),
            held.tolist(),
            max(1, aggregate.at_least),
            lambda record: bool(present[record]),
            lambda record: partials[record],
            emit,
        )
        return self._as_objects(aggregate, results)

    def _as_objects(self, aggregate: Aggregate[Any], results: list[Any]) -> Results:
        [name] = self.one.aggregates
        types = [self.block.table.schema.field(column).type for column in aggregate.columns]
        return {name: interpreted_to_arrow(aggregate, results, types)}


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
