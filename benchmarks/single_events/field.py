"""Checks and times a case of single events."""

from __future__ import annotations

import gc
import time
from collections.abc import Hashable
from typing import Any

import numpy as np

from benchmarks.case import WORST_STEP, Call
from benchmarks.field import Field
from benchmarks.references import PEER_TOLERANCE, REFERENCES, relative_error, sample
from benchmarks.single_events.case import EventCase, EventContestant, events, held_at

FEW, SHORT = 1_000, 10
CHECKED = 300


class EventField(Field[EventContestant]):
    """Contestants that keep a window of the last rows."""

    case: EventCase
    clock = staticmethod(time.thread_time_ns)

    def __init__(self, case: EventCase) -> None:
        super().__init__(case, case.contestants)

    def prepare(self, contestant: EventContestant) -> Call:
        """Return the call over the contestant's events."""
        return contestant.prepare(events(self.counted(contestant)), self.case.length)

    def prepare_few(self, contestant: EventContestant) -> Call:
        """Return a call over few events."""
        return contestant.prepare(events(FEW), SHORT)

    def compiles(self, contestant: EventContestant) -> Hashable:
        """Return what is compiled."""
        return self.case.aggregate, contestant.name

    def check_answers(self, contestant: EventContestant, given: Any) -> None:
        """Compare a sample of the results with those recomputed from the values."""
        values, rows = events(self.counted(contestant)), self.counted(contestant)
        results = given[0] if isinstance(given, tuple) else given
        tolerance = self.case.tolerance if contestant.role == "sash" else PEER_TOLERANCE
        for row in sample(rows, CHECKED):
            expected = float(REFERENCES[self.case.aggregate](held_at(values, row, self.case.length)))
            if relative_error(results[row], expected) > tolerance:
                message = f"{self.case.name}: {contestant.name} answers {results[row]} at {row}, which is {expected}."
                raise AssertionError(message)


class StepField(EventField):
    """Windows whose every event is timed: the median, or the longest one."""

    def times(self, repeats: int) -> dict[str, list[float]]:
        """Return the median, or the worst, of the shortest time that each event took in any repeat: others disturb only some."""
        pick = np.max if self.case.measure == WORST_STEP else np.median
        found = {}
        gc.collect()
        gc.disable()
        try:
            for one in self.contestants:
                durations = [self.calls[one.name]()[1] for _ in range(repeats)]
                found[one.name] = [float(pick(np.min(durations, axis=0)))]
        finally:
            gc.enable()
        return found
