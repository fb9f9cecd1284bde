"""The tables of docs/coming-from.md, and how to run their cells."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl

import sash
from helpers.documentation import PAGES, run_page
from sash import agg, window

PAGE = "docs/coming-from.md"
CHAPTER = re.compile(r"^## (.+?)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
SECTION = re.compile(r"^### (.+?)\n(.*?)(?=^#|\Z)", re.MULTILINE | re.DOTALL)
CELL = re.compile(r"^\| (\w+) \| (?:`(.+)`|–) \|$", re.MULTILINE)
WHOLE = {"Windows of time": "windows", "Features as of the time of labels": "labels"}
"""The chapters whose cells are whole queries, with a result for each window or label; in others, results are for each row."""
LIBRARIES = ["Sash", "pandas", "Polars", "DuckDB", "Spark"]
Rows = list[tuple[Any, ...]]


@dataclass(frozen=True)
class Task:
    """What users want to do, and the code by library; "" for a library without such an operation."""

    results: str
    code: dict[str, str]


def tasks() -> Iterator[tuple[str, Task]]:
    for chapter, text in CHAPTER.findall(PAGES[PAGE].read_text(encoding="utf-8")):
        for title, table in SECTION.findall(text):
            yield title, Task(WHOLE.get(chapter, "rows"), dict(CELL.findall(table)))


TASKS = dict(tasks())


def cases(*libraries: str) -> list[tuple[str, str]]:
    """Return the tasks that these libraries can do."""
    return [(title, library) for title, task in TASKS.items() for library in libraries if task.code[library]]


def read_data() -> dict[str, pd.DataFrame]:
    """Return the data of the page."""
    page = run_page(PAGE)
    return {"payments": page["payments"], "labels": page["labels"]}


def evaluate(code: str, **names: Any) -> Any:
    return eval(code, names)  # noqa: S307 — the code is that of our own page


def by_sash(task: Task, data: dict[str, pd.DataFrame]) -> Rows:
    if task.results == "labels":
        return [tuple(row) for row in evaluate(task.code["Sash"], sash=sash, agg=agg, window=window, **data).to_numpy()]
    aggregate, where = task.code["Sash"].rsplit(", window.", 1)
    code = f"sash.Query({{'x': {aggregate}}}, window.{where}, by='card', time='ts')"
    found = evaluate(code, sash=sash, agg=agg, window=window).run(data["payments"])
    start = "ts" if task.results == "rows" else "window_start"
    return list(zip(found["card"], found[start], found["x"], strict=True))


def by_pandas(task: Task, data: dict[str, pd.DataFrame]) -> Rows:
    payments = data["payments"]
    cards, timed = payments.groupby("card"), payments.set_index("ts").groupby("card")
    found = evaluate(task.code["pandas"], pd=pd, cards=cards, timed=timed, **data)
    if isinstance(found, pd.DataFrame):
        return [tuple(row) for row in found.to_numpy()]
    if found.index.nlevels == 1:  # one value for each row, as of shift
        return list(zip(payments["card"], payments["ts"], found, strict=True))
    if isinstance(found.index[0][1], pd.Timestamp):
        return [(*key, value) for key, value in found.items()]
    return [(key[0], payments["ts"][key[1]], value) for key, value in found.items()]


def by_polars(task: Task, data: dict[str, pd.DataFrame]) -> Rows:
    frames = {name: pl.from_pandas(frame) for name, frame in data.items()}
    found = evaluate(task.code["Polars"], pl=pl, **frames)
    if task.results == "rows":
        found = frames["payments"].select("card", "ts", x=found)
    rows: Rows = found.rows()
    return rows


def by_duckdb(task: Task, data: dict[str, pd.DataFrame]) -> Rows:
    code = task.code["DuckDB"]
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for name, frame in data.items():
            connection.register(name, frame)
        text = f"SELECT card, ts, {code} AS x FROM payments" if task.results == "rows" else code
        return connection.execute(text).fetchall()


def check_equal(found: Rows, expected: Rows) -> None:
    """Compare results by key and time."""

    def ordered(rows: Rows) -> list[tuple[str, float, Any]]:
        return sorted(((row[0], pd.Timestamp(row[1]).timestamp(), row[2]) for row in rows), key=lambda row: row[:2])

    assert len(found) == len(expected)
    for one, other in zip(ordered(found), ordered(expected), strict=True):
        assert one[:2] == other[:2]
        if isinstance(one[2], dict):
            assert one[2] == dict(other[2])
        else:
            np.testing.assert_allclose(np.array(one[2], float), np.array(other[2], float), rtol=1e-9)
