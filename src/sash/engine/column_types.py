"""Which types of columns a query can read, and which are interpreted."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sash.aggregates.base import Aggregate
from sash.aggregator.columns import check_times, empty_column
from sash.algorithms import find_algorithm
from sash.engine.nested_keys import can_be_key
from sash.expressions import Computed
from sash.hints import did_you_mean, list_names
from sash.kernels import CannotCompileError
from sash.kernels.kernel import KINDS
from sash.plan.declared import Declared
from sash.windows import Window
from sash.windows.base import ALL_COLUMNS

USE_A_PART = "Put one of its fields or elements into a column of its own."


def check_types(declared: Declared, schema: pa.Schema) -> None:
    """Raise TypeError if the query cannot read a column of this type."""
    check_keys(declared, schema)
    _check_other_types(declared, schema)


def check_keys(declared: Declared, schema: pa.Schema) -> None:
    """Raise TypeError if the values of a key cannot be compared."""
    for name in [name for name in declared.by if name in schema.names]:
        kind = schema.field(name).type
        if not can_be_key(kind):
            message = (
                f"The key {name!r} is of type {kind}, whose values cannot be compared. Cast it, or put one of its fields into "
                "a column of its own."
            )
            raise TypeError(message)


def _check_other_types(declared: Declared, schema: pa.Schema) -> None:
    for name in declared.order_by:
        _check_ordered(schema.field(name).type, "order_by", name)
    for window in declared.windows.values():
        for name in window.columns:
            if name != ALL_COLUMNS:
                _check_window(window, name, schema.field(name).type)
    for name, aggregate in declared.aggregates.items():
        for place, column in enumerate(aggregate.named_columns):
            _check_aggregate(name, aggregate, place, schema.field(column))


def check_columns(declared: Declared, names: list[str]) -> None:
    """Raise ValueError if a column is missing or ambiguous, or if a result would have the name of a column."""
    for name in [_origin(column) for column in declared.columns]:
        if name is None:
            continue  # expressions name their columns themselves
        if name not in names:
            message = f"There is no column {name!r}.{did_you_mean(name, names)} The data has {list_names(names)}."
            raise ValueError(message)
        if names.count(name) > 1:
            message = f"There are {names.count(name)} columns named {name!r}. Rename all but one."
            raise ValueError(message)
    for name in declared.computed:
        if name in names and not name.is_done:
            message = f"The data already has a column {str(name)!r}, so no expression can have this name. Rename the column, or give the expression an alias."
            raise ValueError(message)
    if declared.per_row:
        added = [declared.result_name(name, window) for name in declared.aggregates for window in declared.windows]
        if taken := [name for name in added if name in names]:
            message = (
                f"The data already has a column {taken[0]!r}, so no result can have this name. Rename the aggregate."
            )
            raise ValueError(message)


def _origin(column: str) -> str | None:
    """Return the column of the data that a column of a query is, or is computed from; None for an expression."""
    if not isinstance(column, Computed):
        return column
    return column.value if isinstance(column.value, str) else None


def _check_window(window: Window, name: str, kind: pa.DataType) -> None:
    is_right, need = {
        "number": (pa.types.is_integer(kind) or pa.types.is_floating(kind), "hold numbers. Cast it"),
        "mark": (pa.types.is_boolean(kind), "be boolean. Compare it with a value"),
        "": (True, ""),
    }[window.columns[name].holds]
    if not is_right:
        message = f"{window}: column {name!r} is of type {kind}, but it must {need}."
        raise TypeError(message)


def window_column(window: Window, name: str, array: pa.Array) -> pa.Array:
    """Return a column for a window, without nulls. Raise ValueError if the window does not accept them."""
    if window.columns[name].holds == "mark":
        return pc.fill_null(array, False)
    if array.null_count or (pa.types.is_floating(array.type) and pc.any(pc.is_nan(array)).as_py()):
        message = (
            f"{window}: column {name!r} has nulls or NaN, which have no distance to other values. Drop these rows."
        )
        raise ValueError(message)
    return array


def _check_aggregate(name: str, aggregate: Aggregate[Any], place: int, field: pa.Field) -> None:
    if aggregate.inner is not None and place > 0:
        _check_aggregate(name, aggregate.inner, place - 1, field)
        return
    kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    label = f"{name!r}: {aggregate.name}"
    if aggregate.gives in ("arithmetic", "difference"):
        computed = is_number(kind) or pa.types.is_decimal(kind)
        if not computed:
            message = f"{label} needs numbers, but column {field.name!r} is of type {field.type}. Cast it to numbers."
            raise TypeError(message)
        if (
            aggregate.gives == "arithmetic"
            and pa.types.is_temporal(kind)
            and not (aggregate.ranked and has_middle(kind))
        ):
            message = (
                f"{label} needs numbers, but column {field.name!r} is of type {kind}. Cast it to int64 to compute with "
                "its ticks."
            )
            raise TypeError(message)
    compares = aggregate.codes[place] == "ordered" if aggregate.codes else aggregate.sorts
    if aggregate.sorts and pa.types.is_dictionary(field.type) and field.type.ordered:
        message = (
            f"{label} cannot use the order of the categories of column {field.name!r}; max and min can. Cast the column "
            "to its values or to numbers."
        )
        raise TypeError(message)
    if compares:
        _check_ordered(kind, label, field.name)
    if aggregate.hashes and pa.types.is_nested(kind):
        message = f"{label} cannot compare values of column {field.name!r}, which is of type {kind}. {USE_A_PART}"
        raise TypeError(message)


def has_middle(kind: pa.DataType) -> bool:
    """Return whether a type of times has a middle between two values: times of day wrap around.

    >>> has_middle(pa.timestamp("us")), has_middle(pa.time32("s"))
    (True, False)
    """
    return not pa.types.is_time(kind)


def _check_ordered(kind: pa.DataType, label: str, column: str) -> None:
    if pa.types.is_nested(kind) or pa.types.is_interval(kind):
        message = f"{label} needs values with an order, but column {column!r} is of type {kind}. {USE_A_PART}"
        raise TypeError(message)


def why_interpreted(declared: Declared, schema: pa.Schema, *, compiled: bool) -> dict[str, str]:
    """Return the reasons why aggregates are interpreted, as far as types decide, by the names of those that are."""
    reasons = {}
    for name, aggregate in declared.aggregates.items():
        if not compiled:
            reasons[name] = "compiled=False was given"
        elif reason := _why(declared, aggregate, input_types(aggregate, schema)):
            reasons[name] = reason
    return reasons


def input_types(aggregate: Aggregate[Any], schema: pa.Schema) -> list[pa.DataType]:
    """Return the types of the columns that an aggregate reads; the time that `lift` takes is in ticks.

    >>> from sash import agg
    >>> schema = pa.schema({"ts": pa.timestamp("us"), "load": pa.float32()})
    >>> input_types(agg.ewm_mean("load", half_life="1h").over_time("ts"), schema)
    [DataType(float), DataType(int64)]
    """
    named = [schema.field(column).type for column in aggregate.named_columns]
    return [*named, pa.int64()] if aggregate.reads_time else named


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
        except ValueError:  # its variant for the kind of column may fit
            return ""
        if algorithm.interpreted_only:
            return algorithm.interpreted_only
        if keeper and not algorithm.keeps_values:
            return aggregate.interpreted_only
    try:
        check_times(aggregate, [empty_column(kind) for kind in types if is_number(kind)])
    except CannotCompileError as error:
        return str(error)
    return ""


def can_be_coded(kind: pa.DataType) -> bool:
    """Return whether integers can stand for the values of a type."""
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    return not pa.types.is_nested(plain)


def readable(table: pa.Table) -> pa.Table:
    """Return a table in types that all of Arrow's functions support: string views as strings, run-end encoding decoded.

    >>> readable(pa.table({"x": pa.array([["a"]], pa.list_(pa.string_view()))})).schema.field("x").type
    ListType(list<item: string>)
    """
    schema = table.schema
    if all(pa.types.is_primitive(kind) or pa.types.is_string(kind) for kind in schema.types):
        return table
    for place, field in enumerate(readable_schema(schema)):
        if field.type != schema.field(place).type:
            column = table[place]
            if pa.types.is_run_end_encoded(column.type):
                column = pc.run_end_decode(column)
            table = table.set_column(place, field.name, column.cast(field.type))
    return table


def readable_schema(schema: pa.Schema) -> pa.Schema:
    """Return the schema of a readable table."""
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


def interpreted_form(aggregate: Aggregate[Any], schema: pa.Schema) -> Aggregate[Any]:
    """Return the variant of an aggregate for the kind of its column, for the interpreter; kernels find theirs themselves."""
    column = aggregate.varies_by
    if column is None:
        return aggregate
    kind = schema.field(column).type
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    if getattr(plain, "unit", "") == "ns":  # Python's times end at microseconds, so `objects_of` gives ticks
        return aggregate.of_kind("ticks")
    times = pa.types.is_temporal(kind) or pa.types.is_null(kind)  # Python's own objects, or none
    return aggregate if times else aggregate.of_kind(kind_of(kind))


def kind_of(kind: pa.DataType) -> str:
    """Return the kind of a column's values, as aggregates have variants for it."""
    return KINDS[empty_column(kind).values.dtype.name] if is_number(kind) else "object"


def is_number(kind: pa.DataType) -> bool:
    """Return whether kernels take a column of this type as it is."""
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_null(kind)
        or (pa.types.is_temporal(kind) and kind.bit_width in (32, 64))
    )
