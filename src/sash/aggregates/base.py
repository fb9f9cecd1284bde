"""Aggregate: WHAT is computed, as the papers' three functions and the laws that hold for them.

    values ──lift──► partials ──combine(older, newer)──► partial ──lower──► result

Only associativity is asked of every aggregate. Each further law that holds (commutative, invertible, selective, …)
opens more algorithms; `sash.testing.check_laws` looks for a counter-example to the laws that an aggregate claims.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

P = TypeVar("P")
"""The type of a partial: what `lift` returns, `combine` takes and returns, and `lower` takes."""


class Absent:
    """Stands for what an aggregate doesn't have; there is one, also after it was sent to another process."""

    def __reduce__(self) -> str:
        """Say by which name it is found there."""
        return "ABSENT"


ABSENT: Any = Absent()
"""Stands for an identity that an aggregate doesn't have."""

LAWS = (
    "associative",
    "commutative",
    "invertible",
    "selective",
    "ranked",
    "distinct",
    "modal",
    "holistic",
    "fixed_size",
)


def unchanged(partial: P) -> P:
    """Return the argument: the `lift` or `lower` of an aggregate that has nothing to do there."""
    return partial


@dataclass(frozen=True, kw_only=True)
class Aggregate(Generic[P]):
    """What is computed over a window, decomposed as in section 3 of the FlatFAT paper.

    >>> from sash import agg
    >>> spread = agg.spread()
    >>> older, newer = spread.lift(3), spread.lift(8)
    >>> spread.lower(spread.combine(older, newer))
    5
    """

    name: str
    lift: Callable[..., P]
    """One row's values, one argument per column, to the partial of a window with only that row."""
    combine: Callable[[P, P], P]
    """The partials of two neighbouring stretches, `combine(older, newer)`, to that of both. Changes neither."""
    lower: Callable[[P], Any] = unchanged
    """The partial of the whole window to the result."""
    columns: tuple[str, ...] = ()
    inputs: int = 1
    """How many columns `lift` takes; 0 for `count()`, which counts rows whatever is in them."""
    inverse: Callable[[P, P], P] | None = None
    """`inverse(combine(older, newer), older)` is `newer`: takes the oldest rows out again."""
    inverse_is_exact: bool = True
    """False where undoing leaves rounding behind (floats). Then it is used only when asked for by name."""
    identity: Any = ABSENT
    """The partial that changes nothing when combined, where there is one."""
    commutative: bool = False
    selective: bool = False
    """`combine` returns one of its two arguments, as max does."""
    rank: Callable[[int], float] | None = None
    """For an aggregate that is read by rank, as the median is: at which rank of n sorted values, between two of them if it
    has a fraction. `lower` then reads its partial only through `len()` and `select(rank)`."""
    between: Callable[[Any, Any, float], Any] | None = None
    """For the same: the values below and above that rank and its fraction, to the result."""
    distinct: bool = False
    """The result is how many different values there are. `lower` then reads its partial only through `len()`."""
    modal: bool = False
    """The result is the most frequent value, of several the first. `lower` then reads nothing else of its partial, which
    maps each value to how often it occurs, in the order of their first occurrences."""
    holistic: bool = False
    """No bound on the size of a partial: it grows with the values (Gray et al. 1996)."""
    fixed_size: bool = True
    """All partials have the same size (the tutorial's size-preserving)."""
    empty: Any = None
    """The result for a window with fewer than `at_least` values: null, but 0 for a count."""
    at_least: int = 1
    held: int | None = None
    """The field of a partial that tells how many values are in it, where `lift` is given the partials of others instead of
    values: then that number, and not the number of rows, is what must be `at_least` so large. None where rows are values."""
    counts: tuple[int, ...] = ()
    """The fields of a partial, by place, that tell nothing but how many values are in it: computed once for all lanes."""
    gives: str = "arithmetic"
    """What a result is: a "value" of its (last) column, in that column's type, or a list of "values"; the "difference" of
    two; a "number" whatever the values are, as a count is, or more exactly a "whole" or a "real" one; "text"; or the
    outcome of "arithmetic" with them, which points in time have none of."""
    type: Any = None
    """What results are, as a type of Arrow, where the user said so."""
    codes: tuple[str, ...] = ()
    """What its columns may be replaced by, so that values of any kind are compiled: "any" numbers, a different one for
    each value, where it only tells values apart; "ordered" ones, where it compares them."""
    interpreted_only: str = ""
    """Why it can't be compiled, where that is known: a sentence."""
    variants: Mapping[str, Aggregate[Any]] = field(default_factory=dict, repr=False, compare=False)
    """Other forms for columns of one kind ("int", "float"), where the kind allows stronger laws or needs more care."""

    def __call__(self, *columns: str) -> Aggregate[P]:
        """Return this aggregate over the named columns.

        >>> import sash
        >>> newest = sash.aggregate("newest", lift=lambda x: x, combine=lambda older, newer: newer)
        >>> newest("price").columns
        ('price',)
        """
        if len(columns) != self.inputs:
            message = f"{self.name} takes {self.inputs} column(s), but {len(columns)} were named: {', '.join(columns)}."
            raise TypeError(message)
        variants = {kind: variant(*columns) for kind, variant in self.variants.items()}
        return replace(self, columns=columns, variants=variants)

    def of_kind(self, kind: str) -> Aggregate[Any]:
        """Return the form of this aggregate for columns of a kind: "bool", "int", "float" or "object".

        >>> from sash import agg
        >>> "invertible" in agg.sum().of_kind("int").laws, "invertible" in agg.sum().of_kind("float").laws
        (True, False)
        """
        return self.variants.get(kind, self)

    @property
    def rows_needed(self) -> int:
        """From how many rows with a value on a window may have a result."""
        return max(1, self.at_least) if self.held is None else 1

    def has_enough(self, partial: P) -> bool:
        """Tell whether a window of enough rows has enough values.

        >>> from sash import agg
        >>> of_partials = replace(agg.stddev(), lift=lambda n, mean, m2: (n, mean, m2), inputs=3, held=0)
        >>> of_partials.rows_needed, of_partials.has_enough((1.0, (0.5, 0.0), 0.0))
        (1, False)
        """
        place: Any = partial
        return self.held is None or bool(place[self.held] >= self.at_least)

    @property
    def ranked(self) -> bool:
        """Whether it is read by rank."""
        return self.rank is not None

    @property
    def has_identity(self) -> bool:
        """Whether there is a partial that changes nothing."""
        return self.identity is not ABSENT

    @property
    def laws(self) -> frozenset[str]:
        """The names of the laws that hold, out of `LAWS`.

        >>> from sash import agg
        >>> sorted(agg.max().laws)
        ['associative', 'commutative', 'fixed_size', 'selective']
        """
        holds = {"associative"}
        holds |= {law for law in LAWS if getattr(self, law, False)}
        if self.inverse is not None and self.inverse_is_exact:
            holds.add("invertible")
        return frozenset(holds)


def aggregate(
    name: str,
    lift: Callable[..., P],
    combine: Callable[[P, P], P],
    lower: Callable[[P], Any] = unchanged,
    *,
    inverse: Callable[[P, P], P] | None = None,
    inverse_is_exact: bool = False,
    identity: Any = ABSENT,
    inputs: int | None = None,
    commutative: bool = False,
    selective: bool = False,
    holistic: bool = False,
    fixed_size: bool = True,
) -> Aggregate[P]:
    """Define an aggregate from the papers' three functions and the laws that hold for them.

    An `inverse` is used without being asked for only if `inverse_is_exact`: integers can be subtracted, floats leave
    rounding behind. Compiled, integers have 64 bits.

    >>> import sash
    >>> spread = sash.aggregate("spread", lift=lambda x: (x, x),
    ...                         combine=lambda older, newer: (min(older[0], newer[0]), max(older[1], newer[1])),
    ...                         lower=lambda c: c[1] - c[0], commutative=True)
    >>> window = sash.Aggregator(spread("load"))
    >>> for load in (3, 9, 4):
    ...     window.insert(load)
    >>> window.query()
    6
    """
    return Aggregate(
        name=name,
        lift=lift,
        combine=combine,
        lower=lower,
        inverse=inverse,
        inverse_is_exact=inverse_is_exact,
        identity=identity,
        inputs=_count_parameters(name, lift) if inputs is None else inputs,
        commutative=commutative,
        selective=selective,
        holistic=holistic,
        fixed_size=fixed_size,
        gives="number",
    )


def _count_parameters(name: str, lift: Callable[..., Any]) -> int:
    code = getattr(lift, "__code__", None)
    if code is None:  # a builtin such as float or len: one value in, one partial out
        return 1
    variadic = bool(code.co_flags & inspect.CO_VARARGS)
    if variadic:
        message = f"lift of {name} takes any number of values: say how many columns it reads with inputs=."
        raise TypeError(message)
    return int(code.co_argcount) - len(getattr(lift, "__defaults__", None) or ())
