"""Every cell of docs/coming-from.md runs, and all libraries give the result of Sash. Cells of Spark run with the tests on Spark."""

from __future__ import annotations

import pandas as pd
import pytest
from helpers.coming_from import (
    LIBRARIES,
    PAGE,
    TASKS,
    by_duckdb,
    by_pandas,
    by_polars,
    by_sash,
    cases,
    check_equal,
    read_data,
)
from helpers.documentation import PAGES

RUN = {"pandas": by_pandas, "Polars": by_polars, "DuckDB": by_duckdb}
ALONE = [title for title, task in TASKS.items() if not any(list(task.code.values())[1:])]


@pytest.fixture(scope="module")
def data() -> dict[str, pd.DataFrame]:
    return read_data()


def test_every_table_is_found() -> None:
    assert (
        PAGES[PAGE].read_text(encoding="utf-8").count("\n| Sash | `") == len(TASKS) + 1
    )  # one says how to read a cell
    for title, task in TASKS.items():
        assert list(task.code) == LIBRARIES, title


@pytest.mark.parametrize(("title", "library"), cases("pandas", "Polars", "DuckDB"))
def test_libraries_agree(title: str, library: str, data: dict[str, pd.DataFrame]) -> None:
    task = TASKS[title]
    check_equal(RUN[library](task, data), by_sash(task, data))


@pytest.mark.parametrize("title", ALONE)
def test_no_other_library_does_it(title: str, data: dict[str, pd.DataFrame]) -> None:
    assert len(by_sash(TASKS[title], data)) == len(data["payments"])
