"""Times with a zone stay the same on their way through Python, whatever the environment says."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import sash
from sash import agg, window

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
