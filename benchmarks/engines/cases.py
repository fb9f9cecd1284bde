"""The table of cases: the questions, and how many events each engine gets. A slow one gets fewer, at least an hour of them if it can."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from benchmarks.engines.case import EngineCase, EngineContestant
from benchmarks.engines.latency import SHOWN, LatencyCase
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


def ask(question: StreamQuestion, rows: Mapping[str, int]) -> EngineCase:
    """Return the case of a question. `rows` has the engines that get fewer events, or none."""
    numbers = {name: rows.get(name, ALL) for name in ENGINES}
    contestants = [replace(ENGINES[name], rows=many) for name, many in numbers.items() if many != NEVER]
    aggregate = "max, mean, count" if question is not OWN_AGGREGATE else "geometric mean"
    return EngineCase(name=question.name, aggregate=aggregate, question=question, contestants=contestants)


TEN_MINUTES, MINUTE, TEN_SECONDS, SECOND = CURVE
PER_ROW = {SPARK: NEVER, PATHWAY: NEVER, BYTEWAX: NEVER}
TIMES: tuple[EngineCase, ...] = (
    ask(TUMBLING, {PATHWAY: 600 * K, BYTEWAX: 600 * K}),
    ask(TEN_MINUTES, {SPARK: 800 * K, PATHWAY: 20 * K, BYTEWAX: 450 * K}),
    ask(MINUTE, {FLINK: 600 * K, SPARK: 500 * K, PATHWAY: 4 * K, BYTEWAX: 50 * K}),
    ask(TEN_SECONDS, {FLINK: 100 * K, SPARK: 20 * K, PATHWAY: NEVER, BYTEWAX: 10 * K}),
    ask(SECOND, {ON_SPARK: 800 * K, FLINK: 10 * K, SPARK: NEVER, PATHWAY: NEVER, BYTEWAX: NEVER}),
    ask(SESSION, {PATHWAY: 20 * K, BYTEWAX: 450 * K}),
    ask(ROWS, {ON_SPARK: M, **PER_ROW}),
    ask(RANGE, {ON_SPARK: M, **PER_ROW}),
    ask(TEN, {FLINK: 200 * K, SPARK: 50 * K, PATHWAY: NEVER, BYTEWAX: 4 * K}),
    ask(OWN_AGGREGATE, {FLINK: 50 * K, SPARK: NEVER, PATHWAY: 10 * K, BYTEWAX: 200 * K}),
)
PACED = tuple(
    replace(ENGINES[name], worker=ENGINES[name].worker.replace("in_", "paced_")) for name in (SASH, ON_SPARK, SPARK)
)
"""The engines whose latency is measured: in_sash.py answers at once what paced_sash.py answers as it arrives."""
LATENCIES: tuple[LatencyCase, ...] = tuple(
    LatencyCase(
        name=f"latency, {question.name}: {shown}", question=question, shown=shown, measure=measure, contestants=PACED
    )
    for question in (TUMBLING, MINUTE)
    for shown, measure in SHOWN.items()
)
CASES = (*TIMES, *LATENCIES)
