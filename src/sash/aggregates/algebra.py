"""The laws of an aggregate, each of which allows more algorithms.

`sash.testing.check_laws` searches for a counter-example to the laws that an aggregate claims.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, fields, replace
from typing import Any

from sash.aggregates.pickling import Picklable


@dataclass(frozen=True, kw_only=True)
class Ranking(Picklable):
    """How to read a result from sorted values, by rank."""

    rank: Callable[[int], float] | None = None
    """For order statistics such as the median: the rank to read in n sorted values, between two ranks if it has a fraction.
    `lower` then uses its partial only through `len()` and `select(rank)`."""
    between: Callable[[Any, Any, float], Any] | None = None
    """For order statistics: the result, from the values below and above the rank and the fraction of the rank."""
    place: Callable[[int, int, int], float] | None = None
    """For the rank of the newest value: the result, from how many values are smaller, how many are equal to it (itself
    included) and how many there are. `lower` then uses its partial only through `len()`, `select(rank)` and `newest()`."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Laws(Picklable, AbstractSet[str]):
    """The laws that hold for the functions of an aggregate, besides associativity, and how `lower` uses a partial.

    It is also the set of their names.

    >>> laws = Laws(commutative=True)
    >>> "commutative" in laws, "selective" in laws, sorted(laws)
    (True, False, ['associative', 'commutative', 'fixed_size'])
    """

    commutative: bool = False
    """`combine(older, newer)` is `combine(newer, older)`."""
    invertible: bool = False
    """`inverse` is exact. If it leaves rounding errors (floats), only algorithms chosen by name use it."""
    selective: bool = False
    """`combine` returns one of its two arguments, as max does."""
    ranked: Ranking | None = None
    """The result is read from sorted values by rank; None for all but order statistics and the rank of a value."""
    distinct: bool = False
    """The result is the number of distinct values. `lower` then uses its partial only through `len()`."""
    modal: bool = False
    """The result is the most frequent value, the first one if several are. `lower` then uses nothing but a partial that maps
    each value to its number of occurrences, in the order of first occurrence."""
    holistic: bool = False
    """The size of a partial has no bound: it grows with the values (Gray et al. 1996)."""
    fixed_size: bool = True
    """All partials have the same size (size-preserving in the tutorial)."""

    @property
    def names(self) -> frozenset[str]:
        """The names of the laws that hold."""
        return frozenset({"associative", *(law.name for law in fields(self) if getattr(self, law.name))})

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __contains__(self, law: object) -> bool:
        return law in self.names

    def __len__(self) -> int:
        return len(self.names)

    def __hash__(self) -> int:
        return hash(self.names)

    _from_iterable = frozenset  # what & and | return

    @property
    def need_values(self) -> bool:
        """Whether `lower` reads single values, so that an algorithm that keeps values instead of partials can answer."""
        return self.ranked is not None or self.distinct or self.modal

    @property
    def suit_rows(self) -> bool:
        """Whether slices would be as large as their rows."""
        return self.need_values or self.holistic

    @property
    def place(self) -> Callable[[int, int, int], float] | None:
        """The `place` of the ranking; None if the result is not the rank of the newest value."""
        return None if self.ranked is None else self.ranked.place

    def over_partials(self) -> Laws:
        """Return the laws that hold where single values are not known: slices and runs of rows have only partials."""
        return replace(self, ranked=None, distinct=False, modal=False)
