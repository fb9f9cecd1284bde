"""The contestants of a case on the field: each is made ready, checked and timed, in turns."""

from __future__ import annotations

import gc
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Generic, TypeVar

from benchmarks.case import Call, Case, Contestant

BRIEF, PATIENCE = 0.3, 15.0
"""Seconds: of a call that is brief, and of all repeats after which a case is not repeated again."""

Kind = TypeVar("Kind", bound=Contestant)
_compile_seconds: dict[Hashable, float] = {}


class Field(ABC, Generic[Kind]):
    """The contestants of a case, each ready to be called; a subclass knows their data and the right answers."""

    clock: Callable[[], int] = staticmethod(time.perf_counter_ns)
    """What reads the time; that of the processor is for contestants in one thread that others should not disturb."""

    def __init__(self, case: Case, contestants: Sequence[Kind]) -> None:
        self.case = case
        self.contestants = contestants
        self.compiled = {one.name: self._compile(one) for one in contestants if one.role == "sash"}
        self.calls = {one.name: self.prepare(one) for one in contestants}
        self.seconds: dict[str, float] = {}

    @abstractmethod
    def prepare(self, contestant: Kind) -> Call:
        """Return the call that is timed."""

    @abstractmethod
    def prepare_few(self, contestant: Kind) -> Call:
        """Return a call over a few rows, whose first time is the time to compile."""

    @abstractmethod
    def compiles(self, contestant: Kind) -> Hashable:
        """Return what is compiled: contestants that share it compile it once."""

    @abstractmethod
    def check_answers(self, contestant: Kind, given: Any) -> None:
        """Raise if an answer is missing or wrong."""

    def counted(self, contestant: Kind) -> int:
        """Return how many rows a contestant answers."""
        return min(contestant.rows or self.case.rows, self.case.rows)

    def measure(self, repeats: int) -> dict[str, list[float]]:
        """Check every contestant, then time all of them."""
        self.check_all()
        return self.times(repeats)

    def _compile(self, contestant: Kind) -> float:
        """Return how long the first call of all took: that is the time to compile."""
        key = self.compiles(contestant)
        if key not in _compile_seconds:
            start = time.perf_counter()
            self.prepare_few(contestant)()
            _compile_seconds[key] = time.perf_counter() - start
        return _compile_seconds[key]

    def check_all(self) -> None:
        """Compare all answers with those recomputed from raw rows; this warms the contestants up too."""
        for contestant in self.contestants:
            start = time.perf_counter()
            given = self.calls[contestant.name]()
            self.seconds[contestant.name] = time.perf_counter() - start
            self.check_answers(contestant, given)

    def times(self, repeats: int) -> dict[str, list[float]]:
        """Return nanoseconds a row: the first contestant, if brief, again before each other: the machine's speed drifts.

        Long calls are repeated less often, since they vary less.
        """
        order = list(self.contestants)
        if self.seconds[order[0].name] < BRIEF:
            order = [one for other in order[1:] for one in (order[0], other)] or order
        times: dict[str, list[float]] = {one.name: [] for one in self.contestants}
        gc.collect()
        gc.disable()
        try:
            begin = time.perf_counter()
            for repeat in range(repeats):
                if repeat and time.perf_counter() - begin > PATIENCE:
                    break
                for one in order:
                    call = self.calls[one.name]
                    start = self.clock()
                    answers = call()
                    times[one.name].append((self.clock() - start) / self.counted(one))
                    del answers  # after the clock was read
        finally:
            gc.enable()
        return times
