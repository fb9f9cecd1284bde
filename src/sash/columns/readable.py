"""Tables in types that all of Arrow's functions support: string views as strings, run-end encoding decoded."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from sash.columns.column_types import column_type

PLAIN_VIEWS = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}


def readable(table: pa.Table) -> pa.Table:
    """Return a table in types that all of Arrow's functions support.

    >>> readable(pa.table({"x": pa.array([["a"]], pa.list_(pa.string_view()))})).schema.field("x").type
    ListType(list<item: string>)
    """
    schema = table.schema
    if all(column_type(dtype).numbers is not None or dtype == pa.string() for dtype in schema.types):
        return table
    for number, field in enumerate(readable_schema(schema)):
        if field.type != schema.field(number).type:
            column = table[number]
            if column_type(column.type).group == "run_end_encoded":
                column = pc.run_end_decode(column)
            table = table.set_column(number, field.name, column.cast(field.type))
    return table


def readable_schema(schema: pa.Schema) -> pa.Schema:
    """Return the schema of a readable table."""
    decoded = [
        field.with_type(field.type.value_type) if column_type(field.type).group == "run_end_encoded" else field
        for field in schema
    ]
    return pa.schema([_readable_field(field) for field in decoded])


def _readable_field(field: pa.Field) -> pa.Field:
    return field.with_type(_readable_type(field.type))


def _readable_type(dtype: pa.DataType) -> pa.DataType:  # noqa: PLR0911 — a case for each type
    """Return the readable type. Fields keep their metadata, which tells Spark's variants from structs."""
    match dtype:
        case pa.Decimal32Type() | pa.Decimal64Type():
            return pa.decimal128(dtype.precision, dtype.scale)
        case pa.StructType():
            return pa.struct([_readable_field(field) for field in dtype])
        case pa.MapType():
            return pa.map_(_readable_field(dtype.key_field), _readable_field(dtype.item_field), dtype.keys_sorted)
        case pa.FixedSizeListType():
            return pa.list_(_readable_field(dtype.value_field), dtype.list_size)
        case pa.ListType():
            return pa.list_(_readable_field(dtype.value_field))
        case pa.LargeListType():
            return pa.large_list(_readable_field(dtype.value_field))
    return PLAIN_VIEWS.get(dtype, dtype)
