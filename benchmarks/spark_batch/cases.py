"""The table of cases on Spark, with the targets of each."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from benchmarks.case import MEMORY, Target
from benchmarks.spark_batch import native
from benchmarks.spark_batch.case import Question, ResultColumn, SparkCase, SparkContestant
from benchmarks.spark_batch.sash_calls import by_sash, steepest
from sash import agg, window

IDENTITY = "identity in Python"
DEFAULT, TREE = "Spark", "Spark, segment tree"
PER_ROW, PER_WINDOW = ("household", "ts"), ("household", "window_start", "window_end")
WIDE = {f"w{length}": (length, "1m") for length in ("1m", "10m", "1h", "6h", "1d", "7d")}
LENGTH = 1_000
RANGES = 16
SLOW_ROWS = {100: 1_000_000, 1_000: 160_000, 10_000: 80_000}
"""How many of 4 M rows Spark's default can be asked for."""


class Asked:
    """A question and the data it is asked of: makes contestants."""

    def __init__(self, question: Question, readings: str = "40 K rows a key") -> None:
        self.question = question
        self.readings = readings

    def sash(self, answer: ResultColumn, name: str = "Sash") -> SparkContestant:
        """Return Sash."""
        return SparkContestant(
            name=name, role="sash", algorithm="auto", question=self.question, readings=self.readings, answer=answer
        )

    def spark(
        self, name: str, answer: ResultColumn, rows: int | None = None, *, tree: bool | None = None
    ) -> SparkContestant:
        """Return a way of Spark's own; of those that answer something else, only the time is looked at."""
        return SparkContestant(
            name=name,
            package="pyspark",
            question=self.question,
            readings=self.readings,
            answer=answer,
            rows=rows,
            conf={} if tree is None else {native.SEGMENT_TREE: str(tree).lower()},
        )

    def beside(self, name: str, answer: ResultColumn) -> SparkContestant:
        """Return what answers another question, whose time is a measure."""
        return SparkContestant(
            name=name,
            role="beside",
            package="pyspark",
            question=self.question,
            readings=self.readings,
            answer=answer,
        )


def faster(times: float, other: str) -> Target:
    """Return that Sash is so many times as fast."""
    return Target(against=other, at_least=times)


def of_rows() -> Iterator[SparkCase]:
    """Yield the last rows, for each row."""
    targets = {
        100: (faster(1, DEFAULT), faster(1, TREE)),
        1_000: (faster(20, DEFAULT), faster(4, TREE), Target(against="running aggregate", at_most=1.3)),
        10_000: (faster(1, DEFAULT), faster(1, TREE)),
    }
    for length in (1_000, 100, 10_000):
        spark = partial(native.over_rows, length)
        asked = Asked(Question(f"rows({length})", spark, PER_ROW))
        yield SparkCase(
            name=f"4 M rows, 100 keys, {asked.question.range}",
            contestants=(
                asked.sash(by_sash(window.rows(length))),
                asked.spark(DEFAULT, spark, SLOW_ROWS[length], tree=False),
                asked.spark(TREE, spark, 1_000_000, tree=True),
                asked.beside("running aggregate", native.running),
                *([asked.beside(IDENTITY, native.through_python)] if length == LENGTH else []),
            ),
            targets=targets[length],
            checked=30_000 if length > LENGTH else 4_000,
        )


def wide() -> Iterator[SparkCase]:
    """Yield the last rows with 20 columns that only pass through, beside the same rows without them."""
    spark = partial(native.over_rows, LENGTH)
    question = Question(f"rows({LENGTH})", spark, PER_ROW)
    with_notes = Asked(question, "20 more columns")
    yield SparkCase(
        name=f"20 columns that pass through, {question.range}",
        contestants=(
            with_notes.sash(by_sash(window.rows(LENGTH))),
            Asked(question).sash(by_sash(window.rows(LENGTH)), "without them"),
            with_notes.beside("running aggregate", native.running),
            with_notes.beside(IDENTITY, native.through_python),
        ),
        rows=400_000,
    )


def of_time() -> Iterator[SparkCase]:
    """Yield windows of time that slide each minute."""
    for length, rows, times in (("1h", 400_000, 10), ("24h", 40_000, 100)):
        asked = Asked(Question(f"{length} every 1m", partial(native.exploded, length, "1m"), PER_WINDOW))
        tumbling = asked.beside("tumbling minute", partial(native.tumbling, "1m"))
        yield SparkCase(
            name=f"4 M rows over 10 days, {asked.question.range}",
            contestants=(
                asked.sash(by_sash(window.time(length, slide="1m"))),
                asked.spark("Spark's window", partial(native.sliding, length, "1m"), rows),
                asked.spark("Spark, copies exploded", asked.question.right, rows),
                tumbling,
            ),
            targets=(
                faster(times, "Spark's window"),
                *([Target(against=tumbling.name, at_most=1.5)] if length == "1h" else []),
            ),
            checked=2_000,
        )


def sharing() -> Iterator[SparkCase]:
    """Yield six windows in one query beside the widest alone."""
    length, slide = list(WIDE.values())[-1]
    all_of_them = Asked(Question("1m … 7d, every 1m", partial(native.several, WIDE), ("window", *PER_WINDOW)))
    alone = Asked(Question(f"{length} every {slide}", partial(native.exploded, length, slide), PER_WINDOW))
    yield SparkCase(
        name="six windows beside the widest",
        contestants=(
            all_of_them.sash(
                by_sash({name: window.time(length, slide=slide) for name, (length, slide) in WIDE.items()}),
                "six windows",
            ),
            alone.sash(by_sash(window.time(length, slide=slide)), "the widest"),
        ),
        targets=(Target(contestant="six windows", against="the widest", at_most=1.3),),
        checked=300,
    )


def own() -> Iterator[SparkCase]:
    """Yield an aggregate of the user's, and the median, over the last rows."""
    kinds = {"arrow_udf": native.arrow_udf, "pandas_udf": native.pandas_udf}
    asked = Asked(Question(f"rows({LENGTH})", partial(native.steepest_by_sql, LENGTH), PER_ROW, ("rise",)))
    yield SparkCase(
        name=f"an aggregate of one's own, {asked.question.range}",
        aggregate="steepest rise",
        contestants=(
            asked.sash(by_sash(window.rows(LENGTH), {"rise": steepest("load")})),
            *(asked.spark(name, partial(native.steepest_by_udf, kind, LENGTH), 80_000) for name, kind in kinds.items()),
        ),
        targets=(faster(30, "arrow_udf"), *(faster(100, name) for name in kinds)),
    )
    asked = Asked(Question(f"rows({LENGTH})", partial(native.percentile, LENGTH), PER_ROW, ("middle",)))
    yield SparkCase(
        name=f"median, {asked.question.range}",
        aggregate="median",
        contestants=(
            asked.sash(by_sash(window.rows(LENGTH), {"middle": agg.median("load")})),
            asked.spark("Spark's percentile", asked.question.right, 80_000),
        ),
        targets=(faster(1, "Spark's percentile"),),
    )


def keys() -> Iterator[SparkCase]:
    """Yield many keys of a few rows beside few keys of many."""
    question = Question("1h per row", partial(native.over_time_by_key, "1h"), PER_ROW)
    many, few = "1 M keys × 10 rows", "1 K keys × 10 K rows"
    yield SparkCase(
        name="many keys beside few, 1h per row",
        contestants=(
            Asked(question, "10 rows a key").sash(by_sash(window.time("1h")), many),
            Asked(question, "10 K rows a key").sash(by_sash(window.time("1h")), few),
        ),
        rows=10_000_000,
        targets=(Target(contestant=many, against=few, at_most=3),),
    )


def skewed() -> Iterator[SparkCase]:
    """Yield a key with nine of ten rows beside the same rows of a thousand keys."""
    question = Question("1h per row", partial(native.over_time_by_key, "1h"), PER_ROW)
    large, spread = Asked(question, "90 % in one key"), Asked(question, "20 K rows a key")
    found, even, looked = 'one key, skew="auto"', "1 K keys", '1 K keys, skew="auto"'
    yield SparkCase(
        name="90 % of 20 M rows in one key, 1h per row",
        contestants=(
            large.sash(by_sash(window.time("1h"), skew="auto"), found),
            large.sash(by_sash(window.time("1h")), "one key"),
            spread.sash(by_sash(window.time("1h")), even),
            spread.sash(by_sash(window.time("1h"), skew="auto"), looked),
        ),
        rows=20_000_000,
        targets=(
            Target(contestant=found, against=even, at_most=1.5),
            Target(contestant=looked, against=even, at_most=1.1),
        ),
    )


def without_key() -> Iterator[SparkCase]:
    """Yield one stream, whose time axis is split for Sash; Spark has all of it in one partition."""
    spark = partial(native.over_time, "1h")
    asked = Asked(Question("1h per row", spark, ("ts",)), "no key")
    split = asked.sash(by_sash(window.time("1h"), by=(), ranges=RANGES))
    whole = asked.sash(by_sash(window.time("1h"), by=(), strategy="buckets"), "one partition")
    yield SparkCase(
        name="20 M rows without a key, 1h per row",
        contestants=(
            split,
            asked.spark(DEFAULT, spark, 100_000, tree=False),
            asked.spark(TREE, spark, 1_000_000, tree=True),
        ),
        rows=20_000_000,
        targets=(faster(1, DEFAULT), faster(1, TREE)),
    )
    yield SparkCase(
        name="20 M rows without a key, the largest Python worker, 1h per row",
        contestants=(split, whole),
        rows=20_000_000,
        repeats=1,
        measure=MEMORY,
        targets=(Target(against="one partition", at_most=1),),
    )


CASES: tuple[SparkCase, ...] = (*of_rows(), *wide(), *of_time(), *sharing(), *own(), *keys(), *skewed(), *without_key())
