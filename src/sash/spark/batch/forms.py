"""An aggregate in two stages: what Spark computes for each slice, and what is made of that."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sash.aggregates import BUILT_IN
from sash.aggregates.base import Aggregate
from sash.spark.sql import Order, Value


@dataclass(frozen=True)
class SqlForm:
    """An aggregate in two stages."""

    expressions: Mapping[str, str]
    """What Spark computes for each slice, by the names of columns."""
    aggregate: Aggregate[Any]
    """What is made of those columns."""


@dataclass(frozen=True)
class Given:
    """An aggregate, in the form for its column, and what it reads."""

    aggregate: Aggregate[Any]
    values: Sequence[Value]
    order: Order

    @property
    def value(self) -> Value:
        """The first column."""
        return self.values[0]

    @property
    def label(self) -> str:
        """The columns, as the names of partials say them."""
        return ", ".join(value.name for value in self.values) or "*"

    def merged(self, expressions: Mapping[str, str], lift: Callable[..., Any] | None = None, **other: Any) -> SqlForm:
        """Return the form whose columns have these names and expressions; without a lift the aggregate's own will do."""
        named = {f"{name} of {self.label}": text for name, text in expressions.items()}
        aggregate = replace(
            self.aggregate,
            lift=lift or self.aggregate.lift,
            columns=tuple(named),
            inputs=len(named),
            counts=(),  # which are not the same in all lanes
            variants={},
            **other,
        )
        return SqlForm(named, aggregate)


def is_own(aggregate: Aggregate[Any]) -> bool:
    """Tell whether an aggregate is one of Sash's: it may have the name of one, and other functions.

    >>> from sash import agg, aggregate
    >>> is_own(agg.max("x")), is_own(aggregate("max", lift=abs, combine=max)("x"))
    (True, False)
    """
    try:
        own = BUILT_IN[aggregate.name](*aggregate.columns)
    except (KeyError, TypeError):  # there is none of that name, or it takes other columns
        return False
    functions = ("lift", "combine", "lower")
    return all(_code(getattr(own, function)) is _code(getattr(aggregate, function)) for function in functions)


def _code(function: Any) -> Any:
    return getattr(
        function, "__code__", function
    )  # one made in a function, as that of a quantile, is another each time


def of_kind(aggregate: Aggregate[Any], values: Sequence[Value]) -> Aggregate[Any]:
    """Return the form for the kind of an aggregate's column; times are left to the general one."""
    if len(values) != 1 or not (values[0].is_whole or values[0].is_real):
        return aggregate
    return aggregate.of_kind("int" if values[0].is_whole else "float")


def refusal(given: Given, why: str = "") -> str:
    """Return the sentence that says which partials there are not."""
    types = " and ".join(str(value.type) for value in given.values)
    return f"Spark SQL has no partials of {given.aggregate.name} of {types}{why}."
