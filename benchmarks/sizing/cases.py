"""The table of cases: each coefficient, and each number of the plan of the largest stream beside the one that was measured."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.case import Contestant, Target
from benchmarks.sizing.case import COEFFICIENTS, MEASURED, PLAN, PLANNED, SizingCase

WITHIN = 1.3
"""How many times as large as the other the planned or the measured number may be."""


def all_cases() -> Iterator[SizingCase]:
    """Yield the cases."""
    for name, (measure, of) in COEFFICIENTS.items():
        yield SizingCase(name=name, measure=measure, of=of)
    for name, (measure, of) in PLANNED.items():
        yield SizingCase(
            name=f"plan, {name}",
            measure=measure,
            of=of,
            contestants=(Contestant(name=MEASURED, role="sash"), Contestant(name=PLAN, role="beside")),
            targets=(
                Target(contestant=PLAN, against=MEASURED, at_most=WITHIN),
                Target(contestant=MEASURED, against=PLAN, at_most=WITHIN),
            ),
        )


CASES: tuple[SizingCase, ...] = tuple(all_cases())
