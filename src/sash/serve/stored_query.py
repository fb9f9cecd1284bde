"""What a store remembers of a query: its layout, and which micro-batch of which run it has written last."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from sash.serve.key_codec import KeyCodec
from sash.state.key_states import HEADER, STATE, STATE_TIME


class RunConflictError(RuntimeError):
    """A run may not write, because another run does."""


@dataclass(frozen=True)
class StateLayout:
    """What all states of a query have in common: the header that `query.lookup` reads them with, the columns of keys, and the time."""

    header: bytes
    columns: pa.Schema
    """The key columns and `state_time`, without metadata."""

    @classmethod
    def of(cls, schema: pa.Schema) -> StateLayout:
        """Return the layout of the states that `query.run(stream, emit="state")` emits. Raise ValueError for other columns."""
        place = schema.get_field_index(STATE)
        metadata = (None if place < 0 else schema.field(place).metadata) or {}
        if HEADER.encode() not in metadata or STATE_TIME not in schema.names:
            problem = "These rows are not the states of a query."
            raise ValueError(f'{problem} Write what query.run(stream, emit="state") returns, with all of its columns.')
        columns = [pa.field(field.name, field.type) for field in schema if field.name != STATE]
        return cls(base64.b64decode(metadata[HEADER.encode()]), pa.schema(columns))

    @cached_property
    def codec(self) -> KeyCodec:
        """How keys are written. Raise TypeError if a column cannot be a key."""
        return KeyCodec(pa.schema([field for field in self.columns if field.name != STATE_TIME]))

    @property
    def time_type(self) -> pa.DataType:
        """The type of the time column."""
        return self.columns.field(STATE_TIME).type

    @cached_property
    def digest(self) -> bytes:
        """A hash that tells layouts apart."""
        return hashlib.sha256(self.header + self.columns.serialize().to_pybytes()).digest()[:16]


@dataclass(frozen=True)
class StoredQuery:
    """A query of a store."""

    name: str
    layout: StateLayout
    run: str | None
    """The run that writes; None if none does, because the last one was released."""
    number: int | None
    """The newest micro-batch of the run that is written; None if none is."""

    def admits(self, layout: StateLayout, run: str, number: int, *, released: bool) -> bool:
        """Return whether a micro-batch is to be written: not if it has been written before.

        Raise RunConflictError if a run may not write, and ValueError if the states belong to another query. `released` says whether
        the run was released before.
        """
        if released:
            advice = "Start it again with a new checkpoint, or another run=, if it is to write."
            raise RunConflictError(f"Run {run!r} of {self.name!r} was released and cannot write any more. {advice}")
        if self.run not in (None, run):
            advice = f"If run {run!r} replaces it for good, call store.release({self.name!r}) first."
            raise RunConflictError(f"Run {self.run!r} writes {self.name!r}, and this is run {run!r}. {advice}")
        if layout.digest != self.layout.digest:
            problem = f"The store has states of another query, or of other columns, as {self.name!r}."
            advice = f"Write to another name, or delete them with store.drop({self.name!r})."
            raise ValueError(f"{problem} {advice}")
        return self.number is None or number > self.number


@dataclass(frozen=True)
class States:
    """States that were read at once."""

    digest: bytes
    """Of the layout that they are written in."""
    states: list[bytes | None]
    """None for a key that the store does not know."""


def check_write(name: str, run: str, number: int) -> None:
    """Raise TypeError or ValueError for a name, a run or a number that cannot be one."""
    for label, text in (("name", name), ("run", run)):
        if not isinstance(text, str):
            raise TypeError(f"{label} must be text, not {text!r}.")
        if not text:
            raise ValueError(f"{label} must not be empty.")
    if isinstance(number, bool) or not isinstance(number, int):
        raise TypeError(f"number must be the number of a micro-batch, not {number!r}.")
    if number < 0:
        raise ValueError(f"number must not be negative: {number}.")


def unknown_query(name: str, store: str, names: list[str]) -> LookupError:
    """Return the error for a name that a store does not have."""
    known = f"It has {', '.join(map(repr, names))}." if names else "Nothing has been written to it yet."
    return LookupError(f"{store} has no states of {name!r}. {known}")
