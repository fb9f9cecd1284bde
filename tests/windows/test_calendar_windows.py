"""Windows of the calendar ≡ the oracle, Polars and pandas: at month ends, on leap days, and when clocks change."""

# ruff: noqa: DTZ001 — local times and times in UTC stand beside each other

from __future__ import annotations

import random
from datetime import UTC, date, datetime, timedelta
from itertools import product
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from helpers.pairwise import FULL, matrix, some
from helpers.queries import Named, Row, assert_agrees
from helpers.windows import CALENDAR, slicings_of
from hypothesis import given, settings
from hypothesis import strategies as st

import sash
from sash import agg, window
from sash.engine import run_table
from sash.windows import Window
from sash.windows.calendars import LocalTime, local_time_of

ZONES = ["Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Adelaide", "Australia/Lord_Howe"]
ODD_ZONES = ["America/Sao_Paulo", "America/Havana", "Pacific/Apia", "America/St_Johns", "+05:45", "UTC"]
"""Midnights that do not exist or occur twice, a day that was left out, clocks set back after midnight."""
MOMENTS = [
    datetime(2024, 3, 31, 1), datetime(2024, 10, 27, 1),  # Berlin
    datetime(2024, 3, 10, 7), datetime(2024, 11, 3, 6),  # New York
    datetime(2018, 11, 4, 3), datetime(2018, 2, 18, 2),  # São Paulo has no midnight; two hours before midnight
    datetime(2023, 11, 5, 5), datetime(2023, 3, 12, 5),  # Havana has two midnights; none
    datetime(2024, 10, 5, 15, 30), datetime(2024, 4, 6, 15),  # Lord Howe, by half an hour
    datetime(2011, 12, 30, 10),  # Apia leaves out a day
    datetime(2010, 11, 7, 2, 31),  # St. John's, from 0:01 to 23:01
    datetime(2024, 2, 29), datetime(2023, 3, 1), datetime(2023, 12, 31, 23, 30), datetime(1969, 12, 31, 23), datetime(2000, 2, 28),
]  # fmt: skip
"""Where something happens, in UTC."""
NAMED: Named = {"held": agg.concat("x", sep=" "), "total": agg.sum("x")}


def schema_of(zone: str | None, unit: str = "us") -> pa.Schema:
    return pa.schema({"t": pa.timestamp(unit, zone), "key": pa.string(), "x": pa.int64()})


@st.composite
def moments(draw: st.DrawFn) -> list[Row]:
    """Rows of two keys around some moment, minutes to months from each other."""
    around = draw(st.sampled_from(MOMENTS)).replace(tzinfo=UTC)
    unit = draw(st.sampled_from([15, 60, 60 * 11, 60 * 24 * 9]))
    places = draw(st.lists(st.integers(-12, 12), max_size=20))
    times = [around + timedelta(minutes=place * unit) for place in places]
    return [{"t": time, "key": "ab"[number % 2], "x": number} for number, time in enumerate(times)]


@st.composite
def calendar_windows(draw: st.DrawFn, tz: str | None) -> Window:
    """Any window of the calendar, over a column in some zone."""
    count, slide = sorted((draw(st.integers(1, 5)), draw(st.integers(1, 5))), reverse=True)
    unit = draw(st.sampled_from(["mo", "mo", "q", "y", "d", "d", "w"]))
    own = draw(st.sampled_from(ZONES + ODD_ZONES[:4])) if tz is not None else "UTC"
    kind = draw(st.sampled_from(["tumbling", "sliding", "cumulative", "frame"]))
    zone = own if (unit in "dw" and kind == "frame") or (tz is not None and draw(st.booleans())) else None
    offsets = [None, "5h", "-30m", "3d", *(["2mo"] if unit not in "dw" else [])]
    if kind == "frame":
        closed = draw(st.sampled_from(["right", "left", "both", "neither"]))
        exclude: Any = draw(st.sampled_from([None, "row", "group"]))
        return window.time(f"{count}{unit}", closed=closed, exclude=exclude, tz=zone)
    offset = draw(st.sampled_from(offsets))
    if kind == "tumbling":
        return window.tumbling(f"{count}{unit}", offset=offset, tz=zone)
    if kind == "cumulative":
        return window.cumulative(f"{count * slide}{unit}", f"{slide}{unit}", offset=offset, tz=zone)
    return window.time(f"{count}{unit}", slide=f"{slide}{unit}", offset=offset, tz=zone)


@pytest.mark.parametrize("zone", [*ZONES, *ODD_ZONES, None])
@settings(max_examples=40 if FULL else 20, deadline=None)
@given(data=st.data())
def test_windows_of_the_calendar_agree_with_the_oracle(zone: str | None, data: st.DataObject) -> None:
    if zone == "+05:45":
        zone = "Asia/Kathmandu"  # the oracle knows zones by name only
    rows = data.draw(moments())
    if zone is None:
        rows = [{**row, "t": row["t"].replace(tzinfo=None)} for row in rows]
    chosen = data.draw(calendar_windows(zone))
    slicing = "auto" if chosen.per_row else data.draw(st.sampled_from(["auto", *slicings_of(chosen)]))
    assert_agrees(rows, NAMED, chosen, schema=schema_of(zone), slicing=slicing)


@pytest.mark.parametrize(("name", "unit"), some(product(CALENDAR, ["s", "ms", "us", "ns"]), 7))
def test_windows_of_the_calendar_agree_with_the_oracle_compiled(name: str, unit: str) -> None:
    chooser = random.Random(5)
    rows = [
        {"t": datetime(2023, 1, 1, tzinfo=UTC) + timedelta(hours=chooser.randint(0, 18_000)), "key": "a", "x": number}
        for number in range(300)
    ]
    shared: Named = {"top": agg.max("x"), "last": agg.last("x"), **({"total": agg.sum("x")} if FULL else {})}
    assert_agrees(rows, shared, CALENDAR[name], schema=schema_of("Europe/Berlin", unit), executors=[True])


@pytest.mark.parametrize("kind", [pa.date32(), pa.date64()])
def test_dates_have_months_and_weeks(kind: pa.DataType) -> None:
    rows = [{"t": date(1969, 11, 20) + timedelta(days=9 * number), "key": "a", "x": number} for number in range(80)]
    schema = pa.schema({"t": kind, "key": pa.string(), "x": pa.int64()})
    for chosen in (
        window.tumbling("1mo"), window.time("3mo", slide="1mo", offset="10d"), window.time("1q"), window.tumbling("1w", tz="UTC"),
    ):  # fmt: skip
        found = assert_agrees(rows, NAMED, chosen, schema=schema)
        if not chosen.per_row:
            assert found["window_start"].type == kind
    weeks = sash.Query(agg.count(), window.tumbling("1w", tz="UTC"), time="t").run(pa.Table.from_pylist(rows, schema))
    assert {day.weekday() for day in weeks["window_start"].cast(pa.date32()).to_pylist()} == {0}


def test_windows_share_slices_with_others() -> None:
    chooser = random.Random(8)
    rows = [
        {"t": datetime(2024, 1, 1, tzinfo=UTC) + timedelta(hours=chooser.randint(0, 9_000)), "key": "a", "x": number}
        for number in range(200)
    ]
    windows = {
        "month": window.tumbling("1mo"), "days": window.time("3d", slide="1d"), "berlin": window.tumbling("1d", tz="Europe/Berlin"),
        "session": window.session("30h"),
    }  # fmt: skip
    for slicing in ("auto", "none", "pairs", "cutty"):
        assert_agrees(rows, NAMED, windows, schema=schema_of("America/New_York"), slicing=slicing)


# -- by hand -----------------------------------------------------------------------------------------------------------


def days(zone: str, *times: datetime) -> list[tuple[str, str, int]]:
    """The start and the end of days in a zone, in UTC, and the number of rows."""
    table = pa.table({"t": pa.array([time.replace(tzinfo=UTC) for time in times], pa.timestamp("us", "UTC"))})
    found = sash.Query(agg.count(), window.tumbling("1d", tz=zone), time="t").run(table)
    return [
        (f"{row['window_start']:%d %H:%M}", f"{row['window_end']:%d %H:%M}", row["count"]) for row in found.to_pylist()
    ]


def test_a_day_may_have_23_or_25_hours() -> None:
    assert days("Europe/Berlin", datetime(2024, 3, 31, 12)) == [("30 23:00", "31 22:00", 1)]
    assert days("Europe/Berlin", datetime(2024, 10, 27, 12)) == [("26 22:00", "27 23:00", 1)]


def test_a_midnight_that_does_not_exist_shifts_forward() -> None:
    assert days("America/Sao_Paulo", datetime(2018, 11, 4, 2, 59), datetime(2018, 11, 4, 3)) == [
        ("03 03:00", "04 03:00", 1), ("04 03:00", "05 02:00", 1),
    ]  # fmt: skip


def test_of_two_midnights_the_first_begins_the_day() -> None:
    """Polars lets a day begin at the second midnight for times after it, so that the hour between them is a day of its own."""
    first, second = datetime(2023, 11, 5, 4), datetime(2023, 11, 5, 5)
    assert days("America/Havana", first, second) == [("05 04:00", "06 05:00", 2)]
    theirs = pl.Series([first, second]).dt.replace_time_zone("UTC").dt.convert_time_zone("America/Havana")
    assert theirs.dt.truncate("1d").n_unique() == 2


def test_a_day_that_was_left_out_has_no_window() -> None:
    """Of Samoa's calendar: 30 December 2011."""
    found = days("Pacific/Apia", datetime(2011, 12, 30, 9, 59), datetime(2011, 12, 30, 10))
    assert found == [("29 10:00", "30 10:00", 1), ("30 10:00", "31 10:00", 1)]


def test_a_row_before_a_clock_is_set_back_after_midnight_stays_in_the_new_day() -> None:
    """In St. John's clocks went from 0:01 on the 7th to 23:01 on the 6th. A day is one interval: the 7th has begun."""
    found = days(
        "America/St_Johns", datetime(2010, 11, 7, 2, 29), datetime(2010, 11, 7, 2, 30), datetime(2010, 11, 7, 2, 45)
    )
    assert found == [("06 02:30", "07 02:30", 1), ("07 02:30", "08 03:30", 2)]


@pytest.mark.parametrize(
    ("length", "local", "in_utc"),
    [
        ("1d", datetime(2024, 7, 1), datetime(2024, 6, 30)), ("1mo", datetime(2024, 7, 1), datetime(2024, 6, 1)),
        ("1w", datetime(2024, 7, 1), datetime(2024, 6, 24)),  # Mondays
        ("7d", datetime(2024, 6, 27), datetime(2024, 6, 27)), ("2d", datetime(2024, 6, 30), datetime(2024, 6, 30)),
        (timedelta(days=1), datetime(2024, 7, 1), datetime(2024, 6, 30)),
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize(
    ("zone", "tz"),
    [("Europe/Berlin", None), ("UTC", None), ("Etc/UTC", None), ("UTC", "Europe/Berlin"), ("Europe/Berlin", "UTC"), (None, None)],
)  # fmt: skip
def test_days_weeks_and_months_follow_the_zone_of_the_column_unless_tz_is_given(
    length: Any, local: datetime, in_utc: datetime, zone: str | None, tz: str | None
) -> None:
    at = datetime(2024, 6, 30, 22, 30)
    table = pa.table({"t": pa.array([at], pa.timestamp("us")).cast(pa.timestamp("us", zone))})
    expected = local if "Europe/Berlin" in (tz or zone, tz) else in_utc
    expected = expected if zone is None else expected.replace(tzinfo=ZoneInfo(tz or zone))
    for chosen in (window.tumbling(length, tz=tz), window.cumulative(length, length, tz=tz)):
        found = sash.Query(agg.count(), chosen, time="t").run(table)
        assert found["window_start"].to_pylist() == [expected]
        assert found["window_start"].type == table["t"].type


@pytest.mark.parametrize("chosen", [window.tumbling("24h"), window.time("1d", slide="1h"), window.time("1d")], ids=str)
def test_hours_and_the_windows_of_rows_know_no_zone(chosen: Window) -> None:
    times = [datetime(2024, 3, 30, 22, tzinfo=UTC) + timedelta(minutes=47 * number) for number in range(60)]
    numbers = range(len(times))
    in_berlin, in_utc = (
        pa.table({"t": pa.array(times, pa.timestamp("us", zone)), "x": numbers}) for zone in ("Europe/Berlin", "UTC")
    )
    query = sash.Query(NAMED, chosen, time="t")
    found = query.run(in_berlin)
    assert found.cast(query.run(in_utc).schema) == query.run(in_utc)


def test_a_week_of_hours_begins_on_monday_too() -> None:
    table = pa.table({"t": [datetime(2024, 7, 3, 12)]})
    found = sash.Query(agg.count(), window.cumulative("1w", "84h", offset="6h"), time="t").run(table)
    assert found["window_start"].to_pylist()[:1] == [datetime(2024, 7, 1, 6)]


@pytest.mark.parametrize("chosen", [window.cumulative("1d", "1h"), window.time("12h", slide="1d")], ids=str)
def test_days_that_may_have_23_hours_cannot_be_mixed_with_hours(chosen: Window) -> None:
    times = pa.array([datetime(2024, 7, 1, tzinfo=UTC)])
    query = sash.Query(agg.count(), chosen, time="t")
    for kind in (pa.timestamp("us"), pa.timestamp("us", "UTC"), pa.timestamp("us", "+00:00")):
        assert query.run(pa.table({"t": times.cast(kind)}))["window_start"].to_pylist()
    with pytest.raises(
        ValueError, match=r'in Europe/Berlin, so "1d" counts days .* but ".*h" counts hours. Use whole days'
    ):
        query.run(pa.table({"t": times.cast(pa.timestamp("us", "Europe/Berlin"))}))


def test_texts_follow_the_zone_of_the_column() -> None:
    events = ten_years("Europe/Berlin", 6)
    mine = sash.Query({"n": agg.count()}, window.time("2d", slide="1d", closed="right"), time="t").run(events)
    text = "SELECT count(*) AS n FROM events [RANGE 2 DAYS SLIDE 1 DAY CLOSED RIGHT ON t]"
    assert sash.sql(text).run(events) == mine
    frame = events.to_pandas()
    weeks = sash.Query({"n": agg.count()}, window.tumbling("1w"), time="t")
    assert sash.sql("SELECT count(*) AS n FROM frame [TUMBLE 1 WEEK ON t]").run(frame).equals(weeks.run(frame))
    assert weeks.run(frame)["window_start"].dt.weekday.eq(0).all()


@pytest.mark.parametrize("length", ["1d", "1w", "1mo"])
def test_chunks_and_streams_follow_the_zone_of_the_column(length: str, monkeypatch: pytest.MonkeyPatch) -> None:
    events = ten_years("Australia/Lord_Howe", 7)
    query = sash.Query({"n": agg.count(), "last": agg.last("n")}, window.tumbling(length), time="t")
    expected = query.run(events)
    keyed = sash.Query({"n": agg.count()}, window.tumbling(length), time="t", by="key")
    with_keys = events.append_column("key", pa.array([number % 3 for number in range(len(events))]))
    monkeypatch.setattr(run_table, "CHUNK_ROWS", 100)
    counts = keyed.run(with_keys).group_by("window_start").aggregate([("n", "sum")]).sort_by("window_start")
    assert counts["n_sum"].to_pylist() == expected["n"].to_pylist()
    assert query.run(events.to_reader(max_chunksize=50)).read_all() == expected
    everything = sash.Query({"n": agg.count()}, window.tumbling(length, empty=True), time="t").run(events)
    starts = pd.DatetimeIndex(everything["window_start"].to_pandas())
    ends = pd.DatetimeIndex(everything["window_end"].to_pandas())
    assert starts[1:].tolist() == ends[:-1].tolist()
    assert set(starts.hour) == {0}
    assert sum(everything["n"].to_pylist()) == len(events)


def test_months_count_from_january_1970() -> None:
    table = pa.table({"t": [datetime(2024, 5, 17), datetime(1969, 12, 1)]})
    starts = {"5mo": [datetime(2024, 3, 1), datetime(1969, 8, 1)], "3y": [datetime(2024, 1, 1), datetime(1967, 1, 1)]}
    for length, expected in starts.items():
        found = sash.Query(agg.count(), window.tumbling(length), time="t").run(table)
        assert sorted(found["window_start"].to_pylist(), reverse=True) == expected


def test_the_year_of_a_company_begins_in_april() -> None:
    table = pa.table({"t": [datetime(2024, 3, 31), datetime(2024, 4, 1)]})
    found = sash.Query(agg.count(), window.tumbling("1y", offset="3mo"), time="t").run(table)
    assert found["window_start"].to_pylist() == [datetime(2023, 4, 1), datetime(2024, 4, 1)]


# -- peers -------------------------------------------------------------------------------------------------------------


def ten_years(zone: str | None, seed: int = 1) -> pa.Table:
    """Rows of ten years, many of them around midnights of month ends and when clocks change."""
    chooser = random.Random(seed)
    begin = int(datetime(2015, 1, 1, tzinfo=UTC).timestamp())
    times = {begin + 60 * chooser.randrange(10 * 365 * 1440) for _ in range(1500)}
    local = ZoneInfo(zone or "UTC")
    for month in range(1, 120):
        first = datetime(2015 + month // 12, month % 12 + 1, 1, tzinfo=local).timestamp()
        times |= {int(first) + 60 * chooser.choice([-1, 0, 1, -90, 90, -1500, 60 * 48]) for _ in range(4)}
    for change in local_time_of(zone or "UTC", 1_000_000_000, begin, begin + 10 * 365 * 86_400).changes.tolist():
        if begin < change < begin + 10 * 365 * 86_400:
            times |= {change + 60 * chooser.choice([-1, 0, 1, -61, -30, 30, 60, -1440, 1440, 1470]) for _ in range(5)}
    ordered = pa.array([1_000_000 * time for time in sorted(times)], pa.timestamp("us", zone))
    return pa.table({"t": ordered, "n": range(len(times))})


@pytest.mark.parametrize("zone", [*ZONES, None])
@pytest.mark.parametrize(
    ("period", "every"),
    [("1mo", "1mo"), ("3mo", "1mo"), ("1q", "1q"), ("1y", "1y"), ("5mo", "5mo"), ("1y", "1q"),
     ("1d", "1d"), ("7d", "1d"), ("3d", "3d"), ("1w", "1w"), ("4w", "2w"), ("3w", "3w")],
)  # fmt: skip
def test_windows_equal_those_of_polars(zone: str | None, period: str, every: str) -> None:
    """But for the windows that begin before the first row's last one: Polars leaves them out."""
    table = ten_years(zone)
    both = {"count": agg.count(), "sum": agg.sum("n")}
    mine = sash.Query(both, window.time(period, slide=every), time="t").run(table)
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    grouped = frame.group_by_dynamic("t", every=every, period=period, start_by="window")
    theirs = grouped.agg(count=pl.len(), sum=pl.col("n").sum()).filter(pl.col("count") > 0)
    starts = theirs["t"].cast(pl.Int64).to_list()
    found = [
        tuple(row)
        for row in zip(
            mine["window_start"].cast(pa.int64()).to_pylist(), *(mine[name].to_pylist() for name in both), strict=True
        )
    ]
    expected = list(zip(starts, *(theirs[name].to_list() for name in both), strict=True))
    assert [row for row in found if row[0] >= starts[0]] == expected


def test_a_day_ends_at_a_midnight_that_does_not_exist() -> None:
    """A known bug of Polars: `group_by_dynamic` begins the next day at 23:00, although `truncate` finds the right day."""
    times = [datetime(2018, 11, 3, 12), datetime(2018, 11, 4, 2, 30)]
    column = pl.Series("t", times).dt.replace_time_zone("UTC").dt.convert_time_zone("America/Sao_Paulo")
    assert column.to_frame().group_by_dynamic("t", every="1d").agg(pl.len()).height == 2
    assert column.dt.truncate("1d").n_unique() == 1
    assert days("America/Sao_Paulo", *times) == [("03 03:00", "04 03:00", 2)]


@pytest.mark.parametrize("zone", [*ZONES, "America/Sao_Paulo", None])
@pytest.mark.parametrize("every", ["1mo", "1q", "1y", "1d", "1w"])
def test_starts_equal_what_polars_truncates_to(zone: str | None, every: str) -> None:
    table = ten_years(zone, 2)
    mine = sash.Query(agg.count(), window.tumbling(every), time="t").run(table)
    column = pl.from_arrow(table["t"])
    assert isinstance(column, pl.Series)
    theirs = column.dt.truncate(every).unique().sort()
    assert mine["window_start"].cast(pa.int64()).to_pylist() == theirs.cast(pl.Int64).to_list()


@pytest.mark.parametrize(
    ("zone", "closed", "period"),
    matrix([*ZONES, "America/Sao_Paulo", None], ["right", "left", "both", "neither"], ["1mo", "3mo", "1y", "1d", "1w"]),
)
def test_windows_of_rows_equal_those_of_polars(zone: str | None, closed: Any, period: str) -> None:
    table = ten_years(zone, 3)
    chosen = window.time(period, closed=closed, tz=(zone or "UTC") if period[-1] in "dw" else None)
    mine = sash.Query({"count": agg.count()}, chosen, time="t").run(table)
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    theirs = frame.rolling("t", period=period, closed="none" if closed == "neither" else closed).agg(pl.len())
    differ = np.flatnonzero(np.array(mine["count"].to_pylist()) != theirs["len"].to_numpy())
    differs = differ_by_design(zone, table, period)
    assert [row for row in differ.tolist() if not differs[row]] == []
    assert np.count_nonzero(differs) < len(table) / 10


def differ_by_design(zone: str | None, table: pa.Table, period: str) -> list[bool]:
    """Whether the local time of a row, or that of the begin of its window, occurs twice, or never.

    Of a time that occurs twice, Polars takes the occurrence that fits the offset of the row, Sash always the first. One that does
    not exist Polars moves forward by the length of the gap, Sash to the end of the gap, as "shift_forward" in pandas. Windows of
    the hour after it begin no earlier.
    """
    local = ZoneInfo(zone or "UTC")
    offset = pd.DateOffset(**{{"mo": "months", "y": "years", "d": "days", "w": "weeks"}[period[1:]]: int(period[0])})
    found = []
    for time in table["t"].to_pylist():
        now = pd.Timestamp(time.replace(tzinfo=None))
        near = [each - timedelta(hours=hours) for each in (now, now - offset) for hours in (0, 1)]
        moments = [each.to_pydatetime().replace(tzinfo=local) for each in near]
        found.append(any(each.utcoffset() != each.replace(fold=1).utcoffset() for each in moments))
    return found


@pytest.mark.parametrize("zone", [*ZONES, None])
@pytest.mark.parametrize(("length", "rule"), [("1mo", "MS"), ("1q", "QS"), ("1y", "YS"), ("1d", "D"), ("1w", "W-MON")])
def test_windows_equal_those_of_pandas(zone: str | None, length: str, rule: str) -> None:
    table = ten_years(zone, 4)
    mine = sash.Query({"sum": agg.sum("n")}, window.tumbling(length), time="t").run(table)
    frame = table.to_pandas().set_index("t")["n"]
    resampled = frame.resample(rule, closed="left", label="left")
    theirs = resampled.sum()[resampled.count() > 0]
    assert mine["sum"].to_pylist() == theirs.tolist()
    starts = pd.DatetimeIndex(mine["window_start"].to_pandas())
    assert starts.tolist() == theirs.index.tolist()


@pytest.mark.parametrize("months", [1, 3, 12])
def test_windows_of_rows_equal_those_of_pandas(months: int) -> None:
    """Which has windows of months for each row only by an indexer of one's own offset."""
    table = ten_years(None, 5)
    series = table.to_pandas().set_index("t")["n"]
    indexer = pd.api.indexers.VariableOffsetWindowIndexer(index=series.index, offset=pd.DateOffset(months=months))
    theirs = series.rolling(indexer, min_periods=1).sum()
    mine = sash.Query({"sum": agg.sum("n")}, window.time(f"{months}mo"), time="t").run(table)
    assert mine["sum"].to_pylist() == theirs.astype(int).tolist()


# -- clocks ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("zone", [*ZONES, *ODD_ZONES])
def test_clocks_show_what_python_shows(zone: str) -> None:
    chooser = random.Random(7)
    begin, end = (int(datetime(year, 1, 1, tzinfo=UTC).timestamp()) for year in (1905, 2090))
    clock = local_time_of(zone, 1_000_000_000, begin, end)
    near = [change + shift for change in clock.changes.tolist() for shift in (-1, 0, 1) if begin < change < end]
    instants = [chooser.randrange(begin, end) for _ in range(3000)] + near
    python = clock_in_python(zone, instants)
    assert clock.local(np.array(instants)).tolist() == python
    checks(clock, np.array(sorted(instants)))


def clock_in_python(zone: str, instants: list[int]) -> list[int]:
    if zone == "+05:45":
        return [instant + 20_700 for instant in instants]
    offsets = [datetime.fromtimestamp(instant, ZoneInfo(zone)).utcoffset() for instant in instants]
    return [
        instant + int(offset.total_seconds())
        for instant, offset in zip(instants, offsets, strict=True)
        if offset is not None
    ]


def checks(clock: LocalTime, instants: Any) -> None:
    """The clock never goes back, and the first instant of a local time is the earliest at which it is reached."""
    latest = clock.latest(instants)
    assert (np.diff(latest) >= 0).all()
    first = clock.instants(latest)
    assert (first <= instants).all()
    assert (clock.latest(first) >= latest).all()
    assert (clock.latest(first - 1) < latest).all()


# -- errors and words --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: window.tumbling("1M"), r'M could mean months. Use "1m" for minutes, or "1mo" for months'),
        (lambda: window.tumbling("1h", tz="Europe/Berlin"), r"range='1h' has hours or shorter units, which do not depend on the calendar"),
        (lambda: window.time("24h", tz="Europe/Berlin"), r"range='24h' has hours"),
        (lambda: window.time("1d", slide="1h", tz="UTC"), r"slide='1h' has hours"),
        (lambda: window.time("1mo", slide="1d"), r"range='1mo', slide='1d' mix months with shorter units"),
        (lambda: window.time("90d", slide="1mo"), r"mix months with shorter units"),
        (lambda: window.cumulative("1mo", "1d"), r"range='1mo', step='1d' mix months"),
        (lambda: window.cumulative("5mo", "2mo"), r"not a multiple of step"),
        (lambda: window.cumulative("1mo", "1q"), r"step='1q' is more than range='1mo'"),
        (lambda: window.tumbling("1d", offset="1mo"), r"offset='1mo' has months, but 1d has not"),
        (lambda: window.tumbling("1d", offset="1mo", tz="UTC"), r"offset='1mo' has months, but 1d has not"),
        (lambda: window.tumbling("1d", tz="Europe/Berln"), r"tz='Europe/Berln' is not a time zone. Did you mean .*Europe/Berlin"),
        (lambda: window.tumbling(5, tz="UTC"), r"tz= does not apply to range=5, a number"),
        (lambda: window.time(before="1mo"), r"before= and after= cannot be months"),
        (lambda: window.time(before="1d", tz="UTC"), r"tz='UTC' cannot be combined with before"),
        (lambda: window.session("1mo"), r"gap='1mo': months, quarters and years differ in length"),
        (lambda: agg.ewm_mean("x", half_life="1y"), r"half_life='1y': months, quarters and years differ in length"),
    ],
)  # fmt: skip
def test_what_is_rejected(call: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        call()


def test_tz_must_be_a_name() -> None:
    with pytest.raises(TypeError, match="tz=5 is not the name of a time zone"):
        window.tumbling("1d", tz=5)  # type: ignore[arg-type]
    assert window.tumbling("1d", tz=ZoneInfo("Europe/Berlin")) == window.tumbling("1d", tz="Europe/Berlin")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "chosen", [window.tumbling("1mo"), window.time("1mo"), window.tumbling("1d", tz="UTC")], ids=str
)
def test_integers_have_no_calendar(chosen: Window) -> None:
    with pytest.raises(ValueError, match="is a duration, but column 't' holds integers"):
        sash.Query(agg.count(), chosen, time="t").run(pa.table({"t": [1]}))


@pytest.mark.parametrize("column", [[datetime(2024, 1, 1)], [date(2024, 1, 1)]])
def test_a_column_without_a_zone_has_no_other_days(column: list[Any]) -> None:
    for chosen in (window.tumbling("1mo", tz="Europe/Berlin"), window.time("1d", tz="Europe/Berlin")):
        with pytest.raises(ValueError, match="column 't' has no time zone, so its days and months are local already"):
            sash.Query(agg.count(), chosen, time="t").run(pa.table({"t": column}))


def test_too_many_windows_are_refused() -> None:
    table = pa.table({"t": [datetime(2024, 1, 1), datetime(2024, 12, 1)]})
    query = sash.Query(agg.count(), window.time("1y", slide="1mo", max_windows=3), time="t")
    with pytest.raises(ValueError, match=r'time\("1y", slide="1mo"\): 23 windows hold rows'):
        query.run(table)


@pytest.mark.parametrize(
    "call",
    [
        'tumbling("1mo")', 'time("3mo", slide="1mo", offset="2d", min_rows=2, tz="Europe/Berlin")',
        'time("1 year", closed="both", exclude="row", min_rows=3, tz="UTC")', 'cumulative("1w", "1d", tz="Asia/Kolkata")',
    ],
)  # fmt: skip
def test_repr_is_the_call(call: str) -> None:
    made = eval(call, {name: getattr(window, name) for name in window.__all__})  # noqa: S307 — calls from above
    assert repr(made) == call


def test_names_of_windows_in_a_list() -> None:
    assert window.time("3mo").result_name == "3mo"
    assert window.tumbling("1d", tz="Europe/Berlin").result_name == "tumbling_1d_tz_Europe_Berlin"


@pytest.mark.parametrize("name", CALENDAR)
def test_windows_of_the_calendar_are_explained_without_data(name: str) -> None:
    query = sash.Query({"top": agg.max("x")}, CALENDAR[name], time="t")
    assert repr(CALENDAR[name]) in str(query.explain())


@pytest.mark.parametrize("name", CALENDAR)
def test_pictures(name: str) -> None:
    chosen = CALENDAR[name]
    rows = [{"time": datetime(2024, 1, 20, tzinfo=UTC) + timedelta(days=5 * number)} for number in range(20)]
    assert chosen.draw(rows).startswith("<svg")
    if chosen.length.months:  # type: ignore[union-attr]
        with pytest.raises(ValueError, match="no sample rows"):
            chosen.draw()
        assert chosen._repr_svg_() is None
    else:
        assert chosen.draw().startswith("<svg")
