"""One query, four lives: labels, a table, a stream with its past, and lookups give the same features of the same accepted events.

(a) `run(events, at=labels)`, (b) `run(events)`, (c) `run(stream, history=…)`, through restarts, and (d) `lookup` in a store that the
stream has written. tests/spark/streaming/test_four_lives.py has the same on Spark.
"""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from helpers.cases import SOAK
from helpers.features import KEYS, NUMBERS, VALUES, Span, growing, limited, numbers, random_events
from helpers.four_lives import Feed, Lives, assert_equal, times_of
from helpers.pairwise import FULL

import sash
from sash import agg, window
from sash.serve import open_store
from sash.serve.store import Store

pytestmark = [
    pytest.mark.filterwarnings("ignore::sash.state.reader.LateRowsWarning"),
    pytest.mark.filterwarnings("ignore::sash.backends.stream_start.OverlapWarning"),
]
SEEDS = range(1_000 if SOAK else 120 if FULL else 30)
TIMES: dict[str, tuple[pa.DataType, int, Span]] = {
    "int": (pa.int64(), 1, int),
    "s": (pa.timestamp("s"), 60, "{}m".format),
    "ms": (pa.timestamp("ms", "UTC"), 60_000, "{}m".format),
    "us": (pa.timestamp("us", "Europe/Berlin"), 60_000_000, "{}m".format),
    "ns": (pa.timestamp("ns"), 60_000_000_000, "{}m".format),
}
"""The type of the time column, its ticks in a unit, and what makes durations of units."""


def random_lives(chooser: random.Random) -> Lives:
    """Return a random query, and a random stream of events for it."""
    dtype, ticks, span = TIMES[chooser.choice(["int", "int", *TIMES])]
    forget = chooser.choice([None, None, 30])
    some, grow = limited(span), growing(span)
    windows = chooser.choice([some, grow, some | grow])
    chosen = {name: windows[name] for name in chooser.sample(list(windows), chooser.randint(1, 3))}
    if forget is not None:
        chosen["all"] = grow["all"]
    aggregates = numbers(span) | (VALUES if chooser.random() < 0.5 else {})
    keys = ("key",) if forget is not None else chooser.choice([(), ("key",), ("key",), ("key", "small")])
    lateness = chooser.choice([0, 4, 12])
    query = sash.Query(
        {name: aggregates[name] for name in chooser.sample(list(aggregates), chooser.randint(2, 7))}, chosen, by=keys, time="t",
        order_by=chooser.choice([None, "id"]), lateness=span(lateness),
    )  # fmt: skip
    events = random_events(chooser, chooser.randint(0, 60), chooser.choice([60, 200]), chooser.choice([0, 3, 15]))
    times = pa.array([time * ticks for time in events["t"].to_pylist()], pa.int64()).cast(dtype)
    events = events.set_column(1, pa.field("t", dtype), times)
    return Lives(query, keys, random_feed(chooser, events, lateness, ticks), forget, span)


def random_feed(chooser: random.Random, events: pa.Table, lateness: int, ticks: int) -> Feed:
    """Divide events into a past and a stream, which overlap."""
    times = times_of(events, ticks)
    until = chooser.choice([None, chooser.randint(0, max(times, default=0) + 5)])
    past = events.slice(0, 0)
    if until is not None:
        order = [place for place, time in enumerate(times) if time < until + chooser.choice([0, 10])]
        past = events.take(pa.array(chooser.sample(order, len(order)), pa.int64()))
        late = chooser.randrange(12)
        events = events.filter(pa.array([time >= until - late for time in times], pa.bool_()))
    batches, place = [], 0
    while place < len(events):
        batches.append(events.slice(place, size := chooser.choice([1, 3, 10, 40])))
        place += size
    return Feed(past, batches, until, lateness, ticks)


def check_labels(lives: Lives, accepted: pa.Table, table: dict[int, dict[str, Any]]) -> None:
    """Compare labels at the time of events with the last row of that key and time in a table."""
    rows, times = accepted.to_pylist(), times_of(accepted, lives.feed.ticks)
    by_id = lives.query._declared.order_by
    order = sorted(range(len(rows)), key=lambda row: (times[row], rows[row]["id"] if by_id else row))
    newest = {(*(rows[row][name] for name in lives.keys), times[row]): rows[row]["id"] for row in order}
    for label, found in zip(newest, lives.labelled(accepted, [*newest]), strict=True):
        assert_equal(found, table[newest[label]], f"a label {label} and its row in a table")


def check_lookups(lives: Lives, store: Store, read: int, chooser: random.Random) -> None:
    """Compare the features of keys in a store with those of labels, at some times from the watermark on."""
    feed = lives.feed
    events, since = feed.accepted(read), feed.watermark(read)
    known = sorted({tuple(row[name] for name in lives.keys) for row in events.to_pylist()}, key=repr)
    keys = [*chooser.sample(known, min(len(known), 6)), *([("unknown", 99)[: len(lives.keys)]] if lives.keys else [])]
    for now in {since, max([since, *times_of(events, feed.ticks)]), since + chooser.randrange(60)}:
        expected = lives.labelled(events, [(*key, now) for key in keys])
        for key, found, label in zip(keys, lives.looked_up(store, keys, now), expected, strict=True):
            assert_equal(found, label, f"a lookup of {key} at {now} and a label")


@pytest.mark.parametrize("seed", SEEDS)
def test_four_lives_have_the_same_features(seed: int, tmp_path: Path) -> None:
    chooser = random.Random(seed)
    lives = random_lives(chooser)
    feed, count = lives.feed, len(lives.feed.batches)
    accepted = feed.accepted(count)
    table = lives.in_table(accepted)
    check_labels(lives, accepted, table)

    since = float("-inf") if feed.until is None else feed.until
    times = dict(zip(accepted["id"].to_pylist(), times_of(accepted, feed.ticks), strict=True))
    streamed = lives.streamed()
    assert streamed.keys() == {row for row, time in times.items() if time >= since}
    ends = sorted({*chooser.choices(range(count + 1), k=2), count})
    resumed = lives.resumed(tmp_path / "results.state", ends, chooser)
    assert resumed.keys() == {row for row, time in times.items() if since <= time < feed.watermark(count)}
    for life in (streamed, resumed):
        for row, found in life.items():
            assert_equal(found, table[row], f"row {row} of a stream and of a table")

    with open_store(f"sqlite:///{tmp_path}/features.db") as store:
        for read in lives.served(store, tmp_path / "states.state", ends, chooser):
            check_lookups(lives, store, read, chooser)


SLIDES = {
    "tumbling": window.tumbling(6), "slide": window.time(10, slide=4), "right": window.time(10, slide=5, closed="right"),
    "session": window.session(5), "cumulative": window.cumulative(12, 3),
}  # fmt: skip


@pytest.mark.parametrize("name", SLIDES)
@pytest.mark.parametrize("seed", range(60 if SOAK else 10 if FULL else 2))
def test_windows_with_a_slide_have_three_lives(seed: int, name: str) -> None:
    """A label has the last window that had ended, and a stream with its past emits the windows that end after it."""
    chooser = random.Random(seed)
    names = chooser.sample(list(NUMBERS | VALUES), 4)
    aggregates = {each: (NUMBERS | VALUES)[each] for each in names if each not in ("weighted", "smooth", "rank")}
    aggregates["ids"] = agg.collect("id")
    query = sash.Query(aggregates, SLIDES[name], by="key", time="t", order_by="id", lateness=chooser.choice([0, 12]))
    events = random_events(chooser, 50, 60, 0)
    until = chooser.randint(0, 50)
    rest = events.filter(pc.greater_equal(events["t"], until)).to_reader(max_chunksize=7)
    table: dict[Any, dict[str, Any]] = {(row["key"], row["window_end"]): row for row in query.run(events).to_pylist()}
    streamed = query.run(rest, history=events, until=until, partial=True).read_all().to_pylist()
    assert Counter((row["key"], row["window_end"]) for row in streamed if row["window_end"] > until) == Counter(
        key for key in table if key[1] > until
    )
    for row in streamed:
        assert_equal(row, table[row["key"], row["window_end"]], "a window of a stream and of a table")
    labels = pa.table({"key": pa.array(KEYS * 12, pa.string()), "t": [time for time in range(0, 72, 6) for _ in KEYS]})
    for row in query.run(events, at=labels).to_pylist():
        time = row.pop("t")
        ended = [end for key, end in table if key == row["key"] and end <= time]
        expected = table.get((row["key"], row["window_end"]), {"ids": None})
        if name == "session":
            assert row["window_end"] == max(ended, default=None)
        else:
            assert not [end for end in ended if end > row["window_end"]]
        if expected["ids"] is None:
            assert row["ids"] is None
        else:
            assert_equal(row, expected, f"a label at {time} and the last window that had ended")
