"""Aggregate: three functions and the laws that hold for them.

    values ──lift──► partials ──combine(older, newer)──► partial ──lower──► result

Every aggregate is associative. Everything else that engines need to know about an aggregate is in one of its parts: no engine
tests its name.

    laws     parts.py     which algorithms fit
    result   parts.py     what the result is, and when it is null
    coding   parts.py     what kernels need to know
    time     parts.py     what it does with the time of the row
    forms    parts.py     variants for kinds of columns, entries of a list, items of a map
    call     naming.py    how the user wrote it
    sql      sql.py       how Spark SQL computes partials
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from sash.aggregates.naming import FactoryCall, as_literal, call_text, not_a_name, shorten
from sash.aggregates.parts import Coding, Forms, Laws, ResultRule, TimeInput
from sash.aggregates.pickling import Picklable, is_own
from sash.expressions import ColumnLike, ComputedColumn, Condition, as_column, as_condition, source_of
from sash.hints import counted

if TYPE_CHECKING:  # sql imports this module
    from sash.aggregates.sql import SqlRule
    from sash.durations import TimeUnit

P = TypeVar("P")
"""The type of a partial: `lift` returns it, `combine` takes and returns it, `lower` takes it."""


class Absent:
    """The type of `ABSENT`, a singleton also after pickling."""

    def __reduce__(self) -> str:
        """Pickle the name of the singleton."""
        return "ABSENT"


ABSENT: Any = Absent()
"""The identity of an aggregate that has none."""

TIME = "(time)"
"""Stands for the time column among the columns of an aggregate that reads the time, until a query names that column."""


def unchanged(partial: P) -> P:
    """Return the argument: a `lift` or `lower` that does nothing."""
    return partial


def pair(first: Any, second: Any) -> tuple[Any, Any]:
    """Return both arguments as a tuple: a `lift` for partials of two fields."""
    return first, second


def first_field(partial: Any) -> Any:
    """Return the first field of a partial."""
    return partial[0]


def second_field(partial: Any) -> Any:
    """Return the second field of a partial."""
    return partial[1]


def third_field(partial: Any) -> Any:
    """Return the third field of a partial."""
    return partial[2]


class Functions(NamedTuple):
    """The functions of an aggregate, and the neutral partial (see the fields of `Aggregate`)."""

    lift: Callable[..., Any]
    combine: Callable[[Any, Any], Any]
    lower: Callable[[Any], Any] = unchanged
    inverse: Callable[[Any, Any], Any] | None = None
    identity: Any = ABSENT


@dataclass(frozen=True, kw_only=True, repr=False)
class Aggregate(Picklable, Generic[P]):
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
    inverse: Callable[[P, P], P] | None = None
    """Removes the oldest rows: `inverse(combine(older, newer), older)` is `newer`."""
    identity: Any = ABSENT
    """The neutral partial of `combine`, if there is one."""
    columns: tuple[str, ...] = ()
    """The columns that it is bound to, the time column last if it reads the time."""
    inputs: int = 1
    """The number of columns that `lift` takes; 0 for `count()`, which counts rows."""
    time: TimeInput | None = None
    """What it does with the time of the row; None if it does not read the time."""
    laws: Laws = field(default_factory=Laws)
    result: ResultRule = field(default_factory=ResultRule)
    coding: Coding = field(default_factory=Coding)
    forms: Forms = field(default_factory=Forms)
    call: FactoryCall = field(default_factory=FactoryCall)
    sql: SqlRule | None = field(default=None, compare=False)
    """How Spark SQL computes the partials of slices; None if SQL has no such partials."""

    def __call__(self, *columns: ColumnLike, where: Condition | None = None) -> Aggregate[P]:
        """Return this aggregate over columns, each a name or an expression; of rows where a condition is true, if there is one.

        Raise TypeError if a name is no string, or their number is wrong.

        >>> import sash
        >>> newest = sash.aggregate("newest", lift=lambda x: x, combine=lambda older, newer: newer)
        >>> newest("price").columns
        ('price',)
        """
        names = tuple(map(as_column, columns))
        for number, name in enumerate(names):
            if not isinstance(name, str):
                letters = ", ".join(as_literal(letter) for letter in ascii_lowercase[: self.inputs])
                raise not_a_name(self.name, f"{shorten(name)} as column {number + 1}", f"{self.name}({letters})")
        if len(names) != self.named_inputs:
            raise TypeError(
                f"{self.name} needs {counted(self.named_inputs, 'column')}, but got {len(names)}: {', '.join(map(repr, names))}."
            )
        if "" in names:
            raise TypeError(f"{self.name}: '' is not the name of a column. Use a string, as in {self.name}(\"load\").")
        return only_where(self.over(names), where)

    def alias(self, name: str) -> Aggregate[P]:
        """Return this aggregate with a name for its result, for a query with a list of aggregates.

        Raise TypeError if `name` is not a string, ValueError if it is empty.

        >>> import sash
        >>> from sash import agg, window
        >>> sash.Query([agg.max("load").alias("peak"), agg.count()], window.rows(5))
        Query(windows=rows(5), aggregates={"peak": max("load"), "count": count()})
        """
        if not isinstance(name, str):
            raise TypeError(f'alias got {shorten(name)}, but a name is a string, as in agg.max("load").alias("peak").')
        if not name:
            raise ValueError('alias got an empty name. Use agg.max("load").alias("peak").')
        return with_fields(self, alias=name)

    def __repr__(self) -> str:
        """Return the call that makes this aggregate.

        >>> from sash import agg
        >>> agg.arg_max("load", "plug"), agg.quantile("load", 0.9), agg.max()
        (arg_max("load", "plug"), quantile("load", 0.9), max())
        """
        return call_text(self)

    @property
    def label(self) -> str:
        """The aggregate as error messages show it.

        >>> from sash import agg
        >>> agg.arg_max("load", "plug").label
        'arg_max(load, plug)'
        """
        inner = self.forms.inner
        columns = self.named_columns if inner is None else (*self.columns[:1], inner.label)
        return f"{self.name}({', '.join(columns if self.call.shown_columns is None else self.call.shown_columns)})"

    @property
    def named_inputs(self) -> int:
        """The number of columns that the user names: all but the time."""
        return self.inputs - (self.time is not None)

    @property
    def named_columns(self) -> tuple[str, ...]:
        """The columns that the user names: all but the time that `lift` takes.

        >>> from sash import agg
        >>> agg.ewm_mean("load", half_life="1h").named_columns, agg.arg_max("load", "plug").named_columns
        (('load',), ('load', 'plug'))
        """
        return self.columns if self.time is None else self.columns[:-1]

    def over(self, columns: tuple[str, ...], time: str = "") -> Aggregate[P]:
        """Bind this aggregate and its forms to columns, and to a time column if it reads the time.

        Without `time`, the time column stays.

        >>> from sash import agg
        >>> agg.ewm_mean("load", half_life="1h").over(("work",), "ts").columns
        ('work', 'ts')
        """
        time = time or (self.columns[-1] if self.time is not None and self.columns else TIME)
        bound = columns if self.time is None else (*columns, time)
        return replace(self, columns=bound, forms=self.forms.over(columns, time))

    def in_unit(self, unit: TimeUnit) -> Aggregate[P]:
        """Return this aggregate for a time column of this unit. Raise ValueError if they do not fit together."""
        if self.time is None or self.time.for_unit is None:
            return self
        return with_fields(self, time=replace(self.time, for_unit=None), **self.time.for_unit(unit))

    def of_kind(self, kind: str) -> Aggregate[Any]:
        """Return the variant for columns of a kind: "bool", "int", "float", "object", or "ticks" for times as integers.

        >>> from sash import agg
        >>> "invertible" in agg.sum().of_kind("int").laws, "invertible" in agg.sum().of_kind("float").laws
        (True, False)
        """
        return self.forms.variants.get(kind, self)

    @cached_property
    def is_built_in(self) -> bool:
        """Whether Sash defines its lift and combine, so that it is known what compiles.

        >>> from sash import agg
        >>> agg.max().is_built_in, replace(agg.max(), lift=abs).is_built_in
        (True, False)
        """
        return is_own(self.lift) and is_own(self.combine) and (self.forms.inner is None or self.forms.inner.is_built_in)

    @property
    def only_compares(self) -> bool:
        """Whether it compares, counts or returns values and never computes with them, so that codes can replace them.

        >>> from sash import agg
        >>> agg.max().only_compares, agg.count("x").only_compares, agg.sum().only_compares
        (True, True, False)
        """
        return bool(self.coding.codes) or (self.is_built_in and self.result.gives == "number")


PARTS = {
    field.name: part
    for part, cls in {"laws": Laws, "result": ResultRule, "coding": Coding, "forms": Forms, "call": FactoryCall}.items()
    for field in fields(cls)
}
"""The fields of the parts of an aggregate, and which part has them."""


def with_fields(aggregate: Aggregate[P], functions: Functions | None = None, **changes: Any) -> Aggregate[P]:
    """Return an aggregate with other functions and other fields, whether they are its own or those of its parts.

    >>> from sash import agg
    >>> with_fields(agg.count(), at_least=3, empty=None).result.at_least
    3
    """
    replaced = {} if functions is None else functions._asdict()
    replaced |= {name: value for name, value in changes.items() if name not in PARTS}
    for name in PARTS.keys() & changes:
        part = PARTS[name]
        replaced[part] = replace(replaced.get(part, getattr(aggregate, part)), **{name: changes[name]})
    return replace(aggregate, **replaced)


def only_where(aggregate: Aggregate[P], condition: Condition | None) -> Aggregate[P]:
    """Return an aggregate of the rows where a condition is true. Raise TypeError if it has no columns.

    Aggregates skip rows with a null, so that one of the columns is replaced by one that is null where the condition is not true.

    >>> from sash import agg
    >>> only_where(agg.arg_max("load", "plug"), "load > 3").columns
    ('load where load > 3', 'plug')
    """
    if condition is None:
        return aggregate
    name = aggregate.name
    where = as_condition(name, condition)
    if not aggregate.named_columns:
        call = f'{name}("load", where={as_literal(where.text)})'
        raise TypeError(f"{name} got where=, but no column that the condition could filter. Name one, as in {call}.")
    first, *others = aggregate.named_columns
    value = source_of(first)
    if value is None:  # it counts the rows where the condition is true already
        return aggregate
    return aggregate.over((ComputedColumn.of(value, where), *others))


# -- Python objects, without columns -----------------------------------------------------------------------------------


def object_lift(aggregate: Aggregate[P]) -> Callable[..., P]:
    """Return the `lift` for Python objects, whose kind is known only row by row.

    An integer is lifted by the form for integers if both forms combine alike: as a float it would lose digits beyond 2^53.

    >>> from sash import agg
    >>> object_lift(agg.stddev())(2**53 + 1), object_lift(agg.stddev())(3.0)
    ((1.0, (4503599627370496, 1.0), 0.0), (1.0, (1.5, 0.0), 0.0))
    """
    exact = aggregate.forms.variants.get("int")
    plain = aggregate.lift
    if aggregate.inputs != 1 or exact is None or (exact.combine, exact.lower) != (aggregate.combine, aggregate.lower):
        return plain
    exact_lift = exact.lift

    def lift(value: Any) -> P:
        return exact_lift(value) if isinstance(value, int) else plain(value)

    return lift


def result_of(aggregate: Aggregate[P], partial: P) -> Any:
    """Return the result of one window as of its newest value: lowered, and with the last step if there is one.

    >>> from sash import agg
    >>> slope = agg.slope("y", "x")
    >>> vertical = slope.combine(slope.lift(1.0, 5.0), slope.lift(3.0, 5.0))
    >>> slope.lower(vertical), result_of(slope, vertical)
    (nan, None)
    """
    result, rule = aggregate.lower(partial), aggregate.result
    if rule.finish is None:
        return result
    import numpy as np  # noqa: PLC0415 — `import sash` does not need NumPy

    auxiliary = np.array([] if rule.auxiliary is None else [rule.auxiliary(partial)])
    return rule.finish(np.array([result]), auxiliary, auxiliary).tolist()[0]
