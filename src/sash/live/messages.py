"""Messages: the binary messages that the server sends to a browser. `static/messages.js` reads what this module writes.

A message is a header in JSON and columns of numbers. All numbers are little-endian, and everything starts at a multiple of 8 bytes,
so that a browser reads columns in place.

    bytes   0 … 3    "SAF1", the version of this layout
            4 … 7    uint32, the length h of the header in bytes, a multiple of 8
            8 … 7+h  the header: UTF-8 JSON, filled up with spaces
            then     the columns, one after the other, each filled up with zeros to a multiple of 8

The header has a `kind`, and in `columns` the type and length of each column: ["f8", 120] or ["f4", 120]. Other members of the
header refer to a column by its number.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

MAGIC = b"SAF1"
ALIGN = 8
TYPES: dict[str, np.dtype[Any]] = {"f8": np.dtype("<f8"), "f4": np.dtype("<f4")}

Column = npt.NDArray[np.floating[Any]]


def encode(kind: str, header: dict[str, Any], columns: Sequence[Column] = ()) -> bytes:
    """Return a message.

    >>> message = encode("panels", {"seq": 1}, [np.array([1.5, 2.5]), np.array([3], np.float32)])
    >>> len(message) % 8
    0
    >>> decode(message)
    ({'kind': 'panels', 'seq': 1, 'columns': [['f8', 2], ['f4', 1]]}, [array([1.5, 2.5]), array([3.], dtype=float32)])
    """
    shapes = [["f4" if column.dtype.itemsize == TYPES["f4"].itemsize else "f8", len(column)] for column in columns]
    text = json.dumps({"kind": kind, **header, "columns": shapes}, allow_nan=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % ALIGN)
    parts = [MAGIC, len(text).to_bytes(4, "little"), text]
    for column, (name, _) in zip(columns, shapes, strict=True):
        data = column.astype(TYPES[str(name)], copy=False).tobytes()
        parts += [data, b"\0" * (-len(data) % ALIGN)]
    return b"".join(parts)


def decode(data: bytes) -> tuple[dict[str, Any], list[Column]]:
    """Return the header and the columns of a message. Raise ValueError if it is none."""
    if data[:4] != MAGIC:
        message = f"A message starts with {MAGIC!r}, not with {data[:4]!r}."
        raise ValueError(message)
    place = 8 + int.from_bytes(data[4:8], "little")
    header = json.loads(data[8:place])
    columns: list[Column] = []
    for name, length in header["columns"]:
        kind = TYPES[name]
        if place + kind.itemsize * length > len(data):
            message = f"The message ends before its column {len(columns)}."
            raise ValueError(message)
        columns.append(np.frombuffer(data, kind, length, place))
        place += -(-kind.itemsize * length // ALIGN) * ALIGN
    return header, columns
