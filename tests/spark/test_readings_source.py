from __future__ import annotations

import pickle
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sash
from sash.spark import readings_source as source
from sash.spark.generated_readings import SCHEMA, Readings
from sash.spark.readings_source import ReadingsSource, ReadingsStream

ROOT = Path(__file__).parents[2]
limits = pytest.importorskip("pyspark.sql.streaming.datasource", reason="Spark 4.1 has no read limits")
SECOND = 1_000_000
DIFFERENT = st.builds(
    Readings,
    rows_per_second=st.sampled_from([0.5, 7, 1000, 1e6]),
    late=st.sampled_from([0, 0.01, 1 / 3, 0.6, 1]),
    lateness=st.sampled_from(["400s", "1h", "7m"]),
    speed=st.sampled_from([1, 2.5]),
    seed=st.integers(0, 3),
)
KEYS = ["house", "household", "plug"]


def micros(rows: pa.RecordBatch) -> Any:
    return rows["ts"].cast(pa.int64()).to_numpy()


@given(readings=DIFFERENT, begin=st.integers(0, 10**9), cut=st.integers(1, 199))
def test_rows_are_the_same_in_whatever_stretches_they_are_made(readings: Readings, begin: int, cut: int) -> None:
    whole = readings.batch(begin, begin + 200)
    parts = [readings.batch(begin, begin + cut), readings.batch(begin + cut, begin + 200)]
    assert pa.Table.from_batches(parts).equals(pa.Table.from_batches([whole]))
    assert whole.schema == SCHEMA


@given(readings=DIFFERENT, begin=st.integers(0, 10**9))
def test_a_share_of_rows_is_late_and_never_by_more_than_the_lateness(readings: Readings, begin: int) -> None:
    arrived = np.arange(begin, begin + 3_000)
    turns = readings.turns(arrived)
    late = turns < arrived
    assert (turns <= arrived).all()
    assert abs(late.sum() - readings.late * 3_000) <= 1
    lateness = 3600 if readings.lateness == "1h" else 400 if readings.lateness == "400s" else 420
    assert ((arrived - turns) * readings.speed / readings.rows_per_second <= lateness).all()


def test_lateness_is_used_up_and_punctual_rows_are_in_order() -> None:
    rows = Readings(late=0.05, lateness="2m").batch(0, 1_000_000)
    times = micros(rows)
    newest = np.maximum.accumulate(times)
    behind = (newest - times) / SECOND
    assert (behind > 0).mean() == 0.05
    assert 115 < behind.max() <= 120
    assert 0 < behind[behind > 0].min() < 5
    assert 50 < np.median(behind[behind > 0]) < 70
    assert len(np.unique(times)) == len(times)


def test_each_reading_arrives_once() -> None:
    readings = Readings(late=0.3, lateness="1s")
    arrived = readings.turns(np.arange(20_000))
    assert sorted(turn for turn in arrived if 0 <= turn < 19_000) == list(range(19_000))


def test_late_rows_are_of_all_plugs_and_are_what_they_would_have_been_in_time() -> None:
    late = Readings(rows_per_second=10, late=0.05, lateness="10m").batch(0, 20_000)
    timely = Readings(rows_per_second=10, late=0).batch(0, 20_000)
    held_back = late.filter(pc.invert(pc.equal(late["ts"], timely["ts"])))
    assert len(pa.Table.from_batches([held_back]).group_by(KEYS).aggregate([])) == 36
    known = set(map(str, timely.to_pylist()))
    after_the_first = pc.greater_equal(late["ts"], timely["ts"][0])
    assert all(str(row) in known for row in late.filter(after_the_first).to_pylist())


def test_plugs_are_read_in_turn_and_work_never_shrinks() -> None:
    rows = Readings(rows_per_second=1, households=5, late=0, speed=5).batch(0, 30_000)
    table = pa.Table.from_batches([rows])
    groups = table.group_by(KEYS, use_threads=False).aggregate([("ts", "list"), ("work", "list"), ("load", "max")])
    assert len(groups) == 30
    for row in groups.to_pylist():
        assert {after - before for before, after in pairwise(row["ts_list"])} == {timedelta(seconds=150)}
        assert row["work_list"] == sorted(row["work_list"])
        assert row["work_list"][0] < row["work_list"][-1]


def test_readings_look_like_those_of_the_examples() -> None:
    kept = pq.read_table(ROOT / "examples" / "data" / "readings.parquet")
    assert kept.schema.remove_metadata().equals(SCHEMA)
    made = Readings(rows_per_second=36 / 150, late=0, households=6).batch(0, 7 * 24 * 24 * 36)
    assert set(made["plug"].to_pylist()) == set(kept["plug"].to_pylist())
    several = [pa.Table.from_batches([made]), kept]
    first, second = (set(map(str, table.group_by(KEYS).aggregate([]).to_pylist())) for table in several)
    assert first == second
    assert pc.mean(made["load"]).as_py() == pytest.approx(pc.mean(kept["load"]).as_py(), rel=0.2)
    assert made["load"].null_count / len(made) == pytest.approx(0.004, rel=0.2)


def test_seeds_and_households_make_other_readings() -> None:
    loads = {str(Readings(seed=seed).batch(0, 500)["load"].to_pylist()) for seed in range(5)}
    assert len(loads) == 5
    many = Readings(households=20_001).batch(0, 20_001)
    assert pc.max(many["house"]).as_py() == 10_001


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"rows_per_second": 0}, "rows_per_second=0.0 must be a number above 0."),
        ({"rows_per_second": float("nan")}, "rows_per_second=nan must be a number above 0."),
        ({"speed": -1}, "speed=-1.0 must be a number above 0."),
        ({"households": 0}, "households=0 must be a whole number from 1 to "),
        ({"households": 2.5}, "households='2.5' must be a whole number."),
        ({"rows": -1}, "rows=-1 must be a whole number from 0 to "),
        ({"rows": True}, "rows='True' must be a whole number."),
        ({"rows_per_batch": 0}, "rows_per_batch=0 must be a whole number from 1 to "),
        ({"seed": -1}, "seed=-1 must be a whole number from 0 to "),
        ({"late": 5}, "late=5.0 must be a share of all rows, from 0 to 1."),
        ({"late": "some"}, "late='some' must be a number."),
        ({"lateness": "2 moons"}, "lateness='2 moons' is not a duration. Use a number and a unit"),
        ({"lateness": 120}, "lateness='120' is not a duration. Use a number and a unit"),
        (
            {"lateness": "39ms"},
            "lateness='39ms' is too short for late=0.05: late rows are 0.02 s of the readings' time apart",
        ),
        (
            {"rows": 10**12, "rows_per_second": 1},
            "rows=1000000000000 at 1.0 a second and speed=1.0 last beyond the year 9999.",
        ),
    ],
)
def test_a_wrong_option_is_said_before_a_session_is_asked(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=r"\.$") as error:
        sash.spark.readings(None, **options)  # type: ignore[arg-type]
    assert sentence in str(error.value)


def test_an_unknown_option_is_said() -> None:
    with pytest.raises(ValueError, match=r"no option rate, row\. Its options are rows_per_second, households, late, "):
        ReadingsSource({"row": "3", "rate": "2"})
    with pytest.raises(ValueError, match="A table of readings needs the option rows"):
        ReadingsSource({}).reader(ReadingsSource({}).schema())


class Clock:
    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def time(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    ticking = Clock()
    monkeypatch.setattr(source, "time", ticking)
    return ticking


def stream_of(**options: Any) -> ReadingsStream:
    return ReadingsStream(Readings(**options))


def test_a_stream_follows_the_clock_and_goes_on_after_a_restart(clock: Clock) -> None:
    begun = stream_of(rows_per_second=100)
    start = begun.initialOffset()
    assert begun.latestOffset(start, begun.getDefaultReadLimit()) == start
    clock.now += 2.5
    first = begun.latestOffset(start, begun.getDefaultReadLimit())
    assert first == {**start, "row": 250}
    clock.now -= 60  # set back
    assert begun.latestOffset(first, begun.getDefaultReadLimit()) == first
    clock.now += 70
    again = stream_of(rows_per_second=100, rows_per_batch=400)
    limit = again.getDefaultReadLimit()
    assert limit == limits.ReadMaxRows(400)
    assert again.latestOffset(first, limit)["row"] == 650
    assert again.latestOffset(first, limits.ReadAllAvailable())["row"] == 1250


def test_a_finite_stream_ends(clock: Clock) -> None:
    stream = stream_of(rows_per_second=100, rows=300)
    start = stream.initialOffset()
    clock.now += 2
    assert stream.latestOffset(start, limits.ReadAllAvailable())["row"] == 200
    clock.now += 10
    assert stream.latestOffset(start, limits.ReadAllAvailable())["row"] == 300


def test_what_is_available_now_is_all_of_a_finite_stream_or_else_what_has_come(clock: Clock) -> None:
    finite = stream_of(rows=300, rows_per_batch=200)
    finite.prepareForTriggerAvailableNow()
    start = finite.initialOffset()
    first = finite.latestOffset(start, finite.getDefaultReadLimit())
    second = finite.latestOffset(first, finite.getDefaultReadLimit())
    assert (first["row"], second["row"]) == (200, 300)
    assert finite.latestOffset(second, finite.getDefaultReadLimit()) == second
    endless = stream_of(rows_per_second=10)
    clock.now += 5
    endless.prepareForTriggerAvailableNow()
    clock.now += 5
    begun = {**start, "readings": str(endless.readings)}
    assert endless.latestOffset(begun, limits.ReadAllAvailable())["row"] == 50


def test_without_read_limits_as_on_spark_4_1(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "read_limits", None)
    limited = ReadingsSource({"rows_per_batch": "5"})
    with pytest.raises(ValueError, match=r"rows_per_batch needs Spark 4\.2 or later\. Leave it out\."):
        limited.streamReader(limited.schema())
    endless = stream_of(rows_per_second=100)
    start = endless.initialOffset()
    assert endless.latestOffset()["row"] == 0
    clock.now += 2.5
    end = endless.latestOffset()
    assert end == {**start, "row": 250}
    endless.partitions(start, end)
    again = stream_of(rows_per_second=100)
    again.commit(end)  # which Spark calls before it asks for the next batch
    clock.now += 1
    assert again.latestOffset() == {**start, "row": 350}
    assert stream_of(rows=300).latestOffset()["row"] == 300


def test_a_checkpoint_of_other_readings_is_refused(clock: Clock) -> None:
    start = stream_of(seed=1).initialOffset()
    clock.now += 1
    other = stream_of(seed=2)
    with pytest.raises(
        ValueError, match=r"The checkpoint belongs to readings with other options: .*seed=1.*seed=2.*Use the same"
    ):
        other.latestOffset(start, limits.ReadAllAvailable())
    with pytest.raises(ValueError, match="The checkpoint belongs to readings with other options"):
        other.partitions(start, {**start, "row": 3})
    longer = stream_of(seed=1, rows=10, rows_per_batch=5)
    assert longer.latestOffset(start, limits.ReadAllAvailable())["row"] == 10


def test_partitions_have_each_row_once_and_are_made_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "PARTITION_ROWS", 1_000)
    monkeypatch.setattr(source, "BATCH_ROWS", 300)
    made = pickle.loads(pickle.dumps(ReadingsSource({"rows_per_second": "50"})))  # noqa: S301 — as Spark sends it to workers
    stream = made.streamReader(made.schema())
    start = stream.initialOffset()
    end = {**start, "row": 2_500}
    assert stream.partitions(start, start) == []
    parts = stream.partitions(start, end)
    assert len(parts) == 3
    batches = [batch for part in parts for batch in stream.read(part)]
    assert max(len(batch) for batch in batches) == 300
    whole = pa.Table.from_batches([Readings(rows_per_second=50).batch(0, 2_500)])
    assert pa.Table.from_batches(batches).combine_chunks().equals(whole)
