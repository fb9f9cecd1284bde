"""Write docs/benchmarks.md: every target with what was measured, from the CSVs, and what stands in the way of those missed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from benchmarks import readme
from benchmarks.aggregates import cases as aggregates
from benchmarks.case import ERROR, SECONDS, TIME, Case
from benchmarks.cases import CASES
from benchmarks.choice import summary as choice
from benchmarks.features import cases as features
from benchmarks.features import peers as feature_peers
from benchmarks.filters_and_weights import cases as filters_and_weights
from benchmarks.first_answer import cases as first_answer
from benchmarks.first_answer import summary
from benchmarks.flights import cases as flights
from benchmarks.frames import cases as frames_around
from benchmarks.growth import cases as growth_sweeps
from benchmarks.h2o import cases as h2o
from benchmarks.nexmark import cases as nexmark
from benchmarks.query_overhead import cases as query_overhead
from benchmarks.questions import summary as questions
from benchmarks.questions.case import QuestionCase
from benchmarks.report import Verdict, judge, label, quantity, round_off, say_target
from benchmarks.results import (
    AGGREGATES,
    CHOICE,
    COMPILED,
    FEATURES,
    FILTERS_AND_WEIGHTS,
    FIRST_ANSWER,
    FLIGHTS,
    FRAMES,
    GROWTH,
    H2O,
    NEXMARK,
    QUERY_OVERHEAD,
    ROOT,
    SERVING,
    SINGLE_EVENTS,
    SPARK_BATCH,
    SPARK_STREAMING,
    SPARK_WINDOWS,
    STREAM_GROWTH,
    WINDOWS,
    Reading,
    read,
)
from benchmarks.serving import cases as serving
from benchmarks.single_events import cases as single_events
from benchmarks.spark_batch import cases as spark_batch
from benchmarks.spark_streaming import cases as spark_streaming
from benchmarks.spark_windows import cases as spark_windows
from benchmarks.stream_growth import cases as stream_growth
from benchmarks.windows import cases as windows
from benchmarks.windows import sql

PAGE = ROOT / "docs" / "benchmarks.md"
HERE = Path(__file__).parent


def write(
    path: Path,
    *,
    columns: Sequence[Reading] = (),
    tables: Sequence[Reading] = (),
    overheads: Sequence[Reading] = (),
    weights: Sequence[Reading] = (),
    events: Sequence[Reading] = (),
    labels: Sequence[Reading] = (),
    around: Sequence[Reading] = (),
    every_aggregate: Sequence[Reading] = (),
    first: Sequence[Reading] = (),
    frames: Sequence[Reading] = (),
    streams: Sequence[Reading] = (),
    growth: Sequence[Reading] = (),
    auctions: Sequence[Reading] = (),
    around_on_spark: Sequence[Reading] = (),
    h2o_questions: Sequence[Reading] = (),
    real_flights: Sequence[Reading] = (),
    sweeps: Sequence[Reading] = (),
    choices: Sequence[Reading] = (),
    lookups: Sequence[Reading] = (),
) -> None:
    """Write the page from what was measured over columns, over tables, in fresh processes and on Spark; what was not is left out."""
    parts: list[tuple[Callable[[Sequence[Reading]], Iterator[str]], Sequence[Case], Sequence[Reading]]] = [
        (over_columns, CASES, columns),
        (over_tables, windows.CASES, tables),
        (of_overheads, query_overhead.CASES, overheads),
        (of_weights, filters_and_weights.CASES, weights),
        (of_events, single_events.CASES, events),
        (of_labels, features.CASES, labels),
        (of_lookups, serving.CASES, lookups),
        (of_frames_around, frames_around.CASES, around),
        (of_aggregates, aggregates.CASES, every_aggregate),
        (of_first_answers, first_answer.CASES, first),
        (over_frames, spark_batch.CASES, frames),
        (over_streams, spark_streaming.CASES, streams),
        (of_growth, stream_growth.CASES, growth),
        (of_nexmark, nexmark.CASES, auctions),
        (of_window_benchmark, spark_windows.CASES, around_on_spark),
        (of_h2o, h2o.CASES, h2o_questions),
        (of_flights, flights.CASES, real_flights),
        (of_sweeps, growth_sweeps.CASES, sweeps),
        (of_choices, (), choices),
    ]
    measured = [(list(section(found)), cases, found) for section, cases, found in parts if found]
    lines = [
        "# Benchmarks",
        "",
        "Medians, all contestants in turns in one run, each answer checked before it is timed. `make bench` makes this page.",
        "",
        *overview(measured),
        *(line for section, _, _ in measured for line in section),
    ]
    path.write_text("\n".join(lines), encoding="utf-8")


def overview(measured: Sequence[tuple[list[str], Sequence[Case], Sequence[Reading]]]) -> Iterator[str]:
    """Yield a table of the sections, with how many targets each meets."""
    rows = []
    for section, cases, readings in measured:
        heading = section[0].removeprefix("## ")
        verdicts = judge(cases, readings)
        met = f"{sum(one.is_met for one in verdicts)} of {len(verdicts)}" if verdicts else "—"
        anchor = re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-")
        rows.append([f"[{heading}](#{anchor})", met])
    yield from _table(("section", "targets met"), iter(rows))


def over_columns(readings: Sequence[Reading]) -> Iterator[str]:
    """Yield the lines about windows of rows over one column."""
    copy = min((one.value for one in readings if one.contestant == "copy of the column"), default=float("nan"))
    yield "## Windows of rows over a column"
    yield ""
    yield _facts(readings, COMPILED)
    yield f"A copy of the column into a fresh array, which reads and writes as much, takes {copy:.1f} ns a row."
    yield ""
    yield from _targets(CASES, readings)
    yield _text("reasons.md")


def over_tables(readings: Sequence[Reading]) -> Iterator[str]:
    """Yield the lines about windows of time over a table, with the SQL of the peer."""
    yield "## Windows of time over a table"
    yield ""
    yield _facts(readings, WINDOWS)
    yield ""
    yield _text("windows/about.md")
    yield from _targets(windows.CASES, readings)
    yield from _all(windows.CASES, readings)
    yield _text("windows/reasons.md")
    yield "### The SQL"
    yield ""
    (day,), (hour,) = windows.DAY.values(), windows.HOUR_PER_ROW.values()
    for name, text in {
        "slices doubled": sql.by_doubling(day),
        "frames of slices": sql.by_frames(day),
        "copies": sql.by_copies(day),
        "frames": sql.per_row(hour),
    }.items():
        yield f"DuckDB *{name}*:\n\n```sql\n{text}\n```\n"


def of_overheads(readings: Sequence[Reading]) -> Iterator[str]:
    """Yield the lines about what a query adds to its kernels."""
    yield "## What Query adds to its kernels"
    yield ""
    yield _facts(readings, QUERY_OVERHEAD)
    yield ""
    yield _text("query_overhead/about.md")
    yield from _targets(query_overhead.CASES, readings)
    yield from _all(query_overhead.CASES, readings)
    yield _text("query_overhead/reasons.md")


def of_weights(readings: Sequence[Reading]) -> Iterator[str]:
    """Yield the lines about filters and weights."""
    yield "## Filters and exponential weights"
    yield ""
    yield _facts(readings, FILTERS_AND_WEIGHTS)
    yield ""
    yield _text("filters_and_weights/about.md")
    yield from _targets(filters_and_weights.CASES, readings)
    yield from _all(filters_and_weights.CASES, readings)
    yield _text("filters_and_weights/reasons.md")


def of_events(readings: Sequence[Reading]) -> Iterator[str]:
    """Yield the lines about windows that are moved on row by row."""
    yield "## Single events"
    yield ""
    yield _facts(readings, SINGLE_EVENTS)
    yield ""
    yield _text("single_events/about.md")
    yield from _targets(single_events.CASES, readings)
    yield from _all(single_events.CASES, readings)


def of_lookups(readings: Sequence[Reading]) -> Iterator[str]:
    """Yield the lines about features over HTTP."""
    yield "## Lookups"
    yield ""
    yield _facts(readings, SERVING)
    yield ""
    yield _text("serving/about.md")
    yield from _targets(serving.CASES, readings)
    yield from _all(serving.CASES, readings)


def of_labels(readings: Sequence[Reading]) -> Iterator[str]:
    """Yield the lines about point-in-time features, with the SQL of the peer."""
    yield "## Point-in-time features"
    yield ""
    yield _facts(readings, FEATURES)
    yield ""
    yield _text("features/about.md")
    yield from _targets(features.CASES, readings)
    yield from _all(features.CASES, readings)
    yield _text("features/reasons.md")
    for name, text in {"range join": feature_peers.BY_JOIN, "frames over a union": feature_peers.BY_FRAMES}.items():
        yield f"DuckDB *{name}*:\n\n```sql\n{text}\n```\n"


def of_frames_around(readings: Sequence[Reading]) -> Iterator[str]:
    """Yield the lines about frames around each row."""
    yield "## Frames around each row"
    yield ""
    yield _facts(readings, FRAMES)
    yield ""
    yield _text("frames/about.md")
    yield from _targets(frames_around.CASES, readings)
    yield from _all(frames_around.CASES, readings)
    yield _text("frames/reasons.md")


def of_aggregates(readings: Sequence[Reading]) -> Iterator[str]:
    """Yield the lines about every aggregate."""
    yield "## Every aggregate"
    yield ""
    yield _facts(readings, AGGREGATES)
    yield ""
    yield _text("aggregates/about.md")
    yield from _targets(aggregates.CASES, readings)
    yield _text("aggregates/reasons.md")


def of_first_answers(readings: Sequence[Reading]) -> Iterator[str]:
    """Yield the lines about the time to the first result."""
    yield "## Time to the first result"
    yield ""
    yield _facts(readings, FIRST_ANSWER)
    yield ""
    yield _text("first_answer/about.md")
    yield from summary.page(first_answer.CASES, readings)
    yield _text("first_answer/reasons.md")


def over_frames(readings: Sequence[Reading]) -> Iterator[str]:
    """Yield the lines about queries on Spark."""
    yield "## On Spark"
    yield ""
    yield from _on_spark(spark_batch.CASES, readings, SPARK_BATCH, "time for all")


def over_streams(readings: Sequence[Reading]) -> Iterator[str]:
    """Yield the lines about queries on streams of Spark's."""
    yield "## On streams of Spark's"
    yield ""
    yield from _on_spark(spark_streaming.CASES, readings, SPARK_STREAMING, "time for a batch")


def of_growth(readings: Sequence[Reading]) -> Iterator[str]:
    """Yield the lines about streams as their keys and slices grow."""
    yield "## Streams as their keys grow"
    yield ""
    yield "![Time and bytes per micro-batch against the number of keys](images/stream_growth.svg)"
    yield ""
    yield _facts(readings, STREAM_GROWTH)
    yield ""
    yield _text("stream_growth/about.md")
    yield from _targets(stream_growth.CASES, readings)
    yield from _all(stream_growth.CASES, readings)
    yield _text("stream_growth/reasons.md")


def of_nexmark(readings: Sequence[Reading]) -> Iterator[str]:
    """Yield the lines about Nexmark."""
    yield "## Nexmark"
    yield ""
    yield "![Time per event of each query, in Sash and in Spark](images/nexmark.svg)"
    yield ""
    yield from _on_spark(nexmark.CASES, readings, NEXMARK, "time for all, or for a batch")


def of_window_benchmark(readings: Sequence[Reading]) -> Iterator[str]:
    """Yield the lines about Spark's own benchmark of frames."""
    yield "## Spark's own WindowBenchmark"
    yield ""
    yield from _on_spark(spark_windows.CASES, readings, SPARK_WINDOWS, "time for all")


def of_h2o(readings: Sequence[Reading]) -> Iterator[str]:
    """Yield the lines about the questions of the H2O benchmark."""
    yield "## The H2O benchmark"
    yield ""
    yield _facts(readings, H2O)
    yield ""
    yield _text("h2o/about.md")
    for heading, cases in {"Rolling questions": h2o.ROLLING, "Window questions": h2o.OVER}.items():
        yield f"### {heading}"
        yield ""
        yield from questions.page(cases, readings)
    yield _text("h2o/reasons.md")


def of_flights(readings: Sequence[Reading]) -> Iterator[str]:
    """Yield the lines about real flights, with the SQL of the peers."""
    yield "## Real flights"
    yield ""
    yield _facts(readings, FLIGHTS)
    yield ""
    yield _text("flights/about.md")
    yield from questions.page(flights.CASES, readings)
    yield _text("flights/reasons.md")
    yield from _longest_sql(flights.CASES)


def _longest_sql(cases: Sequence[QuestionCase]) -> Iterator[str]:
    """Yield the SQL that has no plain OVER: readers should see how a peer is asked."""
    for case in cases:
        if case.question.sql.count("SELECT") > 1:
            yield f"DuckDB, *{case.name}*:\n\n```sql\n{case.question.sql}\n```\n"


def of_sweeps(readings: Sequence[Reading]) -> Iterator[str]:
    """Yield the lines about growth: a picture and its explanation for each sweep, then all numbers."""
    yield "## Growth"
    yield ""
    yield _facts(readings, GROWTH)
    yield ""
    yield _text("growth/about.md")
    yield _text("growth/reasons.md")
    if judge(growth_sweeps.IN_ORDER_OF_TIME, readings):
        yield "### Tables in order of time"
        yield ""
        yield _text("growth/in_order_of_time.md")
        yield from _targets(growth_sweeps.IN_ORDER_OF_TIME, readings)
    yield from _all(growth_sweeps.CASES, readings)


def of_choices(readings: Sequence[Reading]) -> Iterator[str]:
    """Yield the lines about the choice of algorithms."""
    yield "## The choice of an algorithm"
    yield ""
    yield _facts(readings, CHOICE)
    yield ""
    yield _text("choice/about.md")
    yield from choice.page(readings)


def _on_spark(cases: Sequence[Case], readings: Sequence[Reading], file: Path, whole: str) -> Iterator[str]:
    yield _facts(readings, file)
    yield ""
    yield _text(f"{file.stem}/about.md")
    yield from _targets(cases, readings)
    yield from _all(cases, readings, whole)
    yield _text(f"{file.stem}/reasons.md")


def _facts(readings: Sequence[Reading], file: Path) -> str:
    own = [one for one in readings if one.role == "sash" and one.measure in (TIME, SECONDS)]
    facts = own[0]
    when = ", ".join(f"{date} (commit {commit})" for date, commit in sorted({(one.date, one.commit) for one in own}))
    where = f"{facts.machine}, {facts.cores} cores, Python {facts.python}, {when}"
    return f"On {where}. Everything measured is in [{file.name}](../{file.relative_to(ROOT)})."


def _text(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8").strip() + "\n"


def _targets(cases: Sequence[Case], readings: Sequence[Reading]) -> Iterator[str]:
    verdicts = judge(cases, readings)
    yield f"{sum(one.is_met for one in verdicts)} of {len(verdicts)} targets are met."
    yield ""
    yield from _table(("case", "range", "to reach", "measured", "Sash", "beside"), map(_cells, verdicts))


def _table(headings: Sequence[str], rows: Iterator[list[str]]) -> Iterator[str]:
    for row in (headings, ["---"] * len(headings), *rows):
        yield f"| {' | '.join(row)} |"
    yield ""


def _cells(one: Verdict) -> list[str]:
    is_ratio = one.other is not None and one.own.measure != ERROR
    measured = f"{round_off(one.ratio)} ×" if is_ratio else quantity(one.own)
    mark = "✓" if one.is_met else "✗"
    return [label(one), one.case.range, say_target(one), f"{measured} {mark}", quantity(one.own), one.beside]


def _all(cases: Sequence[Case], readings: Sequence[Reading], whole: str = "time for all") -> Iterator[str]:
    most = {case.name: case.rows for case in cases}
    yield "All that was measured:"
    yield ""
    rows = (_line(one, most[one.case]) for one in readings)
    yield from _table(("case", "contestant", "measured", "rows", whole), rows)


def _line(one: Reading, most: int) -> list[str]:
    seconds = f"{round_off(one.value * most / 1e9)} s" + (", scaled" if one.rows < most else "")
    if one.measure != TIME:
        seconds = ""
    return [one.case, one.contestant, quantity(one), f"{one.rows:,}", seconds]


if __name__ == "__main__":
    write(
        PAGE,
        columns=read(COMPILED),
        tables=read(WINDOWS),
        overheads=read(QUERY_OVERHEAD),
        weights=read(FILTERS_AND_WEIGHTS) if FILTERS_AND_WEIGHTS.exists() else (),
        events=read(SINGLE_EVENTS),
        labels=read(FEATURES),
        around=read(FRAMES) if FRAMES.exists() else (),
        every_aggregate=read(AGGREGATES) if AGGREGATES.exists() else (),
        first=read(FIRST_ANSWER),
        frames=read(SPARK_BATCH),
        streams=read(SPARK_STREAMING),
        growth=read(STREAM_GROWTH) if STREAM_GROWTH.exists() else (),
        auctions=read(NEXMARK),
        around_on_spark=read(SPARK_WINDOWS),
        h2o_questions=read(H2O),
        real_flights=read(FLIGHTS),
        sweeps=read(GROWTH),
        choices=read(CHOICE),
        lookups=read(SERVING),
    )
    readme.write(read(COMPILED))
