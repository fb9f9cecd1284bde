"""The table of cases: ranges that people ask for, none of them in the table of costs."""

from __future__ import annotations

from itertools import product

from benchmarks.choice.case import ChoiceCase, case
from benchmarks.column_case import Ranges
from sash.plan.choose import USES

AGGREGATES = (
    ("max", "float64"),
    ("sum", "int64"),
    ("sum", "float64"),
    ("mean", "float64"),
    ("stddev", "float64"),
    ("variance by sums", "float64"),  # a user's own
)
ONE: tuple[int, ...] = (4, 10, 30, 365, 5_000, 250_000)
SEVERAL: tuple[Ranges, ...] = (
    (10, 100),
    (60, 3_600),
    (3, 15_000),
    (7, 30, 365),
    (60, 300, 3_600),
    (10, 100, 1_000, 10_000),
    (12, 24, 36, 48, 60, 72, 84, 96),
    tuple(range(1, 31)),
    tuple(2**power for power in range(1, 12)),
    tuple(range(500, 12_501, 500)),
)
UNSEEN: tuple[Ranges, ...] = (
    (6,),
    (120,),
    (5, 50),
    (20, 2_000),
    (3, 9, 27, 81, 243),
    (100, 200, 400, 800),
    tuple(range(30, 301, 30)),
    (15, 240, 960),
    (7, 700, 7_000),
)
"""Ranges that were drawn up after the choice was tuned: do not tune with them in view, or replace them by others afterwards."""

CASES: tuple[ChoiceCase, ...] = (
    *(case(*one, (length,), use) for one, use, length in product(AGGREGATES, USES, ONE)),
    *(case(*one, lengths, use) for one, use, lengths in product(AGGREGATES, USES, SEVERAL)),
)
UNSEEN_CASES: tuple[ChoiceCase, ...] = tuple(
    case(*one, lengths, use) for lengths, use, one in product(UNSEEN, USES, AGGREGATES)
)
EVERY_CASE = (*CASES, *UNSEEN_CASES)
