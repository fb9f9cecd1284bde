"""What the algorithms for order statistics have in common: a window that is read by rank."""

from __future__ import annotations

from typing import Any, cast

from sash.aggregates.base import Aggregate, P
from sash.aggregates.parts import Ranking
from sash.algorithms.base import Algorithm


class RankedAlgorithm(Algorithm[P]):
    """A window of values, sorted. `query` returns the window itself, which is read with `len`, `select` and `newest`."""

    keeps_values = True
    one_aggregate = True
    branches_on_data = True

    def __init__(self, aggregate: Aggregate[P], ranges: tuple[int, ...] = ()) -> None:
        super().__init__(aggregate, ranges)
        ranking = aggregate.laws.ranked or Ranking()
        if ranking.rank is not None:
            self.rank = ranking.rank
        if ranking.between is not None:
            self.between = ranking.between
        if ranking.place is not None:
            self.place = ranking.place

    def query(self) -> P:
        """Return the window itself, to be read with `len` and `select` before it changes again: O(1)."""
        return cast("P", self)

    def select(self, rank: int) -> Any:
        """Return the value of a rank in the window, counted from 0. Raise IndexError if there is none."""
        if not 0 <= rank < len(self):
            raise IndexError(f"Rank {rank} is not in the window: it holds {len(self)} values, with the ranks from 0.")
        return self._value_at(rank)

    def newest(self) -> Any:
        """Return the newest value in the window."""
        raise NotImplementedError

    def _value_at(self, rank: int) -> Any:
        raise NotImplementedError
