"""Checks a case, then times it: each engine's worker answers few events, which are compared with the oracle, and then many."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.engines.case import EngineCase, EngineContestant
from benchmarks.engines.workers import Worker, missing, worker


class EngineField:
    """The contestants of a case whose environments are there."""

    def __init__(self, case: EngineCase, start: Callable[..., Worker] = worker) -> None:
        self.case = case
        self.compiled: dict[str, float] = {}
        self.start = start
        self.present = present(case.contestants)

    def counted(self, contestant: EngineContestant) -> int:
        """Return how many events a contestant answers."""
        return self.case.sizes_of(contestant)[1]

    def measure(self, repeats: int) -> dict[str, list[float]]:
        """Return nanoseconds per event, after the answers of all contestants were checked."""
        self.check_all()
        for one in self.present:
            few, many = self.case.sizes_of(one)
            self.seconds(one, many if one.role == "sash" else few)  # compiles; of Sash, many events need other kernels
        times: dict[str, list[float]] = {one.name: [] for one in self.present}
        for _ in range(repeats):
            for one in self.present:
                few, many = self.case.sizes_of(one)
                least = self.seconds(one, few)
                times[one.name].append((self.seconds(one, many) - least) / (many - few) * 1e9)
        return times

    def seconds(self, contestant: EngineContestant, count: int) -> float:
        """Return the seconds of a run whose results go nowhere."""
        return self._worker(contestant).run(self.case.job(count))

    def check_all(self) -> None:
        """Compare the answers of each contestant with the right ones."""
        with tempfile.TemporaryDirectory(prefix="sash-answers-") as folder:
            path = Path(folder) / "answers.csv"
            job = self.case.checked_job(str(path))
            right = self.case.right()
            for one in self.present:
                self._worker(one).run(job)
                self.case.compare(f"{self.case.name}: {one.name}", path, right)
                path.unlink()

    def _worker(self, contestant: EngineContestant) -> Worker:
        return self.start(contestant.worker, *filter(None, [contestant.way]))


def present(contestants: Sequence[EngineContestant]) -> list[EngineContestant]:
    """Return the contestants whose environments are there; say which are not, once each."""
    found = []
    for one in contestants:
        why = missing(one.worker)
        if not why:
            found.append(one)
        elif one.worker not in _told:
            _told.add(one.worker)
            print(f"{one.name} is left out: {why}", file=sys.stderr)  # noqa: T201
    return found


_told: set[str] = set()
