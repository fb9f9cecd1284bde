"""What every algorithm is: a window's partials under insert, evict and query (the tutorial's SWAG).

An algorithm is an ordinary class. Interpreted as it stands it works on any Python object; `sash.kernels` reads the same
source and fuses it with an aggregate into one compiled loop. For that its state is declared by annotations:

    values: Column[P]      partials by stream position (0 for the first row ever inserted, 1 for the next, …)
    pointers: Column[int]  numbers by stream position
    tree: Array[P]         partials in a flat array whose size the algorithm sets; Array[int] and Array[bool] likewise
    back: P                one partial
    flip: int              a cursor

No more positions of a column may be in use at once than the window has rows (and one): compiled, it is a ring. A position
that will not be read again is forgotten with `del`, which frees it in the interpreter and does nothing compiled. Calling `evict` or `query` on an empty window is the caller's mistake, which
`sash.Aggregator` catches; the algorithms don't look.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

from sash.aggregates.base import Aggregate, P

Item = TypeVar("Item")

Column: TypeAlias = dict[int, Item]
"""Items by stream position."""
Array: TypeAlias = list[Item]
"""Items by place, 0 to size - 1."""

REASONS = {
    "invertible": "{aggregate} has no inverse, so {algorithm} can't evict it",
    "selective": "combine of {aggregate} doesn't return one of its arguments, so {algorithm} can't drop the other",
    "ranked": "{aggregate} is not read by rank (as median and quantile are), so {algorithm} can't answer it",
    "distinct": "{aggregate} is not the number of different values (as count_distinct is), so {algorithm} can't answer it",
    "modal": "{aggregate} is not the most frequent value (as mode is), so {algorithm} can't answer it",
}


@dataclass(frozen=True, kw_only=True)
class About:
    """One row of the catalogue: what an algorithm needs and what it costs, in calls of combine."""

    name: str
    title: str
    order: str
    needs: str = ""
    ranges: str = "one"
    amortised: str
    worst: str
    amortised_many: str = ""
    """For `ranges="many"`: a slide that answers q ranges."""
    space: str
    paper: str


class Algorithm(Generic[P]):
    """A window's partials, in order, and their combination."""

    about: ClassVar[About]
    takes_nulls: ClassVar[bool] = False
    """Whether rows without a value must be inserted too, because it answers by numbers of inserts or by times."""
    rows_behind: ClassVar[int] = 0
    """How many positions before the window it still reads: its columns are rings with that much more room."""
    interpreted_only: ClassVar[str] = ""
    """Why the class can't be compiled, where it can't."""
    compiled_query: ClassVar[str] = "query"
    """The method that answers in a kernel, where `query` returns what a kernel can't hold."""
    begin: int
    end: int

    def __init__(self, aggregate: Aggregate[P], ranges: tuple[int, ...] = ()) -> None:  # noqa: ARG002 — for subclasses
        """Make an empty window; `ranges` are the lengths that will be asked for, where that is known."""
        refuse_what_cannot_work(type(self).about, aggregate)
        self.combine = aggregate.combine
        self.begin = 0
        self.end = 0

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
        """Return the ordered combination of the newest `last` partials, asked for by the range of that number."""
        return self.query()

    def __len__(self) -> int:
        """Return how many partials are in the window."""
        return self.end - self.begin

    def make_room(self, rows: int) -> None:
        """Enlarge the arrays, where there are any, for a window of so many partials."""

    def _check(self) -> None:
        """Assert the invariants."""
        raise NotImplementedError


class SharedAlgorithm(Algorithm[P]):
    """An algorithm that answers windows of several lengths from one structure."""

    def query(self) -> P:
        """Return the ordered combination of all partials in the window."""
        return self.query_last(self.end - self.begin)

    def query_last(self, last: int) -> P:
        """Return the ordered combination of the newest `last` partials."""
        raise NotImplementedError

    def query_range(self, number: int, last: int) -> P:  # noqa: ARG002 — for those that keep something for each range
        """Return the ordered combination of the newest `last` partials, asked for by the range of that number."""
        return self.query_last(last)


def inverse_of(aggregate: Aggregate[P]) -> Callable[[P, P], P]:
    """Return the inverse of an aggregate that `refuse_what_cannot_work` let pass."""
    assert aggregate.inverse is not None
    return aggregate.inverse


def same(one: Any, other: Any) -> bool:
    """Tell whether two partials are equal, NaN being equal to NaN.

    >>> same((1, float("nan")), (1, float("nan")))
    True
    """
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(same(mine, yours) for mine, yours in zip(one, other, strict=True))
    equal = one == other
    if hasattr(equal, "all"):  # a NumPy array of answers
        return bool((equal | ((one != one) & (other != other))).all())  # noqa: PLR0124
    return bool(equal or (one != one and other != other))  # noqa: PLR0124 — only NaN differs from itself


def is_newer(winner: Any, older: Any, newer: Any) -> bool:
    """Tell whether a selective combine chose its newer argument; of two equal ones it is the object that counts.

    >>> is_newer(True, 1, True), is_newer(1, 1, True)
    (True, False)
    """
    return winner is newer or (winner is not older and same(winner, newer))


def alike(one: Any, other: Any, rounding: float = 1e-9) -> bool:
    """Tell whether two partials are the same but for the rounding of floats: what `_check` compares with.

    >>> alike((3, 0.1 + 0.2), (3, 0.3)), alike(0.1 + 0.2, 0.3, rounding=0)
    (True, False)
    """
    one, other = (side.tolist() if hasattr(side, "tolist") else side for side in (one, other))  # NumPy's
    if isinstance(one, tuple | list) and isinstance(other, tuple | list):
        return len(one) == len(other) and all(
            alike(mine, yours, rounding) for mine, yours in zip(one, other, strict=True)
        )
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=min(rounding, 1e-9), abs_tol=rounding) or same(one, other)
    return same(one, other)


def refuse_what_cannot_work(about: About, aggregate: Aggregate[Any]) -> None:
    """Raise a sentence that names the missing law if the algorithm can't compute the aggregate."""
    if not fits(about, aggregate):
        reason = REASONS[about.needs].format(aggregate=aggregate.name, algorithm=about.name)
        message = f'{reason}: use two_stacks, or leave algorithm="auto".'
        raise ValueError(message)


def fits(about: About, aggregate: Aggregate[Any]) -> bool:
    """Tell whether the laws of the aggregate are enough for the algorithm."""
    if about.needs == "invertible":  # an inexact inverse is enough for those who name the algorithm
        return aggregate.inverse is not None
    return not about.needs or about.needs in aggregate.laws
