"""Which columns an aggregate or a window can read: what is refused, and what is interpreted."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from sash.aggregates.base import Aggregate
from sash.aggregator.columns import empty_column, refuse_times
from sash.algorithms import find_algorithm
from sash.engines.passes import is_number
from sash.kernels import CannotCompileError
from sash.plan.declared import Declared
from sash.windows import Window


def refuse_wrong_types(declared: Declared, schema: pa.Schema) -> None:
    """Say so if a column is of a type that the query can't read."""
    for name in declared.by:
        kind = schema.field(name).type
        if pa.types.is_nested(kind):
            message = f"The key {name!r} is of {kind}, which can't be grouped by: take one of its parts as a column."
            raise TypeError(message)
    for name in declared.order_by:
        _refuse_unordered(schema.field(name).type, f"order_by: column {name!r}")
    for window in declared.windows.values():
        for name in window.columns:
            if name != "*":
                _refuse_for_window(window, name, schema.field(name).type)
    for name, aggregate in declared.aggregates.items():
        for place, column in enumerate(aggregate.columns):
            _refuse_for_aggregate(name, aggregate, place, schema.field(column))


def refuse_missing(declared: Declared, names: list[str]) -> None:
    """Say so if a column is missing, or a result has no place among them."""
    for name in declared.columns:
        if name not in names:
            message = f"There is no column {name!r}: the data has {', '.join(map(repr, names))}."
            raise ValueError(message)
        if names.count(name) > 1:
            message = f"There are {names.count(name)} columns named {name!r}: rename all but one."
            raise ValueError(message)
    if declared.per_row:
        added = [declared.result_name(name, window) for name in declared.aggregates for window in declared.windows]
        if taken := [name for name in added if name in names]:
            message = f"The data has a column {taken[0]!r} already, where a result would go: rename the aggregate."
            raise ValueError(message)


def _refuse_for_window(window: Window, name: str, kind: pa.DataType) -> None:
    if window.kind == "punctuated" and not pa.types.is_boolean(kind):
        message = f"{window}: column {name!r} is of {kind}, but it must be true or false: compare it with something."
        raise TypeError(message)
    if window.kind == "delta" and not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        message = f"{window}: column {name!r} is of {kind}, but it must hold numbers: cast it."
        raise TypeError(message)


def _refuse_for_aggregate(name: str, aggregate: Aggregate[Any], place: int, field: pa.Field) -> None:
    kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    label = f"{name!r}: {aggregate.name}"
    if aggregate.gives in ("arithmetic", "difference"):
        computed = is_number(kind) or pa.types.is_decimal(kind)
        if not computed:
            message = (
                f"{label} computes with its values, and column {field.name!r} is of {field.type}: cast it to numbers."
            )
            raise TypeError(message)
        if aggregate.gives == "arithmetic" and pa.types.is_temporal(kind) and not aggregate.interpreted_only:
            message = (
                f"{label} does arithmetic, which {kind} has none of: cast column {field.name!r} to int64 to compute "
                "with its ticks."
            )
            raise TypeError(message)
    if aggregate.codes and aggregate.codes[place] == "ordered":
        _refuse_unordered(kind, f"{label} of column {field.name!r}")


def _refuse_unordered(kind: pa.DataType, label: str) -> None:
    if pa.types.is_nested(kind):
        message = f"{label}: values of {kind} have no order: take one of their parts as a column."
        raise TypeError(message)


def why_interpreted(declared: Declared, schema: pa.Schema, *, compiled: bool) -> dict[str, str]:
    """Return why aggregates are not compiled, by the names of those that are not, as far as types tell."""
    reasons = {}
    for name, aggregate in declared.aggregates.items():
        if not compiled:
            reasons[name] = "compiled=False was given"
        elif reason := _why(declared, aggregate, [schema.field(column).type for column in aggregate.columns]):
            reasons[name] = reason
    return reasons


def _why(declared: Declared, aggregate: Aggregate[Any], types: list[pa.DataType]) -> str:  # noqa: PLR0911 — a chain
    for place, kind in enumerate(types):
        if not is_number(kind) and (not aggregate.codes or not can_be_coded(kind)):
            return f"columns of {kind} are not compiled: only numbers, booleans and times are"
        if pa.types.is_dictionary(kind) and not aggregate.codes:
            return f"column {aggregate.columns[place]} is a dictionary"
    keeper = bool({"ranked", "distinct", "modal"} & aggregate.laws)
    if aggregate.interpreted_only and not (keeper and declared.slicing in ("auto", "none")):
        return aggregate.interpreted_only
    if declared.algorithm != "auto":
        try:
            algorithm = find_algorithm(declared.algorithm, aggregate)
        except ValueError:  # its form for a kind of column will do
            return ""
        if algorithm.interpreted_only:
            return algorithm.interpreted_only
        if keeper and algorithm.compiled_query == "query":
            return aggregate.interpreted_only
    try:
        refuse_times(aggregate, [empty_column(kind) for kind in types if is_number(kind)])
    except CannotCompileError as error:
        return str(error)
    return ""


def can_be_coded(kind: pa.DataType) -> bool:
    """Tell whether Arrow can number the different values of a type."""
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    return not pa.types.is_nested(plain)
