"""Checks and times a case of labels."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any

import numpy as np

from benchmarks.case import Call
from benchmarks.features.case import WINDOWS, FeatureCase, FeatureContestant
from benchmarks.features.data import events, labels
from benchmarks.field import Field
from benchmarks.references import PEER_TOLERANCE, REFERENCES, relative_error

FEW = 1_000
SAMPLES = 500
KINDS = {"total": "sum", "mean": "mean", "peak": "max", "sd": "stddev"}


class FeatureField(Field[FeatureContestant]):
    """Contestants that answer for each label."""

    def __init__(self, case: FeatureCase) -> None:
        super().__init__(case, case.contestants)

    def prepare(self, contestant: FeatureContestant) -> Call:
        """Return the call over the contestant's events and labels."""
        rows = self.counted(contestant)
        return contestant.prepare(events(rows), labels(rows))

    def prepare_few(self, contestant: FeatureContestant) -> Call:
        """Return the call over few events."""
        return contestant.prepare(events(FEW), labels(FEW))

    def compiles(self, contestant: FeatureContestant) -> Hashable:
        """Return what is compiled."""
        return "features", contestant.name

    def check_answers(self, contestant: FeatureContestant, given: Any) -> None:
        """Compare the answers of some labels with those recomputed from raw events."""
        rows = self.counted(contestant)
        asked = labels(rows)
        if len(given) != len(asked):
            message = f"{self.case.name}: {contestant.name} gave {len(given)} answers for {len(asked)} labels."
            raise AssertionError(message)
        table = events(rows)
        cards, amounts = table["card"].to_numpy(), table["amount"].to_numpy()
        times, moments = (one["ts"].cast("int64").to_numpy() for one in (table, asked))
        order = np.argsort(cards, kind="stable")
        firsts = np.searchsorted(cards[order], asked["card"].to_numpy(), "left")
        lasts = np.searchsorted(cards[order], asked["card"].to_numpy(), "right")
        for place in np.unique(np.linspace(0, len(asked) - 1, SAMPLES).astype(int)).tolist():
            own = order[firsts[place] : lasts[place]]
            for length, ticks in WINDOWS.items():
                held = amounts[own[(times[own] > moments[place] - ticks) & (times[own] <= moments[place])]]
                self._compare(contestant, given, place, length, held)

    def _compare(self, contestant: FeatureContestant, given: Any, place: int, length: str, held: Any) -> None:
        right = {"n": len(held)} | {name: REFERENCES[kind](held) if len(held) else None for name, kind in KINDS.items()}
        if len(held) == 1:
            right["sd"] = None
        for name, value in right.items():
            answer = given[f"{name}_{length}"][place].as_py()
            if not self._is_right(contestant, answer, value):
                message = f"{self.case.name}: {contestant.name} answers {answer} for {name}_{length} of label {place}, which is {value}."
                raise AssertionError(message)

    def _is_right(self, contestant: FeatureContestant, answer: Any, value: Any) -> bool:
        if contestant.role == "sash":
            if answer is None or value is None:
                return answer is value
            return relative_error(answer, value) <= self.case.tolerance
        if value is None:  # of no events, some say 0, or what rounding has left of values that were subtracted
            return answer is None or math.isnan(answer) or abs(answer) < PEER_TOLERANCE
        return answer is not None and abs(answer - value) <= PEER_TOLERANCE * max(1, abs(value))
