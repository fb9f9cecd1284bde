"""What identifies PySpark expressions in the checkpoint of a stream: names that tell their plans, and hashes of Python functions.

    agg.sum(F.col("x") * 2)     expr(*(x, int 2)) [3f1c09a47b52]
    by=F.upper("k").alias("u")  u, and in the fingerprint keys: u = upper(k) [77d2c1b0a9ee]

The name of the column that is computed has a hash of the plan in it. So the fingerprint has it too, and stored rows are never
taken for those of another expression. Hashes of functions are apart, because only the same version of Python compiles a
function to the same code.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace

from pyspark.sql import DataFrame

from sash.expressions import ComputedColumn, Expression
from sash.kernels.function_identity import UnknownContentError, identify
from sash.plan.query_spec import QuerySpec
from sash.spark.column_tree import Tree, UnknownExpressionError, read_column, show

LONGEST = 100
"""The most characters of an expression in the name of its column."""


@dataclass(frozen=True)
class Identified:
    """A query whose computed columns have names that tell what they are."""

    query: QuerySpec
    keys: dict[str, str] = field(default_factory=dict)
    """The plans of keys that PySpark computes, by the names of the keys."""
    functions: dict[str, str] = field(default_factory=dict)
    """Hashes of the Python functions in computed columns and keys, by their names."""


def identify_columns(query: QuerySpec, frame: DataFrame) -> Identified:
    """Return a query with names for its PySpark expressions that are complete, and the same in all processes.

    Raise ValueError if an expression cannot be identified.
    """
    computed = [column for column in query.computed if any(part.kind == "PySpark" for part in column.expressions)]
    if not computed:
        return Identified(query)
    identities = {column: _identity(column, frame) for column in computed}
    keys = {str(column): title for column, (title, _) in identities.items() if column in query.by}
    names: dict[str, ComputedColumn] = {}
    for column, (title, hashed) in identities.items():
        alike = {others for other, others in identities.values() if other == title}
        name = title if len(alike) == 1 else f"{title} {hashed}"
        names[column] = column.renamed(name)
    aggregates = {
        name: aggregate.over(tuple(names.get(column, column) for column in aggregate.named_columns))
        for name, aggregate in query.aggregates.items()
    }
    functions = {
        str(column if column in query.by else names[column]): hashed
        for column, (_, hashed) in identities.items()
        if hashed
    }
    return Identified(replace(query, aggregates=aggregates), keys, functions)


def _identity(column: ComputedColumn, frame: DataFrame) -> tuple[str, str]:
    """Return what identifies a computed column: its expressions, shortened, with a hash of their plans; and a hash of its functions.

    The hash of the Python functions is empty if there are none. Raise ValueError if an expression cannot be identified.
    """
    trees: list[Tree] = []
    functions: list[str] = []
    shown: list[str] = []
    for part in (column.value, column.where):
        if isinstance(part, Expression) and part.kind == "PySpark":
            tree, function = _read(part, frame)
            functions += function
            text = show(tree)
        else:
            text = part.text if isinstance(part, Expression) else part or ""
            tree = (part.kind, text) if isinstance(part, Expression) else ("name", str(part))
        trees.append(tree)
        shown.append(text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…")
    value = f"expr({shown[0]})" if isinstance(column.value, Expression) else shown[0]
    where = f"where {shown[1]}" if column.where is not None else ""
    plan = hashlib.sha256(repr(trees).encode()).hexdigest()[:12]
    return " ".join(filter(None, (value, where, f"[{plan}]"))), identify(*functions) if functions else ""


def _read(expression: Expression, frame: DataFrame) -> tuple[Tree, list[str]]:
    """Return the tree of an expression and the hash of each Python function in it."""
    try:
        column = read_column(expression.source, frame.sparkSession)
        for name in column.bound_names:
            _check_unique(name, frame)
        return column.tree, [identify(function, exact=True) for function in column.functions]
    except (UnknownExpressionError, UnknownContentError) as error:
        raise ValueError(
            f"The checkpoint of a stream must tell whether a restarted query is the same, but for {expression.text} Sash "
            f'cannot: {error}. Use SQL, as in sash.expr("price * quantity"), or compute the column before the query, with '
            "df.withColumn."
        ) from error


def _check_unique(name: str, frame: DataFrame) -> None:
    alike = [other for other in frame.columns if other.lower() == name.lower().strip("`")]
    if len(alike) > 1:
        raise UnknownExpressionError(f"the stream has {len(alike)} columns named {name!r}")
