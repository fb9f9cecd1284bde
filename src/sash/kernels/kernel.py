"""Kernel: one loop, one algorithm and one aggregate, compiled for columns of given types."""

from __future__ import annotations

import ast
import json
from dataclasses import replace
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import numpy.typing as npt

from sash.aggregates.base import Aggregate, unchanged
from sash.aggregates.order import is_above
from sash.algorithms.base import Algorithm
from sash.algorithms.words import count_ones, highest_one, lowest_one, select_one
from sash.kernels.cache import find_module, load_module
from sash.kernels.functions import CannotCompileError, compile_function, fingerprint
from sash.kernels.infer import infer_layout
from sash.kernels.layout import Layout, shape_from
from sash.kernels.read import read_algorithm, read_function
from sash.kernels.words import compile_words
from sash.kernels.write import write_kernel

Columns = tuple[npt.NDArray[Any], ...]
Loop = Any

KINDS = {"bool": "bool", "int32": "int", "int64": "int", "float32": "float", "float64": "float"}
"""The columns that kernels take, and the kind that `Aggregate.of_kind` knows them by."""

CALLED = (is_above, count_ones, lowest_one, highest_one, select_one)
"""Functions that algorithms call by name: if one changes, another kernel is made."""


def read_own_source() -> str:
    """Return the source of this package, so that no kernel of another version of it is taken from the cache."""
    return "".join(path.read_text(encoding="utf-8") for path in sorted(Path(__file__).parent.glob("*.py")))


OWN_SOURCE = read_own_source()


class Kernel:
    """A compiled loop and what is needed to start it.

    >>> from sash import agg
    >>> from sash.algorithms import TwoStacks
    >>> from sash.kernels import loops
    >>> kernel = Kernel(TwoStacks, agg.max(), ("float64",), loops.slide_rows)
    >>> import numpy as np
    >>> results, valid = kernel.slide_rows((np.array([3.0, 1.0, 2.0, 0.0]),), length=2)
    >>> results.tolist()
    [3.0, 3.0, 2.0, 2.0]
    """

    def __init__(
        self, algorithm: type[Algorithm[Any]], aggregate: Aggregate[Any], inputs: tuple[str, ...], loop: Loop
    ) -> None:
        if unknown := [name for name in inputs if name not in KINDS]:
            message = f"Columns of {', '.join(unknown)} are not compiled: cast them to one of {', '.join(KINDS)}."
            raise CannotCompileError(message)
        if len(inputs) == 1:
            aggregate = aggregate.of_kind(KINDS[inputs[0]])
        if reason := algorithm.interpreted_only:
            raise CannotCompileError(reason)
        if algorithm.about.needs == "ranked":
            aggregate = as_values(aggregate)
        if reason := aggregate.interpreted_only:
            message = f"{aggregate.name} is not compiled: {reason}"
            raise CannotCompileError(message)
        self.algorithm = algorithm
        self.aggregate = aggregate
        self.inputs = inputs
        self.source = read_algorithm(algorithm)
        functions = {
            name: getattr(aggregate, name)
            for name in ("lift", "combine", "inverse", "lower", "rank", "between")
            if getattr(aggregate, name) is not None
        }
        try:
            name = fingerprint(OWN_SOURCE, self.source.text, CALLED, read_text(loop), inputs, *functions.items())
        except CannotCompileError as error:
            message = f"{aggregate.name} is not compiled: {error}"
            raise CannotCompileError(message) from error
        text = find_module(name)
        if text is None:
            layout, result = infer_layout(aggregate, inputs)
            text = write_kernel(self.source, layout, result, len(inputs), loop)
        raw = {f"raw_{name}": compile_function(function) for name, function in functions.items()}
        raw |= {"is_above": compile_function(is_above), **compile_words()}
        module = load_module(name, text, raw)
        described = json.loads(module.LAYOUT)
        self.layout = Layout(shape_from(described["partial"]))
        self.result = np.dtype(described["result"])
        self.run = vars(module)[loop.__name__]
        self._compile_now(loop.__name__)

    def _compile_now(self, loop: str) -> None:
        """Run over no rows: what is compiled, and cached under its name, must be what was fingerprinted just now."""
        columns = tuple(np.empty(0, name) for name in self.inputs) or (np.empty(0),)
        if loop == "slide_rows":
            self.slide_rows(columns, 1)
        else:
            self.slide_between(columns, np.empty(0, np.int64), np.empty(0, np.int64))

    def slide_rows(self, columns: Columns, length: int) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
        """Return each row's aggregate over the newest `length` rows, and which rows have one."""
        rows = self._check_columns(columns)
        at_least = max(1, self.aggregate.at_least)
        results = np.zeros(rows, self.result)
        longest = min(length, rows)
        self.run(rows, length, at_least, *self.arguments(columns, results, longest))
        return results, np.minimum(np.arange(1, rows + 1), length) >= at_least

    def slide_between(
        self, columns: Columns, begins: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
        """Return the aggregate of the rows begins[row] … ends[row] - 1 for each row, and which rows have one."""
        rows = self._check_columns(columns)
        check_bounds(begins, ends, rows)
        at_least = max(1, self.aggregate.at_least)
        results = np.zeros(len(begins), self.result)
        lengths = ends - begins
        longest = int(lengths.max(initial=0))
        self.run(len(begins), begins, ends, at_least, *self.arguments(columns, results, longest))
        return results, lengths >= at_least

    def _check_columns(self, columns: Columns) -> int:
        """Return the number of rows, or say which column doesn't fit: machine code would read what is not there."""
        given = [str(column.dtype) for column in columns[: len(self.inputs)]]
        if given != list(self.inputs) or len({len(column) for column in columns}) != 1:
            lengths = [len(column) for column in columns]
            message = f"This kernel takes columns of {list(self.inputs)}, equally long; given: {given}, {lengths} rows."
            raise ValueError(message)
        return len(columns[0])

    def arguments(self, columns: Columns, results: npt.NDArray[Any], longest: int) -> list[Any]:
        """Return columns, results and the state of an empty window that has room for `longest` rows."""
        longest = max(longest, 1)
        window = self.algorithm(self.aggregate, (longest,))
        room = 1 << longest.bit_length()  # a power of two above `longest`: SlideSide looks one row behind the window
        cursors = np.array([getattr(window, name) for name in self.source.attributes("int")], np.int64)
        state: list[Any] = [cursors]
        for attribute, kind in self.source.state.items():
            if kind == "int":
                continue
            fields = self.layout.fields if kind.endswith("P]") or kind == "P" else [_plain_type(kind)]
            if kind == "P":
                state += [np.zeros(1, field) for field in fields]
            elif kind.startswith("Column"):
                state += [np.zeros(room, field) for field in fields]
            elif kind == "Array[P]":
                state += [np.zeros(len(getattr(window, attribute)), field) for field in fields]
            else:
                state.append(np.array(getattr(window, attribute), fields[0]))
        return [*columns[: len(self.inputs)], results, room - 1, *state]


def check_bounds(begins: npt.NDArray[np.int64], ends: npt.NDArray[np.int64], rows: int) -> None:
    """Say what is wrong with moving bounds: machine code would read rows that are not there."""
    if np.any(begins > ends) or np.any(begins[1:] < begins[:-1]) or np.any(ends[1:] < ends[:-1]):
        message = "Moving bounds may not move back, and no window may end before it begins."
        raise ValueError(message)
    if len(begins) and not 0 <= begins[0] <= ends[-1] <= rows:
        message = f"Moving bounds reach from {begins[0]} to {ends[-1]}, but there are {rows} rows."
        raise ValueError(message)


def as_values(aggregate: Aggregate[Any]) -> Aggregate[Any]:
    """Return the form of an aggregate read by rank for an algorithm that keeps its values: a partial is one of them."""
    return replace(
        aggregate,
        lift=unchanged,
        combine=lambda older, _: older,  # values are ranked, never combined
        lower=unchanged,
        inverse=None,
        interpreted_only="",
    )


def read_text(loop: FunctionType) -> str:
    """Return the source of a loop, for the fingerprint."""
    return ast.unparse(read_function(loop).node)


def _plain_type(kind: str) -> str:
    return "bool" if kind == "Array[bool]" else "int64"
