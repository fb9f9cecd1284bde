"""Times with a zone stay the same on their way through Python, whatever the environment says."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pandas as pd
import pyarrow as pa
import pytest

import sash
from sash import agg, window
from sash.serve.key_codec import KeyCodec

ZONED = pa.timestamp("us", "Europe/Berlin")
TIMES = pa.array([1_288_566_000_000_000 + 3_600_000_000 * hour for hour in range(6)], ZONED)


@pytest.fixture(autouse=True)
def as_pandas_on_spark_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The setting with which PyArrow ignores time zones."""
    monkeypatch.setenv("PYARROW_IGNORE_TIMEZONE", "1")


@pytest.mark.parametrize("aggregate", [agg.collect("t"), agg.top_k("t", 3), agg.collect_distinct("t")], ids=str)
def test_an_aggregator_returns_the_times_that_it_has_read(aggregate: Any) -> None:
    found = sash.Aggregator(aggregate).slide(TIMES, 1)
    assert [time for [time] in found.to_pylist()] == TIMES.to_pylist()


def test_a_list_of_times_is_read_as_it_is() -> None:
    assert sash.Aggregator(agg.max("t")).slide(TIMES.to_pylist(), 1).cast(pa.int64()) == TIMES.cast(pa.int64())


def test_functions_of_a_user_return_times() -> None:
    newest = sash.aggregate("newest", lift=lambda x: {"t": x}, combine=lambda _, newer: newer, lower=lambda x: [x["t"]])
    table = pa.table({"t": TIMES})
    result = sash.Query({"all": newest("t")}, window.rows(1), time="t").run(table)
    assert [time for [time] in result["all"].to_pylist()] == TIMES.to_pylist()


NOON = datetime(2026, 3, 2, 12, tzinfo=ZoneInfo("Europe/Berlin"))


@pytest.mark.parametrize("key", [NOON, pd.Timestamp(NOON)], ids=["datetime", "pandas"])
def test_times_with_a_zone_are_keys(key: Any) -> None:
    codec = KeyCodec(pa.schema({"at": ZONED}))
    assert codec.encode_one({"at": key}) == codec.encode_one({"at": "2026-03-02T11:00:00Z"})
    stream = pa.table({"at": pa.array([int(NOON.timestamp()) * 1_000_000, 0], ZONED), "t": [1, 2]})
    results = sash.Query(agg.count(), window.rows(1), by="at", time="t").run(stream.to_reader(), erase=[key])
    assert results.read_all()["t"].to_pylist() == [2]
    with pytest.raises(TypeError, match="does not fit the types of the keys"):
        sash.Query(agg.count(), window.rows(1), by="at", time="t").run(stream.to_reader(), erase=["noon"])


def test_lookups_take_times_with_a_zone() -> None:
    start = int(NOON.timestamp()) * 1_000_000
    events = pa.table({"t": pa.array([start, start + 60_000_000], ZONED)})
    query = sash.Query({"n": agg.count(), "newest": agg.last("t")}, window.time("90s"), time="t")
    [*_, row] = query.run(events.to_reader(), emit="state").read_all().to_pylist()
    later = NOON.replace(minute=2).astimezone(ZoneInfo("Asia/Kolkata"))
    assert query.lookup(row["state"], now=later) == {"n": 1, "newest": NOON.replace(minute=1)}
