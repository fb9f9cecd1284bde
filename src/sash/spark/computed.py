"""What Spark computes around a query: expressions and filters of its inputs, names in another case, and the SQL around it.

The SQL around a query has the rows that WHERE keeps, what a select list makes of results, and the tables that FROM names.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 — the usual name
from pyspark.sql.types import BooleanType, NullType, StructType

from sash.aggregates.naming import as_literal
from sash.aggregates.sql import quote
from sash.engine.check_columns import check_columns, check_result_names
from sash.engine.select_sql import READERS, format_of
from sash.expressions import SQL, ComputedColumn, Expression, Order, Selection, expressions_in, in_case, source_of
from sash.plan.query_spec import QuerySpec
from sash.windows.base import ALL_COLUMNS

CASE = "spark.sql.caseSensitive"
QUOTED = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`|--[^\n]*|/\*.*?\*/""", re.DOTALL)
"""Strings, quoted names and comments in SQL, which do not tell where a subquery is."""
NOT_ROW_WISE = (
    ("INVALID_WHERE_CONDITION", r"invalid expressions: (\w+)", "aggregates rows"),
    ("WINDOW_FUNCTION_WITHOUT_OVER_CLAUSE", r"function \"(\w+)", "has a window function"),
    ("WINDOW_FUNCTION_NOT_ALLOWED", "inside (over)", "has a window function"),
    ("UNSUPPORTED_GENERATOR", r"\b((?:pos)?explode\w*|inline\w*|stack|json_tuple)\(", "makes several rows"),
)
"""Errors of Spark for what a filter cannot have, where they name the function, and what messages say."""
CALLS = re.compile(r"\w\s*\(|->|(?:^|[(,.])\s*\*|\b(?:select|from|values|table|with|over)\b", re.IGNORECASE)
"""What SQL has if it calls a function, has a subquery, or names all columns."""
SUBQUERY = "UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY"
PLACE = re.compile(r"line (\d+),? pos (\d+)")
"""Where Spark found an error in SQL."""
FORMATS = {**{ending: reader.removeprefix("read_") for ending, reader in READERS.items()}, ".orc": "orc"}
"""Spark's formats of files, by the ending of the name without .gz and .zst."""


def ignores_case(frame: DataFrame) -> bool:
    """Return whether names that differ only in case are the same in the session of a frame."""
    return frame.sparkSession.conf.get(CASE) != "true"


def in_own_case(declared: QuerySpec, frame: DataFrame) -> tuple[DataFrame, dict[str, str]]:
    """Return a frame whose columns have the names that a query uses, and their own names, if the session ignores case.

    Raise ValueError if a query uses two spellings of one name.
    """
    if not ignores_case(frame):
        return frame, {}
    own_names: dict[str, str] = {}
    origins = map(source_of, declared.columns)
    names = list(dict.fromkeys(origin for origin in origins if isinstance(origin, str)))
    for name in names:
        alike = [other for other in frame.columns if other.lower() == name.lower()]
        if name in frame.columns or len(alike) != 1 or name == ALL_COLUMNS:
            continue
        if alike[0] in names or alike[0] in own_names.values():
            other = next(spelling for spelling in names if spelling.lower() == name.lower() and spelling != name)
            raise ValueError(
                f"The query names one column {other!r} and {name!r}. Use one spelling, or set {CASE}=true."
            )
        own_names[name] = alike[0]
    for name, other in own_names.items():
        frame = frame.withColumnRenamed(quote(other) if "." in other else other, name)
    return frame, own_names


def with_computed(declared: QuerySpec, frame: DataFrame) -> tuple[DataFrame, QuerySpec]:
    """Return a frame with the computed columns of a query, and the query over them.

    Raise ValueError or TypeError if an expression is wrong. Spark analyses expressions; it runs no job.
    """
    if all(expression.is_done for expression in declared.computed):
        return frame, declared
    check_columns(declared, frame.columns)
    check_result_names(declared, frame.columns)
    expressions = list(expressions_in(declared.computed))
    conditions = dict.fromkeys(computed.where for computed in declared.computed if computed.where is not None)
    if (simple := _with_simple(declared, expressions, frame)) is not None:
        return simple, declared.as_computed()
    columns = _checked_together(expressions, list(conditions), frame)
    if columns is None:
        columns = {expression: _checked(expression, frame) for expression in expressions}
        columns |= {where: _condition(where, columns[where], frame) for where in conditions}
    added = [_column(computed, columns).alias(str(computed)) for computed in declared.computed]
    return frame.select("*", *added), declared.as_computed()


def _with_simple(declared: QuerySpec, expressions: Sequence[Expression], frame: DataFrame) -> DataFrame | None:
    """Return a frame with computed columns, if no expression can have more than operators: then Spark analyses them only once.

    Return None if others have to be checked, or if an expression is wrong.
    """
    if any(it.kind != SQL or CALLS.search(_unquoted(it.text)) for it in expressions):
        return None
    try:
        columns = {expression: _enclosed(expression) for expression in expressions}
        added = [_column(computed, columns).alias(str(computed)) for computed in declared.computed]
        with_added = frame.select("*", *added)
        with_added.schema  # noqa: B018 — Connect analyses a plan when it is asked for the schema
    except PySparkException:
        return None
    return with_added


def _unquoted(text: str) -> str:
    """Return SQL with blanks for strings, quoted names and comments."""
    return QUOTED.sub(lambda quoted: " " * len(quoted.group()), text)


def _column(computed: ComputedColumn, columns: dict[Expression, Column]) -> Column:
    if isinstance(computed.value, Expression):
        value = columns[computed.value]
    else:
        value = F.lit(True) if computed.value is None else F.col(quote(computed.value))
    return value if computed.where is None else F.when(columns[computed.where], value)


def _checked_together(
    expressions: Sequence[Expression], conditions: Sequence[Expression], frame: DataFrame
) -> dict[Expression, Column] | None:
    """Return expressions as columns, if one analysis finds nothing wrong with any of them; None if each has to be checked by itself.

    An analysis takes Spark some milliseconds, and `_checked` needs three for an expression.
    """
    if any(expression.kind not in (SQL, "PySpark") for expression in expressions):
        return None
    try:
        columns = {expression: _enclosed(expression) for expression in expressions}
        given = [F.expr(it.text) if it.kind == SQL else columns[it] for it in expressions]
        checks = [*(column.isNull() for column in given), *map(_lifted, columns.values())]
        analysed = frame.filter(F.coalesce(*checks))
        types = analysed.select(F.lit(1), *(columns[where].alias(f"{n}") for n, where in enumerate(conditions))).schema
    except PySparkException:
        return None
    are_boolean = all(isinstance(field.dataType, BooleanType) for field in types.fields[1:])
    return columns if are_boolean else None


def _enclosed(expression: Expression) -> Column:
    """Return an expression as a column; SQL in parentheses, since F.expr takes the last word of "price > 1 AND" as a name."""
    if expression.kind != SQL:
        column: Column = expression.source
        return column
    return F.expr(f"(\n{expression.text}\n)")


def _lifted(column: Column) -> Column:
    """Return a condition that has a column inside of a lambda function, where Spark's analysis rejects subqueries."""
    return F.size(F.transform(F.array(F.lit(0)), lambda _: column.isNull())) > 0


def _checked(expression: Expression, frame: DataFrame) -> Column:
    """Return an expression as a column. Raise an error if it does not fit the frame, or is not evaluated for each row."""
    if expression.kind not in (SQL, "PySpark"):
        raise TypeError(
            f"{expression.text} is an expression of {expression.kind}, which Spark cannot evaluate. Use SQL, as in "
            'sash.expr("price * quantity"), or an expression of PySpark.'
        )
    is_text = expression.kind == SQL
    try:
        column: Column = F.expr(expression.text) if is_text else expression.source
        _analyse(frame, column.isNull())
    except PySparkException as error:
        raise _wrong(expression, str(error)) from error
    if is_text:
        try:
            column = _enclosed(expression)
            _analyse(frame, column.isNull())
        except PySparkException as error:
            problem = "it is not one expression, or names its result, which an input of an aggregate cannot do."
            raise _wrong(expression, problem) from error
    _refuse_subquery(expression, column, frame)
    return column


def _analyse(frame: DataFrame, condition: Column) -> None:
    """Have Spark analyse a filter, as it accepts neither aggregates nor window functions nor generators.

    Connect analyses a plan when it is asked for the schema, but takes that of a filter from the frame below it.
    """
    frame.filter(condition).select(F.lit(1)).schema  # noqa: B018


def _refuse_subquery(expression: Expression, column: Column, frame: DataFrame) -> None:
    """Raise ValueError for a subquery, which a filter may have: Spark's analysis rejects it inside of a lambda function.

    The text does not tell: `exists(FROM days)` has a subquery, `word <> 'select'` has none.
    """
    try:
        _analyse(frame, _lifted(column))
    except PySparkException as error:
        if SUBQUERY not in str(error):
            return  # Python UDFs, which lambda functions cannot call
        word = re.search(r"\b(select|from|values|table|with)\b", _unquoted(expression.text), re.IGNORECASE)
        problem = "it has a subquery, but an expression is evaluated for each row by itself."
        raise _wrong(expression, problem, word if expression.kind == SQL else None) from error


def _wrong(expression: Expression, problem: str, word: re.Match[str] | None = None) -> ValueError:
    """Return the error for an expression that Spark rejects, with its position in the text: that of a word, or where Spark says."""
    is_text, text = expression.kind == SQL, expression.text
    position = PLACE.search(problem) if is_text else None
    for sign, function, problem_is in NOT_ROW_WISE:
        if sign in problem:
            name = re.search(function, problem)
            if position is None:
                word = re.search(rf"\b{re.escape(name[1] if name else 'over')}\b", text, re.IGNORECASE)
            problem = f"it {problem_is}, but an expression is evaluated for each row by itself."
    line, place = (int(position[1]), int(position[2])) if position else (0, 0)
    if word is not None:
        before = text[: word.start()].split("\n")
        line, place = len(before), len(before[-1])
    lines = text.split("\n")
    marked = f"\n  {lines[line - 1]}\n  {' ' * place}^" if 0 < line <= len(lines) else ""
    sentence = problem.strip().split("\n")[0].split("; line ")[0]
    shown = f"SQL {as_literal(text)}" if is_text else text
    return ValueError(f"{shown}: {sentence}{marked}")


def _condition(where: Expression, column: Column, frame: DataFrame) -> Column:
    """Return a filter as a column of booleans. Raise TypeError if it is neither true nor false."""
    dtype = frame.select(column.alias("x")).schema["x"].dataType
    if not isinstance(dtype, BooleanType | NullType):
        raise TypeError(f'where="{where.text}" is of type {dtype.simpleString()}, but a condition must be a boolean.')
    return column.cast("boolean") if isinstance(dtype, NullType) else column


def rows_where(frame: DataFrame, condition: Expression) -> DataFrame:
    """Return the rows for which a condition is true."""
    return frame.where(F.expr(condition.text))


def select_from(frame: DataFrame, selection: Selection) -> DataFrame:
    """Return what a selection makes of results. Raise ValueError for ORDER BY and LIMIT of a stream."""
    if frame.isStreaming and not selection.by_rows:
        raise ValueError(
            "ORDER BY, LIMIT and OFFSET need all results, but a stream has no end. Leave them out, or run on a table."
        )
    names = frame.columns
    if selection.having is not None:
        frame = rows_where(frame, selection.having)
    if selection.order:
        frame = frame.orderBy(*[_ordered(order, names) for order in selection.order])
    if selection.offset:
        frame = frame.offset(selection.offset)
    if selection.limit is not None:
        frame = frame.limit(selection.limit)
    if selection.outputs is None:
        return frame
    return frame.select(*[_selected(value, names).alias(name) for name, value in selection.columns(names)])


def _selected(value: Any, names: list[str]) -> Column:
    if isinstance(value, Expression):
        return F.expr(value.text)
    if isinstance(value, str):
        return F.col(quote(in_case(value, names)))
    return F.struct(*[F.col(column).alias(name) for name, column in value.items()])


def _ordered(order: Order, names: list[str]) -> Column:
    direction = "desc" if order.descending else "asc"
    nulls = {None: "", True: "_nulls_first", False: "_nulls_last"}[order.nulls_first]
    ordered: Column = getattr(_selected(order.value, names), f"{direction}{nulls}")()
    return ordered


def select_schema(frame: DataFrame, schema: StructType, selection: Selection) -> StructType:
    """Return the schema of what a selection makes of results of a schema."""
    return select_from(frame.sparkSession.createDataFrame([], schema), selection).schema


def read_files(session: SparkSession, path: str) -> DataFrame:
    """Return the rows of files. Raise ValueError if the ending of the path names no format."""
    file_format = format_of(path, FORMATS)
    separator = "\t" if ".tsv" in Path(path).name.lower() else ","
    options: dict[str, Any] = {"header": True, "inferSchema": True, "sep": separator} if file_format == "csv" else {}
    return session.read.format(file_format).options(**options).load(path)
