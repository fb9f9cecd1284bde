"""What explanations promise of the state of a stream, held against real states."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sash
from sash import agg, window
from sash.engine.prepare import prepare
from sash.state.declared_size import READ_AGAIN, declared_sizes, describe_state
from sash.state.fingerprint import fingerprint_query
from sash.state.state_log import is_due
from sash.state.stored_items import StateSize
from sash.state.stream_state import StreamState

HOUR, DAY = 3_600_000_000, 86_400_000_000
KEYS, PER_HOUR = 40, 4
LATE = HOUR // 6


def payments(days: int) -> pa.Table:
    """Some payments an hour of each card, in order of time."""
    random = np.random.default_rng(1)
    times = np.sort(random.integers(0, days * DAY, KEYS * days * 24 * PER_HOUR)) + 20_000 * DAY
    amounts = random.gamma(2, 20, len(times)).round(2)
    columns = {
        "card": random.integers(0, KEYS, len(times)),
        "at": pa.array(times, pa.timestamp("us")),
        "amount": amounts,
    }
    return pa.table(columns)


EVENTS = payments(9)
SUM = {"spent": agg.sum("amount")}
MORE: dict[str, Any] = {
    **SUM,
    "n": agg.count(),
    "peak": agg.max("amount"),
    "sd": agg.stddev("amount"),
    "newest": agg.last("amount"),
}
NEEDY = {**SUM, "middle": agg.median("amount")}
TAIL = window.time("7d", tail="1h")


def stored(windows: Any, aggregates: Any, events: pa.Table = EVENTS) -> tuple[list[Any], int, StateSize]:
    """What is declared of a state, its bytes, and what it holds, after most of the events."""
    declared = sash.Query(aggregates, windows, by="card", time="at")._declared
    prepared = prepare(declared, events.schema)
    state = StreamState(prepared)
    times = events["at"].cast(pa.int64()).to_numpy()
    for part in np.array_split(np.arange(len(events)), 20):
        state.advance(events.take(pa.array(part)), int(times[part[-1]]) - LATE)
    return declared_sizes(prepared, events.schema), len(state.encode(fingerprint_query(declared, {}))), state.size


@pytest.mark.parametrize("aggregates", [SUM, MORE, NEEDY], ids=["sum", "more", "median"])
@pytest.mark.parametrize(
    "windows",
    [
        window.time("7d", slide="1h"),
        {"week": window.time("7d", slide="2h"), "day": window.time("1d", slide="1h")},
        window.cumulative("1d", "1h"),
        window.time("7d"),
        TAIL,
        {"week": TAIL, "day": window.time("1d", tail="2h"), "hour": window.time("1h")},
        {"week": TAIL, "all": window.expanding()},
        window.rows(100),
    ],
    ids=str,
)
def test_bytes_of_a_key(windows: Any, aggregates: Any) -> None:
    [declared], measured, size = stored(windows, aggregates)
    slices, rows = size.slices / KEYS, size.rows / KEYS
    assert slices <= declared.slices + 1
    if declared.kind != "rows":
        assert slices > 0.8 * declared.slices
    if declared.rows is not None and declared.kind == "rows":
        assert 0.9 * declared.rows <= rows <= declared.rows + 1
    expected = declared.total(0) + rows * declared.row_bytes
    assert 0.8 * expected <= measured / KEYS <= 1.1 * expected + 100  # and the key itself


def test_a_tail_needs_as_much_as_a_slide() -> None:
    """The target is 1.2."""
    commutative = {name: aggregate for name, aggregate in MORE.items() if name != "newest"}
    for aggregates in (SUM, commutative):
        (_, tail, size), (_, hop, _), (_, plain, _) = (
            stored(one, aggregates) for one in (TAIL, window.time("7d", slide="1h"), window.time("7d"))
        )
        assert tail <= 1.05 * hop
        assert size.rows < 3 * KEYS
        assert aggregates is commutative or tail < 0.4 * plain


def test_a_restart_reads_a_base_and_its_changes() -> None:
    declared = sash.Query(MORE, TAIL, by="card", time="at")._declared
    prepared, fingerprint = prepare(declared, EVENTS.schema), fingerprint_query(declared, {})
    times = EVENTS["at"].cast(pa.int64()).to_numpy()
    base, deltas, most = b"", list[bytes](), 0.0
    for number, part in enumerate(np.array_split(np.arange(len(EVENTS)), 150)):
        state = StreamState(prepared)
        if base:
            state.decode_log(base, deltas, fingerprint, str(number))
            most = max(most, (len(base) + sum(map(len, deltas))) / len(base))
        state.advance(EVENTS.take(pa.array(part)), int(times[part[-1]]) - LATE)
        delta = state.encode_delta(str(number), str(number + 1))
        if delta is None or is_due(len(base), sum(map(len, deltas)) + len(delta), len(deltas) + 1, bucket=1):
            base, deltas = state.encode(fingerprint, str(number + 1)), []
        else:
            deltas.append(delta)
    assert 1.2 < most <= READ_AGAIN


def test_what_cannot_run_on_a_stream_has_no_state() -> None:
    for query in (
        sash.Query(SUM, window.rows(3)),
        sash.Query(SUM, window.time("2h", slide="1h", empty=True), by="card", time="at"),
    ):
        assert describe_state(prepare(query._declared, EVENTS.schema), EVENTS.schema) == ()
    labels = EVENTS.select(["card", "at"]).slice(0, 3)
    assert "a stream stores" not in str(sash.Query(SUM, TAIL, by="card", time="at").explain(EVENTS, at=labels))


def test_rows_are_declared_with_all_their_columns() -> None:
    wide = EVENTS.append_column("note", pa.array(["x"] * len(EVENTS)))
    for data, text in (
        (EVENTS, "each row of the last 7d, 24 B"),
        (wide, "each row of the last 7d, 28 B and its texts"),
    ):
        query = sash.Query(SUM, window.time("7d"), by="card", time="at")
        assert f"a stream stores {text}" in " ".join(str(query.explain(data)).replace("│", " ").split())
