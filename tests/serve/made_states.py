"""Rows with the columns of emitted states. Their bytes are no states: stores do not look into them."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from sash.state.key_states import HEADER


def made_states(
    states: Sequence[bytes | None], header: bytes = b"header", /, **keys: Sequence[Any] | pa.Array
) -> pa.Table:
    """Return a micro-batch: states, and the columns of their keys."""
    field = pa.field("state", pa.binary(), metadata={HEADER: base64.b64encode(header)})
    columns: Mapping[str, Any] = {name: pa.array(values) for name, values in keys.items()}
    fields = [pa.field(name, column.type) for name, column in columns.items()]
    times = pa.array([0] * len(states), pa.timestamp("us", "UTC"))
    schema = pa.schema([*fields, pa.field("state_time", times.type), field])
    return pa.table([*columns.values(), times, pa.array(states, pa.binary())], schema=schema)
