"""Regroups states: the states of some buckets of keys as those of other buckets.

    buckets 0 … 7  ──► split by key ──► pieces, as bytes ──► joined by new bucket ──► buckets 0 … 63

The keys say where they go; the caller knows how. All states have the watermark of the newest one: windows before it are closed for
all keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import pyarrow as pa

from sash.state.codec import encode_state
from sash.state.evolved_states import NewResult
from sash.state.fingerprint import Fingerprint
from sash.state.row_state import RowState
from sash.state.slice_state import SliceState
from sash.state.stream_state import StreamState
from sash.state.window_states import arrays_of
from sash.windows.base import Ints

NEW_RESULT = [field.name for field in fields(NewResult)]
"""What the description of a state says of results that are null before a time."""


def keys_of(state: StreamState) -> Iterator[tuple[int, int, pa.Table]]:
    """Yield the keys in a state: the number of a group of windows, that of a table of keys in it, and the table."""
    for number, one in enumerate(state.states.states):
        for part, keys in enumerate(one.keys):
            yield number, part, keys


def split_state(
    state: StreamState, places: dict[tuple[int, int], Ints], fingerprint: Fingerprint, described: list[Any] | None
) -> Iterator[tuple[int, bytes]]:
    """Yield the new buckets of the keys in a state, each with the state of its keys, as bytes.

    `places` are the new buckets, for each table of `keys_of`. `described` says of what the states of all buckets are.
    """
    states = state.states.states
    for bucket in sorted({int(one) for own in places.values() for one in np.unique(own)}):
        chosen = [
            one.selected([places[number, part] == bucket for part in range(len(one.keys))])
            for number, one in enumerate(states)
        ]
        yield bucket, encode_piece(state, fingerprint, described, chosen)


def encode_piece(
    state: StreamState,
    fingerprint: Fingerprint,
    described: list[Any] | None,
    states: Sequence[RowState | SliceState] | None = None,
) -> bytes:
    """Return a state as bytes, or that of some of its keys if `states` are given."""
    arrays = arrays_of(state.states.states if states is None else states)
    more: dict[str, Any] = {"newest": state.newest, "states": described, "partials": state.states.partials}
    return encode_state(arrays, state.watermark, fingerprint, **more)


def join_states(new_state: Callable[[], StreamState], pieces: Iterable[bytes], fingerprint: Fingerprint) -> StreamState:
    """Return the state of all keys of some pieces, which have different keys."""
    whole: StreamState | None = None
    for piece in pieces:
        other = new_state()
        other.decode(piece, fingerprint)
        if whole is None:
            whole = other
        else:
            whole.absorb(other)
    assert whole is not None
    return whole


def agree(descriptions: Sequence[list[Any] | None]) -> list[Any] | None:
    """Return the description of states that fits all buckets. Raise ValueError if buckets have different states.

    Where new results are null before a time, the latest time of all buckets is right for all: a null is never wrong. Other times must be
    equal. A later one would drop windows that are open, and rows that windows of rows count.

    >>> one, other = ([{"new": [{"since": time, "aggregates": ["n"], "windows": []}]}] for time in (3, 5))
    >>> agree([one, other]) == other
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
