"""Checks and times a case on a stream: what is timed is Spark's own time for each batch after the first."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from time import perf_counter
from typing import Any, TypeVar

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.streaming.readwriter import DataStreamWriter

from benchmarks.case import Call
from benchmarks.field import PATIENCE
from benchmarks.spark_batch.answers import compare_sums, sums_of
from benchmarks.spark_batch.case import SparkContestant
from benchmarks.spark_batch.data import folder
from benchmarks.spark_batch.field import SparkField, settings
from benchmarks.spark_batch.session import CORES, spark
from benchmarks.spark_streaming.case import StreamCase
from benchmarks.spark_streaming.data import arrived, arriving, passed

Gathered = TypeVar("Gathered")


class StreamField(SparkField):
    """Contestants that make a stream of a stream."""

    def __init__(self, case: StreamCase) -> None:
        self.batches = case.batches
        self._batch_sums: dict[tuple[str, str, int], Any] = {}
        self._few_batches: dict[str, list[Any]] = {}
        super().__init__(case)

    def prepare(self, contestant: SparkContestant) -> Call:
        """Return the call that runs the stream to its end, with results that are kept nowhere."""

        def compute() -> list[Any]:
            if self.counted(contestant) <= self.checked:
                return self._few_batches[contestant.name]  # nothing else is asked than was for the check
            with settings(contestant):
                return run(self._stream(contestant, self.counted(contestant)).writeStream.format("noop"))

        return compute

    def answers_of(self, contestant: SparkContestant) -> pa.Table:
        """Return what has come out of the stream when all of few rows have come."""
        final = self.final(contestant, self.checked)
        tables, batches = gather(self._stream(contestant, self.checked), lambda batch: final(batch).toArrow())
        self._few_batches[contestant.name] = batches
        return pa.concat_tables(tables)

    def right_answers(self, contestant: SparkContestant) -> pa.Table:
        """Return what should have: the batch answers that the watermark has passed."""
        right = contestant.question.right(self.rows_of(contestant, self.checked))
        return self.passed(contestant, right, self.checked).toArrow()

    def check_sums(self, contestant: SparkContestant) -> None:
        """Compare with a batch run of the first contestant that has the same question, on all rows."""
        question, rows = contestant.question, self.counted(contestant)
        key = question.range, contestant.readings, rows
        if key not in self._batch_sums:
            first = next(one for one in self.contestants if one.question == question)
            answered = first.answer(self.rows_of(contestant, rows))
            self._batch_sums[key] = sums_of(question, self.passed(contestant, answered, rows))
        final = self.final(contestant, rows)
        with settings(contestant):
            own, _ = gather(self._stream(contestant, rows), lambda batch: sums_of(question, final(batch)))
        compare_sums(sum(own), self._batch_sums[key], self.case.tolerance)

    def times(self, repeats: int) -> dict[str, list[float]]:
        """Return nanoseconds a row, of each batch that has rows, but the first."""
        times: dict[str, list[float]] = {one.name: [] for one in self.contestants}
        begin = perf_counter()
        for repeat in range(repeats):
            if repeat and perf_counter() - begin > PATIENCE:
                break
            for one in self.contestants:
                batches = [batch for batch in self.calls[one.name]() if batch["batchId"] > 0 and batch["numInputRows"]]
                times[one.name] += [
                    batch["durationMs"]["triggerExecution"] * 1e6 / self.rows_in(one, batch) for batch in batches
                ]
        return times

    def rows_of(self, contestant: SparkContestant, rows: int) -> Any:
        """Return all rows that arrive, as frames."""
        return arrived(contestant.readings, rows, self.batches)

    def arriving(self, contestant: SparkContestant, rows: int) -> Any:
        """Return the same as streams."""
        return arriving(contestant.readings, rows, self.batches)

    def passed(self, contestant: SparkContestant, answered: DataFrame, rows: int) -> DataFrame:
        """Return the answers that the watermark has passed when all rows have come."""
        return passed(answered, self.rows_of(contestant, rows))

    def final(self, contestant: SparkContestant, rows: int) -> Callable[[DataFrame], DataFrame]:  # noqa: ARG002
        """Return what takes the answers of a batch that are compared: all, unless a contestant gives some too early."""
        return lambda batch: batch

    def rows_in(self, contestant: SparkContestant, batch: Any) -> int:  # noqa: ARG002
        """Return by how many rows the time of a batch is divided."""
        return int(batch["numInputRows"])

    def _stream(self, contestant: SparkContestant, rows: int) -> DataFrame:
        return contestant.answer(self.arriving(contestant, rows))


def gather(answered: DataFrame, take: Callable[[DataFrame], Gathered]) -> tuple[list[Gathered], list[Any]]:
    """Run a stream to its end, and return what is taken of the results of each batch, and the progress of each."""
    taken: list[Gathered] = []
    return taken, run(answered.writeStream.foreachBatch(lambda batch, _: taken.append(take(batch))))


def run(writer: DataStreamWriter) -> list[Any]:
    """Run a stream to its end, and return the progress of each of its batches."""
    checkpoint = tempfile.mkdtemp(dir=folder())
    conf, partitions = spark().conf, "spark.sql.shuffle.partitions"
    before = str(conf.get(partitions))
    conf.set(partitions, CORES)  # each has a state store, which commits in each batch
    try:
        query = writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
        query.awaitTermination()
        return list(query.recentProgress)
    finally:
        conf.set(partitions, before)
        shutil.rmtree(checkpoint)
