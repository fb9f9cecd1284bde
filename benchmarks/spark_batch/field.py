"""Checks and times a case on Spark."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

import pyarrow as pa

from benchmarks.case import MEMORY, Call
from benchmarks.field import Field
from benchmarks.spark_batch.answers import compare, compare_sums, sums_of
from benchmarks.spark_batch.case import SparkCase, SparkContestant
from benchmarks.spark_batch.data import readings
from benchmarks.spark_batch.memory import most_of_a_worker
from benchmarks.spark_batch.native import SEGMENT_TREE
from benchmarks.spark_batch.session import spark

WARM_UP, BRIEF_CHECK = 2.0, 3.0
"""Seconds: how long a brief contestant runs before it is timed, as the JVM compiles code while it runs; and what a check of one takes."""


class SparkField(Field[SparkContestant]):
    """Contestants that make a frame of a frame. What is timed is computed to the last row, and kept nowhere."""

    def __init__(self, case: SparkCase) -> None:
        self.checked = case.checked
        self._right: dict[tuple[str, str], pa.Table] = {}
        self._sums: dict[tuple[str, str, int], Any] = {}
        self._few: dict[str, pa.Table] = {}
        super().__init__(case, case.contestants)

    def prepare(self, contestant: SparkContestant) -> Call:
        """Return the call over the contestant's rows."""
        frame = self.rows_of(contestant, self.counted(contestant))

        def compute() -> None:
            with settings(contestant):
                contestant.answer(frame).write.format("noop").mode("overwrite").save()

        return compute

    def rows_of(self, contestant: SparkContestant, rows: int) -> Any:
        """Return what a contestant is asked about: so many rows of its data."""
        return readings(contestant.readings, rows)

    def prepare_few(self, contestant: SparkContestant) -> Call:
        """Return the call over few rows, whose answers are checked later."""

        def answer() -> None:
            with settings(contestant):
                self._few[contestant.name] = self.answers_of(contestant)

        return answer

    def compiles(self, contestant: SparkContestant) -> Hashable:
        """Return the question: what it needs is compiled once."""
        return contestant.question.range, self.case.aggregate

    def check_all(self) -> None:
        """Compare all contestants with the right answers on few rows, and with each other on the rows that they are timed on."""
        for contestant in self.contestants:
            start = perf_counter()
            if contestant.role != "beside":
                self._check(contestant)
            elif self.counted(contestant) > self.checked:
                self.calls[contestant.name]()  # to warm up
            self.seconds[contestant.name] = perf_counter() - start

    def _check(self, contestant: SparkContestant) -> None:
        try:
            if contestant.name not in self._few:
                self.prepare_few(contestant)()
            self.check_answers(contestant, self._few[contestant.name])
            if self.counted(contestant) > self.checked:
                self.check_sums(contestant)
        except AssertionError as error:
            message = f"{self.case.name}: {contestant.name} is wrong. {error}"
            raise AssertionError(message) from None

    def check_answers(self, contestant: SparkContestant, given: pa.Table) -> None:
        """Compare with what Spark says, asked its own way."""
        question = contestant.question
        key = question.range, contestant.readings
        if key not in self._right:
            spark().conf.set(SEGMENT_TREE, "true")  # it is the fastest
            self._right[key] = self.right_answers(contestant)
            spark().conf.unset(SEGMENT_TREE)
        compare(question, given, self._right[key], self.case.tolerance)

    def answers_of(self, contestant: SparkContestant) -> pa.Table:
        """Return what a contestant answers on few rows."""
        return contestant.answer(self.rows_of(contestant, self.checked)).toArrow()

    def right_answers(self, contestant: SparkContestant) -> pa.Table:
        """Return what Spark says of these rows, asked its own way."""
        return contestant.question.right(self.rows_of(contestant, self.checked)).toArrow()

    def check_sums(self, contestant: SparkContestant) -> None:
        """Compare with Sash, which answers as few rows as the slow, too."""
        own = self._sums_of(contestant, self.counted(contestant))
        for other in self.contestants:
            asked = (other.question, other.readings) == (contestant.question, contestant.readings)
            if other.role == "sash" and asked and other is not contestant:
                compare_sums(own, self._sums_of(other, self.counted(contestant)), self.case.tolerance)

    def _sums_of(self, contestant: SparkContestant, rows: int) -> Any:
        key = contestant.name, contestant.readings, rows
        if key not in self._sums:
            with settings(contestant):
                answered = contestant.answer(self.rows_of(contestant, rows))
                self._sums[key] = sums_of(contestant.question, answered)
        return self._sums[key]

    def _warm_up(self) -> None:
        for name, call in self.calls.items():
            start = perf_counter()
            while self.seconds[name] < BRIEF_CHECK and perf_counter() - start < WARM_UP:
                call()

    def times(self, repeats: int) -> dict[str, list[float]]:
        """Return nanoseconds a row, or megabytes where those are asked for."""
        if self.case.measure != MEMORY:
            if repeats > 1:
                self._warm_up()
            return super().times(repeats)
        most = [{name: most_of_a_worker(call) for name, call in self.calls.items()} for _ in range(repeats)]
        return {name: [one[name] for one in most] for name in self.calls}


@contextmanager
def settings(contestant: SparkContestant) -> Iterator[None]:
    """Have Spark set as the contestant wants it, meanwhile."""
    conf = spark().conf
    before = {key: conf.get(key, None) for key in contestant.conf}
    for key, value in contestant.conf.items():
        conf.set(key, value)
    try:
        yield
    finally:
        for key, old in before.items():
            if old is None:
                conf.unset(key)
            else:
                conf.set(key, old)
