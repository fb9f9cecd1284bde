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

Column = npt.NDArray[np.floating[Any]]


def encode(kind: str, header: dict[str, Any], columns: Sequence[Column] = ()) -> bytes:
    """Return a message.

    >>> message = encode("panels", {"seq": 1}, [np.array([1.5, 2.5]), np.array([3], np.float32)])
    >>> message[:4], len(message) % 8
    (b'SAF1', 0)
    """
    shapes = [[f"f{column.dtype.itemsize}", len(column)] for column in columns]
    members = {"kind": kind, **header, "columns": shapes}
    encoded = json.dumps(members, allow_nan=False, separators=(",", ":")).encode()
    encoded += b" " * (-len(encoded) % ALIGN)
    pieces = [MAGIC, len(encoded).to_bytes(4, "little"), encoded]
    for column, (dtype, _) in zip(columns, shapes, strict=True):
        data = column.astype(f"<{dtype}", copy=False).tobytes()
        pieces += [data, b"\0" * (-len(data) % ALIGN)]
    return b"".join(pieces)
