"""Reads the messages of the server, as `static/messages.js` does."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from sash.live.messages import ALIGN, MAGIC, Column


def decode(data: bytes) -> tuple[dict[str, Any], list[Column]]:
    """Return the header and the columns of a message. Raise ValueError for other data."""
    if data[:4] != MAGIC:
        message = f"A message starts with {MAGIC!r}, not with {data[:4]!r}."
        raise ValueError(message)
    place = 8 + int.from_bytes(data[4:8], "little")
    header = json.loads(data[8:place])
    columns: list[Column] = []
    for name, length in header["columns"]:
        dtype = np.dtype(f"<{name}")
        if place + dtype.itemsize * length > len(data):
            message = f"The message ends before its column {len(columns)}."
            raise ValueError(message)
        columns.append(np.frombuffer(data, dtype, length, place))
        place += -(-dtype.itemsize * length // ALIGN) * ALIGN
    return header, columns
