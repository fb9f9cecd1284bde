from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from benchmarks.nexmark import generator
from benchmarks.nexmark.cases import CASES
from benchmarks.nexmark.data import SCHEMAS
from benchmarks.nexmark.generator import Events, closed_auctions, generate
from benchmarks.pages.details import page_of
from benchmarks.plots.dots import draw_queries
from benchmarks.report import judge
from benchmarks.results import reading
from benchmarks.spark_windows.cases import CASES as WINDOW_CASES

EVENTS, RATE = 100_000, 1000.0
ARROW = {"long": pa.int64(), "string": pa.string(), "timestamp": pa.timestamp("us", "UTC")}


@pytest.fixture(scope="module")
def events() -> Events:
    return generate(0, EVENTS, RATE)


def test_of_fifty_events_one_is_a_person_three_are_auctions_and_the_others_are_bids(events: Events) -> None:
    many = len(events.person), len(events.auction), len(events.bid)
    assert many == (EVENTS // 50, EVENTS * 3 // 50, EVENTS * 46 // 50)
    assert events.person["id"].to_pylist() == list(range(1000, 1000 + many[0]))
    assert events.auction["id"].to_pylist() == list(range(1000, 1000 + many[1]))


@pytest.mark.parametrize("table", ["person", "auction", "bid"])
def test_columns_and_types_are_those_of_nexmark(events: Events, table: str) -> None:
    declared = [column.split(" ") for column in SCHEMAS[table].split(", ")]
    assert getattr(events, table).schema == pa.schema([(name, ARROW[kind]) for name, kind in declared])


def test_events_follow_each_other_at_an_even_rate(events: Events) -> None:
    bids = events.bid["dateTime"].cast("int64").to_numpy()
    assert bids[0] == (generator.START + 4) * 1000
    assert np.all(np.diff(bids) >= 0)
    assert (bids[-1] - bids[0]) / 1e6 == pytest.approx(EVENTS / RATE, rel=1e-3)


def test_hot_keys_have_their_share(events: Events) -> None:
    newest = generator.newest_auction(np.arange(EVENTS)[np.arange(EVENTS) % 50 >= 4])
    hot_auction = np.mean(events.bid["auction"].to_numpy() - 1000 == newest // 100 * 100)
    persons = np.arange(EVENTS) // 50
    is_bid, is_auction = np.arange(EVENTS) % 50 >= 4, (np.arange(EVENTS) % 50 > 0) & (np.arange(EVENTS) % 50 < 4)
    hot_bidder = np.mean(events.bid["bidder"].to_numpy() - 1000 == persons[is_bid] // 100 * 100 + 1)
    hot_seller = np.mean(events.auction["seller"].to_numpy() - 1000 == persons[is_auction] // 100 * 100)
    assert (hot_auction, hot_bidder, hot_seller) == pytest.approx((0.5, 0.75, 0.75), abs=0.03)


def test_others_are_recent_or_about_to_be(events: Events) -> None:
    numbers = np.arange(EVENTS)[np.arange(EVENTS) % 50 >= 4]
    lead = events.bid["auction"].to_numpy() - 1000 - generator.newest_auction(numbers)
    assert (lead.min(), lead.max()) == (-100, 10)
    lead = events.bid["bidder"].to_numpy() - 1000 - numbers // 50
    assert (lead.min(), lead.max()) == (-999, 10)


def test_sizes_and_prices_are_those_of_nexmark(events: Events) -> None:
    for table, size in generator.BYTES.items():
        made = getattr(events, table)
        assert made.nbytes / len(made) == pytest.approx(size, rel=0.2)
    prices = np.log10(events.bid["price"].to_numpy() / 100)
    assert 0 <= prices.min() < prices.max() <= 6
    assert np.mean(prices) == pytest.approx(3, abs=0.05)


def test_the_same_events_come_again_and_parts_continue(events: Events) -> None:
    assert generate(0, EVENTS, RATE) == events
    later = generate(EVENTS, 50, RATE)
    assert later.person["id"][0].as_py() == events.person["id"][-1].as_py() + 1
    assert later.auction["id"][0].as_py() == events.auction["id"][-1].as_py() + 1
    assert later.person["dateTime"][0].as_py() >= events.bid["dateTime"][-1].as_py()


def test_an_auction_sells_for_its_highest_bid_in_time(events: Events) -> None:
    auction, bid = events.auction, events.bid
    right = duckdb.sql(
        "SELECT id AS auction, seller, max(price) AS price, expires FROM auction JOIN bid ON id = auction "
        "WHERE bid.dateTime BETWEEN auction.dateTime AND expires AND expires <= (SELECT max(dateTime) FROM bid) "
        "GROUP BY ALL ORDER BY expires, auction"
    )
    assert right is not None
    given = closed_auctions(auction, bid)
    assert len(given) > len(auction) / 2
    assert given == right.to_arrow_table().cast(given.schema)


def test_each_query_has_a_case_on_frames_and_one_on_streams() -> None:
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names) == 13
    for query in (5, 6, 7, 8, 11, 12):
        for kind in ("batch", "stream"):
            assert any(name.startswith(f"{kind}, query {query}") for name in names)
    assert all(len(case.targets) == len(case.contestants) - 1 > 0 for case in (*CASES, *WINDOW_CASES))


def test_window_benchmark_has_its_sections() -> None:
    names = [case.name for case in WINDOW_CASES]
    assert len(set(names)) == len(names) == 13
    assert [name.split(":")[0] for name in names] == [*"AAAAAABBBBCF", "to the end"]
    assert {case.range for case in WINDOW_CASES} >= {
        f"rows(before={half}, after={half})" for half in (5, 25, 100, 500, 2000)
    }


def test_the_pages_show_all_cases(tmp_path: Path) -> None:
    """With made-up readings: Sash is as fast as each of Spark's ways, which meets all targets."""
    for suite, cases in {"nexmark": CASES, "spark_windows": WINDOW_CASES}.items():
        readings = [reading(case, one, [100.0], case.rows, None) for case in cases for one in case.contestants]
        assert all(one.is_met for one in judge(cases, readings))
        text = page_of(suite, readings)
        assert all(f"| {case.name} | Sash | 100 ns |" in text for case in cases)
        if suite == "nexmark":
            draw_queries(readings, tmp_path / "nexmark.svg")
    assert "over streams" in (tmp_path / "nexmark.svg").read_text(encoding="utf-8")


def test_fewer_events_take_as_long() -> None:
    quick = CASES[0].at_most(1_000)
    assert (quick.rows, quick.checked, quick.seconds) == (1_000, 1_000, CASES[0].seconds)
