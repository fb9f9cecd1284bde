"""Kernel: one loop, one algorithm and the aggregates of one pass, compiled for columns of given types."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Sequence
from functools import cache, wraps
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from sash.aggregates.base import Aggregate
from sash.aggregates.order import is_above
from sash.algorithms.base import Algorithm
from sash.algorithms.bit_words import count_ones, highest_one, lowest_one, select_one
from sash.algorithms.occurrence_table import mix
from sash.kernels import loops
from sash.kernels.bit_intrinsics import compile_bit_functions
from sash.kernels.cache import find_module, load_module, loaded_module
from sash.kernels.functions import CannotCompileError, compile_function, fingerprint
from sash.kernels.fuse import FusionSpec
from sash.kernels.infer import infer_types
from sash.kernels.kernel_io import (
    NO_BITS,
    NOTHING,
    Bits,
    Columns,
    Positions,
    ResultColumn,
    Schedule,
    check_bounds,
    empty_array,
    first_missing,
)
from sash.kernels.kernel_state import KernelState, empty_state, grown_state
from sash.kernels.lanes import cut_into_lanes
from sash.kernels.layout import PartialLayout, Shape, shape_from
from sash.kernels.parts import as_values, share_parts, whole_shape
from sash.kernels.read import AlgorithmSource, read_algorithm, read_function
from sash.kernels.write import write_kernel

Loop = Any

KINDS = {"bool": "bool", "int32": "int", "int64": "int", "float32": "float", "float64": "float"}
"""The columns that kernels take, and the kind that `Aggregate.of_kind` knows them by."""
CALLED = (is_above, mix, count_ones, lowest_one, highest_one, select_one)
"""Functions that algorithms call by name: if one changes, another kernel is made."""


def read_own_source() -> str:
    """Return the source of this package, so that no kernel of another version of it is taken from the cache."""
    return "".join(path.read_text(encoding="utf-8") for path in sorted(Path(__file__).parent.glob("*.py")))


OWN_SOURCE = fingerprint(read_own_source())


class FailedWithoutRowError(Exception):
    """One of the aggregate's functions raised, and the loop didn't keep count of rows."""


def _again_if_it_fails(slide: Callable[..., list[ResultColumn]]) -> Callable[..., list[ResultColumn]]:
    """Run once more after an error, with a kernel that can tell its row: keeping count costs others a tenth of their time.

    An error in lanes may be none: all but the first begin with windows that are shorter than any that was asked for.
    """

    @wraps(slide)
    def run(kernel: Kernel, *arguments: Any, **options: Any) -> list[ResultColumn]:
        try:
            return slide(kernel, *arguments, **options)
        except FailedWithoutRowError:
            pass  # leaves the first error behind, so that only the second is shown
        return slide(kernel.telling_row(), *arguments, **options)

    return run


def _with_message(error: Exception, message: str) -> Exception:
    """Return an error of the same type with another message, or the same with a note if its type takes none."""
    try:
        return type(error)(message)
    except TypeError:
        error.add_note(message)
        return error


class Kernel:
    """A compiled loop and what is needed to start it.

    >>> from sash import agg
    >>> from sash.algorithms import TwoStacks
    >>> from sash.kernels import loops
    >>> kernel = Kernel(TwoStacks, agg.max(), ("float64",), loops.slide_rows)
    >>> import numpy as np
    >>> [answer] = kernel.slide_rows((np.array([3.0, 1.0, 2.0, 0.0]),), length=2)
    >>> answer.values.tolist()
    [3.0, 3.0, 2.0, 2.0]
    """

    def __init__(
        self,
        algorithm: type[Algorithm[Any]],
        aggregate: Aggregate[Any] | Sequence[Aggregate[Any]],
        inputs: tuple[str, ...],
        loop: Loop,
        *,
        nullable: bool = False,
        lanes: int = 1,
        tells_row: bool = False,
        over: Shape | None = None,
    ) -> None:
        """Compile, or load what was compiled before; `over` is the shape of partials that come in place of rows."""
        several = [aggregate] if isinstance(aggregate, Aggregate) else list(aggregate)
        self.aggregates = [form_for(algorithm, one, inputs) for one in several]
        self.algorithm = algorithm
        self.columns_of = inputs
        """The types of the columns that the aggregates read."""
        self.over = over
        self.loop = loop
        self.lanes = lanes
        self.tells_row = tells_row or loop is loops.advance  # which can't be run again to find the row
        parts = share_parts(self.aggregates, inputs)
        if algorithm.about.needs == "selective" and len(parts.parts) > 1:
            message = f"{self.label} are selective each, but not together: {algorithm.about.name} takes one of them."
            raise CannotCompileError(message)
        if over is not None:
            parts = parts.of_partials(over)
        self.inputs = inputs = parts.inputs
        self.parts = parts.in_lanes(lanes)
        self.at_least = min(one.rows_needed for one in self.aggregates)
        self.nullable = nullable or loop is loops.advance
        source = read_algorithm(algorithm)
        # A position of the stream is a row of the input only if every row is inserted, from the first one on.
        given = frozenset() if self.nullable else source.given
        try:
            asked = [(output.part, output.at_least, output.held) for output in self.parts.outputs]
            options = f"{self.nullable} {self.tells_row} {asked}"
            name = fingerprint(
                OWN_SOURCE, source.text, CALLED, read_text(loop), options, inputs, *self.parts.functions.items()
            )
        except CannotCompileError as error:
            message = f"{self.label} is not compiled: {error}"
            raise CannotCompileError(message) from error
        module = loaded_module(name)
        is_new = module is None
        if module is None:
            module = self._make_module(name, source, given)
        described = json.loads(module.LAYOUT)
        self.fused = self._fused(source, shape_from(described["partial"]), given)
        self.results = [np.dtype(result) for result in described["results"]]
        self.progress = np.zeros(1, np.int64)
        """The row that the loop answers, for errors."""
        self.where: Callable[[int], str] = "row {}".format
        """What an error calls that row."""
        self.run = vars(module)[loop.__name__]
        if is_new:
            self._compile_now()

    def _make_module(self, name: str, source: AlgorithmSource, given: frozenset[str]) -> ModuleType:
        """Return the module that holds the fused loop, from the disk or written now."""
        compiled = {name: compile_function(function) for name, function in self.parts.functions.items()}
        text = find_module(name)
        if text is None:
            types = infer_types(self.parts, compiled)
            text = write_kernel(self._fused(source, whole_shape(types.shapes), given), self.parts, types, self.loop)
        raw = {f"raw_{name}": function for name, function in compiled.items()}
        raw |= {"is_above": compile_function(is_above), "mix": compile_function(mix), **compile_bit_functions()}
        return load_module(name, text, raw)

    @property
    def layout(self) -> PartialLayout:
        """How a partial lies in flat columns."""
        return self.fused.layout

    @property
    def label(self) -> str:
        """The aggregates as they were written, for messages."""
        return " and ".join(f"{one.name}({', '.join(one.columns)})" for one in self.aggregates)

    def _fused(self, source: AlgorithmSource, shape: Shape, given: frozenset[str]) -> FusionSpec:
        at_least = tuple(output.at_least for output in self.parts.outputs)
        counted = tuple(output.held is not None for output in self.parts.outputs)
        emits = "emit" in read_function(self.loop).parameters
        marks = emits and (self.nullable or self.loop is loops.slide_between)
        return FusionSpec(
            source,
            PartialLayout(shape),
            len(self.parts.inputs),
            at_least,
            counted,
            self.nullable,
            marks,
            given,
            self.tells_row,
        )

    def _compile_now(self) -> None:
        """Run over no rows: what is compiled, and cached under its name, must be what was fingerprinted just now."""
        columns = tuple(np.empty(0, name) for name in self.inputs) or (np.empty(0),)
        nothing = np.empty(0, np.int64)
        if self.loop is loops.slide_rows:
            self.slide_rows(columns, 1)
        elif self.loop is loops.slide_between:
            self.slide_between(columns, nothing, nothing)
        elif self.loop is loops.slide_ranges:
            self.slide_ranges(columns, (1,))
        elif self.loop is loops.cut_slices:
            self.cut_slices(columns, nothing, np.empty(0, np.bool_))
        elif self.loop is loops.slide_slices:
            self.slide_slices(columns, Schedule(nothing, nothing, nothing, nothing, nothing, nothing))
        else:
            self.advance(self.new_state((1,)), columns, NO_BITS, limit=1)

    @_again_if_it_fails
    def slide_rows(self, columns: Columns, length: int, validity: Bits = NO_BITS) -> list[ResultColumn]:
        """Return each row's aggregates over the newest `length` rows."""
        rows = self._check_columns(columns)
        answers = self._new_answers((rows,), (length,))
        steps, starts = cut_into_lanes(rows, length, self.lanes)
        lanes = tuple(column[start:] for start in starts for column in columns[: len(self.inputs)])
        results = [answer.values[start:] for start in starts for answer in answers]
        state = self.new_state((max(1, min(length, rows)),))
        self._run((steps, length, self.at_least), lanes, validity, results, self._bits(answers), state)
        return answers

    @_again_if_it_fails
    def slide_between(
        self, columns: Columns, begins: Positions, ends: Positions, validity: Bits = NO_BITS
    ) -> list[ResultColumn]:
        """Return the aggregates of the rows begins[row] … ends[row] - 1 for each row."""
        rows = self._check_columns(columns)
        longest = check_bounds(begins, ends, rows)
        answers = self._new_answers((len(begins),))
        state = self.new_state((max(1, longest),))
        results = [answer.values for answer in answers]
        self._run((len(begins), begins, ends, self.at_least), columns, validity, results, self._bits(answers), state)
        return answers

    @_again_if_it_fails
    def slide_ranges(self, columns: Columns, ranges: tuple[int, ...]) -> list[ResultColumn]:
        """Return each row's aggregates over several ranges, given in ascending order: a line for each, the widest first."""
        rows = self._check_columns(columns)
        lengths = np.array(ranges[::-1], np.int64)
        answers = self._new_answers((len(ranges), rows), ranges)
        results = [answer.values for answer in answers]
        self._run((rows, len(ranges), lengths, self.at_least), columns, NO_BITS, results, [], self.new_state(ranges))
        return answers

    def cut_slices(
        self, columns: Columns, positions: Positions, closes: npt.NDArray[np.bool_], validity: Bits = NO_BITS
    ) -> list[npt.NDArray[Any]]:
        """Return the fields of the open slice's partial at each position; one that holds no value has any."""
        self._check_columns(columns)
        fields = [empty_array((len(positions),), np.dtype(field)) for field in self.layout.fields]
        own = (len(positions), positions, closes)
        try:
            self._run(own, columns, validity, fields, [], self.new_state((1,)))
        except FailedWithoutRowError as error:
            raise self._as_told(error) from error.__cause__
        return fields

    @_again_if_it_fails
    def slide_slices(self, columns: Columns, turns: Schedule, validity: Bits = NO_BITS) -> list[ResultColumn]:
        """Return the aggregates of windows that are combined of slices; see `loops.slide_slices`."""
        slices = self._check_columns(columns)
        longest = check_bounds(turns.begins, turns.ends, slices)
        answers = self._new_answers((len(turns.begins),))
        state = self.new_state(turns.ranges or (max(1, longest),), longest)
        results = [answer.values for answer in answers]
        own = (len(turns.begins), *turns.columns, self.at_least)
        self._run(own, columns, validity, results, self._bits(answers), state)
        return answers

    def advance(
        self,
        state: KernelState,
        columns: Columns,
        validity: Bits,
        *,
        limit: int,
        lengths: Positions = NOTHING,
        numbers: Positions = NOTHING,
        answer_now: bool = False,
    ) -> list[ResultColumn]:
        """Go on with the window of a state; see `loops.advance`."""
        rows = self._check_columns(columns)
        steps = 1 if answer_now else rows
        answers = self._new_answers((len(lengths), steps))
        results = [answer.values for answer in answers]
        kept = (state.span, state.before, len(state.before) - 1)
        own = (rows, steps, limit, len(lengths), lengths, numbers, *kept, self.at_least)
        self._run(own, columns, validity, results, self._bits(answers), state)
        return answers

    def _run(
        self,
        own: tuple[Any, ...],
        columns: Columns,
        validity: Bits,
        results: list[Any],
        bits: list[Any],
        state: KernelState,
    ) -> None:
        columns = columns[: len(self.parts.inputs)]
        masks = [validity] if self.nullable else []
        try:
            self.run(*own, *columns, *masks, *results, *bits, self.progress, *state.arguments)
        except Exception as error:
            if not self.tells_row:
                raise FailedWithoutRowError from error
            message = f"{self.label}, {self.where(int(self.progress[0]))}: {error}"
            raise _with_message(error, message) from error

    def telling_row(self) -> Kernel:
        """Return the same, in one lane, with each row written down before it is answered."""
        telling = Kernel(
            self.algorithm,
            self.aggregates,
            self.columns_of,
            self.loop,
            nullable=self.nullable,
            tells_row=True,
            over=self.over,
        )
        telling.where = self.where
        return telling

    def _as_told(self, error: FailedWithoutRowError) -> Exception:
        """Return an error of the aggregate's functions with the aggregate's name."""
        cause = error.__cause__
        assert isinstance(cause, Exception)
        return _with_message(cause, f"{self.label}: {cause}")

    def _bits(self, answers: list[ResultColumn]) -> list[Any]:
        return [answer.bits for answer in answers] if self.fused.marks else []

    def new_state(self, ranges: tuple[int, ...], longest: int = 0) -> KernelState:
        """Return the state of an empty window that will be asked for these ranges, with room for so many rows."""
        window = self.algorithm(self.parts.parts[0].aggregate, ranges)
        longest = max(1, longest, *ranges)
        window.make_room(longest)
        return empty_state(window, self.fused, longest, kept=self.loop is loops.advance)

    def grow(self, state: KernelState, rows: int) -> KernelState:
        """Return the same window with room for so many rows."""
        if self.algorithm.compiled_query != "query":  # it keeps the values themselves: they can be inserted again
            return self._insert_again(state, rows)
        return grown_state(self.algorithm, self.parts.parts[0].aggregate, self.fused, state, rows)

    def _insert_again(self, state: KernelState, rows: int) -> KernelState:
        """Return a window with the values of another one, in their order, that has room for so many rows."""
        window = dict(zip(self.fused.algorithm.attributes("int"), state.arrays["cursors"], strict=True))
        positions = np.arange(window["begin"], window["end"])
        values = state.arrays["self_values_0"][positions & (state.room - 1)]
        larger = self.new_state((), rows)
        self.advance(larger, (values,), NO_BITS, limit=len(larger.before))
        first, after = state.span
        before = state.before[np.arange(first, after + 1) & (len(state.before) - 1)]
        larger.span[:] = 0, after - first
        larger.before[: len(before)] = before - before[0]
        return larger

    def _new_answers(self, shape: tuple[int, ...], ranges: tuple[int, ...] = ()) -> list[ResultColumn]:
        """Allocate the results: where a window may hold too few values, with what stands for that in their place."""
        answers = []
        for result, one in zip(self.results, self.aggregates, strict=False):
            if self.fused.marks:
                values = empty_array(shape, result)
                values[...] = 0 if one.empty is None else one.empty
                unmarked = 0 if one.empty is None else 255
                bits = np.full((*shape[:-1], (shape[-1] + 7) // 8), unmarked, np.uint8)
                answers.append(ResultColumn(values, bits))
            elif one.at_least <= 1:
                answers.append(ResultColumn(empty_array(shape, result), None))
            else:
                rows = shape[-1]
                missing = [min(rows, one.at_least - 1 if one.at_least <= length else rows) for length in ranges[::-1]]
                values = empty_array(shape, result)
                for line, few in zip(values.reshape(len(ranges), rows), missing, strict=True):
                    line[:few] = 0
                bits = np.array([first_missing(rows, few) for few in missing])
                answers.append(ResultColumn(values, bits.reshape(*shape[:-1], -1)))
        return answers

    def _check_columns(self, columns: Columns) -> int:
        """Return the number of rows, or say which column doesn't fit: machine code would read what is not there."""
        given = [str(column.dtype) for column in columns[: len(self.inputs)]]
        if given != list(self.inputs) or len({len(column) for column in columns}) != 1:
            lengths = [len(column) for column in columns]
            message = f"This kernel takes columns of {list(self.inputs)}, equally long; given: {given}, {lengths} rows."
            raise ValueError(message)
        return len(columns[0])


def form_for(algorithm: type[Algorithm[Any]], aggregate: Aggregate[Any], inputs: tuple[str, ...]) -> Aggregate[Any]:
    """Return the form of the aggregate for columns of these types and this algorithm, or say why there is none."""
    if unknown := [name for name in inputs if name not in KINDS]:
        message = f"Columns of {', '.join(unknown)} are not compiled: cast them to one of {', '.join(KINDS)}."
        raise CannotCompileError(message)
    if len(inputs) == 1:
        aggregate = aggregate.of_kind(KINDS[inputs[0]])
    if reason := algorithm.interpreted_only:
        raise CannotCompileError(reason)
    if algorithm.compiled_query != "query":
        aggregate = as_values(aggregate)
    if reason := aggregate.interpreted_only:
        message = f"{aggregate.name} is not compiled: {reason}"
        raise CannotCompileError(message)
    return aggregate


@cache
def read_text(loop: FunctionType) -> str:
    """Return the source of a loop, for the fingerprint."""
    return ast.unparse(read_function(loop).node)
