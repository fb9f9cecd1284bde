"""KeyLayout: the bytes of the state of single keys, and what is the same for all of them: the header.

    id │ since │ rows │ slices │ flags │ times, columns of rows │ times, partials of slices │ CRC-32

README.md documents the layout. The header is stored once; its last bytes are the id that each state begins with.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.columns.column_types import plain_type
from sash.columns.read_column import to_arrow
from sash.engine.partials import SliceCounts, SlicePartials
from sash.kernels.array_codec import decode_arrays, encode_arrays, read_header
from sash.kernels.fused_partial import PartialLayout, Shape, shape_from
from sash.plan.query_spec import QuerySpec
from sash.state.codec import nullable_schema
from sash.state.fingerprint import Fingerprint
from sash.state.key_columns import BINARY, ColumnParts, Cursor, check_storable, level_count, segment
from sash.windows.base import Ints

VERSION = 1
"""Of the bytes of a key. Another version has another header, so states do not repeat it."""
WHAT = "header of the states of keys"
REMEDY = "pass the header of these states: query.state_header(stream)"
START = struct.Struct("<4sqII")
"""The id of the header, the earliest time of a lookup, the numbers of rows and slices."""
END = struct.Struct("<I")
KEYS_PER_CALL = 1 << 16
"""Keys that are encoded together, so that temporary columns stay small."""


class KeySlices(NamedTuple):
    """The slices of some keys, one key after the other."""

    times: Ints
    partials: Sequence[SlicePartials]
    """For each pass."""


class KeyState(NamedTuple):
    """The state of one key."""

    since: int
    """Lookups are exact from this time on."""
    times: Ints
    """Of the rows."""
    columns: Mapping[str, pa.Array]
    slices: KeySlices | None


@dataclass(frozen=True)
class KeyLayout:
    """What the states of all keys of a stream have in common."""

    query: Fingerprint
    schema: pa.Schema
    """The columns that the query reads."""
    shapes: tuple[Shape, ...]
    """By pass: the structure of the partials of slices. Empty if the state holds rows only."""
    forget: int | None
    """In ticks, how long after its last row a key is forgotten."""
    time: str
    names: tuple[str, ...]
    """The columns of rows, besides the time."""

    @cached_property
    def header(self) -> bytes:
        """The header."""
        schema = np.frombuffer(self.schema.serialize(), np.uint8)
        more = {"version": VERSION, "query": dict(self.query), "shapes": self.shapes, "forget": self.forget}
        return encode_arrays({"schema": schema}, {"of": WHAT, "time": self.time, "names": self.names, **more})

    @cached_property
    def id(self) -> bytes:
        """What each state begins with: the checksum of the header."""
        return self.header[-END.size :]

    @cached_property
    def types(self) -> list[pa.DataType]:
        """The types of the columns of rows, without dictionaries."""
        return [plain_type(self.schema.field(name).type) for name in self.names]

    @cached_property
    def fields(self) -> list[list[np.dtype[Any]]]:
        """By pass: the types of the fields of a partial."""
        return [[np.dtype(field) for field in PartialLayout(shape).fields] for shape in self.shapes]

    @cached_property
    def flag_bytes(self) -> int:
        """How many bytes of a state say which levels have nulls."""
        return (sum(map(level_count, self.types)) + 7) // 8

    @property
    def described(self) -> str:
        """What a stream emits, for explanations."""
        least = START.size + self.flag_bytes + END.size
        holds = "its rows and slices" if self.shapes else "its rows"
        return f"for each key with new rows its state, {least} B and {holds}, which query.lookup reads; null once nothing is stored of it"

    @property
    def no_slices(self) -> KeySlices:
        """No slices."""
        nothing = np.zeros(0, np.int64)
        partials = [
            SlicePartials([np.zeros(0, field) for field in fields], shape, SliceCounts(nothing))
            for shape, fields in zip(self.shapes, self.fields, strict=True)
        ]
        return KeySlices(nothing, partials)

    # -- encode --------------------------------------------------------------------------------------------------------

    def encode(
        self, since: int, times: Ints, rows: pa.Table, sizes: Ints, slices: KeySlices | None, slice_sizes: Ints
    ) -> pa.Array:
        """Return the states of some keys as binary data, given their rows and slices, one key after the other."""
        encoded, first_row, first_slice = [], 0, 0
        for first in range(0, len(sizes), KEYS_PER_CALL):
            keys = slice(first, first + KEYS_PER_CALL)
            next_row = first_row + int(sizes[keys].sum())
            next_slice = first_slice + int(slice_sizes[keys].sum())
            chosen_slices = None
            if slices is not None:
                chosen = slice(first_slice, next_slice)
                chosen_slices = KeySlices(
                    slices.times[chosen], [partials.select(chosen) for partials in slices.partials]
                )
            chosen_rows = rows.slice(first_row, next_row - first_row)
            rows_and_slices = (times[first_row:next_row], chosen_rows, sizes[keys], chosen_slices, slice_sizes[keys])
            encoded.append(self._encode(since, *rows_and_slices))
            first_row, first_slice = next_row, next_slice
        return pa.concat_arrays(encoded) if encoded else pa.nulls(0, pa.binary())

    def _encode(
        self, since: int, times: Ints, rows: pa.Table, sizes: Ints, slices: KeySlices | None, slice_sizes: Ints
    ) -> pa.Array:
        one = np.ones(len(sizes), np.int64)
        start = np.empty(len(sizes), np.dtype([("id", "S4"), ("since", "<i8"), ("rows", "<u4"), ("slices", "<u4")]))
        start["since"], start["rows"], start["slices"] = since, sizes, slice_sizes
        start.view(np.uint8).reshape(len(sizes), START.size)[:, :4] = np.frombuffer(self.id, np.uint8)
        columns = [ColumnParts(to_arrow(rows[name]), sizes) for name in self.names]
        segments = [segment(start.view(np.uint8), one * START.size)]
        if flags := [flag for column in columns for flag in column.flags]:
            packed = np.packbits(np.stack(flags, axis=1), axis=1, bitorder="little")
            segments.append(segment(packed.reshape(-1), one * packed.shape[1]))
        segments.append(segment(times, sizes))
        segments += [part for column in columns for part in column.segments]
        if slices is not None:
            segments.append(segment(slices.times, slice_sizes))
            for partials in slices.partials:
                segments += [segment(array, slice_sizes) for array in (partials.counts.values, *partials.fields)]
        nothing = pa.scalar(b"", BINARY)
        joined = pc.binary_join_element_wise(*segments, nothing) if len(segments) > 1 else segments[0]
        checks = segment(np.array(_checksums(joined), np.uint32), one)
        return pc.binary_join_element_wise(joined, checks, nothing).cast(pa.binary())

    # -- decode --------------------------------------------------------------------------------------------------------

    def start(self, state: bytes) -> tuple[int, int, int]:
        """Return since when lookups are exact, and how many rows and slices a state has. Raise ValueError if it is not one of this layout."""
        if len(state) < START.size + END.size:
            raise damaged()
        own, since, rows, slices = START.unpack_from(state)
        if own != self.id:
            raise ValueError(
                "This state belongs to another header: to another query, other columns, or another version of Sash. Pass the header "
                "that was stored with it, or write the store anew."
            )
        if zlib.crc32(memoryview(state)[: -END.size]) != END.unpack_from(state, len(state) - END.size)[0]:
            raise damaged()
        return since, rows, slices

    def decode(self, state: bytes) -> KeyState:
        """Return the state of a key. Raise ValueError if it is damaged, or not of this layout."""
        since, rows, slices = self.start(state)
        flag_bytes = np.frombuffer(state, np.uint8, self.flag_bytes, START.size)
        flags = iter(np.unpackbits(flag_bytes, bitorder="little").view(np.bool_).tolist())
        cursor = Cursor(state, START.size + self.flag_bytes, flags)
        times = cursor.array("<i8", rows)
        columns = {name: cursor.column(dtype, rows) for name, dtype in zip(self.names, self.types, strict=True)}
        stored_slices = None
        if self.shapes:
            slice_times = cursor.array("<i8", slices)
            partials = []
            for shape, fields in zip(self.shapes, self.fields, strict=True):
                counts = SliceCounts(cursor.array("<i8", slices))
                partials.append(SlicePartials([cursor.array(field, slices) for field in fields], shape, counts))
            stored_slices = KeySlices(slice_times, partials)
        if cursor.place != len(state) - END.size:
            raise damaged()
        return KeyState(since, times, columns, stored_slices)


def _checksums(joined: pa.Array) -> list[int]:
    """Return the CRC-32 of each value."""
    data = memoryview(joined.buffers()[2])
    offsets = np.frombuffer(joined.buffers()[1], np.int64)[joined.offset : joined.offset + len(joined) + 1].tolist()
    return [zlib.crc32(data[begin:end]) for begin, end in pairwise(offsets)]


def damaged() -> ValueError:
    """Return the error for bytes that are no state of a key."""
    return ValueError(
        "These bytes are not the state of a key, or they are incomplete or changed. Read them again, or fill the store again."
    )


def layout_of(
    query: QuerySpec, schema: pa.Schema, fingerprint: Fingerprint, shapes: Sequence[Shape], forget: int | None
) -> KeyLayout:
    """Return the layout of the states of a query. Raise TypeError if a column cannot be part of them."""
    assert query.time is not None
    columns = [str(name) for aggregate in query.aggregates.values() for name in aggregate.named_columns]
    names = tuple(name for name in dict.fromkeys(columns) if name != query.time)
    for name in names:
        check_storable(name, schema.field(name).type)
    read = [schema.field(name) for name in map(str, query.columns)]
    plain = nullable_schema(pa.schema(read).remove_metadata())
    return KeyLayout(fingerprint, plain, tuple(shapes), forget, query.time, names)


def layout_from(header: bytes) -> KeyLayout:
    """Return the layout that a header describes. Raise ValueError if it is damaged, or of another version."""
    described = read_header(header, WHAT, REMEDY)
    if described.get("of") != WHAT:
        raise ValueError(f"These bytes are not the {WHAT}: {REMEDY}.")
    if described["version"] != VERSION:
        raise ValueError(
            f"This {WHAT} is of version {described['version']}, but this Sash reads version {VERSION}. Write the store anew."
        )
    schema = pa.ipc.read_schema(pa.py_buffer(decode_arrays(header, described)["schema"]))
    shapes = tuple(map(shape_from, described["shapes"]))
    return KeyLayout(
        described["query"], schema, shapes, described["forget"], described["time"], tuple(described["names"])
    )
