"""The tables of the H2O benchmark: the one of its rolling questions, and the large one of its joins, which window questions read."""

from __future__ import annotations

from functools import lru_cache
from itertools import islice

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from falsa.local_fs import JoinBigGenerator

MOST = 1_000_000
"""Rows, of each table."""
SEED = 108
DENSE, SPARSE = 1.1, 2
"""How many times the rows the largest number of an uneven index is."""
JOIN_SIZE = 10_000_000
"""The smallest table that falsa makes. Its first million rows are read: windows without a key take Spark minutes over all."""
JOIN_KEYS = 10
MILLIONTHS = 1e6


@lru_cache(maxsize=1)
def _series(blocks: int) -> pa.Table:
    """Return so many million rows. The walks start anew each million: they fall, and would come to 0."""
    random = np.random.default_rng(SEED)

    def index(times: float) -> np.ndarray:
        most = int(MOST * times)
        numbers = np.sort(random.choice(most, MOST, replace=False)) + 1
        return np.concatenate([numbers + block * most for block in range(blocks)])

    return pa.table(
        {
            "id1": np.arange(1, blocks * MOST + 1),
            "id2": index(DENSE),
            "id3": index(SPARSE),
            "v1": np.tile(np.cumprod(random.normal(1, 0.005, MOST)), blocks),
            "v2": np.tile(np.cumprod(random.normal(1, 0.001, MOST)), blocks),
            "weights": np.tile(random.normal(1, 0.1, MOST), blocks),
        }
    )


def series(rows: int) -> pa.Table:
    """Return the table of rolling questions, as db-benchmark makes it: three indexes, two random walks, and weights.

    >>> series(2).column_names
    ['id1', 'id2', 'id3', 'v1', 'v2', 'weights']
    """
    return _series(max(1, -(-rows // MOST))).slice(0, rows)


@lru_cache(maxsize=1)
def _large(blocks: int) -> pa.Table:
    size = max(JOIN_SIZE, blocks * MOST)
    made = JoinBigGenerator(size, size, JOIN_KEYS, 0, batch_size=MOST)
    batches = [batch.select(["id1", "id2", "id3", "v2"]) for batch in islice(made.iter_batches(), blocks)]
    table = pa.Table.from_batches(batches)
    millionths = pc.round(pc.multiply(table["v2"], MILLIONTHS)).cast("int64")
    return table.append_column("v2_millionths", millionths)


def large(rows: int) -> pa.Table:
    """Return the large table of the joins, as falsa makes it. `id3` is unique; `id1` and `id2` have 10 and 10,000 values."""
    return _large(max(1, -(-rows // MOST))).slice(0, rows)
