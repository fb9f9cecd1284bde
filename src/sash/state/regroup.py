"""Splits a state by key, and joins the states of different keys.

    state ──► hashes of its keys ──► a number for each ──► one state per number

A state that is split has a hash beside each key. Spark has computed it, so that the keys of a state and the rows of a stream go to the
same place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import pyarrow as pa

from sash.columns.buffers import as_numpy
from sash.engine.row_block import KEY_HASH
from sash.state.fingerprint import Fingerprint
from sash.state.known_since import NewResult
from sash.state.stream_state import StreamState
from sash.state.window_states import WindowStates
from sash.windows.base import Ints

NEW_RESULT = [field.name for field in fields(NewResult)]
"""What the description of a state says of results that are null before a time."""


def split_state(
    state: StreamState,
    new_state: Callable[[], StreamState],
    number_of: Callable[[Ints], Ints],
    described: list[Any] | None = None,
) -> Iterator[tuple[int, StreamState]]:
    """Yield the states of some keys each, with their numbers: `number_of` returns the numbers of keys from their hashes.

    Without hashes, as the query has no keys, the number is 0. `described` says which windows and aggregates they are of, if not the same.
    """
    numbers = [[_numbers(keys, number_of) for keys in stored.keys] for stored in state.states.states]
    for number in sorted({int(number) for by_table in numbers for by_key in by_table for number in np.unique(by_key)}):
        part = like(state, new_state, described or state.states.described)
        for ours, theirs, by_table in zip(part.states.states, state.states.states, numbers, strict=True):
            ours.absorb(theirs.selected([by_key == number for by_key in by_table]))
        yield number, part


def _numbers(keys: pa.Table, number_of: Callable[[Ints], Ints]) -> Ints:
    if KEY_HASH not in keys.column_names:
        return np.zeros(len(keys), np.int64)
    return number_of(as_numpy(keys[KEY_HASH].combine_chunks()))


def like(state: StreamState, new_state: Callable[[], StreamState], described: list[Any] | None) -> StreamState:
    """Return an empty state with the watermark of another; `described` says which windows and aggregates it is of."""
    empty = new_state()
    if described is not None:
        empty.states = WindowStates.like(empty.prepared, empty.options, described)
    empty.watermark, empty.newest = state.watermark, state.newest
    return empty


def join_states(new_state: Callable[[], StreamState], pieces: Iterable[bytes], fingerprint: Fingerprint) -> StreamState:
    """Return the state of all keys of some pieces, which have different keys."""
    states = []
    for piece in pieces:
        state = new_state()
        state.decode(piece, fingerprint)
        states.append(state)
    while len(states) > 1:  # two by two, so that each is copied a few times
        for ours, theirs in zip(states[::2], states[1::2], strict=False):
            ours.absorb(theirs)
        states = states[::2]
    return states[0]


def agree(descriptions: Sequence[list[Any] | None]) -> list[Any] | None:
    """Return the description of states that fits all buckets. Raise ValueError if buckets have different states.

    Where new results are null before a time, the latest time of all buckets is right for all: a null is never wrong. Other times must be
    equal. A later one would drop windows that are open, and rows that windows of rows count.

    >>> older, newer = ([{"new": [{"since": time, "aggregates": ["n"], "windows": []}]}] for time in (3, 5))
    >>> agree([older, newer]) == newer
    True
    """
    made: Any = descriptions[0] if descriptions else None
    for other in descriptions[1:]:
        made = _latest(made, other)
    return None if made is None else list(made)


def _latest(one: Any, other: Any) -> Any:
    if isinstance(one, dict) and isinstance(other, dict) and list(one) == list(other):
        since = {"since": max(one["since"], other["since"])} if list(one) == NEW_RESULT else {}
        return {name: since[name] if name in since else _latest(one[name], other[name]) for name in one}
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return [_latest(*both) for both in zip(one, other, strict=True)]
    if one == other:
        return one
    raise ValueError(
        "The stream of this checkpoint has changed its query (evolve=True), and some of its windows are still those of the older query. "
        "Run the stream on until its watermark has passed by the length of its longest window, then use the checkpoint."
    )
