"""A query over payments, and its states in a store."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa

import sash
from sash import agg, window
from sash.serve.store import Store

CARDS = sash.Query(
    by="card",
    time="ts",
    windows={"1h": window.time("1h"), "1d": window.time("1d")},
    aggregates={"n": agg.count(), "spent": agg.sum("amount"), "shops": agg.count_distinct("shop")},
    lateness="5m",
)
SHOPS = sash.Query({"peak": agg.max("amount")}, window.time("1d"), by="shop", time="ts", lateness="5m")
START = datetime(2026, 3, 2, 10, tzinfo=UTC)
END = START + timedelta(hours=3)


def payments(rows: int = 600) -> pa.Table:
    """Return payments of 40 cards in 7 shops, in order of time."""
    random = np.random.default_rng(11)
    minutes = np.sort(random.integers(0, 180, rows))
    columns = {
        "card": pa.array(random.integers(0, 40, rows)),
        "shop": pa.array([f"shop {number}" for number in random.integers(0, 7, rows)]),
        "ts": pa.array([START + timedelta(minutes=int(minute)) for minute in minutes], pa.timestamp("us", "UTC")),
        "amount": pa.array(random.integers(1, 500, rows).astype(float)),
    }
    return pa.table(columns)


def write_states(store: Store, query: sash.Query, name: str, rows: pa.Table) -> None:
    """Write the states of a stream, micro-batch by micro-batch."""
    for number, states in enumerate(query.run(rows.to_reader(max_chunksize=100), emit="state")):
        store.write(states, name, run="a test", number=number)


def expected(query: sash.Query, rows: pa.Table, key: dict[str, object], now: datetime) -> dict[str, object]:
    """Return the features that a run over labels computes."""
    label = {name: pa.array([value], rows.schema.field(name).type) for name, value in key.items()}
    labels = pa.table({**label, "ts": pa.array([now], rows.schema.field("ts").type)})
    result = query.run(rows, at=labels).to_pylist()[0]
    return {name: value for name, value in result.items() if name not in labels.column_names}
