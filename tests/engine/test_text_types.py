"""Types of CSV and JSON files that the first rows do not show: no value is changed silently."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

from sash.engine.text_types import with_checked_types

MANY = 30_000
"""More rows than DuckDB looks at to find types."""


def read(path: Path, *values: str, many: int = MANY) -> tuple[str, Any]:
    """Return the type of a column and its last value; the first value comes many times."""
    is_json = path.suffix == ".json"
    lines = [f'{{"v": {value}}}' if is_json else f"{value};1" for value in (*[values[0]] * many, *values[1:])]
    path.write_text("\n".join([*([] if is_json else ["v;k"]), *lines]) + "\n")
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute("SET enable_progress_bar = false")
        reader = with_checked_types(connection, f"read_{path.suffix[1:]}(['{path}'])", [str(path)])
        dtype, value = connection.execute(f"SELECT typeof(v), v::VARCHAR FROM {reader}").fetchall()[-1]
    return dtype, value


@pytest.mark.parametrize(
    ("values", "dtype", "last"),
    [
        (["1", "2"], "BIGINT", "2"),
        (["1", "1.5"], "DOUBLE", "1.5"),
        (["1", ".5"], "DOUBLE", "0.5"),
        (["1", "-1e-1"], "DOUBLE", "-0.1"),
        (["1", ""], "BIGINT", None),
        (["2025-03-30", "2025-03-31"], "DATE", "2025-03-31"),
        (["2025-03-30", "2025-03-30 10:00"], "VARCHAR", "2025-03-30 10:00"),
        (["2025-03-30 10:00", "2025-03-30 10:00:00.123456"], "TIMESTAMP", "2025-03-30 10:00:00.123456"),
        (["2025-03-30 10:00", "2025-03-30 10:00:00.123456789"], "TIMESTAMP_NS", "2025-03-30 10:00:00.123456789"),
        (["2025-03-30 10:00", "2025-03-30 10:00:00+02:00"], "VARCHAR", "2025-03-30 10:00:00+02:00"),
        (["2025-03-30 10:00", "soon"], "VARCHAR", "soon"),
        (["2025-03-30 10:00Z", "2025-03-30 10:00+02"], "TIMESTAMP WITH TIME ZONE", "2025-03-30 08:00:00+00"),
        (["2025-03-30 10:00Z", "2025-03-30 10:00 Europe/Berlin"], "TIMESTAMP WITH TIME ZONE", "2025-03-30 08:00:00+00"),
        (["2025-03-30 10:00Z", "2025-03-30 10:00"], "VARCHAR", "2025-03-30 10:00"),
        (["2025-03-30T10:00:00.123456789Z"], "VARCHAR", "2025-03-30T10:00:00.123456789Z"),
        (["03/04/2025", "13/04/2025"], "DATE", "2025-04-13"),
        (["03/04/2025", "05/04/2025"], "VARCHAR", "05/04/2025"),
        (["13/04/25"], "VARCHAR", "13/04/25"),
    ],
)
def test_csv(values: list[str], dtype: str, last: str | None, tmp_path: Path) -> None:
    assert read(tmp_path / "t.csv", *values) == (dtype, last)


@pytest.mark.parametrize(
    ("values", "dtype", "last"),
    [
        (["1", "2"], "BIGINT", "2"),
        (["1", "1.5"], "DOUBLE", "1.5"),
        (['{"a": 1}', '{"a": 1.5}'], "STRUCT(a DOUBLE)", "{'a': 1.5}"),
        (['{"a": 1, "b": "x"}', '{"a": 1, "b": "1.5"}'], "STRUCT(a BIGINT, b VARCHAR)", "{'a': 1, 'b': 1.5}"),
    ],
)
def test_json(values: list[str], dtype: str, last: str, tmp_path: Path) -> None:
    assert read(tmp_path / "t.json", *values) == (dtype, last)


def test_an_error_is_left_to_the_reader(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes("v;k\nK\xfchl;1\n".encode("latin-1"))
    with duckdb.connect() as connection:
        reader = f"read_csv(['{tmp_path}/t.csv'])"
        assert with_checked_types(connection, reader, []) == reader
