"""A case: a question that engines answer on a stream of the same events."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, Self

from benchmarks.case import Case, Contestant
from benchmarks.engines.answers import Answers, collect, compare, read, recomputed
from benchmarks.engines.events import Events
from benchmarks.engines.job import Job
from benchmarks.engines.nexmark.events import AuctionEvents
from benchmarks.engines.nexmark.queries import SiteJob, SiteQuery
from benchmarks.engines.nexmark.right import Line, compare_lines, passed, right_answers
from benchmarks.engines.questions import SECOND, StreamQuestion

FILLED = 400_000
"""Events of an hour, and some: after them windows of an hour are full."""


@dataclass(frozen=True, kw_only=True)
class EngineContestant(Contestant):
    """An engine, in a process of its own."""

    worker: str
    """The module that runs in the process."""
    way: str = ""
    """Which of its ways, if it has several."""


class AnyJob(Protocol):
    """What a worker is asked."""

    def to_json(self) -> str:
        """Return the job as a line."""


@dataclass(frozen=True, kw_only=True)
class EngineCase(Case):
    """The time per event that more events take: start-up and the events that fill the windows are subtracted."""

    contestants: Sequence[EngineContestant]
    tolerance: float = 1e-9
    rows: int = 2_400_000
    repeats: int = 2

    def sizes_of(self, contestant: EngineContestant) -> tuple[int, int]:
        """Return the numbers of events of the two runs whose difference is reported."""
        many = min(contestant.rows or self.rows, self.rows)
        return min(FILLED, many // 2), many

    def at_most(self, rows: int) -> Self:
        """Return the case with fewer events."""
        return replace(self, rows=min(rows, self.rows), repeats=1)

    @abstractmethod
    def job(self, count: int) -> AnyJob:
        """Return the question on so many events, whose results go nowhere."""

    @abstractmethod
    def checked_job(self, results: str) -> AnyJob:
        """Return the question on few events, whose results are written and checked."""

    @abstractmethod
    def right(self) -> Any:
        """Return the right answers to the checked job."""

    @abstractmethod
    def compare(self, name: str, results: Path, right: Any) -> None:
        """Raise AssertionError unless a file has the right answers."""


@dataclass(frozen=True, kw_only=True)
class StreamQuestionCase(EngineCase):
    """Windows over events with a key, a time and a value."""

    question: StreamQuestion

    @property
    def range(self) -> str:
        """The windows."""
        return self.question.name

    @property
    def checked(self) -> Events:
        """The events whose answers are checked: few, over 100 minutes, so that windows of an hour are full."""
        every_second = self.question.slide == SECOND  # has many windows, which the oracle recomputes one by one
        return Events(100, keys=2, step=60_000) if every_second else Events(1_200, keys=10, step=5_000)

    def job(self, count: int) -> Job:
        """Return the question on so many events."""
        return Job(self.question, Events(count))

    def checked_job(self, results: str) -> Job:
        """Return the question on few events."""
        return Job(self.question, self.checked, results)

    def right(self) -> Answers:
        """Return what the oracle answers."""
        return recomputed(self.checked_job(""))

    def compare(self, name: str, results: Path, right: Answers) -> None:
        """Raise AssertionError unless a file has the right answers."""
        compare(name, collect(name, read([results]), self.checked.final_watermark), right)


@dataclass(frozen=True, kw_only=True)
class SiteCase(EngineCase):
    """A query of Nexmark, over people, auctions and bids."""

    query: SiteQuery

    @property
    def range(self) -> str:
        """The windows."""
        return self.query.range

    @property
    def checked(self) -> AuctionEvents:
        """The events whose answers are checked: those of a minute, in which sessions end."""
        return AuctionEvents(60_000, per_second=1_000)

    def job(self, count: int) -> SiteJob:
        """Return the query on so many events."""
        return SiteJob(self.query, AuctionEvents(count))

    def checked_job(self, results: str) -> SiteJob:
        """Return the query on few events."""
        return SiteJob(self.query, self.checked, results)

    def right(self) -> list[Line]:
        """Return the answers from the raw rows."""
        return right_answers(self.checked_job(""))

    def compare(self, name: str, results: Path, right: list[Line]) -> None:
        """Raise AssertionError unless a file has the right answers."""
        compare_lines(name, passed(read([results]), self.checked), right)
