"""The state of a fused algorithm: cursors, single partials and columns as NumPy arrays, in the order of its parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sash.aggregates.base import Aggregate
from sash.algorithms.base import Algorithm
from sash.kernels.fuse import FusionSpec

Arrays = dict[str, npt.NDArray[Any]]


@dataclass
class KernelState:
    """The arrays of one window, by the names of the fused loop's parameters."""

    room: int
    """How many places a ring has: a power of two."""
    arrays: Arrays
    span: npt.NDArray[np.int64]
    """The first row of the window and the one after its last; nulls are rows too."""
    before: npt.NDArray[np.int64]
    """A ring: by row, how many values came before it."""

    @property
    def arguments(self) -> list[Any]:
        """What the fused loop takes last: the mask of the rings, the cursors, and the rest of the state."""
        return [self.room - 1, *self.arrays.values()]


def empty_state(window: Any, fused: FusionSpec, longest: int, *, kept: bool) -> KernelState:
    """Return the state of an empty window with room for so many rows, to be `kept` between calls or not."""
    algorithm = type(window)
    room = 1 << (longest - 1 + algorithm.rows_behind).bit_length()
    source = fused.algorithm
    arrays: Arrays = {"cursors": np.array([getattr(window, name) for name in source.attributes("int")], np.int64)}
    for attribute, kind in source.state.items():
        if kind == "int" or attribute in fused.given:
            continue
        fields = fused.layout.fields
        if kind == "P":
            arrays |= {f"start_{attribute}_{n}": np.zeros(1, field) for n, field in enumerate(fields)}
        elif kind == "Column[P]":
            arrays |= {f"self_{attribute}_{n}": np.zeros(room, field) for n, field in enumerate(fields)}
        elif kind == "Column[int]":
            arrays[f"self_{attribute}"] = np.zeros(room, np.int64)
        elif kind == "Array[P]":
            size = len(getattr(window, attribute))
            setattr(window, attribute, None)  # a list as long as the array: not to be kept beside it
            arrays |= {f"self_{attribute}_{n}": np.zeros(size, field) for n, field in enumerate(fields)}
        else:
            arrays[f"self_{attribute}"] = _as_array(getattr(window, attribute), PLAIN_TYPES[kind])
    rows = 1 << longest.bit_length() if kept else 1
    return KernelState(room, arrays, np.zeros(2, np.int64), np.zeros(rows, np.int64))


def grown_state(
    algorithm: type[Algorithm[Any]], aggregate: Aggregate[Any], fused: FusionSpec, state: KernelState, rows: int
) -> KernelState:
    """Return the state with room for so many rows.

    A ring twice as long holds the old one twice: each position finds its item in one of the two. Arrays are enlarged by
    the algorithm itself, as it does interpreted.
    """
    room = max(state.room, 1 << (rows - 1 + algorithm.rows_behind).bit_length())
    arrays = dict(state.arrays)
    for attribute, kind in fused.algorithm.state.items():
        for name in _names_of(attribute, kind, fused) if kind.startswith("Column") else ():
            arrays[name] = np.tile(state.arrays[name], room // state.room)
    before = np.tile(state.before, max(1, (1 << rows.bit_length()) // len(state.before)))
    larger = KernelState(room, arrays, state.span, before)
    if any(kind.startswith("Array") for kind in fused.algorithm.state.values()):
        window = _to_interpreted(algorithm, aggregate, fused, larger)
        window.make_room(rows)
        _from_interpreted(window, fused, larger)
    return larger


def _to_interpreted(
    algorithm: type[Algorithm[Any]], aggregate: Aggregate[Any], fused: FusionSpec, state: KernelState
) -> Algorithm[Any]:
    """Return an object of the algorithm's class with the cursors and arrays of a state; its columns stay empty."""
    window = algorithm(aggregate)
    for name, cursor in zip(fused.algorithm.attributes("int"), state.arrays["cursors"].tolist(), strict=True):
        setattr(window, name, cursor)
    for attribute in fused.algorithm.attributes("Array[int]", "Array[bool]"):
        setattr(window, attribute, state.arrays[f"self_{attribute}"].tolist())
    for attribute in fused.algorithm.attributes("Array[P]"):
        fields = [state.arrays[name].tolist() for name in _names_of(attribute, "Array[P]", fused)]
        setattr(window, attribute, list(zip(*fields, strict=True)))
    return window


def _from_interpreted(window: Algorithm[Any], fused: FusionSpec, state: KernelState) -> None:
    """Write the cursors and arrays of an object back into a state; items that were never written become zeros."""
    state.arrays["cursors"] = np.array([getattr(window, n) for n in fused.algorithm.attributes("int")], np.int64)
    for attribute in fused.algorithm.attributes("Array[int]", "Array[bool]"):
        kind = fused.algorithm.state[attribute]
        state.arrays[f"self_{attribute}"] = np.array(getattr(window, attribute), PLAIN_TYPES[kind])
    for attribute in fused.algorithm.attributes("Array[P]"):
        nothing = (0,) * len(fused.layout.fields)
        fields = zip(*(item or nothing for item in getattr(window, attribute)), strict=True)
        for name, field, dtype in zip(
            _names_of(attribute, "Array[P]", fused), fields, fused.layout.fields, strict=True
        ):
            state.arrays[name] = np.array(field, dtype)


def _names_of(attribute: str, kind: str, fused: FusionSpec) -> list[str]:
    """The parameters that hold an attribute."""
    prefix = "start" if kind == "P" else "self"
    if kind.endswith("P]") or kind == "P":
        return [f"{prefix}_{attribute}_{field}" for field in range(len(fused.layout.fields))]
    return [f"{prefix}_{attribute}"]


def _as_array(items: list[Any], kind: Any) -> npt.NDArray[Any]:
    """Return a list as an array; most are filled with one item, and filling takes a tenth of the time of converting."""
    if items and items.count(items[0]) == len(items):
        return np.full(len(items), items[0], kind)
    return np.array(items, kind)


PLAIN_TYPES: dict[str, Any] = {"Array[int]": np.int64, "Array[bool]": np.bool_}
