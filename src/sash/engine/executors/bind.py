"""Which executor runs each pass: one rule for tables and streams (`choose_executor`).

A pass is compiled if that pays (`execute.py` decides), evaluated with NumPy until then, and interpreted if neither can run it. If an
executor fails, the pass is bound to another one, and nothing else changes.

On a stream, a pass that NumPy cannot evaluate may keep its executor (`keeps_executor`): what it has stored must be read again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sash.engine.evaluate import check_compiles
from sash.engine.executors import PassFailedError
from sash.engine.executors.kernel_executor import NumpyExecutor
from sash.engine.executors.list_executor import ListExecutor, inner_query
from sash.engine.prepare import Prepared
from sash.engine.stream_plan import stream_plan
from sash.kernels.plain import compile_loop
from sash.plan.sharing import COMPILED, INTERPRETED, NUMPY, Pass
from sash.windows.numpy_forms import numpy_form

NOT_WORTH_IT = "that ends earlier than compiling it for this number of rows"
Failures = frozenset[tuple[str, str, str]]
"""Which executors could not run which aggregates, and the reasons."""


def bind(prepared: Prepared, failures: Failures = frozenset(), *, compiles: bool, on_stream: bool = False) -> Prepared:
    """Return a query whose passes are bound to executors: to compiled code if it `compiles`, else to NumPy, as far as they can run them."""
    key = ("bind", failures, compiles, on_stream)
    return prepared.once(key, lambda: _bind(prepared, failures, compiles=compiles, on_stream=on_stream))


def _bind(prepared: Prepared, failures: Failures, *, compiles: bool, on_stream: bool) -> Prepared:
    passes, reasons = [], {}
    for plan_pass in prepared.plan.passes:
        executor = choose_executor(prepared, plan_pass, failures, compiles=compiles, on_stream=on_stream)
        reason = plan_pass.reason or why_failed(failures, COMPILED, plan_pass.aggregates)
        passes.append(replace(plan_pass, executor=executor, reason=reason))
        for name in plan_pass.aggregates if executor == INTERPRETED and not plan_pass.over_objects else ():
            own_reason = why_failed(failures, COMPILED, [name])
            if own_reason or not compiles:
                reasons[name] = own_reason or NOT_WORTH_IT
    if reasons:  # an interpreted aggregate has a pass of its own
        return _bind(prepared.interpreting(reasons), failures, compiles=compiles, on_stream=on_stream)
    return replace(prepared.with_passes(passes), loops=compile_loop if compiles else numpy_form)


def choose_executor(prepared: Prepared, plan_pass: Pass, failures: Failures, *, compiles: bool, on_stream: bool) -> str:
    """Return the executor of a pass."""
    if plan_pass.over_objects:
        return INTERPRETED
    can_compile = not why_failed(failures, COMPILED, plan_pass.aggregates)
    numpy_failed = why_failed(failures, NUMPY, plan_pass.aggregates)
    if compiles and can_compile:
        return COMPILED
    if not numpy_failed and vectorises(prepared, plan_pass):
        return NUMPY
    if can_compile and (numpy_failed or (on_stream and keeps_executor(prepared, plan_pass))):
        return COMPILED
    # The stored partials of a stream are columns, which the interpreter does not read.
    return COMPILED if on_stream and stores_partials(prepared) else INTERPRETED


def why_failed(failures: Failures, executor: str, names: Iterable[str]) -> str:
    """Return why an executor could not run the first of some aggregates that it could not run; "" if there is none."""
    reasons = {name: reason for known, name, reason in failures if known == executor}
    return next((reasons[name] for name in names if name in reasons), "")


def failures_of(bound: Prepared, failed: PassFailedError) -> Failures:
    """Return which aggregates of a pass its executor cannot run: those that do not compile alone, or else all."""
    plan_pass, reasons = failed.plan_pass, {}
    if plan_pass.executor == COMPILED and len(plan_pass.aggregates) > 1 and not vectorises(bound, plan_pass):
        for name, aggregate in plan_pass.aggregates.items():
            try:
                check_compiles(bound.with_passes([replace(plan_pass, aggregates={name: aggregate})]))
            except PassFailedError as error:
                reasons[name] = str(error)
    reasons = reasons or dict.fromkeys(plan_pass.aggregates, str(failed))
    return frozenset((plan_pass.executor, name, why) for name, why in reasons.items())


def vectorises(prepared: Prepared, plan_pass: Pass) -> bool:
    """Return whether NumPy can evaluate a pass."""
    return numpy_seconds(prepared, plan_pass) is not None


def numpy_seconds(prepared: Prepared, plan_pass: Pass) -> float | None:
    """Return the expected time of a row with NumPy; None if NumPy cannot evaluate the pass."""
    if plan_pass.lists:
        return list_seconds(prepared, plan_pass)
    key = ("numpy_seconds", plan_pass.label)
    return prepared.once(key, lambda: NumpyExecutor(prepared, plan_pass).seconds_per_row)


def list_seconds(prepared: Prepared, plan_pass: Pass) -> float | None:
    """Return the expected time of a row in a pass that lists rows; None if a user wrote the inner aggregate, and NumPy cannot evaluate it."""
    seconds = ListExecutor.seconds_per_row
    [(name, aggregate)] = plan_pass.aggregates.items()
    inner = aggregate.forms.inner
    if inner is None or inner.is_built_in:
        return seconds
    nested = inner_query(prepared, name, inner)
    [inner_pass] = nested.plan.passes
    inner_seconds = 0.0 if inner_pass.over_objects else numpy_seconds(nested, inner_pass)
    return None if inner_seconds is None else seconds + inner_seconds


def keeps_executor(prepared: Prepared, plan_pass: Pass) -> bool:
    """Return whether a pass is compiled before the first row of a stream, and for its whole life.

    These are passes that NumPy cannot evaluate if the stream stores their partials, which are Python objects in the interpreter, or if
    a user wrote an aggregate: the interpreter knows the type of its results only from the results.
    """
    if plan_pass.over_objects or vectorises(prepared, plan_pass):
        return False
    if not all(aggregate.is_built_in for aggregate in plan_pass.aggregates.values()):
        return True
    return stores_partials(prepared)


def stores_partials(prepared: Prepared) -> bool:
    """Return whether a stream stores partials of this query."""
    return bool(stream_plan(prepared).state_kinds.keys() - {"rows"})


def compile_ahead(prepared: Prepared) -> Prepared:
    """Compile what a stream compiles before its first row. Return the query; aggregates that do not compile are interpreted.

    If each run decides whether it compiles, these are only the passes that keep their executor.
    """
    while True:
        passes = list(prepared.plan.passes)
        if prepared.compiled is None:
            passes = [plan_pass for plan_pass in passes if keeps_executor(prepared, plan_pass)]
        if not passes:
            return prepared
        bound = prepared.with_passes(passes)
        if prepared.compiled is None:
            bound = replace(bound, loops=numpy_form)
        try:
            check_compiles(bound)
        except PassFailedError as failed:
            prepared = prepared.interpreting({name: why for _, name, why in failures_of(bound, failed)})
        else:
            return prepared
