"""The state of a compiled window: cursors, single partials and columns as NumPy arrays, in the order of the loop's parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sash.algorithms.base import Algorithm
from sash.kernels.fuse_expressions import FusionSpec

Arrays = dict[str, npt.NDArray[Any]]

PLAIN_TYPES: dict[str, Any] = {"Array[int]": np.int64, "Array[bool]": np.bool_}


@dataclass
class KernelState:
    """The arrays of one window, by the names of the fused loop's parameters."""

    room: int
    """The capacity of a ring: a power of two."""
    arrays: Arrays
    span: npt.NDArray[np.int64]
    """The first row of the window and the row after its last, nulls included."""
    before: npt.NDArray[np.int64]
    """A ring: by row, the number of values before it."""

    def copy(self) -> KernelState:
        """Return another window with the same content."""
        arrays = {name: array.copy() for name, array in self.arrays.items()}
        return KernelState(self.room, arrays, self.span.copy(), self.before.copy())

    @property
    def arguments(self) -> list[Any]:
        """The last arguments of the fused loop: the mask of the rings, the cursors, and the other arrays."""
        return [self.room - 1, *self.arrays.values()]


def empty_state(window: Algorithm[Any], spec: FusionSpec, longest: int, *, persistent: bool) -> KernelState:
    """Return the state of an empty window with room for `longest` rows; `persistent` if it outlives a call."""
    room = 1 << (longest - 1 + type(window).rows_behind).bit_length()
    arrays: Arrays = {"cursors": _cursors(window, spec)}
    for attribute, declared in spec.algorithm.state.items():
        if declared == "int" or attribute in spec.from_input:
            continue
        if declared in PLAIN_TYPES:
            arrays[f"self_{attribute}"] = _as_array(getattr(window, attribute), PLAIN_TYPES[declared])
            continue
        size = 1 if declared == "P" else room
        if declared == "Array[P]":
            size = len(getattr(window, attribute))
            setattr(window, attribute, None)  # free the list, which is as long as the array
        dtypes = ["int64"] if declared == "Column[int]" else spec.layout.fields
        names = spec.parameters_of(attribute)
        arrays |= {name: np.zeros(size, dtype) for name, dtype in zip(names, dtypes, strict=True)}
    rows = 1 << longest.bit_length() if persistent else 1
    return KernelState(room, arrays, np.zeros(2, np.int64), np.zeros(rows, np.int64))


def grown_state(window: Algorithm[Any], spec: FusionSpec, state: KernelState, rows: int) -> KernelState:
    """Return the state with room for `rows` rows; `window` is an empty one.

    A ring of twice the length holds the old one twice: each position finds its item in one of the two. The algorithm
    enlarges its arrays itself, as it does interpreted.
    """
    room = max(state.room, 1 << (rows - 1 + type(window).rows_behind).bit_length())
    arrays = dict(state.arrays)
    for attribute in spec.algorithm.attributes("Column[P]", "Column[int]"):
        for name in spec.parameters_of(attribute):
            arrays[name] = np.tile(state.arrays[name], room // state.room)
    before = np.tile(state.before, max(1, (1 << rows.bit_length()) // len(state.before)))
    larger = KernelState(room, arrays, state.span, before)
    if spec.algorithm.attributes("Array[P]", *PLAIN_TYPES):
        _copy_to_object(larger, window, spec)
        window.make_room(rows)
        _copy_from_object(larger, window, spec)
    return larger


def enlarged_state(state: KernelState) -> KernelState:
    """Return a state whose flat arrays are twice as long, for algorithms that count what they use of them."""
    sizes = {name: len(array) for name, array in state.arrays.items() if name.startswith("self_")}
    arrays = {
        name: np.concatenate([array, np.zeros_like(array)]) if name in sizes else array
        for name, array in state.arrays.items()
    }
    return KernelState(state.room, arrays, state.span, state.before)


def _copy_to_object(state: KernelState, window: Algorithm[Any], spec: FusionSpec) -> None:
    """Write the cursors and arrays of a state into an object of the algorithm's class."""
    for name, cursor in zip(spec.algorithm.attributes("int"), state.arrays["cursors"].tolist(), strict=True):
        setattr(window, name, cursor)
    for attribute in spec.algorithm.attributes(*PLAIN_TYPES):
        setattr(window, attribute, state.arrays[f"self_{attribute}"].tolist())
    for attribute in spec.algorithm.attributes("Array[P]"):
        fields = [state.arrays[name].tolist() for name in spec.parameters_of(attribute)]
        setattr(window, attribute, list(zip(*fields, strict=True)))


def _copy_from_object(state: KernelState, window: Algorithm[Any], spec: FusionSpec) -> None:
    """Write the cursors and arrays of an object into a state; items that were never written become zeros."""
    state.arrays["cursors"] = _cursors(window, spec)
    for attribute in spec.algorithm.attributes(*PLAIN_TYPES):
        dtype = PLAIN_TYPES[spec.algorithm.state[attribute]]
        state.arrays[f"self_{attribute}"] = np.array(getattr(window, attribute), dtype)
    dtypes = spec.layout.fields
    for attribute in spec.algorithm.attributes("Array[P]"):
        fields = zip(*(item or (0,) * len(dtypes) for item in getattr(window, attribute)), strict=True)
        for name, field, dtype in zip(spec.parameters_of(attribute), fields, dtypes, strict=True):
            state.arrays[name] = np.array(field, dtype)


def _cursors(window: Algorithm[Any], spec: FusionSpec) -> npt.NDArray[np.int64]:
    return np.array([getattr(window, name) for name in spec.algorithm.attributes("int")], np.int64)


def _as_array(items: list[Any], dtype: Any) -> npt.NDArray[Any]:
    """Convert a list to an array. Most lists repeat one item, and filling is ten times as fast as converting."""
    if items and items.count(items[0]) == len(items):
        return np.full(len(items), items[0], dtype)
    return np.array(items, dtype)
