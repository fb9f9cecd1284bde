"""The query that is served: twelve features of a card over four windows. Its events, and the states that a stream emits."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import sash
from sash import agg, window

WINDOWS = {
    "1h": window.time("1h"),
    "24h": window.time("24h", tail="10m"),
    "7d": window.time("7d", tail="1h"),
    "30d": window.time("30d", tail="1h"),
}
AGGREGATES = {"n": agg.count(), "spent": agg.sum("amount"), "largest": agg.max("amount")}
CARDS = sash.Query(AGGREGATES, WINDOWS, by="card", time="ts", lateness="1h")
EVENTS = 20
"""Of each card, one in each of as many parts of the 30 days."""
START = 1_767_225_600
"""2026-01-01 in seconds since 1970."""
SECONDS = 30 * 86_400
END = START + SECONDS
BLOCK = 50_000
"""Cards that one stream reads, so that memory does not depend on their number."""


def events_of(begin: int, end: int) -> Iterator[pa.RecordBatch]:
    """Yield the events of some cards, one micro-batch for each part of the 30 days, in order of time.

    >>> [batch.num_rows for batch in events_of(10, 14)] == [4] * EVENTS
    True
    """
    random = np.random.default_rng(begin)
    part = SECONDS // EVENTS
    for number in range(EVENTS):
        seconds = np.sort(random.integers(0, part, end - begin)) + START + number * part
        cards = random.permutation(np.arange(begin, end))
        amounts = np.round(random.exponential(40, end - begin), 2)
        times = pa.array(seconds * 1_000_000, pa.int64()).cast(pa.timestamp("us", "UTC"))
        yield pa.record_batch({"card": cards, "ts": times, "amount": amounts})


def states_of(begin: int, end: int) -> pa.RecordBatch:
    """Return the states of some cards: those that the last micro-batch emits, in which each card has an event."""
    batches = list(events_of(begin, end))
    reader = pa.RecordBatchReader.from_batches(batches[0].schema, batches)
    *_, last = CARDS.run(reader, emit="state")
    if last.num_rows != end - begin:
        raise AssertionError(f"The last micro-batch has {last.num_rows} states of {end - begin} cards.")
    return last


@lru_cache(maxsize=1)
def _events(begin: int, end: int) -> pa.Table:
    return pa.Table.from_batches(list(events_of(begin, end)))


def expected(card: int, now: int, keys: int) -> dict[str, object]:
    """Return the features of a card at a time, from its events, as those of a label."""
    begin = card // BLOCK * BLOCK
    events = _events(begin, min(begin + BLOCK, keys))
    events = events.filter(pc.equal(events["card"], card))
    moment = pa.array([now * 1_000_000]).cast(pa.timestamp("us", "UTC"))
    labels = pa.table({"card": pa.array([card]), "ts": moment})
    row = CARDS.run(events, at=labels).to_pylist()[0]
    return {name: value for name, value in row.items() if name not in ("card", "ts")}
