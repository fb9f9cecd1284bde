"""NumpyKernel: the methods of a kernel, evaluated with NumPy. It needs no compilation, and no import of Numba.

The functions of an aggregate are vectorised (`vectorize`). Windows are combined from partials of 1, 2, 4, … neighbouring items, so a
window of 1,000 rows takes ten steps over whole columns, whatever the number of windows:

    items        a b c d e f g            window b … f: five items, 5 = 4 + 1
    pairs        ab bc cd de ef fg        f, then bcde before it
    fours        abcd bcde cdef defg

Windows apart, as slices are, are combined in pairs until one partial is left. Items stay in order, so combine need not commute.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from sash.aggregates.base import Aggregate
from sash.algorithms.base import Algorithm
from sash.columns.buffers import NO_BITS, Bits, Flags, unpack
from sash.columns.column_types import KINDS
from sash.kernels.fused_partial import Component, PartialLayout, Shape, fuse_partials, join_shapes, split_shape
from sash.kernels.kernel_arrays import Columns, Positions, Results, Schedule, Values, null_if_few, without_nulls
from sash.kernels.traced import CannotVectorizeError
from sash.kernels.vectorize import Partial, cast, empty_like, fields_of, map_fields, put, take, vectorize


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
        self.aggregates = [_form_for(algorithm, aggregate, inputs) for aggregate in aggregates]
        self.inputs = inputs
        self.over = over
        self.where: Callable[[int], str] = "row {}".format
        """The name of a row in errors."""
        self.fused = fuse_partials(self.aggregates, inputs)
        self.lifts = [vectorize(component.aggregate.lift) for component in self.fused.components]
        self.combines = [vectorize(component.aggregate.combine) for component in self.fused.components]
        self.lowers = [vectorize(output.lower) for output in self.fused.outputs]
        self.shapes = self._infer_shapes() if over is None else split_shape(over, len(self.combines))
        self.merges = [combine.merge_into(shape) for combine, shape in zip(self.combines, self.shapes, strict=True)]
        outputs = zip(self.lowers, self.fused.outputs, strict=True)
        self.results = [lower.number_type(self.shapes[output.component]) for lower, output in outputs]

    def copy_for_thread(self) -> Self:
        """Return a kernel with another `where`, for another thread."""
        return copy(self)

    @property
    def layout(self) -> PartialLayout:
        """The layout of a partial in flat columns."""
        return PartialLayout(join_shapes(self.shapes))

    # -- the methods of a kernel -------------------------------------------------------------------------------------

    def slide_between(self, columns: Columns, begins: Positions, ends: Positions, validity: Bits = NO_BITS) -> Results:
        """Return the aggregates of the rows begins[n] … ends[n] - 1 for each window n."""
        present, (begins, ends) = without_nulls(validity, len(columns[0]), begins, ends)
        items = self._lift(tuple(column[present] for column in columns))
        return self._results(self._slide(items, begins, ends), ends - begins)

    def cut_slices(
        self, columns: Columns, positions: Positions, closes: Flags, validity: Bits = NO_BITS
    ) -> list[Values]:
        """Return the fields of the open slice's partial at each position; undefined where the slice has no value."""
        before: Positions = np.cumsum(closes) - closes  # the number of slices that closed before each record
        begins = np.concatenate([np.zeros(1, np.int64), positions[closes]])[before]
        present, (begins, ends) = without_nulls(validity, len(columns[0]), begins, positions)
        items = self._lift(tuple(column[present] for column in columns))
        return [np.ascontiguousarray(field) for field in fields_of(self._slide(items, begins, ends))]

    def slide_slices(self, columns: Columns, schedule: Schedule, validity: Bits = NO_BITS) -> Results:
        """Return the aggregates of windows that are combined from slices; see `loops.slide_slices`."""
        records = self._lift(columns)
        present, [ends] = without_nulls(validity, len(columns[0]), schedule.ends)
        whole = self._slide(take(records, present), ends - schedule.lasts, ends)
        has_open = schedule.opens >= 0
        if has_open.any():
            self._add_records(whole, schedule.lasts > 0, take(records, schedule.opens), has_open)
        return self._results(whole, schedule.values)

    def combine_runs(self, columns: Columns, runs: int, values: Positions, validity: Bits = NO_BITS) -> Results:
        """Return the aggregates of windows that are combined from several runs; see `loops.combine_runs`."""
        windows = len(values)
        records = self._lift(columns)
        held = unpack(validity, runs * windows) if len(validity) else np.ones(runs * windows, np.bool_)
        whole = take(records, np.arange(windows))
        begun = held[:windows].copy()
        for run in range(1, runs):
            rows = slice(run * windows, (run + 1) * windows)
            self._add_records(whole, begun, take(records, rows), held[rows])
            begun |= held[rows]
        return self._results(whole, values)

    # -- lift --------------------------------------------------------------------------------------------------------

    def _lift(self, columns: Columns) -> Partial:
        """Return the partial of each item: a tuple with its components."""
        fields = iter(columns)
        lifted = []
        for component, lift, shape in zip(self.fused.components, self.lifts, self.shapes, strict=True):
            if self.over is not None:
                partial = map_fields(lambda _: next(fields), shape)
            else:
                partial = lift(*self._read(component, columns))
                if not component.aggregate.inputs:  # a count of rows reads no column
                    partial = map_fields(lambda field: np.repeat(field, len(columns[0])), partial)
            lifted.append(cast(partial, shape))
        return tuple(lifted)

    def _read(self, component: Component, columns: Sequence[npt.NDArray[Any]]) -> list[Values]:
        """Return the columns that a component is lifted from, in the types in which it reads them."""
        if not component.aggregate.inputs:
            return []
        read_as = zip(component.columns, self.fused.read_as(component), strict=True)
        return [columns[column].astype(dtype, copy=False) for column, dtype in read_as]

    def _infer_shapes(self) -> list[Shape]:
        """Return the shape of each component: of what lift returns, widened by what combine returns."""
        shapes: list[Shape] = []
        row = [np.ones(1, dtype) for dtype in self.inputs]
        for component, lift, combine in zip(self.fused.components, self.lifts, self.combines, strict=True):
            partial = lift.example(*self._read(component, row))
            shape: Shape = ""
            # types only widen, so this ends
            while (wider := map_fields(lambda field: str(field.dtype), partial)) != shape:
                shape = wider
                combined = combine.example(partial, partial)
                partial = map_fields(lambda mine, yours: mine.astype(np.result_type(mine, yours)), partial, combined)
            shapes.append(shape)
        return shapes

    # -- combine -----------------------------------------------------------------------------------------------------

    def _combine(self, older: Partial, newer: Partial) -> Partial:
        """Combine each component."""
        with np.errstate(all="ignore"):
            return tuple([merge(mine, yours) for merge, mine, yours in zip(self.merges, older, newer, strict=True)])

    def _slide(self, items: Partial, begins: Positions, ends: Positions) -> Partial:
        """Return the partial of the items begins[n] … ends[n] - 1 for each window n; undefined if there are none."""
        lengths = ends - begins
        if int(lengths.sum()) <= 2 * len(fields_of(items)[0]):  # windows that hardly overlap
            return reduce_runs(self._combine, items, begins, lengths)
        return double_in_blocks(self._combine, items, begins, ends)

    def _add_records(self, whole: Partial, begun: Flags, records: Partial, held: Flags) -> None:
        """Combine windows with one record each, where one is held. A window that has not begun begins with it."""
        both, only = np.flatnonzero(begun & held), np.flatnonzero(~begun & held)
        put(whole, only, take(records, only))
        if len(both):
            put(whole, both, self._combine(take(whole, both), take(records, both)))

    # -- lower -------------------------------------------------------------------------------------------------------

    def _results(self, whole: Partial, held: Positions) -> Results:
        """Return the results of windows that have enough values, and the result of an empty window for the others."""
        columns = []
        outputs = zip(self.fused.outputs, self.lowers, self.results, self.aggregates, strict=True)
        for output, lower, dtype, aggregate in outputs:
            partial = whole[output.component]
            enough = held >= (1 if output.held is not None else max(1, output.at_least))
            if output.held is not None:
                enough = enough & (partial[output.held] >= output.at_least)
            values = np.zeros(len(held), dtype)
            if len(held) and enough.all():
                values = np.ascontiguousarray(cast(lower(partial), str(dtype)))
            elif enough.any():
                values[enough] = cast(lower(take(partial, enough)), str(dtype))
            columns.append(null_if_few(values, ~enough, aggregate.result.empty))
        return columns


def _form_for(algorithm: type[Algorithm[Any]], aggregate: Aggregate[Any], inputs: tuple[str, ...]) -> Aggregate[Any]:
    """Return the form of an aggregate for columns of these types. Raise CannotVectorizeError if it cannot be vectorised."""
    form = aggregate.of_kind(KINDS[inputs[0]]) if len(inputs) == 1 else aggregate
    if algorithm.keeps_values or algorithm.interpreted_only or form.coding.interpreted_only or form.laws.holistic:
        raise CannotVectorizeError(f"{aggregate.name} needs the values of a window.")
    if not aggregate.is_built_in and not {"int64", "float64"}.issuperset(inputs):
        raise CannotVectorizeError(
            f"the results of {aggregate.name} may have other types over columns of {', '.join(inputs)}."
        )
    return form


Merge = Callable[[Partial, Partial], Partial]
BLOCK = 1 << 14
"""The number of windows that are combined together, at least."""


def double_in_blocks(combine: Merge, items: Partial, begins: Positions, ends: Positions) -> Partial:
    """Return the partial of each window, for some windows after the other: their items stay in the processor cache."""
    lengths = ends - begins
    size = max(BLOCK, 4 * int(lengths.max(initial=0)))
    whole = empty_like(items, len(ends))
    for first in range(0, len(ends), size):
        block = slice(first, first + size)
        begin, end = int(begins[block].min()), int(ends[block].max())
        partials = double(combine, take(items, slice(begin, end)), ends[block] - begin, lengths[block])
        put(whole, block, partials)
    return whole


def double(combine: Merge, items: Partial, ends: Positions, lengths: Positions) -> Partial:
    """Return the partial of the newest lengths[n] items before ends[n], from partials of 1, 2, 4, … items."""
    whole = empty_like(items, len(ends))
    stops = ends.copy()
    longest = int(lengths.max(initial=0))
    size, partials = 1, items
    while size <= longest:
        chosen = np.flatnonzero(lengths & size)
        if len(chosen):
            starts = stops[chosen] - size
            older = take(partials, starts)
            newer_exists = (lengths[chosen] & (size - 1)) > 0
            if newer_exists.all():
                put(whole, chosen, combine(older, take(whole, chosen)))
            elif not newer_exists.any():
                put(whole, chosen, older)
            else:
                both = chosen[newer_exists]
                put(whole, chosen[~newer_exists], take(older, ~newer_exists))
                put(whole, both, combine(take(older, newer_exists), take(whole, both)))
            stops[chosen] = starts
        size *= 2
        if size <= longest:
            half = size // 2
            partials = combine(take(partials, slice(None, -half)), take(partials, slice(half, None)))
    return whole


def reduce_runs(combine: Merge, items: Partial, begins: Positions, lengths: Positions) -> Partial:
    """Return the partial of each run of items. Neighbours are combined in pairs until each run has one partial."""
    whole = empty_like(items, len(begins))
    runs = np.flatnonzero(lengths)
    left = lengths[runs]
    firsts = np.cumsum(left) - left
    in_order = len(runs) and bool((begins[runs] == firsts + begins[runs[0]]).all())
    if in_order:
        partials = take(items, slice(int(begins[runs[0]]), int(begins[runs[-1]] + left[-1])))
    else:
        partials = take(items, np.repeat(begins[runs] - firsts, left) + np.arange(int(left.sum())))
    numbers = np.arange(int(left.sum())) - np.repeat(firsts, left)
    """The place of each partial in its run."""
    while numbers.any():
        is_older = np.ones(len(numbers) + 1, np.bool_)  # of a pair; the last one ends the last pair
        np.equal(numbers & 1, 0, out=is_older[:-1])
        older = is_older[:-1].nonzero()[0]
        has_newer = ~is_older[older + 1]
        kept = take(partials, older)
        if has_newer.all():
            partials = combine(kept, take(partials, older + 1))
        else:
            pairs = has_newer.nonzero()[0]
            put(kept, pairs, combine(take(kept, pairs), take(partials, older[pairs] + 1)))
            partials = kept
        numbers = numbers[older] >> 1
    put(whole, runs, partials)
    return whole
