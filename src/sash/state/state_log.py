"""A state as a log: a base, which is the whole state, and a delta for each micro-batch since then.

    base ──► delta ──► delta ──► … ──► the state now
    t0       t0→t1     t1→t2            token of the state

A micro-batch changes few items (rows or slices) of a large state. A delta holds these alone. It says where in the state before
the items were that are gone, where in the state after the new items are, and their values. All other items keep their values and
their order. So applying a delta copies values and evaluates nothing: the state from a log is the state that was encoded, bit by bit,
and no function of the user runs again.

Each delta names the token of the state that it applies to. A log is valid only if these tokens form a chain from the base to the
token that the caller expects: a delta that is missing, doubled, or of another attempt of a task is an error, never another state.

The arrays of a delta, for each group of windows:

    gone, places                items: places before of those that are gone or changed; places after of new or changed ones
    gone keys                   keys: places before of those that are gone; new keys come after all others
    new <array>                 the values of new items, or of new keys
    changed <array>, to <array> by key: where a value of an old key changed, and to what
    whole <array>               an array that is neither by item nor by key, if it changed
    reset                       the group starts from nothing; all its arrays are whole

The slices of a group have keys and an order of their own, beside those of its rows. So they are a second group within a group: all names
begin with "slices ".

Places grow, so the distances between them are stored, in the smallest type that holds them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sash.columns.buffers import as_arrow
from sash.kernels.array_codec import Arrays, decode_arrays, encode_arrays, read_header
from sash.state.codec import REMEDY, WHAT, as_schema, read_arrays, read_state_header, read_table, table_bytes
from sash.windows.base import Ints

GONE, PLACES, GONE_KEYS, RESET = "gone", "places", "gone keys", "reset"
NEW, CHANGED, TO, WHOLE = "new ", "changed ", "to ", "whole "
TABLES = ("rows", "keys")
"""Arrays that are tables, as bytes: one row by item, or by key."""
KEYED = ("keys", "sizes", "done")
ITEMS = ("rows", "times", "last_times", "row_counts", "values", "field")
MEMORY = "memory"
SLICES = "slices "
"""Before the names of the arrays of slices, and of what changed in them."""
MOST_DELTAS = 500
"""A log of more deltas is replaced by a base: to read one takes about as long as a call of the state store."""
GOLDEN = 0.618034


@dataclass(frozen=True)
class Origins:
    """Where the items and keys of a state were in the state before a micro-batch."""

    items: Ints
    """By item: its place before; -1 if it is new or changed. Items that stayed keep their order."""
    keys: Ints
    """By key: its place before; -1 if it is new. Keys that stayed keep their order, and new ones come after them."""


def is_due(base_bytes: int, log_bytes: int, deltas: int, bucket: int) -> bool:
    """Return whether a base should replace a log: its deltas are larger than one to two times the base.

    So all bases together are about as large as all deltas. Buckets grow alike; the factor depends on the bucket, so that they are
    not all rewritten in the same micro-batch.

    >>> is_due(1000, 900, 3, 0), is_due(1000, 1001, 3, 0), is_due(1000, 1001, 3, 1)
    (False, True, False)
    """
    return log_bytes > base_bytes * (1 + bucket * GOLDEN % 1) or deltas > MOST_DELTAS


# -- the difference of two states ------------------------------------------------------------------------------------


def diff(before: Arrays, after: Arrays, origins: Origins | None) -> Arrays:
    """Return the delta of a group of windows between two states; without origins, a whole state.

    >>> before = {"sizes": np.array([2, 1]), "times": np.array([10, 20, 10])}
    >>> after = {"sizes": np.array([2, 1]), "times": np.array([20, 30, 10])}
    >>> delta = diff(before, after, Origins(np.array([1, -1, 2]), np.array([0, 1])))
    >>> {name: array.tolist() for name, array in delta.items()}
    {'gone': [0], 'places': [1], 'gone keys': [], 'new times': [30]}
    >>> patch(before, [delta])["times"].tolist()
    [20, 30, 10]
    """
    is_alike = dtypes_of(before) == dtypes_of(after)
    if is_alike and "sizes" not in after:  # nothing is stored by key
        return {}
    if origins is None or not is_alike:
        return {RESET: np.empty(0, np.uint8), **{f"{WHOLE}{name}": array for name, array in after.items()}}
    is_new, stays = origins.items < 0, origins.keys >= 0
    places, old_keys = np.flatnonzero(is_new), origins.keys[stays]
    items_before = int(before["sizes"].sum())
    delta: Arrays = {
        GONE: distances(_missing(origins.items[~is_new], items_before)),
        PLACES: distances(places),
        GONE_KEYS: distances(_missing(old_keys, len(before["sizes"]))),
    }
    for name, array in after.items():
        if is_by_item(name):
            if len(places):
                delta[f"{NEW}{name}"] = _take(name, array, places)
        elif is_by_key(name, array):
            if not stays.all():
                delta[f"{NEW}{name}"] = _take(name, array, np.flatnonzero(~stays))
            if name not in TABLES:
                delta |= _changed(name, before[name][old_keys], array)
        elif len(array) != len(before[name]) or len(_different(array, before[name])):
            delta[f"{WHOLE}{name}"] = array
    return delta


def _changed(name: str, before: npt.NDArray[Any], after: npt.NDArray[Any]) -> Arrays:
    """Return where the values of old keys changed, and to what."""
    changed = _different(before, after[: len(before)])
    return {f"{CHANGED}{name}": distances(changed), f"{TO}{name}": after[changed]} if len(changed) else {}


def patch(before: Arrays, deltas: Iterable[Arrays]) -> Arrays:
    """Return the arrays of a group of windows after some deltas.

    Deltas move the places of items; values are copied once, at the end. So a delta of a large state costs a pass over places.
    """
    group = _Group(before)
    for delta in deltas:
        if RESET in delta:
            group = _Group({name.removeprefix(WHOLE): array for name, array in delta.items() if name != RESET})
        elif delta:
            group.add(delta)
    return group.arrays()


class _Group:
    """The arrays of a group of windows while deltas are added."""

    def __init__(self, base: Arrays) -> None:
        self.base = base
        self.deltas: list[Arrays] = []
        self.whole: Arrays = {
            name: array for name, array in base.items() if not is_by_item(name) and name not in TABLES
        }
        keys = len(base.get("sizes", ()))
        self.items = Places(int(base["sizes"].sum()) if keys else 0)
        self.keys = Places(keys)

    def add(self, delta: Arrays) -> None:
        """Add a delta. Raise ValueError if it does not fit."""
        self.deltas.append(delta)
        gone_keys, old = places_of(delta[GONE_KEYS]), len(self.keys)
        self.items.remove(places_of(delta[GONE]))
        self.items.insert(places_of(delta[PLACES]))
        self.keys.remove(gone_keys)
        new_keys = len(delta.get(f"{NEW}sizes", ()))
        self.keys.insert(np.arange(len(self.keys), len(self.keys) + new_keys))
        for name, array in self.whole.items():
            if f"{WHOLE}{name}" in delta:
                self.whole[name] = delta[f"{WHOLE}{name}"]
            elif is_by_key(name, array):
                check(len(array) == old)
                values = np.concatenate([np.delete(array, gone_keys), delta.get(f"{NEW}{name}", array[:0])])
                if f"{CHANGED}{name}" in delta:
                    changed = places_of(delta[f"{CHANGED}{name}"])
                    check(not len(changed) or int(changed[-1]) < len(values))
                    values[changed] = delta[f"{TO}{name}"]
                self.whole[name] = values
        check("sizes" not in self.whole or int(self.whole["sizes"].sum()) == len(self.items))

    def arrays(self) -> Arrays:
        """Return the arrays, in the order of the base."""
        if not self.deltas:
            return self.base
        return {name: self.whole[name] if name in self.whole else self._collect(name) for name in self.base}

    def _collect(self, name: str) -> npt.NDArray[Any]:
        """Return an array by item, or a table, from the base and the deltas."""
        added = [delta[f"{NEW}{name}"] for delta in self.deltas if f"{NEW}{name}" in delta]
        places = self.items if is_by_item(name) else self.keys
        if name not in TABLES:
            values = np.concatenate([self.base[name], *added])
            check(len(values) == places.added)
            return values[places.sources]
        tables = [read_table(array) for array in (self.base[name], *added)]
        together = pa.concat_tables([as_schema(table, tables[-1].schema) for table in tables])
        check(len(together) == places.added)
        return table_bytes(together.take(as_arrow(places.sources)).combine_chunks())


class Places:
    """Where the values of a column are among those of the base and of all deltas, one after the other.

    >>> places = Places(3)
    >>> places.remove(np.array([0]))
    >>> places.insert(np.array([1]))
    >>> places.sources.tolist()
    [1, 3, 2]
    """

    def __init__(self, count: int) -> None:
        self.sources: Ints = np.arange(count)
        self.added = count

    def __len__(self) -> int:
        """Return the number of values."""
        return len(self.sources)

    def remove(self, places: Ints) -> None:
        """Remove the values at some places."""
        check(not len(places) or int(places[-1]) < len(self))
        self.sources = np.delete(self.sources, places)

    def insert(self, places: Ints) -> None:
        """Insert new values, at these places afterwards."""
        count = len(self) + len(places)
        check(not len(places) or int(places[-1]) < count)
        sources = np.empty(count, np.int64)
        is_old = np.ones(count, np.bool_)
        is_old[places] = False
        sources[places] = np.arange(self.added, self.added + len(places))
        sources[is_old] = self.sources
        self.sources, self.added = sources, self.added + len(places)


def dtypes_of(arrays: Arrays) -> dict[str, Any]:
    """Return what must be equal in two states for a delta between them."""
    return {name: array.dtype for name, array in arrays.items()}


def is_by_item(name: str) -> bool:
    """Return whether an array has a value for each item."""
    return name.split(" ", 1)[0] in ITEMS


def is_by_key(name: str, array: npt.NDArray[Any]) -> bool:
    """Return whether an array has a value for each key: bytes of a memory are JSON of all keys."""
    first = name.split(" ", 1)[0]
    return first in KEYED or (first == MEMORY and array.dtype != np.uint8)


def distances(places: Ints) -> npt.NDArray[Any]:
    """Return the distances between growing places, in the smallest type.

    >>> distances(np.array([3, 4, 300])).tolist(), places_of(distances(np.array([3, 4, 300]))).tolist()
    ([3, 1, 296], [3, 4, 300])
    """
    apart = np.diff(places, prepend=0)
    return apart.astype(np.min_scalar_type(int(apart.max(initial=0))))


def places_of(apart: npt.NDArray[Any]) -> Ints:
    """Return places from the distances between them."""
    return np.cumsum(apart, dtype=np.int64)


def _different(ours: npt.NDArray[Any], theirs: npt.NDArray[Any]) -> Ints:
    """Return where arrays differ in any bit: 0.0 and -0.0 are equal, but not the same state."""
    if ours.dtype.kind in "iub":
        return np.flatnonzero(ours != theirs)
    size = ours.dtype.itemsize
    bits = [np.ascontiguousarray(array).view(np.uint8).reshape(-1, size) for array in (ours, theirs)]
    return np.flatnonzero((bits[0] != bits[1]).any(axis=1))


def _missing(places: Ints, count: int) -> Ints:
    is_gone = np.ones(count, np.bool_)
    is_gone[places] = False
    return np.flatnonzero(is_gone)


def _take(name: str, array: npt.NDArray[Any], places: Ints) -> npt.NDArray[Any]:
    if name in TABLES:
        return table_bytes(read_table(array).take(as_arrow(places)).combine_chunks())
    return array[places]


def check(fits: bool) -> None:
    """Raise ValueError if a delta does not fit the state before."""
    if not fits:
        raise ValueError(_broken("a change does not fit the state that it applies to"))


# -- as bytes --------------------------------------------------------------------------------------------------------


def encode_delta(arrays: Arrays, watermark: int, before: str, after: str, **more: Any) -> bytes:
    """Return a delta as bytes, with the tokens of the states before and after; `more` replaces entries of the header of the state."""
    return encode_arrays(arrays, {"before": before, "after": after, "watermark": watermark, **more})


def read_log(
    base: bytes | memoryview, deltas: Sequence[bytes], token: str | None = None
) -> tuple[Arrays, dict[str, Any]]:
    """Return the arrays of a state, and its header, from a base and the deltas after it, in order.

    Raise ValueError if something is damaged or missing, or if the log does not end at the state with a token.
    """
    of_base = header = read_state_header(base)
    at = header.get("token")
    changes: list[Mapping[str, npt.NDArray[Any]]] = []
    for number, data in enumerate(deltas):
        of_delta = read_header(data, WHAT, REMEDY)
        if of_delta.get("before") != at or at is None:
            raise ValueError(
                _broken(f"change {number + 1} of {len(deltas)} follows another state than the one before it")
            )
        at = of_delta["after"]
        header = {**header, **of_delta, "token": at}
        changes.append(decode_arrays(data, of_delta))
    if token is not None and at != token:
        raise ValueError(_broken(f"its {len(deltas)} changes do not end at the state that was stored last"))
    return patch_groups(read_arrays(base, of_base), changes), header


def patch_groups(base: Arrays, deltas: Sequence[Mapping[str, npt.NDArray[Any]]]) -> Arrays:
    """Return the arrays of all groups of windows after some deltas; names begin with the number of the group."""
    if not deltas:
        return base
    split = [dict(arrays_by_group(base)), *(dict(arrays_by_group(delta)) for delta in deltas)]
    numbers = sorted({number for groups in split for number in groups})
    patched: Arrays = {}
    for number in numbers:
        both = zip(*(rows_and_slices(groups.get(number, {})) for groups in split), strict=True)
        for prefix, (first, *others) in zip(("", SLICES), both, strict=True):
            patched |= {f"{number} {prefix}{name}": array for name, array in patch(first, others).items()}
    return patched


def rows_and_slices(arrays: Mapping[str, npt.NDArray[Any]]) -> tuple[Arrays, Arrays]:
    """Return the arrays of the rows of a group, and those of its slices.

    >>> rows_and_slices({"rows": np.zeros(1), "slices times": np.zeros(2)})
    ({'rows': array([0.])}, {'times': array([0., 0.])})
    """
    both: tuple[Arrays, Arrays] = {}, {}
    for name, array in arrays.items():
        both[name.startswith(SLICES)][name.removeprefix(SLICES)] = array
    return both


def as_slices(arrays: Mapping[str, npt.NDArray[Any]]) -> Arrays:
    """Return the arrays of slices under their names in a group."""
    return {f"{SLICES}{name}": array for name, array in arrays.items()}


def diff_group(before: Arrays, after: Arrays, rows: Origins | None = None, slices: Origins | None = None) -> Arrays:
    """Return the delta of a group of windows between two states, given where its rows and its slices were before."""
    old, new = rows_and_slices(before), rows_and_slices(after)
    return diff(old[0], new[0], rows) | as_slices(diff(old[1], new[1], slices))


def arrays_by_group(arrays: Mapping[str, npt.NDArray[Any]]) -> Iterator[tuple[int, Arrays]]:
    """Yield the number and the arrays of each group of windows that has some.

    >>> dict(arrays_by_group({"0 times": np.array([1]), "1 times": np.array([2])}))
    {0: {'times': array([1])}, 1: {'times': array([2])}}
    """
    groups: dict[int, Arrays] = {}
    for name, array in arrays.items():
        number, name_in_group = name.split(" ", 1)
        groups.setdefault(int(number), {})[name_in_group] = array
    yield from groups.items()


def _broken(why: str) -> str:
    return f"The {WHAT} of a bucket is damaged or incomplete: {why}. To continue, {REMEDY}."
