"""Expressions: SQL text, or an expression of Polars, Arrow or PySpark, as the input or the filter of an aggregate.

Sash does not evaluate expressions itself. The engine that holds the data computes each one once, into a column of its own, and
all else sees a plain column:

    agg.sum("load", where="amount > 100")     load where amount > 100     load, null where the condition is not true
    agg.sum(sash.expr("price * quantity"))    expr(price * quantity)
    agg.count(where="amount > 100")           where amount > 100          true, or null
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self, TypeAlias, TypeGuard

NATIVE = {("polars", "Expr"): "Polars", ("pyarrow", "Expression"): "Arrow", ("pyspark", "Column"): "PySpark"}
"""The classes of native expressions, by top-level package and name, and what messages call them."""
SQL = "SQL"
OF_A_PROCESS = (
    # the line of a call, and its stack
    (re.compile(r",Origin\([^@]*@[0-9a-f]+\),(?:None|Some\(\(.*?:\d+\)\)),None\)"), ""),
    (re.compile(r"columnnodeexpression\(UnresolvedAttribute\(List\(([^()]*)\),None,false\)\)"), r"\1"),
    (re.compile(r"\[B@[0-9a-f]+"), "binary"),
    (re.compile(r"\b(rand|randn|uuid)\(-?\d+L?\)"), r"\1()"),  # a seed that PySpark chooses
)
"""What PySpark's text of a column has in it that differs in each process, or is only noise, and what stands for it."""
LAMBDA = re.compile(r" -> |LambdaFunction\(")
LAMBDA_VARIABLE = re.compile(r"\b([xyz])_\d+\b")


class NativeExpression(Protocol):
    """An expression of Polars, Arrow or PySpark."""

    @property
    def cast(self) -> Callable[..., Any]:
        """Return the expression in another type."""


class Expression:
    """SQL text, or a native expression. It is immutable.

    >>> Expression("price * quantity")
    expr("price * quantity")
    """

    __slots__ = ("kind", "source", "text")

    def __init__(self, source: Any, kind: str = SQL) -> None:
        self.source = source
        self.kind = kind
        """SQL, or the package of a native expression."""
        self.text = _pyspark_text(source) if kind == "PySpark" else str(source)
        """How messages show it. Different native expressions may have the same text."""

    def __repr__(self) -> str:
        """Return the call that makes the expression; the expression itself if it is native."""
        return f"expr({json.dumps(self.text, ensure_ascii=False)})" if self.kind == SQL else self.text

    def __eq__(self, other: object) -> bool:
        """Return whether both have the same text; native expressions cannot be compared, so only one object equals itself."""
        if not isinstance(other, Expression) or self.kind != other.kind:
            return False
        return self.source is other.source or (self.kind == SQL and self.text == other.text)

    def __hash__(self) -> int:
        """Return the hash of the text."""
        return hash(self.text)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the arguments. Raise TypeError for a column of PySpark, which belongs to the session of its process."""
        if self.kind == "PySpark":
            advice = 'Use SQL, as in sash.expr("price * quantity"), to send a query to other processes.'
            raise TypeError(f"{self.text} is an expression of PySpark, which cannot be pickled. {advice}")
        return Expression, (self.source, self.kind)


def _pyspark_text(column: object) -> str:
    """Return PySpark's text of a column without addresses and counters of this process: the names of results come from it.

    >>> _pyspark_text("Column<'exists(xs, x_7 -> >(x_7, 1))'>")
    'exists(xs, x -> >(x, 1))'
    """
    text = str(column).removeprefix("Column<'").removesuffix("'>")
    for pattern, instead in OF_A_PROCESS:
        text = pattern.sub(instead, text)
    return LAMBDA_VARIABLE.sub(r"\1", text) if LAMBDA.search(text) else text


ColumnLike: TypeAlias = str | Expression | NativeExpression
"""An input of an aggregate: the name of a column, or an expression."""
Condition: TypeAlias = str | Expression | NativeExpression
"""A filter of an aggregate: SQL text, or an expression."""


def expr(text: str) -> Expression:
    """Return SQL as the input of an aggregate, or as a key of a query.

    `text` is an SQL expression over the columns of a row, without aggregates, window functions and subqueries. The engine that
    holds the data evaluates it: Spark, or DuckDB for data in this process, so the dialect is that of the engine. DuckDB is an
    extra: pip install 'sash[sql]'. It has no access to files or the network. Expressions of Polars, Arrow and PySpark need no
    `expr`: agg.sum(pl.col("price") * 2). Those of Polars are evaluated over the whole frame, so they may look at other rows.

    An expression over an ordered dictionary (an ordered categorical of pandas, an Enum of Polars) is text: `agg.max(sash.expr("size"))`
    compares letters, while `agg.max("size")`, also with `where=`, compares in the order of the categories.

    Nulls and NaN: as in SQL; a null is skipped by aggregates.
    Result: an expression; `where=` of an aggregate takes the text itself, or an expression.
    Errors: TypeError if `text` is not a string, ValueError if it is empty. Errors in the text are reported when a query gets its
    data, before any work, with their position.

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"price": [2.0, 3.0, 5.0], "quantity": [1, 4, 2]})
    >>> query = sash.Query(agg.sum(sash.expr("price * quantity"), where="quantity > 1"), window.rows(2))
    >>> query.run(rows)["sum"].to_pylist()
    [None, 12.0, 22.0]
    """
    if not isinstance(text, str):
        raise TypeError(f'expr got {type(text).__name__}, but SQL is a string, as in sash.expr("price * quantity").')
    if not text.strip():
        raise ValueError('expr got no text. Write SQL over the columns of a row, as in sash.expr("price * quantity").')
    return Expression(text)


@dataclass(frozen=True)
class Order:
    """A member of ORDER BY."""

    value: str | Expression
    """The name of a column, or SQL."""
    descending: bool = False
    nulls_first: bool | None = None
    """None if the engine decides."""

    def words(self) -> str:
        """Return what SQL writes after the value."""
        nulls = {True: " NULLS FIRST", False: " NULLS LAST", None: ""}[self.nulls_first]
        return ("DESC" if self.descending else "ASC") + nulls


@dataclass(frozen=True)
class Selection:
    """What SQL makes of the results of a query. The engine that holds them evaluates it."""

    outputs: Mapping[str, str | Expression | Mapping[str, str] | None] | None = None
    """The columns by name: another column, SQL, or fields of a struct by the names of columns. A value of None stands for all columns of
    the results except `hidden`. Without outputs, the results stay as they are."""
    hidden: tuple[str, ...] = ()
    having: Expression | None = None
    order: tuple[Order, ...] = ()
    limit: int | None = None
    offset: int = 0

    @property
    def by_rows(self) -> bool:
        """Whether each row is selected by itself, so that a stream can be selected from."""
        return not self.order and self.limit is None and not self.offset

    @property
    def changes_results(self) -> bool:
        """Whether it does more than to leave out columns of the rows: filters, expressions, other names, a part of the aggregates."""
        outputs = {} if self.outputs is None else self.outputs
        renames = any(value not in (None, name) for name, value in outputs.items())
        lacks = self.outputs is not None and not {*self.hidden} <= {*outputs}
        return self.having is not None or not self.by_rows or renames or lacks

    def columns(self, names: Sequence[str]) -> list[tuple[str, str | Expression | Mapping[str, str]]]:
        """Return the columns of the result and what they are made of; `names` are the columns of the results of the query.

        Raise ValueError if a column is missing, or if two have the same name.

        >>> Selection({"all": None, "peak": "max_load"}, hidden=("max_load",)).columns(["ts", "max_load"])
        [('ts', 'ts'), ('peak', 'max_load')]
        """
        if self.outputs is None:
            return [(name, name) for name in names]
        columns: list[tuple[str, str | Expression | Mapping[str, str]]] = []
        for name, value in self.outputs.items():
            if value is None:
                columns += [(column, column) for column in names if column not in self.hidden]
            else:
                columns.append((name, in_case(value, names) if isinstance(value, str) else value))
        for name, _ in columns:
            if [column for column, _ in columns].count(name) > 1:
                raise ValueError(f"The result would have two columns named {name!r}. Give one another name with AS.")
        return columns


def in_case(name: str, names: Sequence[str]) -> str:
    """Return the column that SQL means by a name, whatever its case. Raise ValueError if there is none.

    >>> in_case("TS", ["ts", "load"])
    'ts'
    """
    similar = [column for column in names if column.lower() == name.lower()]
    matches = [column for column in similar if column == name] or similar
    if len(matches) != 1:
        several = f"The name {name!r} may mean {' or '.join(map(repr, matches))}"
        problem = several if matches else f"There is no column {name!r}"
        raise ValueError(f"{problem}. The results have {', '.join(map(repr, names))}.")
    return matches[0]


class ComputedColumn(str):
    """The name of a column that is computed from others before a query runs.

    It is a string, as all that looks a column up by its name takes it. Other packages ask the functions below, which take any column.

    >>> filtered = ComputedColumn.of("load", Expression("amount > 100"))
    >>> filtered, filtered.value, filtered.where
    ('load where amount > 100', 'load', expr("amount > 100"))
    """

    __slots__ = ("value", "where")
    value: str | Expression | None
    """A column or an expression; None if the column only says whether a row counts."""
    where: Expression | None

    def __new__(cls, name: str, value: str | Expression | None, where: Expression | None) -> Self:
        """Return the name with what it stands for."""
        column = super().__new__(cls, name)
        column.value, column.where = value, where
        return column

    @classmethod
    def of(cls, value: str | Expression | None, where: Expression | None = None) -> ComputedColumn:
        """Return the column for an input and a filter."""
        shown = f"expr({value.text})" if isinstance(value, Expression) else value
        condition = f"where {where.text}" if where is not None else None
        return cls(" ".join(text for text in (shown, condition) if text), value, where)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the arguments."""
        return ComputedColumn, (str(self), self.value, self.where)

    @property
    def is_done(self) -> bool:
        """Whether the column has been computed, so that the data has it."""
        return self.value == str(self)

    def done(self) -> ComputedColumn:
        """Return the name for data that has the column; native expressions of Spark cannot be sent to workers."""
        return ComputedColumn(str(self), str(self), None)

    def renamed(self, name: str) -> ComputedColumn:
        """Return the column under another name."""
        return ComputedColumn(name, self.value, self.where)

    @property
    def expressions(self) -> list[Expression]:
        """The expressions that the column is computed from."""
        return [value for value in (self.value, self.where) if isinstance(value, Expression)]

    @property
    def call(self) -> str:
        """The input as a user writes it; empty if there is none."""
        if self.value is None:
            return ""
        return repr(self.value) if isinstance(self.value, Expression) else call_of(self.value)

    @property
    def word(self) -> str:
        """The name in a form that can be a part of other names.

        >>> ComputedColumn.of(Expression("price * quantity"), Expression("a > 1")).word
        'price_quantity_where_a_1'
        """
        return re.sub(r"\W+", "_", str(self).removeprefix("expr(")).strip("_")


# -- any column, by name or computed ------------------------------------------------------------------------------------


def is_computed(column: str) -> TypeGuard[ComputedColumn]:
    """Return whether a column is computed from others."""
    return isinstance(column, ComputedColumn)


def computed_in(columns: Iterable[str]) -> list[ComputedColumn]:
    """Return those of some columns that are computed from others."""
    return [column for column in columns if is_computed(column)]


def source_of(column: str) -> str | Expression | None:
    """Return the column or expression that the values of a column come from; None if it only says whether a row counts.

    >>> source_of("load"), source_of(ComputedColumn.of("load", Expression("amount > 100")))
    ('load', 'load')
    """
    return column.value if is_computed(column) else column


def where_of(column: str) -> Expression | None:
    """Return the filter of a column, if it has one."""
    return column.where if is_computed(column) else None


def call_of(column: str) -> str:
    """Return the input of an aggregate as a user writes it.

    >>> call_of("load"), call_of(ComputedColumn.of(expr("a + b")))
    ('"load"', 'expr("a + b")')
    """
    return column.call if is_computed(column) else json.dumps(str(column), ensure_ascii=False)


def word_of(column: str) -> str:
    """Return a column in a form that can be a part of other names."""
    return column.word if is_computed(column) else column


def as_column(value: Any) -> Any:
    """Return an input of an aggregate as the name of a column; return what is no input as it is.

    >>> as_column("load"), as_column(expr("a + b")), as_column(3)
    ('load', 'expr(a + b)', 3)
    """
    expression = as_expression(value)
    if expression is None:
        return value
    bare = _bare_name(expression)
    return ComputedColumn.of(expression) if bare is None or expression.kind == SQL else bare


def as_key(value: Any) -> Any:
    """Return an expression as the name of a key; return anything else as it is. An expression that is only a name is that name.

    >>> as_key(expr("upper(word)")), as_key(expr("word")), as_key("word")
    ('upper(word)', 'word', 'word')
    """
    expression = as_expression(value)
    if expression is None:
        return value
    bare = _bare_name(expression)
    if bare is None and expression.kind == "PySpark" and expression.text.isidentifier():
        bare = expression.text  # a literal looks the same, but a constant is no key
    return ComputedColumn(_output_name(expression), expression, None) if bare is None else bare


def _bare_name(expression: Expression) -> str | None:
    """Return the name of the column that an expression is; None for other expressions, and where they look the same."""
    if expression.kind == "Polars":
        match = re.fullmatch(r'col\("(.*)"\)', expression.text)
        return match[1] if match and expression.source.meta.root_names() == [match[1]] else None
    return expression.text if expression.kind != "PySpark" and expression.text.isidentifier() else None


def _output_name(expression: Expression) -> str:
    """Return the name that the result of an expression has: its alias, the field of a struct, or its text."""
    text = expression.text
    if expression.kind == "Polars":
        return str(expression.source.meta.output_name())
    if expression.kind == "PySpark":
        match = re.search(r" AS `?(\w+)`?$", text) or re.fullmatch(r"(?:\w+\.)+(\w+)", text)
        return match[1] if match else text
    return text


def as_expression(value: Any) -> Expression | None:
    """Return an expression, wrapped if it is native; None for anything else."""
    if isinstance(value, Expression):
        return value
    for base in type(value).__mro__:
        package = NATIVE.get((base.__module__.partition(".")[0], base.__name__))
        if package is not None:
            return Expression(value, package)
    return None


def as_condition(name: str, value: Any) -> Expression:
    """Return a filter as an expression. Raise TypeError or ValueError if it is none.

    >>> as_condition("sum", "a > 1")
    expr("a > 1")
    """
    if isinstance(value, str) and value.strip():
        return Expression(value)
    expression = as_expression(value)
    if expression is None:
        problem, text = ValueError if isinstance(value, str) else TypeError, repr(value)
        shown = text if len(text) < 60 and "\n" not in text else f"<{type(value).__name__}>"  # noqa: PLR2004
        raise problem(f'{name} got where={shown}, which is not a condition. Use SQL, as in where="amount > 100".')
    return expression


def expressions_in(columns: Iterable[ComputedColumn]) -> list[Expression]:
    """Return the expressions of columns, each once."""
    return list(dict.fromkeys(expression for column in columns for expression in column.expressions))
