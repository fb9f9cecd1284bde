"""A page for each suite: what was asked, all numbers, and why they are so."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.case import SECONDS
from benchmarks.choice import summary as choice
from benchmarks.engines import cases as engines
from benchmarks.engines import flink_sql
from benchmarks.engines.latency import SHOWN
from benchmarks.engines.nexmark import flink_sql as nexmark_sql
from benchmarks.engines.nexmark.queries import QUERIES as SITE_QUERIES
from benchmarks.engines.questions import QUESTIONS as STREAM_QUESTIONS
from benchmarks.features import peers as feature_peers
from benchmarks.first_answer import summary as first_answer
from benchmarks.first_answer.cases import CASES as FIRST_ANSWERS
from benchmarks.flights.cases import CASES as FLIGHTS
from benchmarks.growth.case import LIBRARIES
from benchmarks.h2o import cases as h2o
from benchmarks.larger_than_memory.cases import QUESTIONS as LARGER
from benchmarks.pages.tables import all_measured, say_file, say_where, shares_of_the_ideal, table, text_of
from benchmarks.questions import summary as questions
from benchmarks.questions.case import QuestionCase
from benchmarks.report import quantity
from benchmarks.results import ROOT, Reading, read
from benchmarks.spark_large.case import ONE_CORE
from benchmarks.suites import SUITES
from benchmarks.windows import cases as windows
from benchmarks.windows import sql
from benchmarks.workloads.cases import MEMORIES, TIMES

FOLDER = ROOT / "docs" / "benchmarks"
Lines = Callable[[Sequence[Reading]], Iterator[str]]


@dataclass(frozen=True)
class Detail:
    """The page of a suite."""

    title: str
    numbers: Lines | None = None
    """The tables, if not one of everything that was measured."""
    picture: str = ""
    """Its alternative text and its file in docs/images; there may be two."""
    more: Lines | None = None
    """What comes last, such as the SQL of peers."""


def question_tables(*groups: tuple[str, Sequence[QuestionCase]]) -> Lines:
    """Return what writes a table for each group of questions."""

    def lines(readings: Sequence[Reading]) -> Iterator[str]:
        for heading, cases in groups:
            if heading:
                yield f"## {heading}\n"
            yield from questions.page(cases, readings)

    return lines


def of_workloads(readings: Sequence[Reading]) -> Iterator[str]:
    """Yield a table of times and one of memory."""
    yield from questions.page(TIMES, readings)
    memory = [one for one in readings if one.case in {case.name for case in MEMORIES}]
    if memory:
        yield "## Memory\n\nThe most above the rows, in a process of its own.\n"
        yield from all_measured(MEMORIES, memory)


def of_latencies(readings: Sequence[Reading]) -> Iterator[str]:
    """Yield a row for each question and engine."""
    found = {(one.case, one.contestant): one for one in readings}
    rows = []
    for question in dict.fromkeys(case.question.name for case in engines.LATENCIES):
        for engine in engines.PACED:
            cells = [found.get((f"latency, {question}: {shown}", engine.name)) for shown in SHOWN]
            if all(cells):
                rows.append([question, engine.name, *(quantity(one) for one in cells if one)])
    yield from table(("windows", "", *SHOWN), rows)


def shares_of_threads(readings: Sequence[Reading]) -> Iterator[str]:
    """Yield the share of the ideal that two threads reach in one process."""
    found = {(one.case, one.contestant): one for one in readings}
    cases = dict.fromkeys(one.case for one in readings if one.case.startswith("threads") and one.measure == SECONDS)
    pairs = [(found.get((case, f"{name}, 1")), found.get((case, f"{name}, 2"))) for case in cases for name in LIBRARIES]
    yield from shares_of_the_ideal((one, two) for one, two in pairs if one and two)


def shares_of_cores(readings: Sequence[Reading]) -> Iterator[str]:
    """Yield the share of the ideal that two cores reach on Spark."""
    found = {(one.case, one.contestant): one for one in readings if one.measure == SECONDS}
    pairs = [
        (one, found.get((case, name.removesuffix(ONE_CORE))))
        for (case, name), one in found.items()
        if name.endswith(ONE_CORE)
    ]
    yield from shares_of_the_ideal((one, two) for one, two in pairs if two)


def sql_of_windows(_: Sequence[Reading]) -> Iterator[str]:
    """Yield the SQL of DuckDB."""
    (day,), (hour,) = windows.DAY.values(), windows.HOUR_PER_ROW.values()
    texts = {
        "slices doubled": sql.by_doubling(day),
        "frames of slices": sql.by_frames(day),
        "copies": sql.by_copies(day),
        "frames": sql.per_row(hour),
    }
    yield from _sql(texts)


def sql_of_features(_: Sequence[Reading]) -> Iterator[str]:
    """Yield the SQL of DuckDB."""
    yield from _sql({"range join": feature_peers.BY_JOIN, "frames over a union": feature_peers.BY_FRAMES})


def sql_of_flights(_: Sequence[Reading]) -> Iterator[str]:
    """Yield the SQL that has no plain OVER: readers should see how a peer is asked."""
    yield from _sql({case.name: case.question.sql for case in FLIGHTS if case.question.sql.count("SELECT") > 1})


def sql_of_files(_: Sequence[Reading]) -> Iterator[str]:
    """Yield the SQL of DuckDB where it differs from that of `sash run`."""
    yield from _sql({one.name: one.duckdb for one in LARGER if one.duckdb != one.sash})


def sql_of_flink(_: Sequence[Reading]) -> Iterator[str]:
    """Yield the SQL of Flink; of several windows, only the first."""
    windows = {name: flink_sql.first_select(one) for name, one in STREAM_QUESTIONS.items()}
    yield from _sql(windows | {one.name: nexmark_sql.SELECTS[number] for number, one in SITE_QUERIES.items()}, "Flink")


def _sql(texts: Mapping[str, str], peer: str = "DuckDB") -> Iterator[str]:
    yield "## The SQL\n"
    for name, text in texts.items():
        yield f"{peer}, *{name}*:\n\n```sql\n{text}\n```\n"


DETAILS = {
    "workloads": Detail("What people do with windows", of_workloads),
    "compiled": Detail(
        "Windows of rows over a column",
        picture="![Nanoseconds per row against the range, for Sash and its peers](../images/ns_per_row.svg)",
    ),
    "windows": Detail("Windows of time over a table", more=sql_of_windows),
    "query_overhead": Detail("Overhead of Query"),
    "filters_and_weights": Detail("Filters and exponential weights"),
    "single_events": Detail("Single events"),
    "features": Detail("Point-in-time features", more=sql_of_features),
    "serving": Detail("Features over HTTP"),
    "frames": Detail("Frames around each row"),
    "aggregates": Detail("Every aggregate"),
    "first_answer": Detail("Time to the first result", lambda readings: first_answer.page(FIRST_ANSWERS, readings)),
    "spark_batch": Detail("Batch queries on Spark"),
    "spark_streaming": Detail("Streams on Spark"),
    "stream_growth": Detail(
        "Streams as their keys grow",
        picture="![Time and bytes per micro-batch against the number of keys](../images/stream_growth.svg)",
    ),
    "nexmark": Detail(
        "Nexmark", picture="![Time per event of each query, in Sash and in Spark](../images/nexmark.svg)"
    ),
    "engines": Detail(
        "Streams beside Flink",
        picture="![Time per event against the slide, for each engine](../images/engines.svg)",
        more=sql_of_flink,
    ),
    "latency": Detail(
        "Latency of streams", of_latencies, picture="![Sustained rate and latency of each engine](../images/latency.svg)"
    ),
    "spark_windows": Detail("Spark's own WindowBenchmark"),
    "never_slower": Detail("Queries that Spark can run itself"),
    "h2o": Detail("The H2O benchmark", question_tables(("Rolling questions", h2o.ROLLING), ("Window questions", h2o.OVER))),
    "flights": Detail("Real flights", question_tables(("", FLIGHTS)), more=sql_of_flights),
    "growth": Detail("Growth of rows and keys"),
    "larger_than_memory": Detail("Larger than memory", more=sql_of_files),
    "h2o_large": Detail("H2O up to 100 M rows"),
    "growth_large": Detail("Growth up to 100 M rows", more=shares_of_threads),
    "spark_large": Detail("Spark up to 1,000 M rows", more=shares_of_cores),
    "choice": Detail("Choice of algorithms", choice.page),
}  # fmt: skip
"""By suite. The papers' experiments have a page of their own, docs/papers.md."""


def page_of(suite: str, readings: Sequence[Reading]) -> str:
    """Return the page of a suite."""
    detail = DETAILS[suite]
    folder = "" if suite == "compiled" else f"{suite}/"
    cases = SUITES[suite].cases
    lines = [
        f"# {detail.title}\n",
        f"Measured on {say_where(readings)}. The numbers are in {say_file(SUITES[suite].csv, 2)}. [All benchmarks](../benchmarks.md).\n",
        *([f"{detail.picture}\n"] if detail.picture else []),
        text_of(f"{folder}about.md") if folder else "",
        *(detail.numbers(readings) if detail.numbers else all_measured(cases, readings)),
        text_of(f"{folder}reasons.md"),
        *(detail.more(readings) if detail.more else ()),
    ]
    return "\n".join(line for line in lines if line).rstrip() + "\n"


def write(folder: Path = FOLDER) -> None:
    """Write the pages of all suites that have a CSV."""
    folder.mkdir(exist_ok=True)
    for suite in DETAILS:
        if readings := read(SUITES[suite].csv):
            (folder / f"{suite}.md").write_text(page_of(suite, readings), encoding="utf-8")
