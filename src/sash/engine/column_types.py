"""Which columns an aggregate or a window can read: what is refused, and what is interpreted."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sash.aggregates.base import Aggregate
from sash.aggregator.columns import empty_column, refuse_times
from sash.algorithms import find_algorithm
from sash.engine.nested_keys import can_be_key
from sash.engine.passes import is_number
from sash.kernels import CannotCompileError
from sash.plan.declared import Declared
from sash.windows import Window


def refuse_wrong_types(declared: Declared, schema: pa.Schema) -> None:
    """Say so if a column is of a type that the query can't read."""
    for name in declared.by:
        kind = schema.field(name).type
        if not can_be_key(kind):
            message = (
                f"The key {name!r} is of {kind}, whose values can't be told apart: take one of its parts as a column, or "
                "cast it."
            )
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
        if (
            aggregate.gives == "arithmetic"
            and pa.types.is_temporal(kind)
            and not (aggregate.ranked and has_middle(kind))
        ):
            message = (
                f"{label} does arithmetic, which {kind} has none of: cast column {field.name!r} to int64 to compute "
                "with its ticks."
            )
            raise TypeError(message)
    compares = aggregate.codes[place] == "ordered" if aggregate.codes else _sorts(aggregate)
    if _sorts(aggregate) and pa.types.is_dictionary(field.type) and field.type.ordered:
        message = (
            f"{label} of column {field.name!r}: it has an order of its own, which only max, min and the like know."
        )
        raise TypeError(message)
    if compares:
        _refuse_unordered(kind, f"{label} of column {field.name!r}")
    if (
        aggregate.distinct or aggregate.modal or (aggregate.name == "collect_distinct" and aggregate.gives == "values")
    ) and pa.types.is_nested(kind):
        message = f"{label} of column {field.name!r}: values of {kind} can't be told apart: take one of their parts."
        raise TypeError(message)


def _sorts(aggregate: Aggregate[Any]) -> bool:
    return aggregate.gives == "values" and aggregate.name in ("top_k", "bottom_k")


def has_middle(kind: pa.DataType) -> bool:
    """Tell whether there is something between two times of a type: Python's end at microseconds, and hours go round.

    >>> has_middle(pa.timestamp("us")), has_middle(pa.timestamp("ns")), has_middle(pa.time32("s"))
    (True, False, False)
    """
    return not pa.types.is_time(kind) and getattr(kind, "unit", "") != "ns"


def _refuse_unordered(kind: pa.DataType, label: str) -> None:
    if pa.types.is_nested(kind) or pa.types.is_interval(kind):
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
        if keeper and not algorithm.keeps_values:
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


def readable(table: pa.Table) -> pa.Table:
    """Return a table whose types all of Arrow's functions know: views of strings as strings, runs as rows.

    >>> readable(pa.table({"x": pa.array([["a"]], pa.list_(pa.string_view()))})).schema.field("x").type
    ListType(list<item: string>)
    """
    for place, field in enumerate(readable_schema(table.schema)):
        if field.type != table.schema.field(place).type:
            column = table[place]
            if pa.types.is_run_end_encoded(column.type):
                column = pc.run_end_decode(column)
            table = table.set_column(place, field.name, column.cast(field.type))
    return table


def readable_schema(schema: pa.Schema) -> pa.Schema:
    """Return the schema of a table that was made readable."""
    decoded = [
        field.with_type(field.type.value_type) if pa.types.is_run_end_encoded(field.type) else field for field in schema
    ]
    return pa.schema([_known_field(field) for field in decoded])


def _known_type(kind: pa.DataType) -> pa.DataType:  # noqa: PLR0911 — a chain is read line by line
    if pa.types.is_decimal32(kind) or pa.types.is_decimal64(kind):
        return pa.decimal128(kind.precision, kind.scale)
    if pa.types.is_struct(kind):
        return pa.struct([_known_field(field) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(_known_field(kind.key_field), _known_field(kind.item_field), kind.keys_sorted)
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(_known_field(kind.value_field), kind.list_size)
    if pa.types.is_list(kind):
        return pa.list_(_known_field(kind.value_field))
    if pa.types.is_large_list(kind):
        return pa.large_list(_known_field(kind.value_field))
    return {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}.get(kind, kind)


def _known_field(field: pa.Field) -> pa.Field:
    return field.with_type(_known_type(field.type))
