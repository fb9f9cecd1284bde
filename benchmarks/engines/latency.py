"""Cases of latency: the highest rate that an engine sustains, and the time from an event to its result at half of that rate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Self

from benchmarks.case import RATE, SECONDS, Case
from benchmarks.engines.case import EngineContestant
from benchmarks.engines.field import present
from benchmarks.engines.pace import PacedJob
from benchmarks.engines.questions import QUESTIONS, TUMBLING, StreamQuestion
from benchmarks.engines.workers import Worker, worker

SUSTAINED, MEDIAN, TAIL = "sustained rate", "median latency", "99th percentile of latency"
SHOWN = {SUSTAINED: RATE, MEDIAN: SECONDS, TAIL: SECONDS}
"""What is reported, with its measure."""
LOWEST, HIGHEST = 5_000.0, 5_120_000.0
"""Events a second."""
GROWTH = 4
HALVINGS = 2
"""Rates between the last that was sustained and the first that was not."""


@dataclass(frozen=True, kw_only=True)
class PacedContestant(EngineContestant):
    """An engine whose events arrive at a rate."""

    first_rate: float = LOWEST
    """The rate that is tried first: one that it is likely to sustain, which saves time."""


@dataclass(frozen=True)
class LatencyRun:
    """What was measured of an engine."""

    rate: float
    median: float
    tail: float

    def shown(self, name: str) -> float:
        """Return a value by its name."""
        return {SUSTAINED: self.rate, MEDIAN: self.median, TAIL: self.tail}[name]


@dataclass(frozen=True, kw_only=True)
class LatencyCase(Case):
    """One value of engines; all values of a question come from the same runs. Its rows are the events a second at most."""

    question: StreamQuestion
    shown: str
    contestants: Sequence[PacedContestant]
    aggregate: str = "max, mean, count"
    tolerance: float = 1e-9
    rows: int = int(HIGHEST)
    repeats: int = 1
    seconds: float = 10.0
    """Of each run."""

    @property
    def range(self) -> str:
        """The windows."""
        return self.question.name

    def at_most(self, rows: int) -> Self:
        """Return the case with the lowest rate alone. At a lower one, too few windows would close."""
        return replace(self, rows=int(LOWEST) if rows < LOWEST else min(rows, self.rows))

    def runs_with(self, rows: int) -> bool:
        """Tell whether the case is run with few events: one question shows that it runs."""
        return rows >= LOWEST or self.question == TUMBLING


class LatencyField:
    """The contestants of a case. The answers of the same workers' queries are checked by the case of the question without latency."""

    def __init__(self, case: LatencyCase, start: Callable[..., Worker] = worker) -> None:
        self.case = case
        self.compiled: dict[str, float] = {}
        self.start = start

    def counted(self, contestant: EngineContestant) -> int:  # noqa: ARG002 — a rate has no rows
        """Return the highest rate."""
        return self.case.rows

    def measure(self, repeats: int) -> dict[str, list[float]]:
        """Return the value of each contestant."""
        case = self.case
        return {
            one.name: [
                runs_of(self.start, one, case.question.name, case.seconds, float(case.rows), repeats)[number].shown(
                    case.shown
                )
                for number in range(repeats)
            ]
            for one in present(case.contestants)
        }


@cache
def runs_of(
    start: Callable[..., Worker], contestant: PacedContestant, question: str, seconds: float, most: float, repeats: int
) -> list[LatencyRun]:
    """Measure an engine once for all cases of a question: they show values of the same runs."""
    engine = start(contestant.worker, *filter(None, [contestant.way]))

    def ask(rate: float) -> dict[str, Any]:
        return engine.ask(PacedJob(QUESTIONS[question], rate, seconds).to_json())

    runs = []
    for _ in range(repeats):
        first = min(contestant.first_rate, most)
        rate = highest_rate(lambda rate: bool(ask(rate)["sustained"]), min(LOWEST, most), most, first)
        told = ask(rate / 2)
        runs.append(LatencyRun(rate, told["median"], told["p99"]))
    return runs


def highest_rate(sustains: Callable[[float], bool], lowest: float, most: float, first: float) -> float:
    """Return the highest rate that is sustained: grow until it is too high, then halve the distance of the logarithms.

    >>> highest_rate(lambda rate: rate <= 70_000, 5_000.0, 5_000_000.0, 5_000.0)
    56569
    >>> highest_rate(lambda rate: rate <= 70_000, 5_000.0, 5_000_000.0, 320_000.0)
    56569
    >>> highest_rate(lambda rate: True, 5_000.0, 20_000.0, 20_000.0)
    20000
    """
    if lowest >= most:
        return lowest  # there is no other
    good, bad = first, 0.0
    while not sustains(good):
        if good <= lowest:
            message = f"The engine does not sustain {lowest:,.0f} events a second."
            raise RuntimeError(message)
        good, bad = max(good / GROWTH, lowest), good
    while not bad and good < most:
        higher = min(good * GROWTH, most)
        if sustains(higher):
            good = higher
        else:
            bad = higher
    for _ in range(HALVINGS if bad else 0):
        middle = (good * bad) ** 0.5
        good, bad = (middle, bad) if sustains(middle) else (good, middle)
    return round(good)
