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
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sash.aggregates.base import Aggregate
from sash.algorithms.base import Algorithm
from sash.kernels.kernel_io import NO_BITS, Bits, Columns, Positions, ResultColumn, Schedule
from sash.kernels.layout import PartialLayout, Shape
from sash.kernels.parts import KINDS, PartialPart, PartialParts, share_parts, whole_shape
from sash.kernels.traced import CannotVectorizeError
from sash.kernels.vectorize import Partial, VectorFunction, vectorize

if TYPE_CHECKING:
    from sash.kernels.kernel import Kernel

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

    def __init__(
        self,
        algorithm: type[Algorithm[Any]],
        aggregates: Sequence[Aggregate[Any]],
        inputs: tuple[str, ...],
        over: Shape | None = None,
        compile_it: Callable[[], Kernel] | None = None,
    ) -> None:
        """Raise CannotVectorizeError if an aggregate cannot be vectorised.

        `over` is the shape of partials that replace rows. `compile_it` returns the compiled kernel, which takes over where
        vectorised functions cannot go on: it raises the errors of the user's functions, for example.
        """
        self.aggregates = [_form_for(algorithm, one, inputs) for one in aggregates]
        self.inputs = inputs
        self.over = over
        self.compile_it = compile_it
        self.where: Callable[[int], str] = "row {}".format
        """The name of a row in errors."""
        self.parts: PartialParts = share_parts(self.aggregates, inputs)
        self.combines = [vectorize(part.aggregate.combine) for part in self.parts.parts]
        self.lowers = [vectorize(output.lower) for output in self.parts.outputs]
        self.shapes = _shapes_of(over, len(self.parts.parts)) if over is not None else self._infer_shapes()
        self.results = [
            _result_type(lower, self.shapes[output.part])
            for lower, output in zip(self.lowers, self.parts.outputs, strict=True)
        ]

    @property
    def layout(self) -> PartialLayout:
        """The layout of a partial in flat columns."""
        return PartialLayout(whole_shape(self.shapes))

    # -- the methods of a kernel -------------------------------------------------------------------------------------

    def slide_between(
        self, columns: Columns, begins: Positions, ends: Positions, validity: Bits = NO_BITS
    ) -> list[ResultColumn]:
        """Return the aggregates of the rows begins[n] … ends[n] - 1 for each window n."""
        try:
            partials, first, after = self._present(columns, begins, ends, validity)
            return self._results(self._slide(partials, first, after), after - first)
        except CannotVectorizeError:
            return self._compiled().slide_between(columns, begins, ends, validity)

    def cut_slices(
        self, columns: Columns, positions: Positions, closes: Flags, validity: Bits = NO_BITS
    ) -> list[npt.NDArray[Any]]:
        """Return the fields of the open slice's partial at each position; undefined where the slice has no value."""
        begins = np.zeros_like(positions)
        closed = np.flatnonzero(closes)
        if len(positions):
            before: Positions = np.cumsum(closes) - closes  # the number of slices that closed before each record
            begins = np.concatenate([np.zeros(1, np.int64), positions[closed]])[before]
        try:
            partials, first, after = self._present(columns, begins, positions, validity)
            made = self._slide(partials, first, after)
        except CannotVectorizeError:
            return self._compiled().cut_slices(columns, positions, closes, validity)
        return [np.ascontiguousarray(field) for part in made for field in _fields(part)]

    def slide_slices(self, columns: Columns, schedule: Schedule, validity: Bits = NO_BITS) -> list[ResultColumn]:
        """Return the aggregates of windows that are combined from slices; see `loops.slide_slices`."""
        try:
            every = self._lift(columns)
            chosen, ends = every, schedule.ends
            if len(validity):
                present = np.unpackbits(validity, count=len(columns[0]), bitorder="little").view(np.bool_)
                chosen, ends = [_take(part, present) for part in every], _count_before(present)[ends]
            made = self._slide(chosen, ends - schedule.lasts, ends)
            return self._results(self._with_open(made, every, schedule), schedule.values)
        except CannotVectorizeError:
            return self._compiled().slide_slices(columns, schedule, validity)

    def _compiled(self) -> Kernel:
        """Return the compiled kernel."""
        if self.compile_it is None:
            raise  # noqa: PLE0704 — in an except clause of the caller
        kernel = self.compile_it()
        kernel.where = self.where
        return kernel

    # -- lift --------------------------------------------------------------------------------------------------------

    def _lift(self, columns: Columns) -> list[Partial]:
        """Return the partial of each item, one for each part."""
        if self.over is not None:
            fields = iter(columns)
            return [_build(shape, fields) for shape in self.shapes]
        rows = len(columns[0])
        lifted = []
        for part, shape in zip(self.parts.parts, self.shapes, strict=True):
            given = [columns[place] for place in part.columns]
            lifted.append(_cast(self._lift_part(part, given, rows), shape))
        return lifted

    def _lift_part(self, part: PartialPart, given: Sequence[npt.NDArray[Any]], rows: int) -> Partial:
        lift = vectorize(part.aggregate.lift)
        if part.aggregate.inputs:
            return lift(*self._read(part, given))
        return _repeat(lift(), rows)  # a count of rows reads no column

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
            while (wider := _shape_of(made)) != shape:  # types only widen, so this ends
                shape = wider
                made = _widen(made, combine.example(made, made))
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
        items = len(_fields(partials[0])[0])
        apart = int(lengths.sum()) <= 2 * items  # windows that hardly overlap
        made = []
        for part, combine, shape in zip(partials, self.combines, self.shapes, strict=True):

            def merge(older: Partial, newer: Partial, combine: Any = combine, shape: Shape = shape) -> Partial:
                return _cast(combine(older, newer), shape)

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
            whole = _cast(_copy_of(part), shape)
            _put(whole, only, _take(items, schedule.opens[only]))
            if len(both):
                _put(whole, both, _cast(combine(_take(whole, both), _take(items, schedule.opens[both])), shape))
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
            if enough.all():
                columns.append(
                    ResultColumn(
                        np.ascontiguousarray(_cast(lower(part), str(kind))) if len(held) else np.empty(0, kind), None
                    )
                )
                continue
            values = np.full(len(held), 0 if aggregate.empty is None else aggregate.empty, kind)
            if enough.any():
                values[enough] = _cast(lower(_take(part, enough)), str(kind))
            bits = None if aggregate.empty is not None else np.packbits(enough, bitorder="little")
            columns.append(ResultColumn(values, bits))
        return columns


def _count_before(present: Flags) -> Positions:
    before = np.zeros(len(present) + 1, np.int64)
    np.cumsum(present, out=before[1:])
    return before


# -- windows ---------------------------------------------------------------------------------------------------------

Merge = Callable[[Partial, Partial], Partial]
BLOCK = 1 << 14
"""The number of windows that are combined together, at least."""


def double_in_blocks(combine: Merge, items: Partial, begins: Positions, ends: Positions) -> Partial:
    """Return the partial of each window, for some windows after the other: their items stay in the processor cache."""
    lengths = ends - begins
    size = max(BLOCK, 4 * int(lengths.max(initial=0)))
    whole = _empty_like(items, len(ends))
    for first in range(0, len(ends), size):
        block = slice(first, first + size)
        begin, end = int(begins[block].min()), int(ends[block].max())
        partials = double(combine, _take(items, slice(begin, end)), ends[block] - begin, lengths[block])
        for field, own in zip(_fields(whole), _fields(partials), strict=True):
            field[block] = own
    return whole


def double(combine: Merge, items: Partial, ends: Positions, lengths: Positions) -> Partial:
    """Return the partial of the newest lengths[n] items before ends[n], from partials of 1, 2, 4, … items."""
    whole = _empty_like(items, len(ends))
    stops = ends.copy()
    longest = int(lengths.max(initial=0))
    size, partials = 1, items
    while size <= longest:
        chosen = np.flatnonzero(lengths & size)
        if len(chosen):
            starts = stops[chosen] - size
            older = _take(partials, starts)
            newer_exists = (lengths[chosen] & (size - 1)) > 0
            if newer_exists.all():
                _put(whole, chosen, combine(older, _take(whole, chosen)))
            elif not newer_exists.any():
                _put(whole, chosen, older)
            else:
                both = chosen[newer_exists]
                _put(whole, chosen[~newer_exists], _take(older, ~newer_exists))
                _put(whole, both, combine(_take(older, newer_exists), _take(whole, both)))
            stops[chosen] = starts
        size *= 2
        if size <= longest:
            half = size // 2
            partials = combine(_take(partials, slice(None, -half)), _take(partials, slice(half, None)))
    return whole


def reduce_runs(combine: Merge, items: Partial, begins: Positions, lengths: Positions) -> Partial:
    """Return the partial of each run of items. Neighbours are combined in pairs until each run has one partial."""
    whole = _empty_like(items, len(begins))
    runs = np.flatnonzero(lengths)
    left = lengths[runs]
    firsts = np.cumsum(left) - left
    partials = items
    in_order = len(runs) and bool((begins[runs] == firsts + begins[runs[0]]).all())
    if in_order:
        partials = _take(items, slice(int(begins[runs[0]]), int(begins[runs[-1]] + left[-1])))
    else:
        partials = _take(items, np.repeat(begins[runs] - firsts, left) + np.arange(int(left.sum())))
    while len(left) and left.max() > 1:
        places = np.arange(int(left.sum())) - np.repeat(np.cumsum(left) - left, left)
        older = np.flatnonzero(places % 2 == 0)
        has_newer = places[older] + 1 < np.repeat(left, (left + 1) // 2)
        kept = _take(partials, older)
        if has_newer.all():
            partials = combine(kept, _take(partials, older + 1))
        else:
            pairs = np.flatnonzero(has_newer)
            merged = combine(_take(kept, pairs), _take(partials, older[pairs] + 1))
            kept = _copy_of(kept)
            _put(kept, pairs, merged)
            partials = kept
        left = (left + 1) // 2
    _put(whole, runs, partials)
    return whole


# -- partials as nested tuples of columns ------------------------------------------------------------------------------


def _fields(partial: Partial) -> list[npt.NDArray[Any]]:
    return [field for part in partial for field in _fields(part)] if isinstance(partial, tuple) else [partial]


def _map(function: Callable[[npt.NDArray[Any]], npt.NDArray[Any]], partial: Partial) -> Partial:
    return tuple(_map(function, part) for part in partial) if isinstance(partial, tuple) else function(partial)


def _take(partial: Partial, places: Any) -> Partial:
    return _map(lambda field: field[places], partial)


def _put(partial: Partial, places: Positions, values: Partial) -> None:
    for field, own in zip(_fields(partial), _fields(values), strict=True):
        field[places] = own


def _copy_of(partial: Partial) -> Partial:
    return _map(np.copy, partial)


def _repeat(partial: Partial, rows: int) -> Partial:
    return _map(lambda field: np.repeat(field, rows), partial)


def _empty_like(partial: Partial, rows: int) -> Partial:
    return _map(lambda field: np.zeros(rows, field.dtype), partial)


def _cast(partial: Partial, shape: Shape) -> Partial:
    """Return a partial with the types of a shape: lift may return an integer where combine returns a float."""
    if isinstance(shape, str):
        if not np.can_cast(partial.dtype, shape, "same_kind"):  # nothing is ever rounded here
            message = f"it returns {partial.dtype} where {shape} was expected."
            raise CannotVectorizeError(message)
        return partial if partial.dtype == shape else partial.astype(shape)
    return tuple(_cast(part, own) for part, own in zip(partial, shape, strict=True))


def _shape_of(partial: Partial) -> Shape:
    return tuple(_shape_of(part) for part in partial) if isinstance(partial, tuple) else str(partial.dtype)


def _widen(one: Partial, other: Partial) -> Partial:
    """Return a partial with the wider type of each field. Raise CannotVectorizeError if the partials have different forms."""
    if isinstance(one, tuple) != isinstance(other, tuple) or (isinstance(one, tuple) and len(one) != len(other)):
        message = "combine returns a partial of another form than lift."
        raise CannotVectorizeError(message)
    if isinstance(one, tuple):
        return tuple(_widen(mine, yours) for mine, yours in zip(one, other, strict=True))
    return one.astype(np.promote_types(one.dtype, other.dtype))


def _shapes_of(whole: Shape, parts: int) -> list[Shape]:
    return [whole] if parts == 1 else list(whole)


def _build(shape: Shape, fields: Any) -> Partial:
    return next(fields) if isinstance(shape, str) else tuple(_build(part, fields) for part in shape)


def _result_type(lower: VectorFunction, shape: Shape) -> np.dtype[Any]:
    """Return the type that lower returns."""
    result = lower.example(_ones(shape))
    if not isinstance(result, np.ndarray):
        message = "a result is not one number."
        raise CannotVectorizeError(message)
    kind: np.dtype[Any] = result.dtype
    return kind


def _ones(shape: Shape) -> Partial:
    return np.ones(1, shape) if isinstance(shape, str) else tuple(_ones(part) for part in shape)


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
