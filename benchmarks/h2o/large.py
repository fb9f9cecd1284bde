"""The same questions of 10 M and of 100 M rows, in this process: time, and the most memory above the rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.case import MEMORY, SECONDS, Case, Contestant
from benchmarks.growth.case import LIBRARIES, say_number
from benchmarks.h2o import over, rolling
from benchmarks.questions.case import TableQuestion

PLACES = {"benchmarks.h2o.rolling:QUESTIONS": rolling.QUESTIONS, "benchmarks.h2o.over:QUESTIONS": over.QUESTIONS}
"""The questions, and where the processes find them."""
ROWS = (10_000_000, 100_000_000)
OF_PANDAS = 10_000_000
"""The most rows that pandas is asked for: it has one thread."""
SHOWN = {"time": SECONDS, "memory": MEMORY}


@dataclass(frozen=True, kw_only=True)
class LargeCase(Case):
    """One question, rows and measure. Both measures come from the same processes."""

    question: TableQuestion
    place: str
    shown: str
    """One of SHOWN."""
    contestants: Sequence[Contestant]
    tolerance: float = 1e-6
    repeats: int = 1

    @property
    def range(self) -> str:
        """The window."""
        return self.question.window


def all_cases() -> Iterator[LargeCase]:
    """Yield both measures of each question."""
    for rows in ROWS:
        for place, questions in PLACES.items():
            for question in questions:
                asked = [
                    Contestant(
                        name=name,
                        role="sash" if name == "Sash" else "peer",
                        package=package,
                        algorithm="auto" if name == "Sash" else "",
                    )
                    for name, package in LIBRARIES.items()
                    if name not in question.cannot and (name != "pandas" or rows <= OF_PANDAS)
                ]
                for shown, measure in SHOWN.items():
                    yield LargeCase(
                        name=f"{question.name}, {say_number(rows)} rows, {shown}",
                        aggregate=", ".join(dict.fromkeys(question.answers)),
                        question=question,
                        place=place,
                        shown=shown,
                        measure=measure,
                        contestants=asked,
                        rows=rows,
                    )


CASES: tuple[LargeCase, ...] = tuple(all_cases())
