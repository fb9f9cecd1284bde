"""NumpyKernel: the methods of a kernel, evaluated with NumPy. It needs no compilation, and no import of Numba.

The functions of an aggregate are vectorised (`vectorize`). Windows are combined from partials of 1, 2, 4, … neighbouring items, so a
window of 1,000 rows takes ten steps over whole columns, whatever the number of windows:

    items        a b c d e f g            window b … f: five items, 5 = 4 + 1
    pairs        ab bc cd de ef fg        f, then bcde before it
    fours        abcd bcde cdef defg

Slices do not overlap. They are combined in pairs until one partial is left. Items stay in order, so combine need not commute.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from sash.aggregates.base import Aggregate
from sash.algorithms.base import Algorithm
from sash.kernels.doubling import double_in_blocks, reduce_runs
from sash.kernels.kernel_io import NO_BITS, Bits, Columns, Positions, ResultColumn, Schedule, null_if_few
from sash.kernels.layout import PartialLayout, Shape
from sash.kernels.partial_columns import (
    Partial,
    build,
    cast,
    copy_of,
    fields_of,
    ones,
    put,
    repeat,
    shape_of,
    shapes_of,
    take,
    widen,
)
from sash.kernels.parts import KINDS, PartialPart, PartialParts, share_parts, whole_shape
from sash.kernels.traced import CannotVectorizeError
from sash.kernels.vectorize import VectorFunction, vectorize

Flags = npt.NDArray[np.bool_]


class NumpyKernel:
    """The aggregates of one pass, evaluated with NumPy.

    >>> from sash import agg
    >>> from sash.algorithms import TwoStacks
    >>> kernel = NumpyKernel(TwoStacks, [agg.max()], ("float64",))
    >>> [result] = kernel.slide_between((np.array([3.0, 1.0, 2.0]),), np.array([0, 0, 1]), np.array([1, 2, 3]))
    >>> result.values.tolist()
    [3.0, 3.0, 2.0]
    """

    seconds_per_row: ClassVar[float] = 0.3e-6
    """The expected time of a row and an aggregate."""

    def __init__(
        self,
        algorithm: type[Algorithm[Any]],
        aggregates: Sequence[Aggregate[Any]],
        inputs: tuple[str, ...],
        over: Shape | None = None,
    ) -> None:
        """Raise CannotVectorizeError if an aggregate cannot be vectorised; `over` is the shape of partials that replace rows."""
        self.aggregates = [_form_for(algorithm, one, inputs) for one in aggregates]
        self.inputs = inputs
        self.over = over
        self.where: Callable[[int], str] = "row {}".format
        """The name of a row in errors."""
        self.parts: PartialParts = share_parts(self.aggregates, inputs)
        self.combines = [vectorize(part.aggregate.combine) for part in self.parts.parts]
        self.lowers = [vectorize(output.lower) for output in self.parts.outputs]
        self.shapes = shapes_of(over, len(self.parts.parts)) if over is not None else self._infer_shapes()
        self.results = [
            _result_type(lower, self.shapes[output.part])
            for lower, output in zip(self.lowers, self.parts.outputs, strict=True)
        ]

    def twin(self) -> Self:
        """Return the same kernel with a `where` of its own, for another thread."""
        return copy(self)

    @property
    def layout(self) -> PartialLayout:
        """The layout of a partial in flat columns."""
        return PartialLayout(whole_shape(self.shapes))

    # -- the methods of a kernel -------------------------------------------------------------------------------------

    def slide_between(
        self, columns: Columns, begins: Positions, ends: Positions, validity: Bits = NO_BITS
    ) -> list[ResultColumn]:
        """Return the aggregates of the rows begins[n] … ends[n] - 1 for each window n."""
        partials, first, after = self._present(columns, begins, ends, validity)
        return self._results(self._slide(partials, first, after), after - first)

    def cut_slices(
        self, columns: Columns, positions: Positions, closes: Flags, validity: Bits = NO_BITS
    ) -> list[npt.NDArray[Any]]:
        """Return the fields of the open slice's partial at each position; undefined where the slice has no value."""
        begins = np.zeros_like(positions)
        closed = np.flatnonzero(closes)
        if len(positions):
            before: Positions = np.cumsum(closes) - closes  # the number of slices that closed before each record
            begins = np.concatenate([np.zeros(1, np.int64), positions[closed]])[before]
        partials, first, after = self._present(columns, begins, positions, validity)
        made = self._slide(partials, first, after)
        return [np.ascontiguousarray(field) for part in made for field in fields_of(part)]

    def slide_slices(self, columns: Columns, schedule: Schedule, validity: Bits = NO_BITS) -> list[ResultColumn]:
        """Return the aggregates of windows that are combined from slices; see `loops.slide_slices`."""
        every = self._lift(columns)
        chosen, ends = every, schedule.ends
        if len(validity):
            present = np.unpackbits(validity, count=len(columns[0]), bitorder="little").view(np.bool_)
            chosen, ends = [take(part, present) for part in every], _count_before(present)[ends]
        made = self._slide(chosen, ends - schedule.lasts, ends)
        return self._results(self._with_open(made, every, schedule), schedule.values)

    def combine_runs(
        self, columns: Columns, runs: int, values: Positions, validity: Bits = NO_BITS
    ) -> list[ResultColumn]:
        """Return the aggregates of windows that are combined from so many runs; see `loops.combine_runs`."""
        windows = np.arange(len(values))
        every = self._lift(columns)
        held = np.ones((runs, len(values)), np.bool_)
        if len(validity):
            held = np.unpackbits(validity, count=held.size, bitorder="little").view(np.bool_).reshape(held.shape)
        made = [self._combine_runs(number, part, windows, held) for number, part in enumerate(every)]
        return self._results(made, values)

    def _combine_runs(self, number: int, records: Partial, windows: Positions, held: Flags) -> Partial:
        """Return one part of the partial of each window; undefined if the window holds nothing."""
        combine, shape = self.combines[number], self.shapes[number]
        whole = cast(copy_of(take(records, windows)), shape)
        begun = held[0].copy()
        for run in range(1, len(held)):
            own = windows + run * len(windows)
            both, only = np.flatnonzero(begun & held[run]), np.flatnonzero(~begun & held[run])
            put(whole, only, take(records, own[only]))
            if len(both):
                put(whole, both, cast(combine(take(whole, both), take(records, own[both])), shape))
            begun |= held[run]
        return whole

    # -- lift --------------------------------------------------------------------------------------------------------

    def _lift(self, columns: Columns) -> list[Partial]:
        """Return the partial of each item, one for each part."""
        if self.over is not None:
            fields = iter(columns)
            return [build(shape, fields) for shape in self.shapes]
        rows = len(columns[0])
        lifted = []
        for part, shape in zip(self.parts.parts, self.shapes, strict=True):
            given = [columns[place] for place in part.columns]
            lifted.append(cast(self._lift_part(part, given, rows), shape))
        return lifted

    def _lift_part(self, part: PartialPart, given: Sequence[npt.NDArray[Any]], rows: int) -> Partial:
        lift = vectorize(part.aggregate.lift)
        if part.aggregate.inputs:
            return lift(*self._read(part, given))
        return repeat(lift(), rows)  # a count of rows reads no column

    def _example_of(self, part: PartialPart, given: Sequence[npt.NDArray[Any]]) -> Partial:
        """Return a partial with the types that lift may return."""
        return vectorize(part.aggregate.lift).example(*(self._read(part, given) if part.aggregate.inputs else ()))

    def _read(self, part: PartialPart, given: Sequence[npt.NDArray[Any]]) -> list[npt.NDArray[Any]]:
        return [column.astype(kind, copy=False) for column, kind in zip(given, self.parts.read_as(part), strict=True)]

    def _infer_shapes(self) -> list[Shape]:
        """Return the shape of each part: of what lift returns, widened by what combine returns."""
        shapes: list[Shape] = []
        for part, combine in zip(self.parts.parts, self.combines, strict=True):
            given = [np.ones(1, self.inputs[place]) for place in part.columns]
            made = self._example_of(part, given)
            shape: Shape = ""
            while (wider := shape_of(made)) != shape:  # types only widen, so this ends
                shape = wider
                made = widen(made, combine.example(made, made))
            shapes.append(shape)
        return shapes

    def _present(
        self, columns: Columns, begins: Positions, ends: Positions, validity: Bits
    ) -> tuple[list[Partial], Positions, Positions]:
        """Return the partials of rows with values, and the windows as runs of them."""
        if not len(validity):
            return self._lift(columns), begins, ends
        present = np.unpackbits(validity, count=len(columns[0]), bitorder="little").view(np.bool_)
        before = _count_before(present)
        return self._lift(tuple(column[present] for column in columns)), before[begins], before[ends]

    # -- combine -----------------------------------------------------------------------------------------------------

    def _slide(self, partials: Sequence[Partial], begins: Positions, ends: Positions) -> list[Partial]:
        """Return the partial of the items begins[n] … ends[n] - 1 for each window n; undefined if there are none."""
        lengths = ends - begins
        items = len(fields_of(partials[0])[0])
        apart = int(lengths.sum()) <= 2 * items  # windows that hardly overlap
        made = []
        for part, combine, shape in zip(partials, self.combines, self.shapes, strict=True):

            def merge(older: Partial, newer: Partial, combine: Any = combine, shape: Shape = shape) -> Partial:
                return cast(combine(older, newer), shape)

            if apart:
                made.append(reduce_runs(merge, part, begins, lengths))
            else:
                made.append(double_in_blocks(merge, part, begins, ends))
        return made

    def _with_open(self, made: list[Partial], every: list[Partial], schedule: Schedule) -> list[Partial]:
        """Combine windows with the slices that they read while these are open."""
        opened = schedule.opens >= 0
        if not opened.any():
            return made
        both, only = np.flatnonzero(opened & (schedule.lasts > 0)), np.flatnonzero(opened & (schedule.lasts == 0))
        finished = []
        for part, items, combine, shape in zip(made, every, self.combines, self.shapes, strict=True):
            whole = cast(copy_of(part), shape)
            put(whole, only, take(items, schedule.opens[only]))
            if len(both):
                put(whole, both, cast(combine(take(whole, both), take(items, schedule.opens[both])), shape))
            finished.append(whole)
        return finished

    # -- lower -------------------------------------------------------------------------------------------------------

    def _results(self, made: Sequence[Partial], held: Positions) -> list[ResultColumn]:
        """Return the results of windows that have enough values, and the result of an empty window for the others."""
        columns = []
        for output, lower, kind, aggregate in zip(
            self.parts.outputs, self.lowers, self.results, self.aggregates, strict=True
        ):
            part = made[output.part]
            enough = held >= (1 if output.held is not None else max(1, output.at_least))
            if output.held is not None:
                enough = enough & (part[output.held] >= output.at_least)
            values = np.zeros(len(held), kind)
            if len(held) and enough.all():
                values = np.ascontiguousarray(cast(lower(part), str(kind)))
            elif enough.any():
                values[enough] = cast(lower(take(part, enough)), str(kind))
            columns.append(null_if_few(values, ~enough, aggregate.empty))
        return columns


def _count_before(present: Flags) -> Positions:
    before = np.zeros(len(present) + 1, np.int64)
    np.cumsum(present, out=before[1:])
    return before


def _result_type(lower: VectorFunction, shape: Shape) -> np.dtype[Any]:
    """Return the type that lower returns."""
    result = lower.example(ones(shape))
    if not isinstance(result, np.ndarray):
        message = "a result is not one number."
        raise CannotVectorizeError(message)
    kind: np.dtype[Any] = result.dtype
    return kind


def _form_for(algorithm: type[Algorithm[Any]], aggregate: Aggregate[Any], inputs: tuple[str, ...]) -> Aggregate[Any]:
    """Return the form of an aggregate for columns of these types. Raise CannotVectorizeError if it cannot be vectorised."""
    form = aggregate.of_kind(KINDS[inputs[0]]) if len(inputs) == 1 else aggregate
    if algorithm.keeps_values or algorithm.interpreted_only or form.interpreted_only or form.holistic:
        message = f"{aggregate.name} needs the values of a window."
        raise CannotVectorizeError(message)
    if not aggregate.is_built_in and not {"int64", "float64"}.issuperset(inputs):
        message = f"the results of {aggregate.name} may have other types over columns of {', '.join(inputs)}."
        raise CannotVectorizeError(message)
    return form
