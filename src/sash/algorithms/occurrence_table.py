"""Occurrence table: a hash table from each value in the window to its newest position, which counts the different values.

Knuth. The Art of Computer Programming 3, second edition 1998, section 6.4: algorithms L (linear probing) and R (deletion
without tombstones), here over a queue of the window's values.

Order: first in, first out. Laws: distinct, as count_distinct is: the answer is read with `len`.
insert and evict O(1) expected, O(n) worst case, in comparisons of values; query O(1); no combine. Space: n.

    Values 5 3 8 3 14 5, the oldest first, in the queue; the table finds the newest position of each different value:

    position      0   1   2   3   4   5          place         0   …  14   …  20  21   …  24   …  31
    value         5   3   8   3  14   5          position      .   .   5   .   2   4   .   3   .   .
    repeated      1   1   0   0   0   0          its value             5       8  14       3

    distinct = 4: the number of rows that are the newest of their value. When row 0 leaves, 5 has a newer row and stays in the table;
    when row 2 leaves, 8 is counted no more, and 14, whose home is place 20 too, moves up.

Invariants:
  1. the table holds one position of each different value in the window, and nothing else
  2. no place from home(v) to the place of v is free, where home(v) = hash_of(v) mod capacity
  3. 4(end - begin) ≤ capacity, a power of two
  4. repeated[p] = 1 if a newer row has the value of row p, else 0, and then the table holds p
  5. distinct is the number of rows with repeated = 0
"""

from __future__ import annotations

from typing import Any, cast

from sash.aggregates.base import Aggregate, P
from sash.algorithms.base import About, Algorithm, Array, Column, SlideCost, SpaceCost

FREE = -1
ROOM = 4
"""Places per row. Half as many took twice the time when all values differ, because branches are not predictable."""


class PositionTable(Algorithm[P]):
    """A queue of values and a hash table that maps each value to one of its positions; the subclass chooses which."""

    keeps_values = True
    one_aggregate = True
    branches_on_data = True
    values: Column[P]
    table: Array[int]
    capacity: int

    def __init__(self, aggregate: Aggregate[P], ranges: tuple[int, ...] = ()) -> None:
        super().__init__(aggregate, ranges)
        self.table = []
        self._resize(ROOM << (max(ranges, default=8) - 1).bit_length())

    def make_room(self, rows: int) -> None:
        """Enlarge the table for a window of `rows` values."""
        if ROOM * rows > self.capacity:
            self._resize(1 << (ROOM * rows - 1).bit_length())

    def _place_of(self, key: P) -> int:
        """Return the place of the value, or the free place where it would be entered."""
        place = hash_of(key) & (self.capacity - 1)
        while self.table[place] != FREE and not same_key(self.values[self.table[place]], key):
            place = (place + 1) & (self.capacity - 1)
        return place

    def _place_at(self, position: int) -> int:
        """Return the place that holds the position: no value is compared."""
        place = hash_of(self.values[position]) & (self.capacity - 1)
        while self.table[place] != position:
            place = (place + 1) & (self.capacity - 1)
        return place

    def _free(self, place: int) -> None:
        """Free a place, and move up the entries that were displaced by it (algorithm R)."""
        hole = place
        place = (place + 1) & (self.capacity - 1)
        while self.table[place] != FREE:
            home = hash_of(self.values[self.table[place]]) & (self.capacity - 1)
            if (place - home) & (self.capacity - 1) >= (place - hole) & (self.capacity - 1):
                self.table[hole] = self.table[place]
                hole = place
            place = (place + 1) & (self.capacity - 1)
        self.table[hole] = FREE

    def _resize(self, capacity: int) -> None:
        """Replace the table by one of another capacity and enter the positions again."""
        held = [position for position in self.table if position != FREE]
        self.capacity = capacity
        self.table = [FREE] * capacity
        for position in held:
            self.table[self._place_of(self.values[position])] = position

    def _check(self) -> None:
        assert list(self.values) == list(range(self.begin, self.end))
        assert ROOM * (self.end - self.begin) <= self.capacity == len(self.table)
        assert self.capacity & (self.capacity - 1) == 0
        held = [position for position in self.table if position != FREE]
        assert len(held) == len(set(self.values.values()))
        for position in held:
            assert self.table[self._place_of(self.values[position])] == position


class OccurrenceTable(PositionTable[P]):
    """Counts the rows that are the newest of their value.

    >>> from sash import agg
    >>> kinds = agg.count_distinct()
    >>> window = OccurrenceTable(kinds)
    >>> for value in (5, 3, 8, 3, 14, 5):
    ...     window.insert(kinds.lift(value))
    >>> kinds.lower(window.query())
    4
    >>> for _ in range(3):
    ...     window.evict()
    >>> kinds.lower(window.query())  # 3 14 5
    3
    """

    about = About(
        name="occurrence_table",
        title="Occurrence table",
        needs="distinct",
        amortised=SlideCost("O(1)", "comparisons", expected=True),
        worst=SlideCost("O(n)", "comparisons"),
        space=SpaceCost(1),
        paper="Knuth (TAOCP 3, 1998), section 6.4",
    )
    repeated: Column[int]
    distinct: int = 0

    def insert(self, partial: P) -> None:
        """Add the only value of the partial; count it if no older row has it: O(1) expected."""
        if ROOM * (self.end - self.begin) == self.capacity:
            self._resize(2 * self.capacity)
        key = only_key(partial)
        place = self._place_of(key)
        if self.table[place] == FREE:
            self.distinct += 1
        else:
            self.repeated[self.table[place]] = 1
        self.table[place] = self.end
        self.values[self.end] = only_key(partial)
        self.repeated[self.end] = 0
        self.end += 1

    def evict(self) -> None:
        """Remove the oldest value; stop counting it if no newer row has it: O(1) expected."""
        if self.repeated[self.begin] == 0:
            place = self._place_at(self.begin)
            self._free(place)
            self.distinct -= 1
        del self.values[self.begin]
        del self.repeated[self.begin]
        self.begin += 1

    def query(self) -> P:
        """Return a range whose length is the number of different values: O(1)."""
        return cast("P", range(self.distinct))

    def result(self) -> int:
        """Return the number of different values, for a kernel: equal to `lower` of the query."""
        return self.distinct

    def _check(self) -> None:
        super()._check()
        assert list(self.repeated) == list(self.values)
        newest = {self.values[position]: position for position in range(self.begin, self.end)}
        for position, key in self.values.items():
            assert self.repeated[position] == int(newest[key] > position)
        assert {position for position in self.table if position != FREE} == set(newest.values())
        assert self.distinct == len(newest)


def only_key(partial: Any) -> Any:
    """Return the key of a partial of one row, a mapping; compiled, such a partial is the value, and the value its key.

    >>> only_key({"ant": 1})
    'ant'
    """
    (key,) = partial
    return key


def same_key(one: Any, other: Any) -> bool:
    """Tell whether two keys are the same to a mapping; compiled, NaN is the same as NaN.

    >>> same_key(0.0, -0.0), same_key("ant", "bee")
    (True, False)
    """
    return bool(one is other or one == other)


def hash_of(key: Any) -> int:
    """Return a number from 0 to 2⁶³ - 1, the same for keys that are the same; compiled, it is made from the bits.

    >>> hash_of(0.0) == hash_of(-0.0) == hash_of(False)
    True
    """
    return mix(hash(key))


ALL_BITS = (1 << 64) - 1
FIRST_FACTOR = 0xBF58476D1CE4E5B9
SECOND_FACTOR = 0x94D049BB133111EB


def mix(bits: int) -> int:
    """Spread 64 bits over 63, so that values with equal low bits, or consecutive ones, do not collide. Compiles.

    SplitMix64: Steele, Lea, Flood. Fast splittable pseudorandom number generators. OOPSLA 2014. Compiled, the bits must be
    unsigned: LLVM assumes that a signed product never wraps.

    >>> [mix(number << 40) & 31 for number in range(6)]
    [0, 28, 24, 30, 24, 29]
    """
    mixed = bits & ALL_BITS
    mixed = ((mixed ^ (mixed >> 30)) * FIRST_FACTOR) & ALL_BITS
    mixed = ((mixed ^ (mixed >> 27)) * SECOND_FACTOR) & ALL_BITS
    return (mixed ^ (mixed >> 31)) >> 1
