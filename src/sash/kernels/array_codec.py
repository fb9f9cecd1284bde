"""Arrays as bytes: NumPy's own bytes after a header, with a checksum. No pickle.

SASH · version · length of the header · header (JSON) · body · CRC-32 of all bytes before
                                       names and types   lengths of the arrays · the arrays

Everything that depends on the values is in the body. So many bodies can share one header.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sash.kernels.kernel_state import KernelState

MAGIC = b"SASH"
VERSION = 4
"""The only version number of the format, for windows and for the state of streams."""
START = struct.Struct("<4sHI")
END = struct.Struct("<I")
Arrays = dict[str, npt.NDArray[Any]]


def encode_arrays(arrays: Mapping[str, npt.NDArray[Any]], described: Mapping[str, Any]) -> bytes:
    """Return arrays as bytes; `described` goes into the header.

    >>> data = encode_arrays({"x": np.array([3, 5])}, {"of": "a window"})
    >>> read_header(data)["of"], decode_arrays(data)["x"].tolist()
    ('a window', [3, 5])
    """
    listed = [[name, array.dtype.str] for name, array in arrays.items()]
    header = json.dumps({**described, "arrays": listed}).encode()
    start = START.pack(MAGIC, VERSION, len(header))
    data = b"".join([start, header, *_body(list(arrays.values()))])
    return data + END.pack(zlib.crc32(data))


def _body(arrays: Sequence[npt.NDArray[Any]]) -> Iterator[Any]:
    """Yield the bytes of each length, the lengths in this size, and the arrays."""
    lengths = np.array([len(array) for array in arrays], np.uint64)
    kind = np.min_scalar_type(int(lengths.max(initial=0)))
    yield bytes([kind.itemsize])
    yield lengths.astype(kind.newbyteorder("<")).tobytes()
    yield from (np.ascontiguousarray(array).data for array in arrays)


def read_header(
    data: bytes | memoryview, what: str = "window", then: str = "freeze the window again"
) -> dict[str, Any]:
    """Return the header. Raise ValueError if the bytes are truncated, changed, or of another version."""
    if len(data) < START.size + END.size or data[:4] != MAGIC:
        raise ValueError(f"These bytes are not a frozen Sash {what}, or were cut short: {then}.")
    _, version, size = START.unpack_from(data)
    if version != VERSION:
        raise ValueError(
            f"This {what} is of version {version} of the format, but this Sash reads version {VERSION}: {then}."
        )
    if zlib.crc32(data[: -END.size]) != END.unpack_from(data, len(data) - END.size)[0]:
        raise ValueError(f"The bytes of this frozen {what} were cut short or changed: {then}.")
    header: dict[str, Any] = json.loads(bytes(data[START.size : START.size + size]))
    return header


def decode_arrays(data: bytes | memoryview, header: Mapping[str, Any] | None = None) -> Arrays:
    """Return the arrays as views of the bytes. Pass the header if it was read before."""
    listed = (read_header(data) if header is None else header)["arrays"]
    offset = START.size + START.unpack_from(data)[2]
    size = data[offset]
    lengths = np.frombuffer(data, f"<u{size}", len(listed), offset + 1)
    offset += 1 + size * len(listed)
    arrays = {}
    for (name, dtype), length in zip(listed, lengths.tolist(), strict=True):
        arrays[name] = np.frombuffer(data, dtype, length, offset)
        offset += arrays[name].nbytes
    return arrays


def encode_state(state: KernelState, described: dict[str, Any]) -> bytes:
    """Return the state of a window as bytes."""
    arrays = {"span": state.span, "before": state.before, **state.arrays}
    return encode_arrays(arrays, {**described, "room": state.room})


def decode_state(data: bytes, like: KernelState) -> KernelState:
    """Return the state in the bytes. Raise ValueError unless it has the same arrays as `like`, of any length."""
    header = read_header(data)
    expected = {"span": like.span, "before": like.before, **like.arrays}
    now = [[name, array.dtype.str] for name, array in expected.items()]
    frozen = [entry[:2] for entry in header["arrays"]]
    if frozen != now:
        raise ValueError(
            f"This window was frozen with the arrays {frozen}, but the state of {header['aggregate']} now has {now}: "
            "thaw it with the aggregate that it was frozen with."
        )
    arrays = {name: array.copy() for name, array in decode_arrays(data, header).items()}
    span, before = arrays.pop("span"), arrays.pop("before")
    return KernelState(header["room"], arrays, span, before)
