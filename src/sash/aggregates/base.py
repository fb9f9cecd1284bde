"""Aggregate: three functions and the laws that hold for them.

    values ──lift──► partials ──combine(older, newer)──► partial ──lower──► result

Every aggregate is associative. Each further law (commutative, invertible, selective, …) allows more algorithms.
`sash.testing.check_laws` searches for a counter-example to the laws that an aggregate claims.

Everything that engines need to know about an aggregate is a field or a property of it: no engine tests its name.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Real
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from sash.aggregates.pickling import as_picklable
from sash.expressions import SQL, ColumnLike, Computed, Condition, Expression, as_column, as_condition

if TYPE_CHECKING:  # sql imports this module
    import numpy.typing as npt

    from sash.aggregates.sql import SqlForm, SqlInput
    from sash.durations import Duration, TimeUnit

P = TypeVar("P")
"""The type of a partial: `lift` returns it, `combine` takes and returns it, `lower` takes it."""

MAX_SHOWN = 60
"""The longest `repr` of a value, in characters, that a message shows."""


class Absent:
    """The type of `ABSENT`, a singleton also after pickling."""

    def __reduce__(self) -> str:
        """Pickle the name of the singleton."""
        return "ABSENT"


ABSENT: Any = Absent()
"""The identity of an aggregate that has none."""

TIME = "(time)"
"""Stands for the time column among the columns of an aggregate that `reads_time`, until a query names that column."""

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
    """Return the argument: a `lift` or `lower` that does nothing."""
    return partial


def pair(first: Any, second: Any) -> tuple[Any, Any]:
    """Return both arguments as a tuple: a `lift` for partials of two fields."""
    return first, second


def as_literal(value: Any) -> str:
    """Return Python source for a constant, with strings in double quotes, as the documentation writes them.

    >>> print(as_literal("load"), as_literal(0.5))
    "load" 0.5
    """
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def shorten(value: Any) -> str:
    """Return a value for a message: its type instead, if its `repr` is long, as that of a column of data.

    >>> shorten(3), shorten([7] * 100)
    ('3', '<list>')
    """
    text = repr(value)
    return f"<{type(value).__name__}>" if len(text) > MAX_SHOWN or "\n" in text else text


def not_a_name(aggregate: str, given: str, right_call: str) -> TypeError:
    """Return the error for a column that is not named by a string.

    >>> not_a_name("sum", "column=3", 'agg.sum("load")')
    TypeError('sum got column=3, which is not the name of a column. Give a string, as in agg.sum("load").')
    """
    return TypeError(f"{aggregate} got {given}, which is not the name of a column. Give a string, as in {right_call}.")


@dataclass(frozen=True, kw_only=True, repr=False)
class Aggregate(Generic[P]):
    """An aggregate over a window, decomposed as in section 3 of the FlatFAT paper.

    >>> from sash import agg
    >>> spread = agg.spread()
    >>> older, newer = spread.lift(3), spread.lift(8)
    >>> spread.lower(spread.combine(older, newer))
    5
    """

    name: str
    lift: Callable[..., P]
    """Turns the values of one row, one argument per column, into the partial of a window with only that row."""
    combine: Callable[[P, P], P]
    """Merges the partials of two adjacent row ranges, `combine(older, newer)`. Modifies neither."""
    lower: Callable[[P], Any] = unchanged
    """Turns the partial of the whole window into the result."""
    beside: Callable[[P], Any] | None = None
    """Turns the partial of the whole window into a second number that `finish` needs."""
    finish: Callable[..., npt.NDArray[Any]] | None = field(default=None, compare=False)
    """The last step, for whole columns: `finish(results, beside, ticks)` returns the final results as a masked array, or as a
    plain one if none of them is null. `ticks` are the times that the results belong to: of the row if there is a result per
    row, else `window_end`; empty if the query has no time column."""
    columns: tuple[str, ...] = ()
    shown_columns: tuple[str, ...] | None = field(default=None, compare=False)
    """The columns that the user named, if SQL made `columns` of them: error messages show these."""
    inputs: int = 1
    """The number of columns that `lift` takes; 0 for `count()`, which counts rows."""
    reads_time: bool = False
    """Whether the last argument of `lift` is the time of the row, in ticks of the query's time column: an integer."""
    for_unit: Callable[[TimeUnit], Mapping[str, Any]] | None = field(default=None, compare=False)
    """Returns the fields that depend on the unit of the time column; None if none does (see `in_unit`)."""
    duration: Duration | None = None
    """A parameter that is a duration, such as a half-life: it fits time columns of its own kind only."""
    inverse: Callable[[P, P], P] | None = None
    """Removes the oldest rows: `inverse(combine(older, newer), older)` is `newer`."""
    inverse_is_exact: bool = True
    """False if the inverse leaves rounding errors (floats). Then only algorithms chosen by name use it."""
    identity: Any = ABSENT
    """The neutral partial of `combine`, if there is one."""
    commutative: bool = False
    selective: bool = False
    """`combine` returns one of its two arguments, as max does."""
    rank: Callable[[int], float] | None = None
    """For order statistics such as the median: the rank to read in n sorted values, between two ranks if it has a fraction.
    `lower` then uses its partial only through `len()` and `select(rank)`."""
    between: Callable[[Any, Any, float], Any] | None = None
    """For order statistics: the result, from the values below and above the rank and the fraction of the rank."""
    place: Callable[[int, int, int], float] | None = None
    """For the rank of the newest value: the result, from how many values are smaller, how many are equal to it (itself
    included) and how many there are. `lower` then uses its partial only through `len()`, `select(rank)` and `newest()`."""
    distinct: bool = False
    """The result is the number of distinct values. `lower` then uses its partial only through `len()`."""
    modal: bool = False
    """The result is the most frequent value, the first one if several are. `lower` then uses nothing but a partial that maps
    each value to its number of occurrences, in the order of first occurrence."""
    holistic: bool = False
    """The size of a partial has no bound: it grows with the values (Gray et al. 1996)."""
    fixed_size: bool = True
    """All partials have the same size (size-preserving in the tutorial)."""
    empty: Any = None
    """The result for a window with fewer than `at_least` values: null, but 0 for a count."""
    at_least: int = 1
    held: int | None = None
    """The field of a partial that counts its values, if `lift` takes the partials of slices instead of values. This count,
    not the number of rows, must then be `at_least`. None if each row is one value."""
    counts: tuple[int, ...] = ()
    """The fields of a partial, by index, that are the number of its values: kernels compute them once for all lanes."""
    costly_lift: bool = False
    """Whether `lift` takes longer than reading a partial, so that kernels store partials instead of lifting rows again."""
    gives: str = "arithmetic"
    """The kind of the result: a "value" of the (last) column, in its type, or a list of "values"; the "difference" of two
    values; a "number" of a type that does not depend on the values, or specifically a "whole" or "real" number; "text";
    or the outcome of "arithmetic" with the values, which timestamps don't support."""
    type: Any = None
    """The Arrow type of the result, if the user declared it."""
    entries: tuple[Aggregate[Any], ...] = ()
    """If the result is a list: the aggregates of its entries, over the same columns. Kernels, whose results are numbers,
    compute these; the laws and the number of values needed are those of the list."""
    inner: Aggregate[Any] | None = None
    """If the result is a map: the aggregate of its items. The first column holds the keys, the others are those of `inner`."""
    of_newest: bool = False
    """The result belongs to the newest row of the window: it is null if that row has a null."""
    codes: tuple[str, ...] = ()
    """The integer codes that may replace each column, so that kernels can process values of any type: "any" distinct codes
    if the aggregate only tests values for equality, "ordered" codes if it compares them."""
    decimals: tuple[int, int] | None = None
    """How many more digits a result for decimals has than the column: in all, and behind the point, as Spark's results have. None
    for as many as a decimal can have, four more of them behind the point."""
    sorts: bool = False
    """Sorts Python values, so that the own order of a dictionary column is not respected."""
    hashes: bool = False
    """Uses values as dictionary keys, so that nested values are rejected."""
    interpreted_only: str = ""
    """The reason why the aggregate cannot be compiled, if that is known: a sentence."""
    constants: tuple[Any, ...] = field(default=(), compare=False)
    """The arguments of the factory after the columns, such as the fraction of a quantile; `repr` shows them."""
    keywords: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """The keyword arguments of the factory that are not the default; `repr` shows them."""
    sql: Callable[[SqlInput], SqlForm | str] | None = field(default=None, compare=False)
    """Returns Spark SQL that computes the partials of slices, or why there is none for these columns (see `sql`). None if
    SQL has no such partials. It is for the functions it was declared with: see `has_sql`."""
    sql_functions: tuple[Callable[..., Any], ...] = field(default=(), compare=False)
    """The lift, combine and lower that `sql` was declared with. Set automatically."""
    variants: Mapping[str, Aggregate[Any]] = field(default_factory=dict, compare=False)
    """Forms for columns of one kind ("bool", "int", "float"), where the kind has stronger laws or needs more care."""

    def __post_init__(self) -> None:
        """Record the functions that `sql` belongs to; `replace` passes the record on."""
        if self.sql is not None and not self.sql_functions:
            object.__setattr__(self, "sql_functions", (self.lift, self.combine, self.lower))

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields in a form that can be pickled."""
        return {name: as_picklable(value) for name, value in vars(self).items()}

    def __call__(self, *given: ColumnLike, where: Condition | None = None) -> Aggregate[P]:
        """Return this aggregate over columns, each a name or an expression; of rows where a condition is true, if there is one.

        Raise TypeError if a name is no string, or their number is wrong.

        >>> import sash
        >>> newest = sash.aggregate("newest", lift=lambda x: x, combine=lambda older, newer: newer)
        >>> newest("price").columns
        ('price',)
        """
        columns = tuple(as_column(one) for one in given)
        for number, column in enumerate(columns):
            if not isinstance(column, str):
                names = ", ".join(as_literal(letter) for letter in ascii_lowercase[: self.inputs])
                raise not_a_name(self.name, f"{shorten(column)} as column {number + 1}", f"{self.name}({names})")
        if len(columns) != self.inputs - self.reads_time:
            message = (
                f"{self.name} needs {self.inputs - self.reads_time} column(s), but got {len(columns)}: "
                f"{', '.join(map(repr, columns))}."
            )
            raise TypeError(message)
        for column in columns:
            if not isinstance(column, str) or not column:
                message = (
                    f'{self.name}: {column!r} is not the name of a column. Use a string, as in {self.name}("load").'
                )
                raise TypeError(message)
        return self.over(columns).only_where(where)

    def only_where(self, condition: Condition | None) -> Aggregate[P]:
        """Return this aggregate of the rows where a condition is true. Raise TypeError if it has no columns.

        Aggregates skip rows with a null, so that one of the columns is replaced by one that is null where the condition is not true.

        >>> from sash import agg
        >>> agg.arg_max("load", "plug").only_where("load > 3").columns
        ('load where load > 3', 'plug')
        """
        if condition is None:
            return self
        where = as_condition(self.name, condition)
        if not self.named_columns:
            call = f'{self.name}("load", where={as_literal(where.text)})'
            message = f"{self.name} got where=, but no column that the condition could filter. Name one, as in {call}."
            raise TypeError(message)
        first, *others = self.named_columns
        value = first.value if isinstance(first, Computed) else first
        if value is None:  # it counts the rows where the condition is true already
            return self
        return self.over((Computed.of(value, where), *others))

    @property
    def where(self) -> Expression | None:
        """The condition that rows must fulfil; None if there is none."""
        first = self.columns[0] if self.columns else None
        return first.where if isinstance(first, Computed) else None

    def over(self, columns: tuple[str, ...], time: str = TIME) -> Aggregate[P]:
        """Return this aggregate over columns, and over the time column if it reads the time; so are the forms in it."""
        return replace(
            self,
            columns=(*columns, time) if self.reads_time else columns,
            variants={kind: variant.over(columns, time) for kind, variant in self.variants.items()},
            entries=tuple(entry.over(columns, time) for entry in self.entries),
            inner=self.inner.over(columns[1:], time) if self.inner is not None else None,
        )

    def __repr__(self) -> str:
        """Return the call that makes this aggregate.

        >>> from sash import agg
        >>> agg.arg_max("load", "plug"), agg.quantile("load", 0.9), agg.max()
        (arg_max("load", "plug"), quantile("load", 0.9), max())
        """
        columns = self.named_columns if self.inner is None else self.columns[:1]
        shown = [column.call if isinstance(column, Computed) else as_literal(column) for column in columns]
        shown = [*filter(None, shown), *map(as_literal, self.constants)]
        if self.inner is not None:
            shown.append(repr(self.inner))
        shown += [f"{name}={as_literal(value)}" for name, value in self.keywords.items()]
        if self.where is not None:
            condition = as_literal(self.where.text) if self.where.kind == SQL else self.where.text
            shown.append(f"where={condition}")
        return f"{self.name}({', '.join(shown)})"

    @property
    def named_columns(self) -> tuple[str, ...]:
        """The columns that the user names: all but the time that `lift` takes.

        >>> from sash import agg
        >>> agg.ewm_mean("load", half_life="1h").named_columns, agg.arg_max("load", "plug").named_columns
        (('load',), ('load', 'plug'))
        """
        return self.columns[:-1] if self.reads_time else self.columns

    def renamed(self, names: Mapping[str, str]) -> Aggregate[P]:
        """Return this aggregate over columns with other names; those that `names` lacks stay.

        >>> from sash import agg
        >>> agg.arg_max("load", "plug").renamed({"load": "work"})
        arg_max("work", "plug")
        """
        columns = tuple(names.get(column, column) for column in self.named_columns)
        return self.over(columns, self.columns[-1]) if self.reads_time else self.over(columns)

    def over_time(self, column: str) -> Aggregate[P]:
        """Return this aggregate for a query with this time column.

        >>> from sash import agg
        >>> agg.ewm_mean("load", half_life="1h").over_time("ts").columns
        ('load', 'ts')
        """
        return self.over(self.named_columns, column) if self.reads_time else self

    def in_unit(self, unit: TimeUnit) -> Aggregate[P]:
        """Return this aggregate for a time column of this unit. Raise ValueError if they do not fit together."""
        return self if self.for_unit is None else replace(self, for_unit=None, **self.for_unit(unit))

    def of_kind(self, kind: str) -> Aggregate[Any]:
        """Return the variant for columns of a kind: "bool", "int", "float", "object", or "ticks" for times as integers.

        >>> from sash import agg
        >>> "invertible" in agg.sum().of_kind("int").laws, "invertible" in agg.sum().of_kind("float").laws
        (True, False)
        """
        return self.variants.get(kind, self)

    @property
    def label(self) -> str:
        """The aggregate as a user writes it.

        >>> from sash import agg
        >>> agg.arg_max("load", "plug").label
        'arg_max(load, plug)'
        """
        shown = self.named_columns if self.inner is None else (*self.columns[:1], self.inner.label)
        shown = shown if self.shown_columns is None else self.shown_columns
        return f"{self.name}({', '.join(shown)})"

    @property
    def result_name(self) -> str:
        """The name of the result if the query has a list of aggregates, which has no names.

        It has the name, the columns, and constants that are numbers, words or durations; others, as lists, would not be readable.
        A keyword that is True shows as its own name.

        >>> from sash import agg
        >>> agg.count().result_name, agg.quantile("load", 0.9).result_name, agg.concat("word", sep=", ").result_name
        ('count', 'quantile_load_0.9', 'concat_word')
        >>> agg.per_value("plug", agg.sum("load")).result_name
        'sum_load_per_plug'
        >>> agg.rank("x", method="min", pct=True).result_name, agg.ewm_mean("load", half_life="1h").result_name
        ('rank_x_min_pct', 'ewm_mean_load_1h')
        """
        if self.inner is not None:
            return f"{self.inner.result_name}_per_{_word(self.columns[0])}"
        constants = [*self.constants, *(name if value is True else value for name, value in self.keywords.items())]
        words = [one for one in constants if isinstance(one, str) and (one.isidentifier() or one == str(self.duration))]
        shown = [str(one).replace(" ", "") for one in constants if isinstance(one, Real) or one in words]
        return "_".join([self.name, *map(_word, self.named_columns), *shown])

    @property
    def varies_by(self) -> str | None:
        """The column whose kind selects the variant; None if there is none, or several.

        >>> from sash import agg
        >>> agg.sum("load").varies_by, agg.per_value("plug", agg.sum("load")).varies_by
        ('load', 'load')
        """
        if self.inner is not None:
            return self.inner.varies_by
        return self.columns[0] if len(self.columns) == 1 else None

    @cached_property
    def is_built_in(self) -> bool:
        """Whether Sash defines its lift and combine, so that it is known what compiles.

        >>> from sash import agg
        >>> agg.max().is_built_in, replace(agg.max(), lift=abs).is_built_in
        (True, False)
        """
        functions = (self.lift, self.combine)
        own = all(str(getattr(function, "__module__", "")).startswith("sash.") for function in functions)
        return own and (self.inner is None or self.inner.is_built_in)

    @property
    def only_compares(self) -> bool:
        """Whether it compares, counts or returns values and never computes with them, so that codes can replace them.

        >>> from sash import agg
        >>> agg.max().only_compares, agg.count("x").only_compares, agg.sum().only_compares
        (True, True, False)
        """
        return bool(self.codes) or (self.is_built_in and self.gives == "number")

    @property
    def has_sql(self) -> bool:
        """Whether it has an SQL form, and still the functions that the form belongs to.

        >>> from sash import agg
        >>> agg.max().has_sql, replace(agg.max(), lift=abs).has_sql, agg.median().has_sql
        (True, False, False)
        """
        return self.sql is not None and self.sql_functions == (self.lift, self.combine, self.lower)

    @property
    def rows_needed(self) -> int:
        """The number of non-null rows from which on a window may have a result."""
        return max(1, self.at_least) if self.held is None else 1

    def has_enough(self, partial: P) -> bool:
        """Return whether the partial of a window with `rows_needed` rows has `at_least` values.

        >>> from sash import agg
        >>> of_partials = replace(agg.stddev(), lift=lambda n, mean, m2: (n, mean, m2), inputs=3, held=0)
        >>> of_partials.rows_needed, of_partials.has_enough((1.0, (0.5, 0.0), 0.0))
        (1, False)
        """
        fields: Any = partial
        return self.held is None or bool(fields[self.held] >= self.at_least)

    def result_of(self, partial: P) -> Any:
        """Return the result of one window as of its newest value: lowered, and with the last step if there is one.

        >>> from sash import agg
        >>> slope = agg.slope("y", "x")
        >>> vertical = slope.combine(slope.lift(1.0, 5.0), slope.lift(3.0, 5.0))
        >>> slope.lower(vertical), slope.result_of(vertical)
        (nan, None)
        """
        result = self.lower(partial)
        if self.finish is None:
            return result
        import numpy as np  # noqa: PLC0415 — `import sash` does not need NumPy

        besides = np.array([] if self.beside is None else [self.beside(partial)])
        return self.finish(np.array([result]), besides, besides).tolist()[0]

    @property
    def ranked(self) -> bool:
        """Whether it is an order statistic, or the rank of a value."""
        return self.rank is not None or self.place is not None

    @property
    def has_identity(self) -> bool:
        """Whether `combine` has a neutral partial."""
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


def object_lift(aggregate: Aggregate[P]) -> Callable[..., P]:
    """Return the `lift` for Python objects, whose kind is known only row by row.

    An integer is lifted by the form for integers if both forms combine alike: as a float it would lose digits beyond 2^53.

    >>> from sash import agg
    >>> object_lift(agg.stddev())(2**53 + 1), object_lift(agg.stddev())(3.0)
    ((1.0, (4503599627370496, 1.0), 0.0), (1.0, (1.5, 0.0), 0.0))
    """
    exact = aggregate.variants.get("int")
    plain = aggregate.lift
    if aggregate.inputs != 1 or exact is None or (exact.combine, exact.lower) != (aggregate.combine, aggregate.lower):
        return plain
    exact_lift = exact.lift

    def lift(value: Any) -> P:
        made: P = exact_lift(value) if isinstance(value, int) else plain(value)
        return made

    return lift


def _word(column: str) -> str:
    return column.word if isinstance(column, Computed) else column


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
    """Define your own aggregate by three functions and the laws that hold for them.

    `name` is its name. `lift` turns the values of a row, one argument per column, into a partial. `combine(older, newer)` merges the
    partials of two adjacent row ranges; it must be associative and must not modify its arguments. `lower` turns the partial of a
    window into the result; without it the partial is the result. Call the aggregate with column names to use it in a query.

    Laws allow faster algorithms. Claim only those that hold; `sash.testing.check_laws` looks for a counter-example.
    `inverse(combine(older, newer), older)` returns `newer`; Sash uses it by itself only if `inverse_is_exact`, since subtracting
    floats leaves rounding errors. `identity` is the neutral partial. `commutative`: the order of arguments does not matter.
    `selective`: `combine` returns one of its arguments. `holistic`: partials grow without bound. `fixed_size=False`: partials
    differ in size. `inputs` is the number of columns, by default the number of parameters of `lift`.

    Nulls and NaN: a row reaches `lift` only if none of its columns is null; NaN is a value.
    Result: the type that the functions return; if that is a date, a time or a duration of a column, the type of that column;
    null if the window has no values. Compiled integers have 64 bits.
    Errors: TypeError if `lift` takes any number of arguments and `inputs` is missing, or if an argument is not a function.

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import window
    >>> spread = sash.aggregate("spread", lift=lambda x: (x, x),
    ...                         combine=lambda older, newer: (min(older[0], newer[0]), max(older[1], newer[1])),
    ...                         lower=lambda c: c[1] - c[0], commutative=True)
    >>> rows = pa.table({"load": [3, 9, 4]})
    >>> sash.Query(spread("load"), window.rows(2)).run(rows)["spread"].to_pylist()
    [0, 6, 5]
    """
    _check_functions(name, {"lift": lift, "combine": combine, "lower": lower}, inverse)
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


def _check_functions(name: Any, functions: dict[str, Any], inverse: Any) -> None:
    """Raise TypeError if the name is not a string, or a function cannot be called."""
    if not isinstance(name, str):
        message = (
            f"aggregate got name={name!r}, which is not a string. Start with a name, as in "
            'sash.aggregate("spread", lift=…, combine=…).'
        )
        raise TypeError(message)
    if inverse is not None:
        functions = {**functions, "inverse": inverse}
    for parameter, function in functions.items():
        if not callable(function):
            message = f"aggregate {name!r} got {parameter}={function!r}, which is not a function."
            raise TypeError(message)


def _count_parameters(name: str, lift: Callable[..., Any]) -> int:
    """Return how many values `lift` needs: parameters without a default, and not the `self` of a method.

    >>> [_count_parameters("own", lift) for lift in (lambda x, y=1: x, "".join, float, max, slice(3).indices)]
    [1, 1, 1, 1, 1]
    """
    try:
        parameters = inspect.signature(lift).parameters.values()
    except ValueError:  # some builtins, such as max, do not say what they take
        return 1
    if any(one.kind is one.VAR_POSITIONAL for one in parameters):
        message = f"lift of {name} takes any number of values. State how many columns it reads, as in inputs=2."
        raise TypeError(message)
    needed = sum(one.default is one.empty and one.kind is not one.KEYWORD_ONLY for one in parameters)
    own = inspect.isfunction(lift) or inspect.ismethod(lift)
    return needed if own else max(needed, 1)  # float takes a value, although it has a default
