"""The state of a compiled window: cursors, single partials and columns as NumPy arrays, in the order of the loop's parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sash.aggregates.base import Aggregate
from sash.algorithms.base import Algorithm
from sash.kernels.fuse import FusionSpec

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
        """Return a window of its own with the same content."""
        arrays = {name: array.copy() for name, array in self.arrays.items()}
        return KernelState(self.room, arrays, self.span.copy(), self.before.copy())

    @property
    def arguments(self) -> list[Any]:
        """The last arguments of the fused loop: the mask of the rings, the cursors, and the other arrays."""
        return [self.room - 1, *self.arrays.values()]


def empty_state(window: Any, spec: FusionSpec, longest: int, *, persistent: bool) -> KernelState:
    """Return the state of an empty window with room for `longest` rows; `persistent` if it outlives a call."""
    room = 1 << (longest - 1 + type(window).rows_behind).bit_length()
    source, fields = spec.algorithm, spec.layout.fields
    arrays: Arrays = {"cursors": _cursors(window, spec)}
    for attribute, kind in source.state.items():
        if kind == "int" or attribute in spec.from_input:
            continue
        if kind in PLAIN_TYPES:
            arrays[f"self_{attribute}"] = _as_array(getattr(window, attribute), PLAIN_TYPES[kind])
            continue
        size = 1 if kind == "P" else room
        if kind == "Array[P]":
            size = len(getattr(window, attribute))
            setattr(window, attribute, None)  # free the list, which is as long as the array
        types = ["int64"] if kind == "Column[int]" else fields
        names = spec.parameters_of(attribute, kind)
        arrays |= {name: np.zeros(size, field) for name, field in zip(names, types, strict=True)}
    rows = 1 << longest.bit_length() if persistent else 1
    return KernelState(room, arrays, np.zeros(2, np.int64), np.zeros(rows, np.int64))


def grown_state(
    algorithm: type[Algorithm[Any]], aggregate: Aggregate[Any], spec: FusionSpec, state: KernelState, rows: int
) -> KernelState:
    """Return the state with room for `rows` rows.

    A ring of twice the length holds the old one twice: each position finds its item in one of the two. The algorithm
    enlarges its arrays itself, as it does interpreted.
    """
    room = max(state.room, 1 << (rows - 1 + algorithm.rows_behind).bit_length())
    arrays = dict(state.arrays)
    for attribute, kind in spec.algorithm.state.items():
        for name in spec.parameters_of(attribute, kind) if kind.startswith("Column") else ():
            arrays[name] = np.tile(state.arrays[name], room // state.room)
    before = np.tile(state.before, max(1, (1 << rows.bit_length()) // len(state.before)))
    larger = KernelState(room, arrays, state.span, before)
    if any(kind.startswith("Array") for kind in spec.algorithm.state.values()):
        window = _to_interpreted(algorithm, aggregate, spec, larger)
        window.make_room(rows)
        _from_interpreted(window, spec, larger)
    return larger


def _to_interpreted(
    algorithm: type[Algorithm[Any]], aggregate: Aggregate[Any], spec: FusionSpec, state: KernelState
) -> Algorithm[Any]:
    """Return an object of the algorithm's class with the cursors and arrays of a state, and empty columns."""
    window = algorithm(aggregate)
    for name, cursor in zip(spec.algorithm.attributes("int"), state.arrays["cursors"].tolist(), strict=True):
        setattr(window, name, cursor)
    for attribute in spec.algorithm.attributes(*PLAIN_TYPES):
        setattr(window, attribute, state.arrays[f"self_{attribute}"].tolist())
    for attribute in spec.algorithm.attributes("Array[P]"):
        fields = [state.arrays[name].tolist() for name in spec.parameters_of(attribute, "Array[P]")]
        setattr(window, attribute, list(zip(*fields, strict=True)))
    return window


def _from_interpreted(window: Algorithm[Any], spec: FusionSpec, state: KernelState) -> None:
    """Write the cursors and arrays of an object into a state; items that were never written become zeros."""
    state.arrays["cursors"] = _cursors(window, spec)
    for attribute in spec.algorithm.attributes(*PLAIN_TYPES):
        kind = PLAIN_TYPES[spec.algorithm.state[attribute]]
        state.arrays[f"self_{attribute}"] = np.array(getattr(window, attribute), kind)
    types = spec.layout.fields
    for attribute in spec.algorithm.attributes("Array[P]"):
        fields = zip(*(item or (0,) * len(types) for item in getattr(window, attribute)), strict=True)
        for name, field, dtype in zip(spec.parameters_of(attribute, "Array[P]"), fields, types, strict=True):
            state.arrays[name] = np.array(field, dtype)


def _cursors(window: Algorithm[Any], spec: FusionSpec) -> npt.NDArray[np.int64]:
    return np.array([getattr(window, name) for name in spec.algorithm.attributes("int")], np.int64)


def _as_array(items: list[Any], kind: Any) -> npt.NDArray[Any]:
    """Convert a list to an array. Most lists repeat one item, and filling is ten times as fast as converting."""
    if items and items.count(items[0]) == len(items):
        return np.full(len(items), items[0], kind)
    return np.array(items, kind)
