"""Kernel: a compiled loop, and the methods that run it over columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import wraps
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from sash.aggregates.base import Aggregate
from sash.algorithms.base import Algorithm
from sash.columns.buffers import NO_BITS, Bits, Flags, empty_array, pack, slice_bits
from sash.columns.column_types import CannotCompileError
from sash.kernels import loops
from sash.kernels.design import KernelDesign, Loop
from sash.kernels.functions import first_line
from sash.kernels.fused_partial import PartialLayout, Shape, shape_from
from sash.kernels.kernel_arrays import NOTHING, Columns, Positions, ResultColumn, Results, Schedule, check_bounds
from sash.kernels.kernel_state import KernelState, empty_state, grown_state
from sash.kernels.lanes import cut_into_lanes, deal_to_lanes
from sash.kernels.machine_code import is_loaded, load_module
from sash.kernels.read import CannotFuseError
from sash.kernels.write import read_layout

SMALL = 1 << 12
"""Up to this many rows, an empty window is built once and copied."""
MOST_STATES = 8


class FailedWithoutRowError(Exception):
    """A function of the aggregate raised in a loop that does not track its row."""


def _retry_with_row(slide: Callable[..., Results]) -> Callable[..., Results]:
    """Run again after an error, with a kernel that tracks its row: tracking costs a tenth of the time.

    An error in lanes may be spurious: all lanes but the first begin with windows that are shorter than the range.
    """

    @wraps(slide)
    def run(kernel: Kernel, *arguments: Any, **options: Any) -> Results:
        try:
            return slide(kernel, *arguments, **options)
        except FailedWithoutRowError:
            pass  # leave the handler first, so that the traceback shows only the second error
        return slide(kernel.tracking_row(), *arguments, **options)

    return run


def _cause_of(error: Exception) -> Exception:
    """Return the error of a function of the aggregate that a loop raised; another error as it is."""
    cause = error.__cause__ if isinstance(error, FailedWithoutRowError) else error
    return cause if isinstance(cause, Exception) else error


def with_message(error: Exception, message: str) -> Exception:
    """Return an error of the same type with another message, or the same error with a note if its type takes none."""
    try:
        return type(error)(message)
    except TypeError:
        error.add_note(message)
        return error


class Kernel:
    """A compiled loop and its arguments.

    >>> from sash import agg
    >>> from sash.algorithms import TwoStacks
    >>> from sash.kernels import loops
    >>> kernel = Kernel(TwoStacks, agg.max(), ("float64",), loops.slide_rows)
    >>> import numpy as np
    >>> [result] = kernel.slide_rows((np.array([3.0, 1.0, 2.0, 0.0]),), length=2)
    >>> result.values.tolist()
    [3.0, 3.0, 2.0, 2.0]
    """

    takes_keys_alone: ClassVar[bool] = False
    """Whether keys are never processed in lanes."""

    def __init__(
        self,
        algorithm: type[Algorithm[Any]],
        aggregate: Aggregate[Any] | Sequence[Aggregate[Any]],
        inputs: tuple[str, ...],
        loop: Loop,
        *,
        nullable: bool = False,
        lanes: int = 1,
        over: Shape | None = None,
    ) -> None:
        """Compile the loop or load it from the cache; `over` is the shape of partials that replace rows."""
        several = [aggregate] if isinstance(aggregate, Aggregate) else aggregate
        self.load(KernelDesign(algorithm, several, inputs, loop, nullable=nullable, lanes=lanes, over=over))

    def load(self, design: KernelDesign) -> None:
        """Compile the design, or load it from the cache. Raise CannotCompileError if Numba rejects it, for any reason."""
        try:
            self._load(design)
        except (CannotCompileError, CannotFuseError, MemoryError):
            raise
        except Exception as error:  # no row is read here, so it is not an error of the user's functions
            raise CannotCompileError(f"{design.label} can't be compiled: {first_line(_cause_of(error))}") from error

    def _load(self, design: KernelDesign) -> None:
        self.design = design
        self.inputs = design.inputs
        self.dtypes = [np.dtype(name) for name in design.inputs]
        self.at_least = min(aggregate.result.rows_needed for aggregate in design.aggregates)
        is_new = not is_loaded(design.name)
        self.module = load_module(design.name, design.write, design.names)
        described = read_layout(self.module.text)
        self.spec = design.fusion_spec(shape_from(described["partial"]))
        self.results = [np.dtype(result) for result in described["results"]]
        self.progress = np.zeros(1, np.int64)
        """The current row of the loop, for errors."""
        self._small_states: dict[tuple[tuple[int, ...], int], KernelState] = {}
        """Empty windows of few rows, which are faster to copy than to build."""
        self.where: Callable[[int], str] = "row {}".format
        """The name of a row in errors."""
        self.run = self.module.function(design.loop.__name__)
        if is_new:
            self._compile_now()

    @property
    def layout(self) -> PartialLayout:
        """The layout of a partial in flat columns."""
        return self.spec.layout

    def _compile_now(self) -> None:
        """Run over no rows, to load or compile what was fingerprinted, before a function changes."""
        columns = tuple(np.empty(0, name) for name in self.inputs) or (np.empty(0),)
        runs: dict[Loop, Callable[[], object]] = {
            loops.slide_rows: lambda: self.slide_rows(columns, 1),
            loops.slide_between: lambda: self.slide_between(columns, NOTHING, NOTHING),
            loops.slide_ranges: lambda: self.slide_ranges(columns, (1,)),
            loops.cut_slices: lambda: self.cut_slices(columns, NOTHING, np.empty(0, np.bool_)),
            loops.slide_slices: lambda: self.slide_slices(columns, Schedule(*(NOTHING,) * 6)),
            loops.combine_runs: lambda: self.combine_runs(columns, 1, NOTHING),
            loops.advance: lambda: self.advance(self.new_state((1,)), columns, NO_BITS, limit=1),
        }
        runs[self.design.loop]()

    # -- running ---------------------------------------------------------------------------------------------------

    @_retry_with_row
    def slide_rows(self, columns: Columns, length: int, validity: Bits = NO_BITS) -> Results:
        """Return each row's aggregates over the newest `length` rows."""
        rows = self._check_columns(columns)
        results = self._new_results((rows,))
        if self.spec.marks:
            self._slide_lanes(columns, length, rows, [0], results, validity)
            return results
        firsts = np.array([0, rows])
        self._slide_keys_into(columns, firsts, length, results)
        return self._null_if_few(results, firsts, length)

    def slide_keys(
        self, columns: Columns, firsts: Positions, length: int, validity: Bits = NO_BITS, ahead: int = 0
    ) -> Results:
        """Return each row's aggregates over the newest `length` rows of its key; keys begin at `firsts`, which end with the number of rows.

        With `ahead`, each row has the results of the row `ahead` rows later, or earlier if it is negative. They are undefined where the key
        has no such row.
        """
        if self.spec.marks or self.takes_keys_alone:
            return self._slide_each_key(columns, firsts, length, validity, ahead)
        rows = self._check_columns(columns)
        dtypes = self.results[: len(self.design.aggregates)]
        # Results are written where the rows stand that they are for, because moving them later takes as long as a fast kernel.
        arrays = [empty_array((rows + abs(ahead),), dtype) for dtype in dtypes]
        begin, shown = max(0, -ahead), max(0, ahead)
        results = [ResultColumn(array[begin : begin + rows], None) for array in arrays]
        try:
            self._slide_keys_into(columns, firsts, length, results)
        except FailedWithoutRowError:
            return self._slide_each_key(columns, firsts, length, validity, ahead)  # which finds the row, if it has one
        answers = self._null_if_few(results, firsts, length)
        if not ahead:
            return answers
        return [
            ResultColumn(array[shown : shown + rows], answer.shifted_bits(ahead))
            for array, answer in zip(arrays, answers, strict=True)
        ]

    def _slide_keys_into(self, columns: Columns, firsts: Positions, length: int, results: Results) -> None:
        """Write the aggregates over the newest `length` rows of each key."""
        calls, alone = deal_to_lanes(firsts, self.design.lanes)
        for steps, starts in calls:
            self._slide_lanes(columns, length, steps, starts, results)
        for first, end in zip(firsts[alone].tolist(), firsts[1:][alone].tolist(), strict=True):
            steps, starts = cut_into_lanes(end - first, length, self.design.lanes)
            self._slide_lanes(columns, length, steps, [first + start for start in starts], results)

    def _slide_each_key(self, columns: Columns, firsts: Positions, length: int, validity: Bits, ahead: int) -> Results:
        """Return the results of each key's rows, one after the other."""
        where, answers = self.where, []
        for first, end in pairwise(firsts.tolist()):
            self.where = lambda number, first=first: where(first + number)  # type: ignore[misc]
            of_key = tuple(column[first:end] for column in columns)
            answers.append(self.slide_rows(of_key, length, slice_bits(validity, first, end - first)))
        self.where = where
        joined = [ResultColumn.joined(sections) for sections in zip(*answers, strict=True)]
        return [column.shifted(ahead) for column in joined] if ahead else joined

    def _null_if_few(self, results: Results, firsts: Positions, length: int) -> Results:
        """Return results that are null for the first rows of each key, as long as their windows hold too few values."""
        return [
            result.null_if_short(firsts, length, aggregate.result.at_least)
            for result, aggregate in zip(results, self.design.aggregates, strict=True)
        ]

    def _slide_lanes(
        self, columns: Columns, length: int, steps: int, starts: list[int], results: Results, validity: Bits = NO_BITS
    ) -> None:
        """Write the aggregates over the newest `length` rows, for `steps` rows in each lane, which begin at `starts`."""
        lanes = tuple(column[start:] for start in starts for column in columns[: len(self.inputs)])
        written = [result.values[start:] for start in starts for result in results]
        state = self.new_state((max(1, min(length, steps)),))
        self._run((steps, length, self.at_least), lanes, validity, results, state, written)

    @_retry_with_row
    def slide_between(self, columns: Columns, begins: Positions, ends: Positions, validity: Bits = NO_BITS) -> Results:
        """Return the aggregates of the rows begins[row] … ends[row] - 1 for each row."""
        longest = check_bounds(begins, ends, self._check_columns(columns))
        arguments = (len(begins), begins, ends, self.at_least)
        results = self._new_results((len(begins),))
        return self._run(arguments, columns, validity, results, self.new_state((max(1, longest),)))

    @_retry_with_row
    def slide_ranges(self, columns: Columns, ranges: tuple[int, ...]) -> Results:
        """Return each row's aggregates over several ranges, which ascend: one line per range, the widest first."""
        rows = self._check_columns(columns)
        lengths = ranges[::-1]
        arguments = (rows, len(ranges), np.array(lengths, np.int64), self.at_least)
        results = self._new_results((len(ranges), rows))
        self._run(arguments, columns, NO_BITS, results, self.new_state(ranges))
        for number, aggregate in enumerate(self.design.aggregates):
            if aggregate.result.at_least > 1:
                values, least = results[number].values, aggregate.result.at_least
                lines = zip((ResultColumn(line, None) for line in values), lengths, strict=True)
                valid = [line.null_if_short(np.array([0, rows]), length, least).valid for line, length in lines]
                results[number] = ResultColumn(values, pack(np.stack(valid)))
        return results

    def cut_slices(
        self, columns: Columns, positions: Positions, closes: Flags, validity: Bits = NO_BITS
    ) -> list[npt.NDArray[Any]]:
        """Return the fields of the open slice's partial at each position; undefined where the slice has no value."""
        self._check_columns(columns)
        fields = [empty_array((len(positions),), np.dtype(field)) for field in self.layout.fields]
        try:
            self._run((len(positions), positions, closes), columns, validity, [], self.new_state((1,)), fields)
        except FailedWithoutRowError as error:
            cause = _cause_of(error)
            raise with_message(cause, f"{self.design.label}: {cause}") from cause
        return fields

    @_retry_with_row
    def slide_slices(self, columns: Columns, schedule: Schedule, validity: Bits = NO_BITS) -> Results:
        """Return the aggregates of windows that are combined from slices; see `loops.slide_slices`."""
        longest = check_bounds(schedule.begins, schedule.ends, self._check_columns(columns))
        arguments = (len(schedule.begins), *schedule[:6], self.at_least)
        state = self.new_state(schedule.ranges or (max(1, longest),), longest)
        return self._run(arguments, columns, validity, self._new_results((len(schedule.begins),)), state)

    @_retry_with_row
    def combine_runs(self, columns: Columns, runs: int, values: Positions, validity: Bits = NO_BITS) -> Results:
        """Return the aggregates of windows that are combined from several runs; see `loops.combine_runs`."""
        if self._check_columns(columns) != runs * len(values):
            raise ValueError(f"{runs} runs of {len(values)} windows need as many records; given: {len(columns[0])}.")
        arguments = (len(values), runs, values, self.at_least)
        return self._run(arguments, columns, validity, self._new_results((len(values),)), self.new_state((1,)))

    def advance(
        self,
        state: KernelState,
        columns: Columns,
        validity: Bits,
        *,
        limit: int,
        lengths: Positions = NOTHING,
        numbers: Positions = NOTHING,
        emit_now: bool = False,
    ) -> Results:
        """Continue the window of a state; see `loops.advance`."""
        rows = self._check_columns(columns)
        steps = 1 if emit_now else rows
        rings = (state.span, state.before, len(state.before) - 1)
        arguments = (rows, steps, limit, len(lengths), lengths, numbers, *rings, self.at_least)
        return self._run(arguments, columns, validity, self._new_results((len(lengths), steps)), state)

    def _run(
        self,
        arguments: tuple[Any, ...],
        columns: Columns,
        validity: Bits,
        results: Results,
        state: KernelState,
        written: list[npt.NDArray[Any]] | None = None,
    ) -> Results:
        """Run the loop and return the results; it writes their values, or the arrays in `written`."""
        columns = columns[: len(self.design.fused.inputs)]
        masks = [validity] if self.design.nullable else []
        values = [result.values for result in results] if written is None else written
        bits = [result.bits for result in results] if self.spec.marks else []
        try:
            self.run(*arguments, *columns, *masks, *values, *bits, self.progress, *state.arguments)
        except Exception as error:
            if not self.design.tracks_row:
                raise FailedWithoutRowError from error
            message = f"{self.design.label}, {self.where(int(self.progress[0]))}: {error}"
            raise with_message(error, message) from error
        return results

    def tracking_row(self) -> Kernel:
        """Return the same kernel in one lane, which records each row before it emits its results."""
        tracking = Kernel.__new__(Kernel)
        tracking.load(replace(self.design, lanes=1, tracks_row=True))
        tracking.where = self.where
        return tracking

    def copy_for_thread(self) -> Self:
        """Return a kernel that counts its progress separately, for another thread."""
        copied = object.__new__(type(self))
        copied.__dict__ |= self.__dict__
        copied.progress = np.zeros(1, np.int64)
        return copied

    def _new_results(self, shape: tuple[int, ...]) -> Results:
        """Allocate the results; if the loop marks those of windows with enough values, with the result of an empty window."""
        results = []
        for dtype, aggregate in zip(self.results, self.design.aggregates, strict=False):
            values, bits, empty = empty_array(shape, dtype), None, aggregate.result.empty
            if self.spec.marks:
                values.fill(empty or 0)
                bits = np.zeros((*shape[:-1], (shape[-1] + 7) // 8), np.uint8)
                if empty is not None:
                    bits.fill(255)
            results.append(ResultColumn(values, bits))
        return results

    def _check_columns(self, columns: Columns) -> int:
        """Return the number of rows. Raise ValueError for other columns: machine code would read beyond their end."""
        rows = len(columns[0])
        read = columns[: len(self.inputs)]
        if [column.dtype for column in read] != self.dtypes or any(len(column) != rows for column in columns):
            types, lengths = [str(column.dtype) for column in read], [len(column) for column in columns]
            raise ValueError(
                f"This kernel takes columns of {list(self.inputs)}, equally long; given: {types}, {lengths} rows."
            )
        return rows

    # -- state -----------------------------------------------------------------------------------------------------

    def new_state(self, ranges: tuple[int, ...], longest: int = 0) -> KernelState:
        """Return the state of an empty window for these ranges, with room for at least `longest` rows."""
        longest = max(1, longest, *ranges)
        known = self._small_states.get((ranges, longest))
        if known is not None:
            return known.copy()
        window = self.design.algorithm(self.design.fused.components[0].aggregate, ranges)
        window.make_room(longest)
        state = empty_state(window, self.spec, longest, persistent=self.design.loop is loops.advance)
        if longest <= SMALL and len(self._small_states) < MOST_STATES:
            self._small_states[ranges, longest] = state.copy()
        return state

    def grow(self, state: KernelState, rows: int) -> KernelState:
        """Return the same window with room for `rows` rows."""
        algorithm = self.design.algorithm
        if algorithm.keeps_values:
            return self._insert_again(state, rows)
        return grown_state(algorithm(self.design.fused.components[0].aggregate), self.spec, state, rows)

    def _insert_again(self, state: KernelState, rows: int) -> KernelState:
        """Insert the values of a window into an empty one with room for `rows` rows."""
        cursors = dict(zip(self.spec.algorithm.attributes("int"), state.arrays["cursors"], strict=True))
        positions = np.arange(cursors["begin"], cursors["end"])
        values = state.arrays["self_values_0"][positions & (state.room - 1)]
        larger = self.new_state((), rows)
        self.advance(larger, (values,), NO_BITS, limit=len(larger.before))
        first, after = state.span
        before = state.before[np.arange(first, after + 1) & (len(state.before) - 1)]
        larger.span[:] = 0, after - first
        larger.before[: len(before)] = before - before[0]
        return larger
