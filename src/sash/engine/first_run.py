"""Whether a run compiles its kernels, or evaluates with NumPy because that ends earlier. One rule for tables and streams.

    with NumPy    rows × aggregates × the time that the kernel expects, 0.3 to 0.5 µs; 20 µs where an aggregate cannot be vectorised
                  and is interpreted
    compiling     0.4 s to import Numba, 0.5 s for the loops that find windows, 0.6 s per pass, 0.5 s per aggregate; a tenth if the cache has them

A query runs with NumPy until all its runs together would take longer than compiling. Whatever comes later, that takes at most twice as
long as the better way (the ski rental problem). The machine code of a query that was compiled before is always used in the same process.

Processes that come and go, such as the workers of a stream, add up: each stores how much longer it took than a process that loads compiled
code. A process that ends before Numba would be imported stores nothing, because compiled code would not have helped it.

On a stream, a pass that NumPy cannot evaluate may keep its executor (`keeps_executor`): what it has stored must be read again.
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

from sash.engine.passes import PassDoesNotCompileError, PassRun
from sash.engine.prepare import Prepared
from sash.kernels.cache import add_seconds, has_mark, read_seconds, set_mark
from sash.plan.sharing import Pass

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
STORED_SHARE = 0.05
"""Lost time is stored whenever it has grown by this share of compiling."""
NOT_WORTH_IT = "interpreted because that ends earlier than compiling it for this number of rows"


@dataclass
class History:
    """The runs of a query in this process."""

    seconds: float = 0.0
    """The time that all runs with NumPy took."""
    is_compiled: bool = False
    rejected: frozenset[str] = frozenset()
    """The aggregates that Numba rejected while a stream was running; they stay with NumPy."""
    is_cached: bool | None = None
    """Whether the kernel cache has its code; None if nobody has looked."""
    seconds_elsewhere: float = 0.0
    """The time that other processes lost because the code was not compiled, as stored when this process first looked."""
    seconds_stored: float = 0.0
    """The time that this process lost and has stored for others."""


_history: dict[str, History] = {}
"""By the identity of a query and its schema."""


@dataclass(frozen=True)
class FirstRun:
    """How a query runs over a number of rows."""

    prepared: Prepared
    rows: int
    on_stream: bool = False
    """Whether the run continues a stream, or reads partials that another run has cut."""

    @property
    def history(self) -> History:
        """The runs of the query so far."""
        return _history.setdefault(self.prepared.identity, History())

    @property
    def numpy_seconds(self) -> float:
        """The expected time of a run with NumPy."""
        return self.rows * seconds_per_row(self.prepared, on_stream=self.on_stream)

    @cached_property
    def compile_seconds(self) -> float:
        """The expected time to compile everything; without importing Numba."""
        return seconds_to_compile(self.prepared, on_stream=self.on_stream)

    @property
    def load_seconds(self) -> float:
        """The expected time until compiled code runs, if the cache has it."""
        return (0.0 if "numba" in sys.modules else IMPORT_SECONDS) + CACHED * self.compile_seconds

    @cached_property
    def compiles(self) -> bool:
        """Whether the run compiles."""
        return decide(self)

    @cached_property
    def query(self) -> Prepared:
        """The query as it runs now."""
        if self.compiles or self.prepared.compiled is False:
            return self.prepared
        return without_compiling(self.prepared, on_stream=self.on_stream)

    def run(self, work: Callable[[Prepared], T]) -> T:
        """Do the work with the query as it runs now, and remember how."""
        if self.prepared.compiled is False:
            return work(self.prepared)
        history = self.history
        if history.is_compiled:
            return self._run_compiled(work)
        if self.compiles:
            is_long = not history.is_cached and self.load_seconds + self.compile_seconds > NOTICEABLE
            with announced(self._announcement if is_long else ""):
                result = self._run_compiled(work)
            history.is_compiled = True
            set_mark(self.prepared.identity)
            return result
        begin = perf_counter()
        result = work(self.query)
        history.seconds += perf_counter() - begin
        self._store_lost_seconds()
        return result

    def _run_compiled(self, work: Callable[[Prepared], T]) -> T:
        """Do the work with compiled code. On a stream, a pass that Numba rejects stays with NumPy; tables interpret it."""
        history = self.history
        while True:
            query = replace(self.prepared, rejected=history.rejected) if history.rejected else self.prepared
            try:
                return work(query)
            except PassDoesNotCompileError as failed:
                names = frozenset(failed.plan_pass.aggregates)
                if not self.on_stream or self.prepared.compiled or names <= history.rejected:
                    raise
                history.rejected |= names

    def _store_lost_seconds(self) -> None:
        """Store how much longer this process took than one that loads compiled code, if compiling would spare others that."""
        history = self.history
        new = history.seconds - self.load_seconds - history.seconds_stored
        known = history.seconds_elsewhere + history.seconds_stored
        if history.is_cached or known > self.compile_seconds:  # nothing that others do not know
            return
        if self.prepared.compiled is None and new > STORED_SHARE * self.compile_seconds:
            add_seconds(self.prepared.identity, new)
            history.seconds_stored += new

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
    history = run.history
    if history.is_compiled:
        return True
    lost = history.seconds + run.numpy_seconds - run.load_seconds
    if lost <= 0:  # not worth a look into the cache
        return False
    if history.is_cached is None:
        history.is_cached = has_mark(run.prepared.identity)
        history.seconds_elsewhere = read_seconds(run.prepared.identity)
    return history.is_cached or history.seconds_elsewhere + lost > (1 - CACHED) * run.compile_seconds


def first_run(prepared: Prepared, rows: int, *, on_stream: bool = False) -> FirstRun:
    """Return how a query runs over a number of rows."""
    return FirstRun(prepared, rows, on_stream)


def keeps_executor(prepared: Prepared, plan_pass: Pass) -> bool:
    """Return whether a pass is compiled before the first row of a stream, and for its whole life.

    These are passes that NumPy cannot evaluate if the stream stores their partials, which are Python objects in the interpreter, or if
    a user wrote an aggregate: the interpreter knows the type of its results only from the results.
    """
    if plan_pass.interpreted or PassRun(prepared, plan_pass).vectorises:
        return False
    if not all(aggregate.is_built_in for aggregate in plan_pass.aggregates.values()):
        return True
    return any(part.stores_slices or part.stores_prefixes for part in prepared.parts)


def undecided(prepared: Prepared, *, on_stream: bool) -> list[Pass]:
    """Return the passes that each run may compile or not."""
    return [
        plan_pass
        for plan_pass in prepared.plan.passes
        if not plan_pass.interpreted and not (on_stream and keeps_executor(prepared, plan_pass))
    ]


def _once(prepared: Prepared, name: str, on_stream: bool, make: Callable[[], T]) -> T:
    """Return what depends on the query alone, made by the first micro-batch or run."""
    if (name, on_stream) not in prepared.derived:
        prepared.derived[name, on_stream] = make()
    made: T = prepared.derived[name, on_stream]
    return made


def seconds_per_row(prepared: Prepared, *, on_stream: bool = False) -> float:
    """Return the expected time of a row with NumPy; what compiles in any case, or never, does not count."""
    return _once(prepared, "seconds_per_row", on_stream, lambda: _seconds_per_row(prepared, on_stream=on_stream))


def _seconds_per_row(prepared: Prepared, *, on_stream: bool) -> float:
    total = 0.0
    for plan_pass in undecided(prepared, on_stream=on_stream):
        vectorised = PassRun(prepared, plan_pass).seconds_per_row
        total += INTERPRETED_SECONDS * len(plan_pass.aggregates) if vectorised is None else vectorised
    return total


def seconds_to_compile(prepared: Prepared, *, on_stream: bool = False) -> float:
    """Return the expected time to compile a query that is not in the cache."""
    return _once(prepared, "seconds_to_compile", on_stream, lambda: _seconds_to_compile(prepared, on_stream=on_stream))


def _seconds_to_compile(prepared: Prepared, *, on_stream: bool) -> float:
    passes = undecided(prepared, on_stream=on_stream)
    aggregates = sum(len(plan_pass.aggregates) for plan_pass in passes)
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


def without_compiling(prepared: Prepared, *, on_stream: bool = False) -> Prepared:
    """Return a query that compiles nothing: what cannot be vectorised is interpreted, unless it keeps its executor."""
    return _once(prepared, "without_compiling", on_stream, lambda: _without_compiling(prepared, on_stream=on_stream))


def _without_compiling(prepared: Prepared, *, on_stream: bool) -> Prepared:
    cold = replace(prepared, cold=True)
    reasons = {
        name: NOT_WORTH_IT
        for plan_pass in undecided(prepared, on_stream=on_stream)
        if not PassRun(cold, plan_pass).vectorises
        for name in plan_pass.aggregates
    }
    return cold.interpreting(reasons) if reasons else cold
