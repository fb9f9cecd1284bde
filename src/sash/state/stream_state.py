"""A part of a stream that goes on from one process to the next: rows and a watermark in, results out, state as bytes.

bytes ──► keeper ──► bytes
            ▲ │
rows, watermark └─► results, rows that came too late
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from sash.engine.local import Local
from sash.kernels.array_codec import decode_arrays, encode_arrays, read_header
from sash.state.codec import arrays_of, restore
from sash.state.fingerprint import changes
from sash.state.reader import new_kept
from sash.state.watermark import Piece
from sash.windows.base import FOREVER, NEVER
from sash.windows.by_time import Periodic

VERSION = 1
"""Of what the arrays of a keeper mean."""
WHAT = "state of a stream"
THEN = "start from a checkpoint that is whole, or anew"


@dataclass(frozen=True)
class Taken:
    """What came of some rows."""

    results: pa.Table
    late: int
    """How many rows were too late."""


class Keeper:
    """What is kept of the keys of a bucket.

    >>> from sash import agg, window
    >>> from sash.plan.declared import declare
    >>> declared = declare({"n": agg.count()}, window.tumbling(10), (), "at", (), "auto", "throughput", "auto", None)
    >>> keeper = Keeper(Local(declared, pa.schema({"at": pa.int64()}), compiled=False))
    >>> keeper.take(pa.table({"at": [1, 7, 12]}), 0).results.num_rows
    0
    >>> keeper.due
    10
    >>> keeper.take(pa.table({"at": [3, 13]}), 10)  # doctest: +ELLIPSIS
    Taken(results=pyarrow.Table
    ...
    n: [[2]], late=1)
    """

    def __init__(self, local: Local, mode: str = "append") -> None:
        local.settle()
        self.local = local
        self.kept = new_kept(local, mode)
        self.watermark = NEVER

    def __len__(self) -> int:
        """Return how many rows or slices are kept."""
        return len(self.kept)

    def take(self, table: pa.Table, watermark: int, *, before_it: bool = False) -> Taken:
        """Take rows that came, and return the results that are complete at a watermark.

        Rows older than it are late; unless they came `before_it` moved, and then those older than it was before.
        """
        assert self.local.time is not None
        watermark = max(watermark, self.watermark)
        times = self.local.time.read(table[self.local.time.name])
        in_time = times >= (self.watermark if before_it else watermark)
        late = int(len(times) - np.count_nonzero(in_time))
        if late:
            table = table.filter(pa.array(in_time))
        results = self.kept.take(Piece(table, self.watermark, watermark, FOREVER, FOREVER))
        self.watermark = watermark
        return Taken(results, late)

    def finish(self) -> pa.Table:
        """Return the rest of the results: nothing more comes."""
        return self.take(self.local.schema.empty_table(), FOREVER).results

    @property
    def due(self) -> int:
        """The earliest watermark at which there is something to do, if no more rows come; FOREVER if there is nothing."""
        return self.kept.due(self.watermark)

    def freeze(self, described: Mapping[str, Any]) -> bytes:
        """Return all that is kept as bytes, with a description of the query."""
        header = {"state": VERSION, "query": dict(described), "watermark": self.watermark}
        return encode_arrays(arrays_of(self.kept), header)

    def thaw(self, data: bytes | memoryview, described: Mapping[str, Any]) -> None:
        """Go on from bytes that were frozen, or say why they are not for this query."""
        header = read_state(data)
        refuse_another(header["query"], described)
        self.watermark = header["watermark"]
        restore(self.kept, decode_arrays(data, header))


def read_state(data: bytes | memoryview) -> dict[str, Any]:
    """Return the description of frozen state, or say what is wrong with it."""
    header = read_header(data, WHAT, THEN)
    if header.get("state") != VERSION:
        message = f"This state of a stream is of version {header.get('state')}, and this Sash reads {VERSION}: {THEN}."
        raise ValueError(message)
    return header


def refuse_another(then: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Say so if state was kept by another query."""
    if said := changes(then, now):
        message = (
            f"The checkpoint holds the state of another query: {'; '.join(said)}. Run the query that it was made with, or "
            "give this one a checkpoint of its own."
        )
        raise ValueError(message)


def first_in_time(local: Local, watermark: int) -> int:
    """Return the oldest time, in ticks, that is not too late at a watermark of Spark's, in ticks too.

    Spark takes a row at the watermark itself for late, and a window that ends there for closed: so windows that a row
    ends are final up to it and with it, and those that end by themselves up to it.
    """
    periodic = all(isinstance(window, Periodic) for window in local.plan.windows.values())
    return watermark if periodic else watermark + 1
