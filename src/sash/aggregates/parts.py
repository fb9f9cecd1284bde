"""The parts of an aggregate besides its functions: what engines ask about it.

    Laws, Ranking   which algorithms fit; Listing: which values a result lists
    ResultRule      kind and type of the result, when it is null, the last step
    Coding          what kernels need to know
    TimeInput       what it does with the time of the row
    Forms           variants for kinds of columns, entries of a list, items of a map

`sash.testing.check_laws` searches for a counter-example to the laws that an aggregate claims.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal

from sash.aggregates.pickling import Picklable

if TYPE_CHECKING:  # base imports this module
    import numpy.typing as npt

    from sash.aggregates.base import Aggregate
    from sash.durations import Duration, TimeUnit


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


@dataclass(frozen=True, kw_only=True)
class Listing(Picklable):
    """Which values of a window its result lists: all of them in the order of rows, unless a field says otherwise.

    Engines that have the rows of a window make the list of rows at once. They combine no partials.
    """

    first: int | None = None
    """Only so many values, the first ones."""
    last: int | None = None
    """Only so many values, the last ones."""
    sort: Literal["", "ascending", "descending"] = ""
    """The order of the values, equal ones in the order of rows; NaN is the largest. Then `first` is set, too."""
    distinct: bool = False
    """Only the first row of each value. If the aggregate has an `inner` one, these are the keys of a map."""
    separator: str | None = None
    """The result is one text: this is between two values."""


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
    listed: Listing | None = None
    """The result is a list of values of the window; None if it is not."""
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
        """Whether `lower` reads single values, so that an algorithm that keeps values, or the rows themselves, can answer."""
        return self.ranked is not None or self.distinct or self.modal or self.listed is not None

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
        return replace(self, ranked=None, distinct=False, modal=False, listed=None)


@dataclass(frozen=True, kw_only=True)
class ResultRule(Picklable):
    """What `lower` returns, and what becomes of it."""

    gives: str = "arithmetic"
    """The kind of the result: a "value" of the (last) column, in its type, or a list of "values"; the "difference" of two
    values; a "number" of a type that does not depend on the values, or specifically a "whole" or "real" number; "text"; a
    "map"; or the outcome of "arithmetic" with the values, which timestamps don't support."""
    type: Any = None
    """The Arrow type of the result, if the user declared it."""
    decimals: tuple[int, int] | Literal["squares"] | None = None
    """How many more digits a result for decimals has than the column: in all, and behind the point, as Spark's results have. None
    for as many as a decimal can have, four more of them behind the point; "squares" for twice as many behind the point."""
    empty: Any = None
    """The result for a window with fewer than `at_least` values: null, but 0 for a count."""
    at_least: int = 1
    """The number of values that a result needs."""
    held: int | None = None
    """The field of a partial that counts its values, if `lift` takes the partials of slices instead of values. This count,
    not the number of rows, must then be `at_least`. None if each row is one value."""
    error: str = ""
    """How far the result may be from the exact one, in words; empty if it is exact but for the rounding of floats."""
    of_newest: bool = False
    """The result belongs to the newest row of the window: it is null if that row has a null."""
    auxiliary: Callable[[Any], Any] | None = None
    """Turns the partial of the whole window into a second number that `finish` needs."""
    finish: Callable[..., npt.NDArray[Any]] | None = field(default=None, compare=False)
    """The last step, for whole columns: `finish(results, auxiliary, ticks)` returns the final results as a masked array, or as a
    plain one if none of them is null. `ticks` are the times that the results belong to: of the row if there is a result per
    row, else `window_end`; empty if the query has no time column."""

    @property
    def rows_needed(self) -> int:
        """The number of non-null rows from which on a window may have a result."""
        return max(1, self.at_least) if self.held is None else 1

    def has_enough(self, partial: Any) -> bool:
        """Return whether the partial of a window with `rows_needed` rows has `at_least` values.

        >>> rule = ResultRule(at_least=2, held=0)
        >>> rule.rows_needed, rule.has_enough((1.0, (0.5, 0.0), 0.0))
        (1, False)
        """
        return self.held is None or bool(partial[self.held] >= self.at_least)


@dataclass(frozen=True, kw_only=True)
class Coding(Picklable):
    """What the functions of an aggregate do with values, and what kernels need to know about its partials."""

    codes: tuple[str, ...] = ()
    """The integer codes that may replace each column, so that kernels can process values of any type: "any" distinct codes
    if the aggregate only tests values for equality, "ordered" codes if it compares them."""
    reads: Callable[[Any], Any] | None = None
    """Makes the booleans or numbers that kernels read of an Arrow column; `lift` then takes them. None for the column itself."""
    sorts: bool = False
    """Sorts Python values, so that the own order of a dictionary column is not respected."""
    hashes: bool = False
    """Uses values as dictionary keys, so that nested values are rejected."""
    counts: tuple[int, ...] = ()
    """The fields of a partial, by index, that are the number of its values: kernels compute them once for all lanes."""
    costly_lift: bool = False
    """Whether `lift` takes longer than reading a partial, so that kernels store partials instead of lifting rows again."""
    wide: bool = False
    """Whether partials are so large that kernels process one section of a column at a time: code for several takes minutes to compile."""
    interpreted_only: str = ""
    """The reason why the aggregate cannot be compiled, if that is known: a sentence."""


@dataclass(frozen=True, kw_only=True)
class TimeInput(Picklable):
    """The last argument of `lift` is the time of the row, in ticks of the query's time column: an integer."""

    for_unit: Callable[[TimeUnit], Mapping[str, Any]] | None = field(default=None, compare=False)
    """Returns the fields that depend on the unit of the time column; None if none does (see `Aggregate.in_unit`)."""
    duration: Duration | None = None
    """A parameter that is a duration, such as a half-life: it fits time columns of its own kind only."""


@dataclass(frozen=True, kw_only=True)
class Forms:
    """Aggregates over the same columns as the one that they belong to."""

    variants: Mapping[str, Aggregate[Any]] = field(default_factory=dict, compare=False)
    """Forms for columns of one kind ("bool", "int", "float"), where the kind has stronger laws or needs more care."""
    entries: tuple[Aggregate[Any], ...] = ()
    """If the result is a list: the aggregates of its entries. Kernels, whose results are numbers, compute these; the laws and the
    number of values needed are those of the list."""
    inner: Aggregate[Any] | None = None
    """If the result is a map: the aggregate of its items. The first column holds the keys, the others are those of `inner`."""
    exact: Aggregate[Any] | None = field(default=None, compare=False)
    """If the result is an estimate: the aggregate of the same numbers or text that is exact. It replaces the estimate where Sash reads
    the rows of a window, or compiles; partials that others compute are sketches."""

    scaled: Aggregate[Any] | None = field(default=None, compare=False)
    """The aggregate of the digits of decimals of up to 18 digits, which kernels read as integers (see `decimals`); it has `join`."""
    join: Callable[[Any, Any], Any] | None = field(default=None, compare=False)
    """Makes a column of the results of all entries, given its type; None if the result is a list."""

    def over(self, columns: tuple[str, ...], time: str) -> Forms:
        """Bind all of them to columns."""
        return Forms(
            variants={kind: variant.over(columns, time) for kind, variant in self.variants.items()},
            entries=tuple(entry.over(columns, time) for entry in self.entries),
            inner=self.inner.over(columns[1:], time) if self.inner is not None else None,
            exact=self.exact.over(columns, time) if self.exact is not None else None,
            scaled=self.scaled.over(columns, time) if self.scaled is not None else None,
            join=self.join,
        )


def varying_column(aggregate: Aggregate[Any]) -> str | None:
    """Return the column whose kind selects the variant; None if there is none, or several.

    >>> from sash import agg
    >>> varying_column(agg.sum("load")), varying_column(agg.per_value("plug", agg.sum("load")))
    ('load', 'load')
    """
    if aggregate.forms.inner is not None:
        return varying_column(aggregate.forms.inner)
    return aggregate.columns[0] if len(aggregate.columns) == 1 else None
