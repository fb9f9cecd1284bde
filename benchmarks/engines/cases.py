"""The table of cases: the questions, and how many events each engine gets. A slow one gets fewer, at least an hour of them if it can."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from benchmarks.engines.case import EngineContestant, SiteCase, StreamQuestionCase
from benchmarks.engines.latency import SHOWN, LatencyCase, PacedContestant
from benchmarks.engines.nexmark.queries import QUERIES
from benchmarks.engines.questions import CURVE, OWN_AGGREGATE, RANGE, ROWS, SESSION, TEN, TUMBLING, StreamQuestion

SASH, FLINK, ON_SPARK, SPARK, PATHWAY, BYTEWAX = "Sash", "Flink", "Sash on Spark", "Spark", "Pathway", "Bytewax"
ENGINES: Mapping[str, EngineContestant] = {
    one.name: one
    for one in (
        EngineContestant(name=SASH, role="sash", worker="in_sash"),
        EngineContestant(name=FLINK, package="apache-flink", worker="in_flink"),
        EngineContestant(name=ON_SPARK, role="sash", worker="in_spark", way="sash"),
        EngineContestant(name=SPARK, package="pyspark", worker="in_spark", way="spark"),
        EngineContestant(name=PATHWAY, package="pathway", worker="in_pathway"),
        EngineContestant(name=BYTEWAX, package="bytewax", worker="in_bytewax"),
    )
}
ALL, M, K = 2_400_000, 1_000_000, 1_000
NEVER = 0
"""The engine is left out; reasons.md says why."""


def ask(question: StreamQuestion, rows: Mapping[str, int]) -> StreamQuestionCase:
    """Return the case of a question. `rows` has the engines that get fewer events, or none."""
    numbers = {name: rows.get(name, ALL) for name in ENGINES}
    contestants = [replace(ENGINES[name], rows=many) for name, many in numbers.items() if many != NEVER]
    aggregate = "max, mean, count" if question is not OWN_AGGREGATE else "geometric mean"
    return StreamQuestionCase(name=question.name, aggregate=aggregate, question=question, contestants=contestants)


TEN_MINUTES, MINUTE, TEN_SECONDS, SECOND = CURVE
PER_ROW = {SPARK: NEVER, PATHWAY: NEVER, BYTEWAX: NEVER}
TIMES: tuple[StreamQuestionCase, ...] = (
    ask(TUMBLING, {PATHWAY: 600 * K, BYTEWAX: 600 * K}),
    ask(TEN_MINUTES, {SPARK: 800 * K, PATHWAY: 20 * K, BYTEWAX: 450 * K}),
    ask(MINUTE, {FLINK: 600 * K, SPARK: 500 * K, PATHWAY: 4 * K, BYTEWAX: 50 * K}),
    ask(TEN_SECONDS, {FLINK: 100 * K, SPARK: 20 * K, PATHWAY: NEVER, BYTEWAX: 10 * K}),
    ask(SECOND, {ON_SPARK: 800 * K, FLINK: NEVER, SPARK: NEVER, PATHWAY: NEVER, BYTEWAX: NEVER}),
    ask(SESSION, {PATHWAY: 20 * K, BYTEWAX: 450 * K}),
    ask(ROWS, {ON_SPARK: M, **PER_ROW}),
    ask(RANGE, {ON_SPARK: M, **PER_ROW}),
    ask(TEN, {FLINK: 200 * K, SPARK: 50 * K, PATHWAY: NEVER, BYTEWAX: 4 * K}),
    ask(OWN_AGGREGATE, {FLINK: 50 * K, SPARK: NEVER, PATHWAY: 10 * K, BYTEWAX: 200 * K}),
)


def ask_site(number: int, rows: Mapping[str, int]) -> SiteCase:
    """Return the case of a query of Nexmark. On Spark half of the events tell as much."""
    query = QUERIES[number]
    numbers = {SASH: ALL, FLINK: ALL, ON_SPARK: ALL // 2, SPARK: ALL // 2, **rows}
    contestants = [replace(ENGINES[name], rows=many) for name, many in numbers.items()]
    return SiteCase(name=query.name, aggregate=query.aggregate, query=query, contestants=contestants)


NEXMARK: tuple[SiteCase, ...] = (
    ask_site(5, {SPARK: 800 * K}),
    ask_site(7, {FLINK: ALL // 2}),  # which keeps all bids
    ask_site(8, {}),
    ask_site(11, {}),
    ask_site(12, {}),
)
PACED: tuple[PacedContestant, ...] = (
    PacedContestant(name=SASH, role="sash", worker="paced_sash", first_rate=320_000),
    PacedContestant(name=FLINK, package="apache-flink", worker="paced_flink", first_rate=80_000),
    PacedContestant(name=ON_SPARK, role="sash", worker="paced_spark", way="sash", first_rate=20_000),
    PacedContestant(name=SPARK, package="pyspark", worker="paced_spark", way="spark", first_rate=20_000),
)
"""The engines whose latency is measured: in_sash.py answers at once what paced_sash.py answers as it arrives."""
LATENCIES: tuple[LatencyCase, ...] = tuple(
    LatencyCase(
        name=f"latency, {question.name}: {shown}", question=question, shown=shown, measure=measure, contestants=PACED
    )
    for question in (TUMBLING, MINUTE)
    for shown, measure in SHOWN.items()
)
CASES = (*TIMES, *NEXMARK)
