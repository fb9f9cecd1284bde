"""The types of columns of CSV and JSON files.

DuckDB takes types from the first rows, and casts all other values to them, even if the cast changes a value:

    type from the first rows        a value that the cast changes            read as
    BIGINT                          1.5 would be 2                           DOUBLE
    DATE as in 03/04/2025           April or March                           text, unless a value has a day above 12
    DATE as in 03/04/25             the year 2003, or 2025                   text
    DATE, TIMESTAMP                 2025-03-30 10:00+02:00 loses its zone    text
    TIMESTAMP                       10:00:00.123456789 loses its last digits TIMESTAMP_NS
    TIMESTAMP WITH TIME ZONE        2025-03-30 10:00 is not in UTC           text

So all values of such columns are read once more, as text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

SAMPLE_BYTES = 20_480
"""Files of this size have no more rows than DuckDB looks at to find types of numbers."""
HAS_FRACTION = r"\d\.\d|\d\.$|^[+-]?\.\d|\d[eE][-+]?\d"
HAS_OFFSET = r":\d\d(\.\d+)?\s*(Z|[+-]\d\d(:?\d\d)*)$"
HAS_ZONE = r":\d\d(\.\d+)?\s*([A-Za-z].*|[+-]\d\d(:?\d\d)*)$"
IS_FINE = r"\.\d{6}0*[1-9]"
"""More digits of a second than DuckDB's TIMESTAMP has."""


def with_checked_types(connection: Any, reader: str, files: Iterable[str]) -> str:
    """Return the call that reads files, with the types that fit all values. `reader` is a call in SQL of DuckDB.

    Columns whose times are not certain are text. An error of DuckDB is left to the reader.
    """
    import duckdb  # noqa: PLC0415 — optional, and there is a connection

    name, _, arguments = reader.removesuffix(")").partition("(")
    try:
        if name == "read_csv":
            return _csv(connection, arguments)
        if name == "read_json" and any(_is_long(file) for file in files):
            return _json(connection, arguments)
    except duckdb.Error:
        return reader  # the reader itself says what is wrong
    return reader


def _is_long(file: str) -> bool:
    path = Path(file)
    return not path.is_file() or path.suffix in (".gz", ".zst") or path.stat().st_size > SAMPLE_BYTES


def _csv(connection: Any, arguments: str) -> str:
    first = re.search(r"'(?:[^']|'')*'", arguments)
    assert first is not None
    options = ", delim = '\\t'" if "delim=" in arguments else ""
    query = f"SELECT DateFormat, TimestampFormat FROM sniff_csv({first.group()}{options})"  # noqa: S608 — quoted names
    date, timestamp = connection.execute(query).fetchall()[0]
    formats = {"DATE": date or "", "TIMESTAMP": timestamp or ""}
    types = _types_of(connection, f"read_csv({arguments})")
    read_as = {column: _text_checks(column, dtype, formats.get(dtype, "")) for column, dtype in types.items()}
    checks = {(column, instead): check for column, of in read_as.items() for instead, check in of.items()}
    if not checks:
        return f"read_csv({arguments})"
    texts = ", ".join(f"{_literal(column)}: 'VARCHAR'" for column in dict.fromkeys(column for column, _ in checks))
    found = _any_of(connection, checks.values(), f"read_csv({arguments}, types={{{texts}}})")
    changed: dict[str, str] = {}
    for (column, instead), is_found in zip(checks, found, strict=True):
        if is_found:
            changed.setdefault(column, instead)
    if not changed:
        return f"read_csv({arguments})"
    return f"read_csv({arguments}, types={{{', '.join(f'{_literal(c)}: {_literal(t)}' for c, t in changed.items())}}})"


def _text_checks(column: str, dtype: str, given: str) -> dict[str, str]:
    """Return conditions on the text of all values, by the types that a column has if they are true; the first one counts.

    `given` is the format of dates and times that DuckDB has found, if it is not that of casts.
    """
    value = _name(column)
    if dtype in ("DATE", "TIMESTAMP") and given[:2] in ("%d", "%m", "%y"):
        return _guess_checks(value, given)
    return {
        "BIGINT": {"DOUBLE": f"bool_or(regexp_matches({value}, '{HAS_FRACTION}'))"},
        "DATE": {"VARCHAR": f"bool_or(contains({value}, ':'))"},
        "TIMESTAMP": {
            "VARCHAR": f"count(TRY_CAST({value} AS TIMESTAMP)) < count({value})"
            f" OR bool_or(CASE WHEN length({value}) > 19 THEN regexp_matches({value}, '{HAS_OFFSET}') END)",
            "TIMESTAMP_NS": f"bool_or(CASE WHEN length({value}) > 26 THEN regexp_matches({value}, '{IS_FINE}') END)",
        },
        "TIMESTAMP WITH TIME ZONE": {
            "VARCHAR": f"NOT bool_and(regexp_matches({value}, '{HAS_ZONE}')) OR bool_or(regexp_matches({value}, '{IS_FINE}'))"
        },
    }.get(dtype, {})


def _guess_checks(value: str, given: str) -> dict[str, str]:
    """Return the condition that a format such as %d/%m/%Y is not certain."""
    if given.startswith("%y"):  # DuckDB reads 13/04/25 as 2013
        return {"VARCHAR": "true"}
    swapped = given.replace("%d", "%_").replace("%m", "%d").replace("%_", "%m")
    misfit = f"{value} IS NOT NULL AND try_strptime({value}, {_literal(swapped)}) IS NULL"
    return {"VARCHAR": f"NOT coalesce(bool_or({misfit}), false)"}


def _json(connection: Any, arguments: str) -> str:
    types = _types_of(connection, f"read_json({arguments})")
    whole = [column for column, dtype in types.items() if "BIGINT" in dtype]
    if not whole:
        return f"read_json({arguments})"
    texts = ", ".join(f"{_literal(column)}: 'VARCHAR'" for column in whole)
    checks = [f"bool_or(regexp_matches({_name(column)}, '{HAS_FRACTION}'))" for column in whole]
    if not any(_any_of(connection, checks, f"read_json({arguments}, columns={{{texts}}})")):
        return f"read_json({arguments})"
    types = _types_of(connection, f"read_json({arguments}, sample_size=-1)")
    listed = ", ".join(f"{_literal(column)}: {_literal(dtype)}" for column, dtype in types.items())
    return f"read_json({arguments}, columns={{{listed}}})"


def _types_of(connection: Any, reader: str) -> dict[str, str]:
    rows = connection.execute(f"DESCRIBE SELECT * FROM {reader}").fetchall()  # noqa: S608 — quoted names
    return {str(row[0]): str(row[1]) for row in rows}


def _any_of(connection: Any, checks: Iterable[str], reader: str) -> list[bool]:
    (found,) = connection.execute(f"SELECT {', '.join(checks)} FROM {reader}").fetchall()  # noqa: S608 — quoted names
    return list(map(bool, found))


def _name(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
