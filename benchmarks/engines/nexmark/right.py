"""The right answers of the queries of Nexmark, from the raw rows, in loops that anyone can read."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from benchmarks.engines.events import FIRST
from benchmarks.engines.nexmark.events import EVENTS, PLACES, TABLES, AuctionEvents, columns_of, name_of
from benchmarks.engines.nexmark.queries import SiteJob

PERIOD, SLIDE = 10_000, 2_000
Line: TypeAlias = tuple[str, ...]
"""A line of the CSV; the first cell is the end of the window."""


def rows_of(events: AuctionEvents, table: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield time and columns of the rows of a table, in order of time."""
    begin, end = PLACES[table]
    for n in range(events.count):
        if begin <= n % EVENTS < end:
            yield events.time_of(n), columns_of(table, n, set(TABLES[table]) - {"name"})


def hot_items(events: AuctionEvents) -> Iterator[tuple[Any, ...]]:
    """Yield the auctions with the most bids in each window."""
    counts: dict[int, Counter[int]] = defaultdict(Counter)
    for time, bid in rows_of(events, "bid"):
        first_end = time - time % SLIDE + SLIDE
        for end in range(first_end, first_end + PERIOD, SLIDE):
            counts[end][bid["auction"]] += 1
    for end, of_window in counts.items():
        most = max(of_window.values())
        yield from ((end, auction, num) for auction, num in of_window.items() if num == most)


def highest_bid(events: AuctionEvents) -> Iterator[tuple[Any, ...]]:
    """Yield the bids with the highest price of each period."""
    periods: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for time, bid in rows_of(events, "bid"):
        periods[_end_of(time)].append(bid)
    for end, bids in periods.items():
        price = max(bid["price"] for bid in bids)
        yield from ((end, bid["auction"], bid["bidder"], price) for bid in bids if bid["price"] == price)


def new_sellers(events: AuctionEvents) -> Iterator[tuple[Any, ...]]:
    """Yield the people who came and opened an auction in the same period."""
    sellers = {(_end_of(time), auction["seller"]) for time, auction in rows_of(events, "auction")}
    for time, person in rows_of(events, "person"):
        if (_end_of(time), person["id"]) in sellers:
            yield _end_of(time), person["id"], name_of(person["id"])


def bids_of_session(events: AuctionEvents) -> Iterator[tuple[Any, ...]]:
    """Yield the bids of each session: it ends after ten seconds without a bid."""
    times: dict[int, list[int]] = defaultdict(list)
    for time, bid in rows_of(events, "bid"):
        times[bid["bidder"]].append(time)
    for bidder, of_bidder in times.items():
        start, newest, num = of_bidder[0], of_bidder[0], 0
        for time in of_bidder:
            if time - newest >= PERIOD:
                yield newest + PERIOD, start, bidder, num
                start, num = time, 0
            newest, num = time, num + 1
        yield newest + PERIOD, start, bidder, num


def bids_of_period(events: AuctionEvents) -> Iterator[tuple[Any, ...]]:
    """Yield how many bids people make in each period."""
    counts = Counter((_end_of(time), bid["bidder"]) for time, bid in rows_of(events, "bid"))
    yield from ((end, bidder, num) for (end, bidder), num in counts.items())


def _end_of(time: int) -> int:
    return time - (time - FIRST) % PERIOD + PERIOD


RIGHT: Mapping[int, Callable[[AuctionEvents], Iterator[tuple[Any, ...]]]] = {
    5: hot_items,
    7: highest_bid,
    8: new_sellers,
    11: bids_of_session,
    12: bids_of_period,
}
"""By the number of the query."""


def right_answers(job: SiteJob) -> list[Line]:
    """Return the right answers that the watermark has passed."""
    return passed(RIGHT[job.query.number](job.events), job.events)


def passed(lines: Iterable[Iterable[Any]], events: AuctionEvents) -> list[Line]:
    """Return the lines that the watermark has passed, in order."""
    texts = (tuple(map(str, line)) for line in lines)
    return sorted(line for line in texts if int(line[0]) < events.final_watermark)


def compare_lines(name: str, given: list[Line], right: list[Line]) -> None:
    """Raise AssertionError unless the answers are the right ones, each of them once.

    >>> compare_lines("Flink", [("60", "1")], [("60", "2")])
    Traceback (most recent call last):
        ...
    AssertionError: Flink has 1 × ('60', '1'), where 0 × is right.
    """
    if not right:
        message = f"{name}: nothing to compare, the watermark has passed no window."
        raise AssertionError(message)
    counts, wanted = Counter(given), Counter(right)
    for line in sorted(counts.keys() | wanted.keys()):
        if counts[line] != wanted[line]:
            message = f"{name} has {counts[line]} × {line}, where {wanted[line]} × is right."
            raise AssertionError(message)
