"""The interface of every algorithm: the partials of a window under insert, evict and query (the tutorial's SWAG).

An algorithm is an ordinary class. Interpreted, it works on any Python object; `sash.kernels` reads the same source and
fuses it with an aggregate into one compiled loop. For that its state is declared by annotations:

    values: Column[P]      partials by stream position (0 for the first row ever inserted, 1 for the next, …)
    pointers: Column[int]  numbers by stream position
    tree: Array[P]         partials in a flat array whose size the algorithm sets; Array[int] and Array[bool] likewise
    back: P                one partial
    flip: int              a cursor

At most as many positions of a column as the window has rows, plus `rows_behind`, may be in use at once: compiled, a column
is a ring. A column begins empty, and a cursor with the value of its declaration (`flip: int = 0`). `del` drops a position that
will not be read again: it frees the item in the interpreter and does nothing compiled. The algorithms do not check for `evict` or `query` of an empty window; `sash.Aggregator` does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, reduce
from inspect import get_annotations
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar, cast

from sash.aggregates.base import Aggregate, P
from sash.aggregates.parts import Ranking

Item = TypeVar("Item")

Column: TypeAlias = dict[int, Item]
"""Items by stream position."""
Array: TypeAlias = list[Item]
"""Items by place, 0 to size - 1."""

REASONS = {
    "invertible": "{aggregate} has no inverse, so {algorithm} cannot evict it",
    "selective": "combine of {aggregate} does not return one of its arguments, so {algorithm} cannot drop the other",
    "ranked": "{aggregate} is not read by rank (as median and quantile are), so {algorithm} cannot compute it",
    "distinct": "{aggregate} is not the number of different values (as count_distinct is), so {algorithm} cannot compute it",
    "modal": "{aggregate} is not the most frequent value (as mode is), so {algorithm} cannot compute it",
}


@dataclass(frozen=True)
class SlideCost:
    """The cost of one slide: a number, or a formula in the length n of the window.

    >>> str(SlideCost(3)), str(SlideCost("O(1)", "comparisons", expected=True))
    ('3', 'O(1) comparisons, expected')
    """

    amount: int | str
    unit: str = "combines"
    """What is counted: calls of combine, or something else that `amount` does not name; "" if it is an order of growth."""
    expected: bool = False
    """Whether this is the expected cost, rather than an amortised or worst-case bound."""

    def __str__(self) -> str:
        unit = "" if self.unit in ("", "combines") else f" {self.unit}"
        return f"{self.amount}{unit}{', expected' * self.expected}"


@dataclass(frozen=True)
class SpaceCost:
    """The memory of a window of n rows, in partials: the coefficient of n, and the formula where it has more terms.

    >>> str(SpaceCost(2)), str(SpaceCost(1, "n + q"))
    ('2n', 'n + q')
    """

    per_row: int
    formula: str = ""

    def __str__(self) -> str:
        return self.formula or f"{self.per_row if self.per_row > 1 else ''}n"


@dataclass(frozen=True, kw_only=True)
class About:
    """One row of the catalogue: the laws that an algorithm needs and its costs."""

    name: str
    title: str
    order: str = "FIFO"
    needs: str = ""
    ranges: str = "one"
    amortised: SlideCost
    worst: SlideCost
    amortised_many: SlideCost | None = None
    """For `ranges="many"`: the cost of a slide for q ranges."""
    space: SpaceCost
    paper: str

    @property
    def needs_inverse(self) -> bool:
        """Whether the algorithm calls the aggregate's inverse."""
        return self.needs == "invertible"


class Algorithm(Generic[P]):
    """The partials of a window, in order, and their combination."""

    about: ClassVar[About]
    takes_nulls: ClassVar[bool] = False
    """Whether rows without a value must be inserted too, because ranges count inserts or rows have times."""
    takes_times: ClassVar[bool] = False
    """Whether rows have times and may be inserted out of order."""
    evicts_any: ClassVar[bool] = False
    """Whether any row can be evicted by its position (`evict_at`), not only the oldest one."""
    answers_ranges: ClassVar[bool] = False
    """Whether one window answers ranges of several lengths (`query_last`)."""
    answers_any_length: ClassVar[bool] = False
    """Whether it answers every length, announced or not."""
    keeps_values: ClassVar[bool] = False
    """Whether it keeps the values of rows and computes results from them. A kernel then calls `result` in place of `query`,
    whose return value it can't hold."""
    one_aggregate: ClassVar[bool] = False
    """Whether a window takes one aggregate only: it keeps values, or drops partials that lose a comparison."""
    branches_on_data: ClassVar[bool] = False
    """Whether control flow depends on the values of partials: then lanes can't share it."""
    sorted_in_advance: ClassVar[type[Algorithm[Any]] | None] = None
    """The faster algorithm with the same results for columns that are known as a whole."""
    rows_behind: ClassVar[int] = 0
    """The number of positions before the window that it still reads: its rings have that much more room."""
    interpreted_only: ClassVar[str] = ""
    """Why the loops over rows in order can't be compiled with the class; empty if they can."""
    inverse: Callable[[P, P], P]
    """The aggregate's inverse, if the algorithm needs one."""
    begin: int = 0
    end: int = 0

    def __init__(self, aggregate: Aggregate[P], ranges: tuple[int, ...] = ()) -> None:  # noqa: ARG002 — for subclasses
        """Make an empty window; `ranges` are the lengths of later queries, where they are known."""
        refuse_what_cannot_work(self.about, aggregate)
        self.combine = aggregate.combine
        if self.about.needs_inverse and aggregate.inverse is not None:
            self.inverse = aggregate.inverse
        for column in columns_of(cast("Any", type(self))):
            setattr(self, column, {})

    def insert(self, partial: P) -> None:
        """Add the newest partial."""
        raise NotImplementedError

    def evict(self) -> None:
        """Remove the oldest partial."""
        raise NotImplementedError

    def query(self) -> P:
        """Return the ordered combination of all partials in the window."""
        raise NotImplementedError

    def query_range(self, number: int, last: int) -> P:  # noqa: ARG002 — for those that answer several ranges
        """Return the ordered combination of the newest `last` partials for the range with that number."""
        return self.query()

    def __len__(self) -> int:
        """Return the number of partials in the window."""
        return self.end - self.begin

    def make_room(self, rows: int) -> None:
        """Enlarge the arrays, if there are any, for a window of `rows` partials."""

    def _check(self) -> None:
        """Assert the invariants."""
        raise NotImplementedError

    def _combined(self, items: Column[P] | Array[P], begin: int, end: int) -> P:
        """Combine the items begin … end - 1 in order, for `_check`."""
        return reduce(self.combine, (items[i] for i in range(begin, end)))


class SharedAlgorithm(Algorithm[P]):
    """An algorithm that answers windows of several lengths from one structure."""

    answers_ranges = True
    answers_any_length = True

    def query(self) -> P:
        """Return the ordered combination of all partials in the window."""
        return self.query_last(self.end - self.begin)

    def query_last(self, last: int) -> P:
        """Return the ordered combination of the newest `last` partials."""
        raise NotImplementedError

    def query_range(self, number: int, last: int) -> P:  # noqa: ARG002 — for those that keep something for each range
        """Return the ordered combination of the newest `last` partials for the range with that number."""
        return self.query_last(last)


class TreeAlgorithm(Algorithm[P]):
    """An algorithm with a tree of partials in one array, twice as long as its capacity, a power of two."""

    tree: Array[P]
    capacity: int

    def __init__(self, aggregate: Aggregate[P], ranges: tuple[int, ...] = ()) -> None:
        super().__init__(aggregate, ranges)
        self._allocate(1 << (max(ranges, default=8) - 1).bit_length())

    def make_room(self, rows: int) -> None:
        """Enlarge the tree for a window of `rows` partials."""
        if rows > self.capacity:
            self._resize(1 << (rows - 1).bit_length())

    def _allocate(self, capacity: int) -> None:
        nothing: Any = None
        self.capacity = capacity
        self.tree = [nothing] * (2 * capacity)

    def _resize(self, capacity: int) -> None:
        """Move to a tree of another capacity."""
        raise NotImplementedError


class RankedAlgorithm(Algorithm[P]):
    """A window of values, sorted. `query` returns the window itself, which is read with `len`, `select` and `newest`."""

    keeps_values = True
    one_aggregate = True
    branches_on_data = True
    values: Any
    """The values by position; subclasses declare the kind of state."""

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
        """Return the newest value in the window: O(1)."""
        return self.values[self.end - 1]

    def _value_at(self, rank: int) -> Any:
        raise NotImplementedError


@cache
def columns_of(algorithm: type[Any]) -> list[str]:
    """Return the columns that a class and its base classes declare."""
    declared = {name: kind for level in reversed(algorithm.__mro__) for name, kind in get_annotations(level).items()}
    return [name for name, kind in declared.items() if str(kind).startswith(("Column[", "dict["))]


def same(one: Any, other: Any) -> bool:
    """Tell whether two partials are equal; NaN equals NaN.

    >>> same((1, float("nan")), (1, float("nan")))
    True
    """
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(same(mine, yours) for mine, yours in zip(one, other, strict=True))
    equal = one == other
    if hasattr(equal, "all"):  # a NumPy array
        return bool((equal | ((one != one) & (other != other))).all())  # noqa: PLR0124
    return bool(equal or (one != one and other != other))  # noqa: PLR0124 — only NaN differs from itself


def is_newer(winner: Any, older: Any, newer: Any) -> bool:
    """Tell whether a selective combine returned its newer argument; identity decides between equal arguments.

    >>> is_newer(True, 1, True), is_newer(1, 1, True)
    (True, False)
    """
    return winner is newer or (winner is not older and same(winner, newer))


def alike(one: Any, other: Any, rounding: float = 1e-9) -> bool:
    """Tell whether two partials are equal up to the rounding of floats; `_check` uses it.

    >>> alike((3, 0.1 + 0.2), (3, 0.3)), alike(0.1 + 0.2, 0.3, rounding=0)
    (True, False)
    """
    one, other = (side.tolist() if hasattr(side, "tolist") else side for side in (one, other))  # NumPy arrays
    if isinstance(one, tuple | list) and isinstance(other, tuple | list):
        pairs = zip(one, other, strict=False)
        return len(one) == len(other) and all(alike(mine, yours, rounding) for mine, yours in pairs)
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=min(rounding, 1e-9), abs_tol=rounding) or same(one, other)
    return same(one, other)


def refuse_what_cannot_work(about: About, aggregate: Aggregate[Any]) -> None:
    """Raise ValueError that names the missing law if the algorithm can't compute the aggregate."""
    if not fits(about, aggregate):
        reason = REASONS[about.needs].format(aggregate=aggregate.name, algorithm=about.name)
        raise ValueError(f'{reason}. Use two_stacks, or leave algorithm="auto".')


def fits(about: About, aggregate: Aggregate[Any]) -> bool:
    """Tell whether the aggregate has the laws that the algorithm needs."""
    if about.needs_inverse:  # an inexact inverse is enough if the algorithm was named
        return aggregate.inverse is not None
    return not about.needs or about.needs in aggregate.laws
