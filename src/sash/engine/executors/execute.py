"""execute(prepared, rows, work): decide whether a run compiles, bind its passes to executors, and do the work.

    with NumPy    rows × aggregates × the time that the kernel expects, 0.3 to 0.5 µs; 20 µs where an aggregate cannot be vectorised
                  and is interpreted
    compiling     0.4 s to import Numba, 0.4 s for the loops that find windows, 0.4 s per pass, 0.3 s per aggregate
    loading       0.05 s, and 2 % of compiling, if the kernel cache has the code; Numba is not imported

A query runs with NumPy until all its runs together would take longer than compiling. Whatever comes later, that takes at most twice as
long as the better way (the ski rental problem). The machine code of a query that was compiled before is always used in the same process.

Processes that come and go, such as the workers of a stream, add up: each stores how much longer it took than a process that loads compiled
code. A process that ends before compiled code would be loaded stores nothing, because it would not have helped.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from time import perf_counter
from typing import TypeVar

from sash.engine.evaluate import check_compiles
from sash.engine.executors import PassFailedError
from sash.engine.executors.bind import Failures, bind, choose_executor, failures_of, keeps_executor, numpy_seconds
from sash.engine.prepare import Prepared
from sash.kernels.cache import add_seconds, has_mark, read_seconds, set_mark
from sash.plan.sharing import COMPILED, Pass
from sash.plan.tree import and_between

T = TypeVar("T")

INTERPRETED_SECONDS = 20e-6
"""The time of a row and an aggregate in an interpreted pass."""
IMPORT_SECONDS = 0.4
LOOP_SECONDS = 0.4
PASS_SECONDS = 0.4
AGGREGATE_SECONDS = 0.3
LINK_SECONDS = 0.05
"""The time to import what links machine code, and to find out which code the cache has."""
NOTICEABLE = 1.0
"""Users are told what they wait for if it takes longer than this many seconds."""
CACHED = 0.02
"""Loading compiled code from the cache takes this share of compiling it."""
STORED_SHARE = 0.05
"""Lost time is stored whenever it has grown by this share of compiling."""


@dataclass
class History:
    """The runs of a query in this process."""

    seconds: float = 0.0
    """The time that all runs with NumPy took."""
    is_compiled: bool = False
    failures: Failures = frozenset()
    """What does not compile."""
    is_cached: bool | None = None
    """Whether the kernel cache has its code; None if nobody has looked."""
    seconds_elsewhere: float = 0.0
    """The time that other processes lost because the code was not compiled, as stored when this process first looked."""
    seconds_stored: float = 0.0
    """The time that this process lost and has stored for others."""


_history: dict[str, History] = {}
"""By the identity of a query and its schema."""


def execute(prepared: Prepared, rows: int, work: Callable[[Prepared], T], *, on_stream: bool = False) -> T:
    """Bind each pass to an executor, and do the work with the bound query; again if an executor cannot run its pass.

    `on_stream` says whether the run continues a stream, or reads partials that another run has cut.
    """
    return Run(prepared, rows, on_stream).do(work)


@dataclass(frozen=True)
class Run:
    """A run of a query over a number of rows."""

    prepared: Prepared
    rows: int
    on_stream: bool = False

    def do(self, work: Callable[[Prepared], T]) -> T:
        """Do the work, and remember how."""
        if self.prepared.compiled is False:
            return work(self.prepared)
        history = self.history
        if not self.compiles:
            begin = perf_counter()
            result = self._try(work)
            history.seconds += perf_counter() - begin
            self._store_lost_seconds()
            return result
        if history.is_compiled:
            return self._try(work)
        is_long = not history.is_cached and self.compile_seconds > NOTICEABLE
        with announced(self._announcement if is_long else ""):
            result = self._try(work)
        history.is_compiled = True
        set_mark(self.prepared.identity)
        return result

    def _try(self, work: Callable[[Prepared], T]) -> T:
        """Do the work; if an executor cannot run its pass, bind that pass to another one."""
        failures = self.history.failures
        while True:
            bound = bind(self.prepared, failures, compiles=self.compiles, on_stream=self.on_stream)
            try:
                return work(bound)
            except PassFailedError as failed:
                new = failures_of(bound, failed)
                if new <= failures:
                    raise
                failures |= new
                if failed.plan_pass.executor == COMPILED:  # whether NumPy can go on depends on the rows
                    self.history.failures |= new

    @property
    def history(self) -> History:
        """The runs of the query so far."""
        identity = self.prepared.identity
        return _history.get(identity) or _history.setdefault(identity, History())

    @cached_property
    def compiles(self) -> bool:
        """Whether the run compiles: if it was asked for, or if NumPy would have taken longer in all runs together."""
        if self.prepared.compiled is not None:
            return self.prepared.compiled
        history = self.history
        if history.is_compiled:
            return True
        expected = self.rows * seconds_per_row(self.prepared, on_stream=self.on_stream)
        lost = history.seconds + expected - self.load_seconds
        if lost <= 0:  # not worth a look into the cache
            return False
        if history.is_cached is None:
            history.is_cached = has_mark(self.prepared.identity)
            history.seconds_elsewhere = read_seconds(self.prepared.identity)
        return history.is_cached or history.seconds_elsewhere + lost > self.compile_seconds - self.load_seconds

    @cached_property
    def compile_seconds(self) -> float:
        """The expected time to compile everything."""
        importing = 0.0 if "numba" in sys.modules else IMPORT_SECONDS
        return importing + seconds_to_compile(self.prepared, on_stream=self.on_stream)

    @cached_property
    def load_seconds(self) -> float:
        """The expected time until compiled code runs, if the cache has it."""
        linking = 0.0 if "llvmlite" in sys.modules else LINK_SECONDS
        return linking + CACHED * seconds_to_compile(self.prepared, on_stream=self.on_stream)

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
        aggregates = ", ".join(aggregate.label for aggregate in query.aggregates.values())
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


# -- what it costs -----------------------------------------------------------------------------------------------------


def undecided(prepared: Prepared, *, on_stream: bool) -> list[Pass]:
    """Return the passes that each run may compile or not."""
    passes = [plan_pass for plan_pass in prepared.plan.passes if not plan_pass.over_objects]
    return [plan_pass for plan_pass in passes if not (on_stream and keeps_executor(prepared, plan_pass))]


def seconds_per_row(prepared: Prepared, *, on_stream: bool = False) -> float:
    """Return the expected time of a row with NumPy; what compiles in any case, or never, does not count."""
    total = 0.0
    for plan_pass in undecided(prepared, on_stream=on_stream):
        vectorised = numpy_seconds(prepared, plan_pass)
        total += INTERPRETED_SECONDS * len(plan_pass.aggregates) if vectorised is None else vectorised
    return total


def seconds_to_compile(prepared: Prepared, *, on_stream: bool = False) -> float:
    """Return the expected time to compile a query that is not in the cache."""
    passes = undecided(prepared, on_stream=on_stream)
    aggregates = sum(len(plan_pass.aggregates) for plan_pass in passes)
    return LOOP_SECONDS + PASS_SECONDS * len(passes) + AGGREGATE_SECONDS * aggregates


def find_failures(prepared: Prepared) -> Failures:
    """Return what does not compile, by compiling everything."""
    failures: Failures = frozenset()
    while True:
        bound = bind(prepared, failures, compiles=True)
        try:
            check_compiles(bound)
        except PassFailedError as failed:
            failures |= failures_of(bound, failed)
        else:
            return failures


def bind_for_explanation(prepared: Prepared, rows: int | None) -> Prepared:
    """Return a query whose passes are bound as for a run over a number of rows; None if the number is not known.

    Aggregates that a user wrote are compiled, to find out whether they can be.
    """
    if prepared.compiled is False:
        return prepared
    has_custom = any(not aggregate.is_built_in for aggregate in prepared.query.aggregates.values())
    failures = find_failures(prepared) if has_custom else frozenset()
    return bind(prepared, failures, compiles=rows is None or Run(prepared, rows).compiles)


def describe_executor(prepared: Prepared, plan_pass: Pass, *, has_data: bool, knows_rows: bool) -> str:
    """Return how a pass runs, in words. If the number of rows is not known, it may run in one way first and be compiled later."""
    if plan_pass.reason:
        return f"{plan_pass.executor}: {plan_pass.reason.rstrip('.')}"
    if prepared.compiled is not None or knows_rows:
        return plan_pass.executor
    first = choose_executor(prepared, plan_pass, frozenset(), compiles=False, on_stream=False)
    custom = [name for name, aggregate in plan_pass.aggregates.items() if not aggregate.is_built_in]
    if custom and not has_data:
        return f"{first}, then compiled if {and_between(custom)} can be; explain(data) finds out"
    return f"{first}, then compiled"


def describe_compiling(prepared: Prepared) -> str:
    """Return when a query compiles, in words; "" if it does not depend on the number of rows."""
    per_row = seconds_per_row(prepared)
    if prepared.compiled is not None or not per_row:
        return ""
    seconds = IMPORT_SECONDS + seconds_to_compile(prepared)
    rows = seconds / per_row
    digits = 10 ** int(math.log10(rows))
    passes = undecided(prepared, on_stream=False)
    way = "with NumPy" if all(numpy_seconds(prepared, plan_pass) is not None for plan_pass in passes) else "interpreted"
    return (
        f"after about {round(rows / digits) * digits:,} rows in all runs, in about {seconds:.0f} s; {way} before that"
    )
