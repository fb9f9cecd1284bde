"""DuckDB writes the answer to a query to a Parquet file, with a limit of memory.

python -m benchmarks.larger_than_memory.ask_duckdb QUERY FILE MEGABYTES
"""

from __future__ import annotations

import sys
from typing import Any

import duckdb


def ask(query: str, file: str, megabytes: str) -> None:
    """Write the answer. What does not fit goes to a folder beside it; the order of rows is free, which takes less memory."""
    settings: dict[str, Any] = {
        "memory_limit": f"{megabytes}MB",
        "temp_directory": f"{file}.spilled",
        "preserve_insertion_order": "false",
    }
    with duckdb.connect(config=settings) as connection:
        connection.execute("SET enable_progress_bar = false")
        connection.execute(f"COPY ({query}) TO '{file}'")


if __name__ == "__main__":
    ask(*sys.argv[1:])
