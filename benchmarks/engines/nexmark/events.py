"""The events of an auction site, shaped as Nexmark's, but computed from their numbers: all engines have the same ones.

As in benchmarks/nexmark/generator.py, of each 50 events the first is a new person, the next three are new auctions, and the others are bids.
The constants are those of Nexmark: half of the bids are for a hot auction, three of four are by a hot bidder, and three of four auctions are of
a hot seller. What Nexmark draws at random is computed by a hash of the number: its cube modulo a prime, times a factor for each column.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.engines.events import FIRST, mod

PERSONS, AUCTIONS, EVENTS = 1, 3, 50
"""Of each 50 events."""
FIRST_ID = 1_000
HOT_AUCTION_IN, HOT_SELLER_IN, HOT_BIDDER_IN = 2, 4, 4
"""All but one of so many are hot."""
HOT_EVERY = 100
IN_FLIGHT, ACTIVE, LEAD = 100, 1_000, 10
DELAY = 4_000
"""Milliseconds that the watermark waits, as Nexmark's tables declare it."""
PRIME = 1_000_121
"""Two more than a multiple of three: so cubes modulo this prime are all different, and so are the prices of a million bids."""
SHIFT = 31_337
"""Cubes of small numbers would be small."""
FACTORS = {"hot auction": 514_229, "auction": 317_811, "hot person": 196_418, "person": 832_040}
DECADES = 6
"""Prices range over so many powers of ten."""
TABLES: Mapping[str, tuple[str, ...]] = {
    "person": ("id", "name"),
    "auction": ("id", "seller"),
    "bid": ("auction", "bidder", "price"),
}
"""The columns that queries read, beside the time, of each table."""
PLACES = {"person": (0, PERSONS), "auction": (PERSONS, PERSONS + AUCTIONS), "bid": (PERSONS + AUCTIONS, EVENTS)}
"""Where the events of a table are among 50."""


@dataclass(frozen=True)
class AuctionEvents:
    """The first `count` events of a site, so many in a second."""

    count: int
    per_second: int = 10_000

    @property
    def delay(self) -> int:
        """The milliseconds that the watermark waits."""
        return DELAY

    @property
    def final_watermark(self) -> int:
        """The watermark after all events, of the table whose newest event is the oldest: that of people."""
        newest = (self.count - 1) // EVENTS * EVENTS
        return int(self.time_of(newest)) - self.delay

    def time_of(self, n: Any) -> Any:
        """Return the time of an event, in milliseconds."""
        return FIRST + n * 1_000 // self.per_second


def columns_of(table: str, n: Any, names: Collection[str]) -> dict[str, Any]:
    """Return columns of the event with a number, or of a NumPy array of numbers. `name_of` has the names of people.

    >>> columns_of("auction", 3, ["id", "seller"])
    {'id': 1002, 'seller': 1000}
    """
    block = n // EVENTS
    cube = _cube(n) if table != "person" else n
    made: Mapping[str, Callable[[], Any]] = {
        "id": lambda: (block if table == "person" else block * AUCTIONS + _rest(n, EVENTS) - PERSONS) + FIRST_ID,
        "seller": lambda: _person(block, cube, HOT_SELLER_IN, 0),
        "auction": lambda: _auction(block, cube),
        "bidder": lambda: _person(block, cube, HOT_BIDDER_IN, 1),
        "price": lambda: (PRIME + 9 * cube) * 10 ** _rest(cube, DECADES),
    }
    return {name: made[name]() for name in names}


def name_of(person: int) -> str:
    """Return the name of a person."""
    return f"person {person}"


def _rest(values: Any, by: Any) -> Any:
    """Return the rest of a division: of arrays, several times as fast as `%`."""
    return values - values // by * by


def _cube(n: Any) -> Any:
    m = _rest(n + SHIFT, PRIME)
    return _rest(_rest(m * m, PRIME) * m, PRIME)


def _draw(cube: Any, what: str) -> Any:
    return _rest(cube * FACTORS[what], PRIME)


def _least(values: Any, most: int) -> Any:
    """Return the values, or `most` where they are more: of numbers and of arrays."""
    return values + (values > most) * (most - values)


def _auction(block: Any, cube: Any) -> Any:
    """Return the id of the first of the newest hundred auctions, or of any that is open."""
    newest = block * AUCTIONS + AUCTIONS - 1
    in_flight = _least(newest, IN_FLIGHT)
    other = newest - in_flight + _rest(_draw(cube, "auction"), in_flight + (1 + LEAD))
    hot = newest // HOT_EVERY * HOT_EVERY
    return other + (_rest(_draw(cube, "hot auction"), HOT_AUCTION_IN) > 0) * (hot - other) + FIRST_ID


def _person(block: Any, cube: Any, hot_in: int, hot: int) -> Any:
    """Return the id of the first (0) or second (1) of the newest hundred people, or of any that is active."""
    active = _least(block + 1, ACTIVE)
    other = block + 1 - active + _rest(_draw(cube, "person"), active + LEAD)
    hot = block // HOT_EVERY * HOT_EVERY + hot
    return other + (_rest(_draw(cube, "hot person"), hot_in) > 0) * (hot - other) + FIRST_ID


def sql_of_time(per_second: int) -> str:
    """Return the time of the event n in milliseconds, in SQL."""
    return f"{FIRST} + {_over('n * 1000', per_second)}"


def sql_of(table: str) -> dict[str, str]:
    """Return the columns of a table of the BIGINT column n, in SQL that has no `%`, and only exact `/` of integers."""
    block = _over("n", EVENTS)
    if table == "person":
        return {"id": f"{block} + {FIRST_ID}", "name": f"CONCAT('person ', CAST({block} + {FIRST_ID} AS STRING))"}
    if table == "auction":
        identity = f"{block} * {AUCTIONS} + {mod('n', EVENTS)} - {PERSONS} + {FIRST_ID}"
        return {"id": identity, "seller": _sql_of_person(block, HOT_SELLER_IN, 0)}
    newest = f"({block} * {AUCTIONS} + {AUCTIONS - 1})"
    in_flight = _sql_least(newest, IN_FLIGHT)
    hot = f"{_over(newest, HOT_EVERY)} * {HOT_EVERY}"
    other = f"{newest} - {in_flight} + {mod(_sql_draw('auction'), f'{in_flight} + {1 + LEAD}')}"
    is_hot = f"{mod(_sql_draw('hot auction'), HOT_AUCTION_IN)} > 0"
    return {
        "auction": f"CASE WHEN {is_hot} THEN {hot} ELSE {other} END + {FIRST_ID}",
        "bidder": _sql_of_person(block, HOT_BIDDER_IN, 1),
        "price": f"({PRIME} + 9 * {_SQL_CUBE}) * CAST(POWER(10, {mod(_SQL_CUBE, DECADES)}) AS BIGINT)",
    }


_SQL_M = mod(f"n + {SHIFT}", PRIME)
_SQL_CUBE = mod(f"{mod(f'{_SQL_M} * {_SQL_M}', PRIME)} * {_SQL_M}", PRIME)


def _sql_draw(what: str) -> str:
    return mod(f"{_SQL_CUBE} * {FACTORS[what]}", PRIME)


def _sql_least(value: str, most: int) -> str:
    return f"CASE WHEN {value} < {most} THEN {value} ELSE {most} END"


def _over(value: str, by: int) -> str:
    """Return a quotient without the rest: engines disagree on `/` of integers where there is one.

    >>> _over("n", 50)
    'CAST((n - MOD(n, CAST(50 AS BIGINT))) / 50 AS BIGINT)'
    """
    return f"CAST(({value} - {mod(value, by)}) / {by} AS BIGINT)"


def _sql_of_person(block: str, hot_in: int, hot: int) -> str:
    active = _sql_least(f"({block} + 1)", ACTIVE)
    other = f"{block} + 1 - {active} + {mod(_sql_draw('person'), f'{active} + {LEAD}')}"
    is_hot = f"{mod(_sql_draw('hot person'), hot_in)} > 0"
    return f"CASE WHEN {is_hot} THEN {_over(block, HOT_EVERY)} * {HOT_EVERY} + {hot} ELSE {other} END + {FIRST_ID}"
