"""docs/benchmarks.md: should I use Sash? One screen, from the CSVs of some suites."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from benchmarks.case import MEMORY
from benchmarks.engines import cases as engines
from benchmarks.pages.details import DETAILS
from benchmarks.pages.tables import say_where, table, text_of
from benchmarks.questions.case import PEERS
from benchmarks.report import round_off, say_time
from benchmarks.results import ROOT, Reading, read
from benchmarks.sash_calls import QUERY
from benchmarks.suites import SUITES
from benchmarks.workloads.cases import MEMORIES, TIMES

PAGE = ROOT / "docs" / "benchmarks.md"
EVEN = 0.95
Place: TypeAlias = tuple[str, str]
"""The suite and the case that measure something."""
FURTHER: Mapping[str, Place] = {
    "max of a column, last 1,024 rows": ("compiled", "max float64 1 K"),
    "sum of a column": ("compiled", "sum float64 1 K"),
    "deviation of a column": ("compiled", "stddev float64 1 K"),
    "median of a column": ("compiled", "median float64 1 K"),
    "the last 200 values by key, as a list": ("aggregates", "collect, rows(200)"),
    "the five largest of 200": ("aggregates", "top_k, rows(200)"),
    "different values of 200, estimated": ("aggregates", "approx_count_distinct, rows(200)"),
    "rows of each category, of 200": ("aggregates", "per_value, rows(200)"),
    "features of 10 M events at 1 M labels": ("features", "10 M events, 1 M labels, 100 K keys"),
}
"""What else people do in one process."""
ON_SPARK: Mapping[str, Mapping[str, Place]] = {
    "batch": {
        "a minute": ("never_slower", "readings, tumbling 1m"),
        "a day, every minute": ("spark_batch", "4 M rows over 10 days, 24h every 1m"),
        "sessions": ("never_slower", "readings, session 20s"),
        "the last 100 rows": ("never_slower", "readings, rows(100)"),
        "the hour before each row": ("never_slower", "readings, 1h per row"),
        "median of the last 1,000 rows": ("spark_batch", "median, rows(1000)"),
        "features of 2 M events at 200 K labels": ("features", "on Spark, 2 M events, 200 K labels, 1 K keys"),
        "Nexmark 5, items with most bids, 10 s every 2 s": ("nexmark", "batch, query 5: hot items, 10s every 2s"),
        "Nexmark 6, mean price of the last 10 auctions": ("nexmark", "batch, query 6: mean price of a seller's last auctions, rows(10)"),
        "Nexmark 7, highest bid of 10 s": ("nexmark", "batch, query 7: highest bid, tumbling 10s"),
    },
    "streams": {
        "an hour, every minute": ("spark_streaming", "20 K keys × 25 rows, 1h every 1m"),
        "a minute, 10,000 rows at a time": ("never_slower", "stream, a micro-batch of 10,000 rows, tumbling 1m"),
        "Nexmark 7, highest bid of 10 s": ("nexmark", "stream, query 7: highest bid, tumbling 10s"),
    },
}  # fmt: skip
"""What people do on Spark."""


def say_speed(sash: float, other: float) -> str:
    """Return how many times as fast Sash is; bold where it is faster.

    >>> say_speed(1.0, 4.2), say_speed(2.0, 1.0), say_speed(1.0, 0.98)
    ('**4.2 ×**', '0.5 ×', 'even')
    """
    ratio = other / sash
    if EVEN <= ratio <= 1 / EVEN:
        return "even"
    return f"**{round_off(ratio)} ×**" if ratio > 1 else f"{round_off(ratio)} ×"


def in_process(readings: Sequence[Reading]) -> Iterator[str]:
    """Yield the table of workloads: how many times as fast Sash is as each library."""
    found = {(one.case, one.contestant): one for one in readings}
    rows = []
    for case in TIMES:
        sash = found.get((case.name, "Sash"))
        if sash is None:
            continue
        cells = [case.name, say_time(sash.value)]
        for peer in PEERS:
            other = found.get((case.name, peer))
            cells.append(say_speed(sash.value, other.value) if other else "cannot")
        rows.append([*cells, say_memory(case.name, found)])
    headings = (
        "what",
        "Sash, per row",
        *(f"beside {peer}" for peer in PEERS),
        "memory: Sash, least of others",
    )
    yield from table(headings, rows)


def say_memory(name: str, found: Mapping[tuple[str, str], Reading]) -> str:
    """Return the memory of Sash, and the least of the other libraries with the same rows."""
    case = next(one for one in MEMORIES if one.question.name == name)
    of_case = [found[case.name, one.name] for one in case.contestants if (case.name, one.name) in found]
    sash = next((one for one in of_case if one.role == "sash"), None)
    if sash is None or sash.measure != MEMORY:
        return ""
    others = [one for one in of_case if one.role == "peer" and one.rows == sash.rows]
    least = min(others, key=lambda one: one.value, default=None)
    beside = f", {least.value:,.0f} MB ({least.contestant})" if least else ""
    return f"{sash.value:,.0f} MB{beside}"


def on_spark(name: str) -> Iterator[str]:
    """Yield a table of what people do on Spark, beside the fastest of Spark's own ways."""
    rows = [
        [label, say_time(own.value), say_time(peer.value), say_speed(own.value, peer.value)]
        for label, own, peer in beside_the_fastest(ON_SPARK[name])
    ]
    yield from table(("what", "Sash, per row", "Spark", "Sash beside Spark"), rows)


def further() -> Iterator[str]:
    """Yield a table of what else people do in one process, beside the fastest library that can do it."""
    rows = [
        [label, say_time(own.value), f"{say_time(peer.value)} ({peer.contestant})", say_speed(own.value, peer.value)]
        for label, own, peer in beside_the_fastest(FURTHER)
    ]
    if rows:
        yield "Columns, lists, estimates and features, beside the fastest of bottleneck, numbagg, pandas, Polars and DuckDB that can answer:\n"
        yield from table(("what", "Sash, per row", "fastest other", "Sash beside it"), rows)


def beside_the_fastest(places: Mapping[str, Place]) -> Iterator[tuple[str, Reading, Reading]]:
    """Yield each label with what Sash takes, as users call it, and what the fastest other takes, if both were measured."""
    for label, (suite, case) in places.items():
        of_case = [one for one in read(SUITES[suite].csv) if one.case == case]
        own = {one.contestant: one for one in of_case if one.contestant in (QUERY, "Sash")}
        others = [one for one in of_case if one.role == "peer"]
        if own and others:
            yield label, own.get(QUERY, own.get("Sash", of_case[0])), min(others, key=lambda one: one.value)


def beside_flink(readings: Sequence[Reading]) -> Iterator[str]:
    """Yield the table of streams: the time per event of Sash, and how many times as fast it is as each engine."""
    found = {(one.case, one.contestant): one for one in readings}
    peers = [name for name, one in engines.ENGINES.items() if one.role == "peer"]
    rows = []
    for case in (*engines.TIMES, *engines.NEXMARK):
        own = [found.get((case.name, name)) for name in (engines.SASH, engines.ON_SPARK)]
        in_process, on_spark = own
        if in_process is None or on_spark is None:
            continue
        cells = [case.name.replace("query ", ""), say_time(in_process.value), say_time(on_spark.value)]
        for peer in peers:
            other = found.get((case.name, peer))
            sash = on_spark if peer == engines.SPARK else in_process
            cells.append(say_speed(sash.value, other.value) if other else "")
        rows.append(cells)
    headings = ("windows", "Sash, per event", "Sash on Spark", *(f"beside {peer}" for peer in peers))
    yield from table(headings, rows)


def streams(readings: Sequence[Reading]) -> Iterator[str]:
    """Yield what is said of streams beside other engines."""
    yield "## Streams beside Flink\n"
    yield (
        "The same events for all, on two cores; start-up is not counted. *Sash* reads a RecordBatchReader in one process. The column of Spark compares\n"
        "*Sash on Spark* with Spark itself. [Details](benchmarks/engines.md) say why cells are empty.\n"
    )
    yield "![Time per event against the slide, for each engine](images/engines.svg)\n"
    yield from beside_flink(readings)


def lines() -> Iterator[str]:
    """Yield the lines of the page."""
    yield "# How fast is Sash?\n"
    yield text_of("pages/intro.md")
    workloads = read(SUITES["workloads"].csv)
    if workloads:
        yield "## In one process\n"
        yield f"{TIMES[0].rows / 1e6:g} M rows of 1,000 households, in order of time. Measured on {say_where(workloads)}.\n"
        yield "![Time per row of each library](images/workloads.svg)\n"
        yield from in_process(workloads)
    yield from further()
    for name, title in {"batch": "Batch on Spark", "streams": "Streams on Spark"}.items():
        yield f"## {title}\n"
        yield from on_spark(name)
    if measured_streams := read(SUITES["engines"].csv):
        yield from streams(measured_streams)
    yield text_of("pages/when_not.md")
    yield "## Details\n"
    measured = [suite for suite in DETAILS if SUITES[suite].csv.exists()]
    yield from (f"- [{DETAILS[suite].title}](benchmarks/{suite}.md)" for suite in measured)
    yield "- [The papers' experiments](papers.md)"
    yield "\n```{toctree}\n:hidden:\n"
    yield from (f"benchmarks/{suite}" for suite in measured)
    yield "```"


def write(path: Path = PAGE) -> None:
    """Write the page."""
    path.write_text("\n".join(lines()) + "\n", encoding="utf-8")
