"""A process that checks cases, so that a crash of the interpreter is a finding too."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Iterable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from fuzz.cases import Case, random_case
from fuzz.check import Outcome, check
from fuzz.shrink import shrink


@dataclass(frozen=True)
class Checked:
    """What became of the case of a seed."""

    outcome: Outcome
    dimensions: dict[str, str]
    seconds: float
    report: str = ""
    """How to reproduce a finding, if it is the first with its signature."""


class Worker:
    """Checks cases in a process of its own, and starts another one when that dies."""

    def __init__(self) -> None:
        self.reported: set[str] = set()
        self._start()

    def check(self, seed: int) -> Checked:
        """Return what becomes of the case of a seed."""
        self.connection.send(seed)
        try:
            checked: Checked = self.connection.recv()
        except EOFError:
            self.process.join()
            case = random_case(seed)
            outcome = Outcome("finding", f"the process ended with {self.process.exitcode}", "the process ended")
            checked = Checked(outcome, case.dimensions, 0.0, report_of(case, case, outcome))
            self._start()
        if checked.outcome.kind == "finding":
            self.reported.add(checked.outcome.signature)
        return checked

    def close(self) -> None:
        """End the process."""
        self.connection.close()
        self.process.join()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process: Any = context.Process(target=check_cases, args=(theirs, self.reported), daemon=True)
        self.process.start()
        theirs.close()


def check_cases(connection: Connection, reported: Iterable[str]) -> None:
    """Check the cases of the seeds that arrive."""
    known = set(reported)
    while True:
        try:
            seed = connection.recv()
        except EOFError:
            return
        before = time.monotonic()
        case = random_case(seed)
        outcome = check(case)
        seconds = time.monotonic() - before
        report = ""
        if outcome.kind == "finding" and outcome.signature not in known:
            known.add(outcome.signature)
            report = report_of(case, *shrink(case, outcome))
        connection.send(Checked(outcome, case.dimensions, seconds, report))


def report_of(case: Case, smaller: Case, outcome: Outcome) -> str:
    """Return a finding as text: what differs, the seed, and the case made smaller."""
    command = f"PYTHONPATH=tests .venv/bin/python -m fuzz --seed {case.seed}"
    return f"--- {outcome.signature}\n{outcome.message}\n{command}\nfrom fuzz.paste import *\n{smaller.reproduction}"
