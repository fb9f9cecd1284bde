"""Events of an auction site, with the schema, the proportions and the hot keys of Nexmark's generator; seeded.

Events have numbers. Of each 50 in a row the first is a new person, the next three are new auctions, and the other 46 are bids:

    number    0        1 2 3      4 … 49     50       51 52 53   54 …
              person   auctions   bids       person   auctions   bids
    id        0        0 1 2                 1        3 4 5                  each plus 1000

The number decides the time and the newest ids, so that a part of the events can be made without those before it. A bid is for the hot
auction in one of two cases, and by the hot bidder in three of four; an auction is of the hot seller in three of four. The hot auction is
the first of the newest hundred, the hot seller and the hot bidder are the first and the second of the newest hundred
people. Others are drawn from the newest hundred auctions or thousand people, and from ten that do not exist yet.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Numbers: TypeAlias = Any
"""A NumPy array of int64."""

SEED = 22
PERSONS, AUCTIONS, BIDS = 1, 3, 46
EVENTS = PERSONS + AUCTIONS + BIDS
FIRST_ID = 1000
"""Of persons and of auctions."""
FIRST_CATEGORY, CATEGORIES = 10, 5
HOT_AUCTION_IN, HOT_SELLER_IN, HOT_BIDDER_IN = 2, 4, 4
"""All but one of so many are hot."""
HOT_EVERY = 100
IN_FLIGHT, ACTIVE, LEAD = 100, 1000, 10
BYTES = {"person": 200, "auction": 500, "bid": 100}
"""Of an event on average, which `extra` fills up."""
START = 1_709_251_200_000
"""The first of March 2024, in milliseconds."""
LETTERS = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz", np.uint8)
FIRST_NAMES = ["Ada", "Alan", "Barbara", "Claude", "Donald", "Edsger", "Frances", "Grace", "John", "Kurt", "Tony"]
LAST_NAMES = ["Allen", "Church", "Codd", "Dijkstra", "Hopper", "Knuth", "Liskov", "Lovelace", "Shannon"]
CITIES = ["Boise", "Cheyenne", "Eugene", "Fresno", "Olympia", "Phoenix", "Portland", "Sacramento", "Seattle", "Tucson"]
STATES = ["AZ", "CA", "ID", "OR", "WA", "WY"]
MOMENT = pa.timestamp("us", "UTC")  # of milliseconds; Spark has microseconds


@dataclass(frozen=True)
class Events:
    """The events of some time, by kind, each in order of time."""

    person: pa.Table
    auction: pa.Table
    bid: pa.Table


def generate(first: int, count: int, rate: float) -> Events:
    """Return the events from a number on; `rate` are events a second."""
    draw = np.random.default_rng((SEED, first))
    numbers = np.arange(first, first + count)
    place = numbers % EVENTS
    is_person, is_bid = place < PERSONS, place >= PERSONS + AUCTIONS
    return Events(
        _persons(draw, numbers[is_person], rate),
        _auctions(draw, numbers[~is_person & ~is_bid], rate),
        _bids(draw, numbers[is_bid], rate),
    )


def milliseconds(numbers: Numbers, rate: float) -> Numbers:
    """Return when events happen, since 1970."""
    return START + np.floor(np.asarray(numbers) * (1000 / rate)).astype(np.int64)


def newest_person(numbers: Numbers) -> Numbers:
    """Return the newest person, from 0 on, of events that are not before it."""
    return numbers // EVENTS


def newest_auction(numbers: Numbers) -> Numbers:
    """Return the newest auction, from 0 on: that of the event itself if it is one.

    >>> newest_auction(np.array([1, 2, 3, 4, 49, 51])).tolist()
    [0, 1, 2, 2, 2, 3]
    """
    within = np.minimum(numbers % EVENTS, PERSONS + AUCTIONS - 1) - PERSONS
    return numbers // EVENTS * AUCTIONS + within


def _persons(draw: np.random.Generator, numbers: Numbers, rate: float) -> pa.Table:
    many = len(numbers)
    name = _join(_choose(draw, FIRST_NAMES, many), _choose(draw, LAST_NAMES, many), " ")
    email = pc.binary_join_element_wise(_text(draw, np.full(many, 7)), "@", _text(draw, np.full(many, 5)), ".com", "")
    four = [pc.utf8_lpad(pa.array(draw.integers(0, 10_000, many)).cast("string"), 4, "0") for _ in range(4)]
    return pa.table(
        {
            "id": newest_person(numbers) + FIRST_ID,
            "name": name,
            "emailAddress": email,
            "creditCard": pc.binary_join_element_wise(*four, " "),
            "city": _choose(draw, CITIES, many),
            "state": _choose(draw, STATES, many),
            "dateTime": _moments(milliseconds(numbers, rate)),
            "extra": _extra(draw, many, BYTES["person"] - 64),
        }
    )


def _auctions(draw: np.random.Generator, numbers: Numbers, rate: float) -> pa.Table:
    many = len(numbers)
    opened = milliseconds(numbers, rate)
    horizon = milliseconds(numbers + IN_FLIGHT * EVENTS // AUCTIONS, rate) - opened  # until so many more are open
    first_price = _prices(draw, many)
    return pa.table(
        {
            "id": newest_auction(numbers) + FIRST_ID,
            "itemName": _text(draw, draw.integers(3, 20, many)),
            "description": _text(draw, draw.integers(3, 100, many)),
            "initialBid": first_price,
            "reserve": first_price + _prices(draw, many),
            "dateTime": _moments(opened),
            "expires": _moments(opened + 1 + draw.integers(0, np.maximum(2 * horizon, 1))),
            "seller": _people(draw, numbers, HOT_SELLER_IN, 0),
            "category": draw.integers(FIRST_CATEGORY, FIRST_CATEGORY + CATEGORIES, many),
            "extra": _extra(draw, many, BYTES["auction"] - 110),
        }
    )


def _bids(draw: np.random.Generator, numbers: Numbers, rate: float) -> pa.Table:
    many = len(numbers)
    newest = newest_auction(numbers)
    oldest = np.maximum(newest - IN_FLIGHT, 0)
    other = draw.integers(oldest, newest + 1 + LEAD)
    is_hot = draw.integers(0, HOT_AUCTION_IN, many) > 0
    return pa.table(
        {
            "auction": np.where(is_hot, newest // HOT_EVERY * HOT_EVERY, other) + FIRST_ID,
            "bidder": _people(draw, numbers, HOT_BIDDER_IN, 1),
            "price": _prices(draw, many),
            "dateTime": _moments(milliseconds(numbers, rate)),
            "extra": _extra(draw, many, BYTES["bid"] - 32),
        }
    )


def _people(draw: np.random.Generator, numbers: Numbers, hot_in: int, hot: int) -> Numbers:
    """Return persons: the first (0) or the second (1) of the newest hundred, or any that is active."""
    people = newest_person(numbers) + 1
    active = np.minimum(people, ACTIVE)
    other = people - active + draw.integers(0, active + LEAD)
    is_hot = draw.integers(0, hot_in, len(numbers)) > 0
    return np.where(is_hot, (people - 1) // HOT_EVERY * HOT_EVERY + hot, other) + FIRST_ID


def _prices(draw: np.random.Generator, many: int) -> Numbers:
    """Return cents, from 100 to 100 million, whose logarithms are uniform."""
    return np.rint(10 ** (draw.random(many) * 6) * 100).astype(np.int64)


def _moments(milliseconds_since_1970: Numbers) -> pa.Array:
    return pa.array(milliseconds_since_1970 * 1000, MOMENT)


def _choose(draw: np.random.Generator, words: list[str], many: int) -> pa.Array:
    return pa.array(words).take(pa.array(draw.integers(0, len(words), many)))


def _join(left: pa.Array, right: pa.Array, between: str) -> pa.Array:
    return pc.binary_join_element_wise(left, right, between)


def _extra(draw: np.random.Generator, many: int, size: int) -> pa.Array:
    """Return texts of this size on average, a fifth shorter or longer."""
    return _text(draw, draw.integers(size - size // 5, size + size // 5 + 1, many))


def _text(draw: np.random.Generator, lengths: Numbers) -> pa.Array:
    """Return texts of small letters."""
    ends = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    letters = LETTERS[draw.integers(0, len(LETTERS), ends[-1], dtype=np.uint8)]
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(letters)]
    return pa.Array.from_buffers(pa.large_string(), len(lengths), buffers).cast("string")


def closed_auctions(auctions: pa.Table, bids: pa.Table) -> pa.Table:
    """Return what auctions have sold for: the highest bid from their beginning to their end, in order of their end.

    Auctions without such a bid are left out. An auction that ends after the last bid has not ended yet.
    """
    start, end = (auctions[name].cast("int64").to_numpy() for name in ("dateTime", "expires"))
    first = int(auctions["id"][0].as_py())
    which, times = bids["auction"].to_numpy() - first, bids["dateTime"].cast("int64").to_numpy()
    known = (which >= 0) & (which < len(auctions))
    which, times, prices = which[known], times[known], bids["price"].to_numpy()[known]
    in_time = (times >= start[which]) & (times <= end[which])
    highest = np.zeros(len(auctions), np.int64)
    np.maximum.at(highest, which[in_time], prices[in_time])
    sold = (highest > 0) & (end <= int(bids["dateTime"].cast("int64").to_numpy()[-1]))
    table = pa.table(
        {
            "auction": auctions["id"],
            "seller": auctions["seller"],
            "price": highest,
            "expires": auctions["expires"],
        }
    )
    return table.filter(pa.array(sold)).sort_by([("expires", "ascending"), ("auction", "ascending")])
