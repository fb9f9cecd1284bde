"""How much longer the chosen algorithm takes than the best one, from the CSV."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console

from benchmarks.case import Case
from benchmarks.choice.case import ChoiceCase
from benchmarks.choice.cases import CASES, EVERY_CASE, UNSEEN_CASES
from benchmarks.report import say_time
from benchmarks.results import Reading

MOST = 1.2
"""The target: how many times as long as the best one the chosen algorithm may take."""
LISTED = 12


@dataclass(frozen=True)
class Outcome:
    """A case with the chosen and the best algorithm, and what they take."""

    case: ChoiceCase
    times: dict[str, float]

    @property
    def best(self) -> str:
        """The algorithm that takes the least time."""
        return min(self.times, key=lambda name: self.times[name])

    @property
    def ratio(self) -> float:
        """How many times as long the chosen one takes."""
        return self.times[self.case.chosen] / self.times[self.best]


def outcomes(
    readings: Sequence[Reading], cases: Sequence[ChoiceCase] = CASES, *, medians: bool = False
) -> list[Outcome]:
    """Return all cases that were measured, the worst choice first; by the least of all repeats, or by their medians."""
    times: dict[str, dict[str, float]] = {}
    for one in readings:  # the least of all repeats: what disturbs a loop only adds to its time
        times.setdefault(one.case, {})[one.contestant] = one.value if medians else one.least
    found = [Outcome(case, times[case.name]) for case in cases if case.name in times]
    return sorted(found, key=lambda one: -one.ratio)


def show(cases: Sequence[Case], readings: Sequence[Reading], console: Console) -> None:  # noqa: ARG001 — as others print
    """Print how much longer the chosen algorithms take than the best ones."""
    console.print("\n".join(page(readings)))


def page(readings: Sequence[Reading]) -> Iterator[str]:
    """Yield how many choices are near the best one, and a table of those that are furthest from it."""
    groups = {"tuned on": CASES, "unseen": UNSEEN_CASES}
    headings: Sequence[str] = (
        "cases", "number", "the best one", f"at most {MOST - 1:.0%} longer", "furthest", "by medians", "furthest by medians",
    )  # fmt: skip
    yield from _table(headings, [_counts(name, readings, cases) for name, cases in groups.items()])
    yield "The cases that are furthest from the best:"
    yield ""
    headings = ("use", "aggregate", "ranges", "chosen", "takes", "best", "takes", "ratio")
    yield from _table(headings, map(_row, outcomes(readings, EVERY_CASE)[:LISTED]))


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    for row in (headings, ["---"] * len(headings), *rows):
        yield f"| {' | '.join(row)} |"
    yield ""


def _counts(name: str, readings: Sequence[Reading], cases: Sequence[ChoiceCase]) -> list[str]:
    found, by_medians = outcomes(readings, cases), outcomes(readings, cases, medians=True)
    cells = [name, str(len(found)), str(sum(one.ratio == 1 for one in found))]
    for some in (found, by_medians):
        cells += [str(sum(one.ratio <= MOST for one in some)), f"{some[0].ratio:.2f} ×" if some else "—"]
    return cells


def _row(one: Outcome) -> list[str]:
    case, chosen = one.case, one.case.chosen
    return [
        case.use,
        f"{case.aggregate} of {case.of}",
        case.range,
        chosen,
        say_time(one.times[chosen]),
        one.best,
        say_time(one.times[one.best]),
        f"{one.ratio:.2f} ×",
    ]
