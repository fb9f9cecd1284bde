"""Whether a run compiles its kernels, or evaluates with NumPy because that ends earlier. One rule for the whole run.

    with NumPy    rows × aggregates × the time that the kernel expects, 0.3 to 0.5 µs; 20 µs where an aggregate cannot be vectorised
                  and is interpreted
    compiling     0.4 s to import Numba, 0.5 s for the loops that find windows, 0.6 s per pass, 0.5 s per aggregate; a tenth if the cache has them

A query runs with NumPy until all its runs together would take longer than compiling. Whatever comes later, that takes at most twice as
long as the better way (the ski rental problem). The machine code of a query that was compiled before is always used in the same process.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from time import perf_counter
from typing import TypeVar

from sash.engine.passes import PassRun
from sash.engine.prepare import Prepared
from sash.kernels.cache import has_mark, set_mark

T = TypeVar("T")

INTERPRETED_SECONDS = 20e-6
"""The time of a row and an aggregate in an interpreted pass."""
IMPORT_SECONDS = 0.4
LOOP_SECONDS = 0.5
PASS_SECONDS = 0.6
AGGREGATE_SECONDS = 0.5
NOTICEABLE = 1.0
"""Users are told what they wait for if it takes longer than this many seconds."""
CACHED = 0.1
"""Loading compiled code from the cache takes this share of compiling it."""
NOT_WORTH_IT = "interpreted because that ends earlier than compiling it for this number of rows"


@dataclass
class History:
    """The runs of a query in this process."""

    seconds: float = 0.0
    """The time that all runs with NumPy took."""
    is_compiled: bool = False
    is_cached: bool | None = None
    """Whether the kernel cache has its code; None if nobody has looked."""


_history: dict[str, History] = {}
"""By the identity of a query and its schema."""


@dataclass(frozen=True)
class FirstRun:
    """How a query runs over a number of rows."""

    prepared: Prepared
    rows: int

    @property
    def history(self) -> History:
        """The runs of the query so far."""
        return _history.setdefault(self.prepared.identity, History())

    @property
    def numpy_seconds(self) -> float:
        """The expected time of a run with NumPy."""
        return self.rows * seconds_per_row(self.prepared)

    @property
    def compile_seconds(self) -> float:
        """The expected time to compile everything, or to load it."""
        history = self.history
        if history.is_cached is None:
            history.is_cached = has_mark(self.prepared.identity)
        first = 0.0 if "numba" in sys.modules else IMPORT_SECONDS
        return first + seconds_to_compile(self.prepared) * (CACHED if history.is_cached else 1.0)

    @cached_property
    def compiles(self) -> bool:
        """Whether the run compiles."""
        return decide(self)

    @property
    def query(self) -> Prepared:
        """The query as it runs now."""
        return self.prepared if self.compiles or self.prepared.compiled is False else without_compiling(self.prepared)

    def run(self, work: Callable[[Prepared], T]) -> T:
        """Do the work with the query as it runs now, and remember how."""
        if self.prepared.compiled is False:
            return work(self.prepared)
        history = self.history
        if history.is_compiled:
            return work(self.prepared)
        if self.compiles:
            with announced(self._announcement if self.compile_seconds > NOTICEABLE else ""):
                result = work(self.prepared)
            history.is_compiled = True
            set_mark(self.prepared.identity)
            return result
        begin = perf_counter()
        result = work(self.query)
        history.seconds += perf_counter() - begin
        return result

    @property
    def _announcement(self) -> str:
        query = self.prepared.query
        aggregates = ", ".join(one.label for one in query.aggregates.values())
        return f"compiling {aggregates} over {', '.join(map(repr, query.windows.values()))} …"


@contextmanager
def announced(text: str) -> Iterator[None]:
    """Show a line in terminals and notebooks while something takes long; never in pipes and logs."""
    in_terminal = sys.stderr is not None and sys.stderr.isatty()
    if text and (in_terminal or "ipykernel" in sys.modules):
        sys.stderr.write(f"Sash: {text}" if in_terminal else f"Sash: {text}\n")
        sys.stderr.flush()
    try:
        yield
    finally:
        if text and in_terminal:
            sys.stderr.write("\r\033[K")  # remove the line
            sys.stderr.flush()


def decide(run: FirstRun) -> bool:
    """Return whether a run compiles: if it was asked for, or if NumPy would have taken longer in all runs together."""
    if run.prepared.compiled is not None:
        return run.prepared.compiled
    spent = run.history.seconds + run.numpy_seconds
    if spent < CACHED * seconds_to_compile(run.prepared):  # not worth a look into the cache
        return run.history.is_compiled
    return run.history.is_compiled or spent > run.compile_seconds


def first_run(prepared: Prepared, rows: int) -> FirstRun:
    """Return how a query runs over a number of rows."""
    return FirstRun(prepared, rows)


def vectorises(prepared: Prepared) -> bool:
    """Return whether NumPy can evaluate all aggregates of a query."""
    return all(PassRun(prepared, one).vectorises for one in prepared.plan.passes)


def seconds_per_row(prepared: Prepared) -> float:
    """Return the expected time of a row with NumPy."""
    total = 0.0
    for one in prepared.plan.passes:
        if not one.interpreted:  # what never compiles takes the same time in any case
            vectorised = PassRun(prepared, one).seconds_per_row
            total += INTERPRETED_SECONDS * len(one.aggregates) if vectorised is None else vectorised
    return total


def seconds_to_compile(prepared: Prepared) -> float:
    """Return the expected time to compile a query that is not in the cache."""
    passes = [one for one in prepared.plan.passes if not one.interpreted]
    aggregates = sum(len(one.aggregates) for one in passes)
    return LOOP_SECONDS + PASS_SECONDS * len(passes) + AGGREGATE_SECONDS * aggregates


def describe_first_run(prepared: Prepared) -> str:
    """Return when a query compiles, in words; "" if it does not depend on the number of rows."""
    per_row = seconds_per_row(prepared)
    if prepared.compiled is not None or not per_row:
        return ""
    seconds = IMPORT_SECONDS + seconds_to_compile(prepared)
    rows = seconds / per_row
    digits = 10 ** int(math.log10(rows))
    compiling = [one for one in prepared.plan.passes if not one.interpreted]
    way = "with NumPy" if all(PassRun(prepared, one).vectorises for one in compiling) else "interpreted"
    return (
        f"after about {round(rows / digits) * digits:,} rows in all runs, in about {seconds:.0f} s; {way} before that"
    )


def without_compiling(prepared: Prepared) -> Prepared:
    """Return a query that compiles nothing: what cannot be vectorised is interpreted."""
    cold = replace(prepared, cold=True)
    reasons = {
        name: NOT_WORTH_IT
        for one in prepared.plan.passes
        if not one.interpreted and not PassRun(cold, one).vectorises
        for name in one.aggregates
    }
    return cold.interpreting(reasons) if reasons else cold
