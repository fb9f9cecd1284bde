"""Users' aggregates over times: the same type and the same values, compiled and interpreted."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from helpers.pairwise import some

import sash
from sash import Aggregator, agg, window
from sash.aggregates.base import Aggregate
from sash.columns.time_probes import gives_for
from sash.kernels import CannotCompileError

TICKS = [5, 9, None, 7, 2]
TIMES = [
    pa.timestamp("s"), pa.timestamp("ms"), pa.timestamp("us", "Europe/Berlin"), pa.timestamp("ns"), pa.date32(), pa.date64(),
    pa.duration("s"), pa.duration("us"), pa.time32("s"), pa.time64("us"),
]  # fmt: skip
DAY = 24 * 60 * 60 * 1000


def later(older: Any, newer: Any) -> Any:
    return max(older, newer)


def widen(older: Any, newer: Any) -> Any:
    return min(older[0], newer[0]), max(older[1], newer[1])


def larger(older: Any, newer: Any) -> Any:
    return newer if newer[0] > older[0] else older


latest = sash.aggregate("latest", lift=lambda t: t, combine=later, commutative=True)
spread = sash.aggregate("own_spread", lift=lambda t: (t, t), combine=widen, lower=lambda c: c[1] - c[0])
middle = sash.aggregate("mirrored", lift=lambda t: (t, t), combine=widen, lower=lambda c: c[0] + (c[1] - c[0]))
rows_of_times = sash.aggregate("own_count", lift=lambda _: 1, combine=lambda older, newer: older + newer)
of_largest = sash.aggregate("own_arg_max", lift=lambda x, t: (x, t), combine=larger, lower=lambda c: c[1])


def times(kind: pa.DataType) -> pa.Array:
    ticks = [tick and tick * (DAY if kind == pa.date64() else 1) for tick in TICKS]
    return pa.array(ticks, pa.int32() if kind.bit_width == 32 else pa.int64()).cast(kind)


def both_of(named: Any, rows: pa.Table) -> pa.ChunkedArray:
    """The results, which are the same compiled and interpreted; the plan is that of the compiled ones."""
    query = sash.Query({"r": named}, window.rows(2))
    assert "runs       compiled" in str(query.explain(rows, compiled=True))
    found = query.run(rows)["r"]
    assert found.equals(query.run(rows)["r"])
    return found


@pytest.mark.parametrize("kind", TIMES, ids=str)
def test_a_value_of_the_column_has_its_type(kind: pa.DataType) -> None:
    found = both_of(latest("t"), pa.table({"t": times(kind)}))
    assert found.type == kind
    expected = [5, 9, 9, 7, 7]
    assert found.combine_chunks().equals(times(kind).take(pa.array([TICKS.index(tick) for tick in expected])))


@pytest.mark.parametrize("kind", some([kind for kind in TIMES if not pa.types.is_time(kind)], 3), ids=str)
def test_a_difference_is_a_duration(kind: pa.DataType) -> None:
    found = both_of(spread("t"), pa.table({"t": times(kind)}))
    built_in = sash.Query({"r": sash.agg.spread("t")}, window.rows(2)).run(pa.table({"t": times(kind)}))["r"]
    assert pa.types.is_duration(found.type)
    assert found.equals(built_in)


def test_a_time_plus_a_difference_is_a_time_and_a_count_a_number() -> None:
    rows = pa.table({"t": times(pa.timestamp("s"))})
    assert both_of(middle("t"), rows).equals(both_of(latest("t"), rows))
    assert both_of(rows_of_times("t"), rows).to_pylist() == [1, 2, 1, 1, 2]


def test_the_time_may_be_one_of_several_columns() -> None:
    rows = pa.table({"x": [2.0, 1.0, 5.0, 4.0, 3.0], "t": times(pa.date32())})
    found = both_of(of_largest("x", "t"), rows)
    assert found.type == pa.date32()
    assert found.to_pylist() == [date(1970, 1, day) for day in (6, 6, 10, 8, 8)]


def test_zoned_times_are_compared_as_points_in_time() -> None:
    """At 01:30 UTC clocks in Berlin show 02:30, an hour after they showed it first."""
    moments = [datetime(2024, 10, 27, 0, 45, tzinfo=UTC), datetime(2024, 10, 27, 1, 30, tzinfo=UTC)]
    rows = pa.table({"t": pa.array(moments, pa.timestamp("us", "UTC")).cast(pa.timestamp("us", "Europe/Berlin"))})
    assert both_of(latest("t"), rows).cast(pa.timestamp("us", "UTC")).to_pylist() == moments
    assert both_of(spread("t"), rows).to_pylist() == [timedelta(0), timedelta(minutes=45)]


INTERPRETED = {
    "attribute": (lambda t: t.hour, lambda c: c, [3, 4]),
    "arithmetic": (lambda t: t, lambda c: c + timedelta(hours=1), [datetime(2024, 1, 1, 4), datetime(2024, 1, 1, 5)]),  # noqa: DTZ001
    "half": (lambda t: (t, t), lambda c: (c[1] - c[0]) / 2, [timedelta(0)] * 2),
    "truth": (lambda t: t, lambda c: bool(c), [True, True]),  # noqa: PLW0108
}


@pytest.mark.parametrize("name", INTERPRETED)
def test_other_arithmetic_is_interpreted(name: str) -> None:
    lift, lower, expected = INTERPRETED[name]
    own = sash.aggregate("own", lift=lift, combine=lambda _, newer: newer, lower=lower)("t")
    rows = pa.table({"t": pa.array([datetime(2024, 1, 1, 3), datetime(2024, 1, 1, 4)], pa.timestamp("s"))})  # noqa: DTZ001
    query = sash.Query({"r": own}, window.rows(2))
    assert query.run(rows)["r"].to_pylist() == query.run(rows)["r"].to_pylist() == expected
    assert "interpreted: own computes with Python's datetime objects" in " ".join(str(query.explain(rows)).split())


def test_sums_of_timestamps_fail_both_ways() -> None:
    total = sash.aggregate("total", lift=lambda t: t, combine=lambda older, newer: older + newer)("t")
    for compiled in (False, True):
        with pytest.raises(TypeError, match="unsupported operand"):
            sash.Query({"r": total}, window.rows(2)).run(pa.table({"t": times(pa.timestamp("s"))}), compiled=compiled)


def test_results_of_another_column_or_of_several_types_are_interpreted() -> None:
    first = sash.aggregate("first", lift=lambda t, _: t, combine=lambda older, _: older)
    with pytest.raises(CannotCompileError, match="of another column than its last"):
        gives_for(first, [pa.timestamp("s"), pa.date32()])
    assert gives_for(first, [pa.date32(), pa.date32()]) == "value"
    mixed = sash.aggregate("mixed", lift=lambda t, u: t - u, combine=lambda older, _: older)
    with pytest.raises(CannotCompileError, match=r"timestamp\[s\] is combined with timestamp\[ms\]"):
        gives_for(mixed, [pa.timestamp("s"), pa.timestamp("ms")])


@pytest.mark.parametrize("kind", [pa.timestamp("s"), pa.date32(), pa.duration("ms"), pa.time32("s")], ids=str)
def test_an_aggregator_returns_the_type_of_the_column(kind: pa.DataType) -> None:
    column = times(kind)
    compiled, interpreted = Aggregator(latest("t")), Aggregator(latest("t"))
    interpreted.insert(None)
    found = compiled.slide(column, range=2)
    assert found.type == kind
    assert interpreted.slide(column, range=2).equals(found)
    assert compiled.query() == interpreted.query() == max(column[3].as_py(), column[4].as_py())
    assert type(compiled.query()) in (datetime, date, timedelta, time)


def test_numpy_times_keep_their_type() -> None:
    column = np.array(["2024-01-02", "2024-01-01"], "datetime64[ms]")
    assert Aggregator(latest("t")).slide(column, range=2).type == pa.timestamp("ms")


@pytest.mark.parametrize("aggregate", [agg.median(), agg.quantile("x", 0.25), agg.quantile("x", [0.25, 0.5])], ids=str)
def test_the_middle_of_nanoseconds_is_refused_where_it_would_be_a_float(aggregate: Aggregate[Any]) -> None:
    times = pa.array([1_700_000_000_000_000_001, 1_700_000_000_000_000_004], pa.timestamp("ns"))
    for column in (times, times.to_numpy(), times.to_pandas()):
        with pytest.raises(TypeError, match=r"of nanoseconds .* Cast the column to microseconds, or use a Query"):
            sash.Aggregator(aggregate).slide(column, range=2)
    assert sash.Aggregator(agg.max()).slide(times, range=2).type == times.type
