"""The Spark SQL form of an aggregate: SQL computes the partials of slices, the aggregate's own functions merge them.

    rows ──SQL──► columns of a slice ──lift──► partial ──combine, lower──► result
                  sum of load, …

`sql=` of an aggregate is a function from a `SqlInput` (the columns and their types) to a `SqlForm` (the expressions, and the
aggregate that reads their results), or to the reason why SQL has no such partials for these columns.

A slice without a value for an aggregate has a null in at least one of the aggregate's columns, and is skipped as a row without
a value is. The name of a column says what it holds, so that aggregates that need the same one share it.

This module builds text only; it does not import PySpark, nor PyArrow before it is used.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from sash.aggregates.base import Aggregate, with_fields
from sash.aggregates.pickling import Picklable

if TYPE_CHECKING:
    import pyarrow as pa

EPOCH = "TIMESTAMP_NTZ'1970-01-01 00:00:00'"
WORD = 64
MOST_TIME_BITS = 31
"""The times of windows of up to 2³¹ ticks, 35 minutes in microseconds, share 64 bits with an integer."""
Lift = Callable[..., Any]


def sql_form(
    name: str,
    aggregate: Aggregate[Any],
    schema: pa.Schema,
    ticks: str,
    order_by: Sequence[str],
    window: KnownWindow | None = None,
) -> SqlForm | str:
    """Return the SQL form of the aggregate called `name`, or a sentence that says why there is none.

    `ticks` is SQL for the time in ticks; `schema` has the types of the columns; `window` is what is known of the windows.

    >>> import pyarrow as pa
    >>> from sash import agg
    >>> schema = pa.schema({"load": pa.float64()})
    >>> form = sql_form("sd", agg.stddev("load"), schema, "`ts`", ())
    >>> form.expressions["variance of load"]
    'var_pop(`load`)'
    >>> sql_form("middle", agg.median("load"), schema, "`ts`", ())
    "'middle': Spark SQL has no partials of median."
    """
    if aggregate.sql is None or not aggregate.sql.fits(aggregate):
        return f"{name!r}: Spark SQL has no partials of {aggregate.name}."
    columns = [column_of(schema.field(column)) for column in aggregate.columns]
    order = RowOrder(ticks, tuple(column_of(schema.field(column)) for column in order_by), window or KnownWindow())
    variant = aggregate.of_kind(columns[0].kind) if len(columns) == 1 else aggregate
    form = aggregate.sql.make_form(SqlInput(variant, columns, order))
    return f"{name!r}: {form}" if isinstance(form, str) else form


@dataclass(frozen=True)
class SqlRule(Picklable):
    """How Spark SQL computes the partials of an aggregate."""

    make_form: Callable[[SqlInput], SqlForm | str]
    """Returns the SQL form, or why there is none for these columns."""
    functions: tuple[Callable[..., Any], ...]
    """The lift, combine and lower that the form belongs to."""

    def fits(self, aggregate: Aggregate[Any]) -> bool:
        """Return whether an aggregate still has the functions that the form belongs to."""
        return self.functions == (aggregate.lift, aggregate.combine, aggregate.lower)


class NativeSql(NamedTuple):
    """An aggregate that Spark computes alone: the results equal those that Python lowers from partials."""

    expressions: Mapping[str, str]
    """SQL aggregates of the rows of a window, by the names of their columns: plain calls, which OVER may follow."""
    result: str
    """SQL for the result, over these columns."""
    inputs: Mapping[str, str] = {}
    """SQL for further columns of rows, by their names: Spark computes what several expressions read once."""
    restored: Mapping[str, str] = {}
    """SQL for columns that follow from `inputs`, by their names: rows that have those need not have these, too."""

    def inlined(self, calls: Mapping[str, str]) -> str:
        """Return SQL for the result over aggregates, by the names of the columns that they replace.

        >>> NativeSql({"sum of x": "sum(x)"}, "`sum of x` / 2").inlined({"sum of x": "sum(y)"})
        'sum(y) / 2'
        """
        texts = {quote(name): calls[name] for name in self.expressions}
        return re.sub("|".join(map(re.escape, texts)), lambda match: texts[match[0]], self.result)


class SqlForm(NamedTuple):
    """An aggregate in two stages."""

    expressions: Mapping[str, str]
    """SQL aggregates, evaluated per slice, by the names of their columns."""
    aggregate: Aggregate[Any]
    """The aggregate that reads these columns."""
    native: NativeSql | None = None
    """How Spark computes results without Python; None if it cannot."""


class SqlInput(NamedTuple):
    """An aggregate, in the variant for its column, and its columns."""

    aggregate: Aggregate[Any]
    columns: Sequence[SqlColumn]
    order: RowOrder

    @property
    def column(self) -> SqlColumn:
        """The first column."""
        return self.columns[0]

    @property
    def are_numbers(self) -> bool:
        """Whether all columns hold numbers."""
        return all(column.is_number for column in self.columns)

    def form(
        self,
        expressions: Mapping[str, str],
        lift: Lift | None = None,
        result: str = "",
        **fields: Any,
    ) -> SqlForm:
        """Return the form with these expressions by name.

        `lift` makes a partial of their results; None means the aggregate's own lift. `result` is how Spark computes results of the
        same expressions alone (see `native`). `fields` replace other fields of the aggregate. If the type of the result
        depends on that of a column, this is the last expression.
        """
        named = {self._column_name(name): text for name, text in expressions.items()}
        fields |= {"columns": tuple(named), "inputs": len(named), "shown_columns": self.aggregate.named_columns}
        # Slices of different lanes hold different numbers of values, so kernels must not share counts.
        fields |= {
            "lift": lift or self.aggregate.lift,
            "counts": (),
            "variants": {},
            "exact": None,
            "scaled": None,
            "sql": None,
        }
        aggregate = with_fields(self.aggregate, **fields)
        return SqlForm(named, aggregate, self.native(expressions, result) if result else None)

    def native(self, expressions: Mapping[str, str], result: str) -> NativeSql:
        """Return how Spark computes results alone: `result` names expressions in braces, as in "{sum} / {count}"."""
        named = {name: text for name, text in expressions.items() if f"{{{name}}}" in result}
        columns = {name: quote(self._column_name(name)) for name in named}
        return NativeSql({self._column_name(name): text for name, text in named.items()}, result.format_map(columns))

    def _column_name(self, expression: str) -> str:
        return f"{expression} of {', '.join(column.name for column in self.columns) or '*'}"

    def refuse(self, why: str = "") -> str:
        """Return the sentence that says that SQL has no partials for these columns."""
        types = " and ".join(column.type for column in self.columns)
        return f"Spark SQL has no partials of {self.aggregate.name} of {types}{why}."


def quote(name: str) -> str:
    """Return a column name as an SQL identifier.

    >>> quote("a.b"), quote("a`b")
    ('`a.b`', '`a``b`')
    """
    return "`" + name.replace("`", "``") + "`"


def literal(text: str) -> str:
    r"""Return text as a literal of Spark SQL.

    >>> print(literal("it's"))
    'it\'s'
    """
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


@dataclass(frozen=True)
class SqlColumn:
    """A column that an expression reads."""

    name: str
    kind: str
    """One of "bool", "int", "float", "decimal", "date", "timestamp", "duration", "string", "binary" and "other"."""
    type: str = ""
    """The Arrow type, for messages."""
    bits: int = 0
    """The size of an integer or a float."""
    precision: int = 0
    """The digits of a decimal."""
    scale: int = 0
    """The digits of a decimal behind the point."""
    has_zone: bool = False

    @property
    def sql(self) -> str:
        """The column itself."""
        return quote(self.name)

    @property
    def as_double(self) -> str:
        """The column as float64; Spark casts true to 1, as Python does."""
        return self.sql if (self.kind, self.bits) == ("float", 64) else f"CAST({self.sql} AS DOUBLE)"

    @property
    def as_bigint(self) -> str:
        """The column of integers or booleans as int64."""
        return self.sql if (self.kind, self.bits) == ("int", 64) else f"CAST({self.sql} AS BIGINT)"

    @property
    def is_integer(self) -> bool:
        """Whether it holds integers, or booleans, which are summed as integers."""
        return self.kind in ("int", "bool")

    @property
    def is_small(self) -> bool:
        """Whether it holds integers of at most 32 bits: the sum of 2³¹ of them fits in 64 bits."""
        return self.is_integer and self.bits < 64  # noqa: PLR2004

    @property
    def is_number(self) -> bool:
        """Whether it holds numbers."""
        return self.is_integer or self.kind in ("float", "decimal")

    @property
    def is_ordered(self) -> bool:
        """Whether Spark and Python agree on the order of its values."""
        return self.kind != "other"

    @property
    def descending(self) -> str:
        """SQL whose ascending order is the descending order of the column; empty if there is none.

        The negative of an integer may need one more bit, and -NaN is not less than any number.

        >>> SqlColumn("x", "int").descending, SqlColumn("who", "string").descending
        ('~`x`', '')
        """
        return {
            "bool": f"NOT {self.sql}",
            "int": f"~{self.sql}",
            "float": f"NOT isnan({self.sql}), -{self.sql}",
            "decimal": f"-{self.sql}",
            "duration": f"-{self.sql}",
            "date": f"~unix_date({self.sql})",
            # differences of timestamps with a zone depend on the session's zone
            "timestamp": f"~unix_micros({self.sql})" if self.has_zone else f"{EPOCH} - {self.sql}",
        }.get(self.kind, "")


def column_of(field: pa.Field) -> SqlColumn:
    """Return a field of an Arrow schema as a column.

    >>> import pyarrow as pa
    >>> column_of(pa.field("x", pa.decimal128(28, 3)))
    SqlColumn(name='x', kind='decimal', type='decimal128(28, 3)', bits=0, precision=28, scale=3, has_zone=False)
    """
    from pyarrow import types  # noqa: PLC0415 — `import sash` does not import PyArrow

    kinds = {
        "bool": types.is_boolean,
        "int": types.is_integer,
        "float": types.is_floating,
        "decimal": types.is_decimal,
        "date": types.is_date32,
        "timestamp": types.is_timestamp,
        "duration": types.is_duration,
        "string": types.is_string,
        "binary": types.is_binary,
    }
    kind = next((kind for kind, test in kinds.items() if test(field.type)), "other")
    bits = field.type.bit_width if kind in ("int", "float") else 0
    precision, scale = (field.type.precision, field.type.scale) if kind == "decimal" else (0, 0)
    has_zone = kind == "timestamp" and field.type.tz is not None
    return SqlColumn(field.name, kind, str(field.type), bits, precision, scale, has_zone=has_zone)


def unless_null(value: str, columns: Sequence[SqlColumn]) -> str:
    """Return a value that is null in rows in which a column is null: aggregates skip it, with OVER too, where Spark 4.1 has no FILTER.

    >>> unless_null("`x`", [SqlColumn("x", "int"), SqlColumn("y", "int")])
    'CASE WHEN `x` IS NOT NULL AND `y` IS NOT NULL THEN `x` END'
    """
    return f"CASE WHEN {' AND '.join(f'{column.sql} IS NOT NULL' for column in columns)} THEN {value} END"


class KnownWindow(NamedTuple):
    """What is known of the windows of a query before any row is read."""

    length: int = 0
    """The length in ticks of windows that do not overlap; 0 for others."""
    since: str = ""
    """SQL for the time since the window of a row began, in ticks, if windows do not overlap."""
    rows: int = 0
    """How many rows a window holds at most; 0 if that is not known."""


class PackedKey(NamedTuple):
    """A key that orders rows by an integer and the time: one of two numbers, since both may need more than 64 bits."""

    small: str
    """A bigint; null if the integer is so large that the time does not fit beside it."""
    large: str = ""
    """A decimal for these integers, null for others; empty if all fit."""


class RowOrder(NamedTuple):
    """The order of rows: by time, then by further columns, nulls last as in Arrow."""

    ticks: str
    """The time as a bigint."""
    ties: tuple[SqlColumn, ...]
    window: KnownWindow = KnownWindow()

    @property
    def is_known(self) -> bool:
        """Whether Spark and Python agree on the order of all columns."""
        return all(tie.is_ordered for tie in self.ties)

    @property
    def key(self) -> str:
        """A key that is smallest in the first row; one bigint if only time orders, which Spark aggregates without sorting."""
        return f"struct({', '.join([self.ticks, *self._ties])})" if self.ties else self.ticks

    @property
    def _ties(self) -> list[str]:
        return [part for tie in self.ties for part in (f"{tie.sql} IS NULL", tie.sql)]

    def packed(self, value: str, bits: int) -> PackedKey | None:
        """Return a key that is smallest in the first row with the smallest integer, as numbers, by which Spark aggregates without sorting.

        One number holds the integer, of so many bits, and the time since the window began. None if more than time orders rows.
        """
        since, width = self.window.since, self.window.length.bit_length()
        if self.ties or not 0 < width <= MOST_TIME_BITS:
            return None
        key = f"shiftleft({value}, {width}) + ({since})"
        if bits + width < WORD:
            return PackedKey(key)
        limit = 1 << WORD - 2 - width
        large = f"CAST({value} AS DECIMAL(19, 0)) * {1 << width}BD + CAST({since} AS DECIMAL(10, 0))"
        fits = f"{value} >= -{limit}L AND {value} < {limit}L"
        return PackedKey(f"CASE WHEN {fits} THEN {key} END", f"CASE WHEN NOT ({fits}) THEN {large} END")

    def smallest(self, value: str) -> str:
        """Return a key that is smallest in the first row with the smallest value."""
        return f"struct({', '.join([value, self.ticks, *self._ties])})"

    def largest(self, value: str) -> str:
        """Return a key that is largest in the first row with the largest value; empty if there is none."""
        keys = [f"~({self.ticks})"]
        for tie in self.ties:
            if not tie.descending:
                return ""
            keys += [f"{tie.sql} IS NOT NULL", tie.descending]
        return f"struct({', '.join([value, *keys])})"
