"""The state of a window as bytes: NumPy's own, with a header that says what they are, and a checksum. No pickle.

SASH · version · length of the header · header (JSON) · the arrays one behind the other · CRC-32 of all before
"""

from __future__ import annotations

import json
import struct
import zlib
from typing import Any

import numpy as np

from sash.kernels.state import State

MAGIC = b"SASH"
VERSION = 1
START = struct.Struct("<4sHI")
END = struct.Struct("<I")


def freeze_state(state: State, described: dict[str, Any]) -> bytes:
    """Return a state as bytes, with a description for whoever thaws it."""
    arrays = {"span": state.span, "before": state.before, **state.arrays}
    listed = [[name, array.dtype.str, len(array)] for name, array in arrays.items()]
    header = json.dumps({**described, "room": state.room, "arrays": listed}).encode()
    frozen = START.pack(MAGIC, VERSION, len(header)) + header + b"".join(array.tobytes() for array in arrays.values())
    return frozen + END.pack(zlib.crc32(frozen))


def read_header(data: bytes) -> dict[str, Any]:
    """Return the description of frozen bytes, or say what is wrong with them."""
    if len(data) < START.size + END.size or data[:4] != MAGIC:
        message = "These bytes are not a frozen Sash window, or were cut short: freeze the window again."
        raise ValueError(message)
    _, version, size = START.unpack_from(data)
    if version != VERSION:
        message = f"This window was frozen in version {version} of the format; this Sash reads version {VERSION}."
        raise ValueError(message)
    if zlib.crc32(data[: -END.size]) != END.unpack_from(data, len(data) - END.size)[0]:
        message = "The bytes of this frozen window were cut short or changed: freeze the window again."
        raise ValueError(message)
    header: dict[str, Any] = json.loads(data[START.size : START.size + size])
    return header


def thaw_state(data: bytes, like: State) -> State:
    """Return the state in frozen bytes; it must have the arrays of `like`, whatever their lengths."""
    header = read_header(data)
    expected = {"span": like.span, "before": like.before, **like.arrays}
    kinds = [[name, array.dtype.str] for name, array in expected.items()]
    if [entry[:2] for entry in header["arrays"]] != kinds:
        message = (
            f"This window was frozen as {[entry[:2] for entry in header['arrays']]}, but {header['aggregate']} is "
            f"now kept as {kinds}: thaw it with the aggregate that it was frozen with."
        )
        raise ValueError(message)
    place = START.size + START.unpack_from(data)[2]
    arrays = {}
    for name, dtype, length in header["arrays"]:
        arrays[name] = np.frombuffer(data, dtype, length, place).copy()
        place += arrays[name].nbytes
    span, before = arrays.pop("span"), arrays.pop("before")
    return State(header["room"], arrays, span, before)
