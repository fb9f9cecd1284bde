"""How messages, results and `repr` write an aggregate."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import TYPE_CHECKING, Any

from sash.expressions import SQL, call_of, where_of, word_of

if TYPE_CHECKING:
    from sash.aggregates.base import Aggregate

MAX_SHOWN = 60
"""The longest `repr` of a value, in characters, that a message shows."""


@dataclass(frozen=True, kw_only=True)
class FactoryCall:
    """The arguments of the factory that made an aggregate, besides columns."""

    constants: tuple[Any, ...] = field(default=(), compare=False)
    """The arguments after the columns, such as the fraction of a quantile."""
    keywords: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """The keyword arguments that are not the default."""
    shown_columns: tuple[str, ...] | None = field(default=None, compare=False)
    """The columns that the user named, if SQL made other columns of them: error messages show these."""
    entry_names: tuple[str, ...] = field(default=(), compare=False)
    """If the result is a list of a fixed length: the names of its entries, for columns of their own."""
    alias: str | None = field(default=None, compare=False)
    """The name of the result in a list of aggregates; None if the aggregate names itself."""


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


def not_a_name(aggregate: str, argument: str, right_call: str) -> TypeError:
    """Return the error for a column that is not named by a string.

    >>> not_a_name("sum", "column=3", 'agg.sum("load")')
    TypeError('sum got column=3, which is not the name of a column. Give a string, as in agg.sum("load").')
    """
    return TypeError(
        f"{aggregate} got {argument}, which is not the name of a column. Give a string, as in {right_call}."
    )


def call_text(aggregate: Aggregate[Any]) -> str:
    """Return the call that makes an aggregate.

    >>> from sash import agg
    >>> print(call_text(agg.quantile("load", 0.9, where="load > 0")))
    quantile("load", 0.9, where="load > 0")
    """
    inner = aggregate.forms.inner
    columns = aggregate.named_columns if inner is None else aggregate.columns[:1]
    shown = [call_of(column) for column in columns]
    shown = [*filter(None, shown), *map(as_literal, aggregate.call.constants)]
    if inner is not None:
        shown.append(repr(inner))
    shown += [f"{name}={as_literal(value)}" for name, value in aggregate.call.keywords.items()]
    where = where_of(columns[0]) if columns else None
    if where is not None:
        shown.append(f"where={as_literal(where.text) if where.kind == SQL else where.text}")
    alias = "" if aggregate.call.alias is None else f".alias({as_literal(aggregate.call.alias)})"
    return f"{aggregate.name}({', '.join(shown)}){alias}"


def result_name(aggregate: Aggregate[Any]) -> str:
    """Return the name of the result if the query has a list of aggregates, which has no names.

    It has the name, the columns, and constants that are numbers, words or durations; others, as lists, would not be readable.
    A keyword that is True shows as its own name.

    >>> from sash import agg
    >>> result_name(agg.count()), result_name(agg.quantile("load", 0.9)), result_name(agg.concat("word", sep=", "))
    ('count', 'quantile_load_0.9', 'concat_word')
    >>> result_name(agg.per_value("plug", agg.sum("load")))
    'sum_load_per_plug'
    >>> result_name(agg.rank("x", method="min", pct=True)), result_name(agg.ewm_mean("load", half_life="1h"))
    ('rank_x_min_pct', 'ewm_mean_load_1h')
    """
    if aggregate.call.alias is not None:
        return aggregate.call.alias
    if aggregate.forms.inner is not None:
        return f"{result_name(aggregate.forms.inner)}_per_{word_of(aggregate.columns[0])}"
    keywords = aggregate.call.keywords.items()
    constants = [*aggregate.call.constants, *(name if value is True else value for name, value in keywords)]
    duration = None if aggregate.time is None else str(aggregate.time.duration)
    shown = [
        str(constant).replace(" ", "")
        for constant in constants
        if isinstance(constant, Real)
        or (isinstance(constant, str) and (constant.isidentifier() or constant == duration))
    ]
    return "_".join([aggregate.name, *map(word_of, aggregate.named_columns), *shown])
