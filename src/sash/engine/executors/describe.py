"""How a query is executed, in words, for `explain`."""

from __future__ import annotations

import math

from sash.engine.executors.bind import Failures, bind, choose_executor, find_failures, vectorises
from sash.engine.executors.execute import IMPORT_SECONDS, Run, seconds_per_row, seconds_to_compile, undecided
from sash.engine.prepare import Prepared
from sash.plan.sharing import Pass
from sash.plan.tree import and_between


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
    first = choose_executor(prepared, plan_pass, Failures(frozenset()), compiles=False, on_stream=False)
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
    way = "with NumPy" if all(vectorises(prepared, plan_pass) for plan_pass in passes) else "interpreted"
    return (
        f"after about {round(rows / digits) * digits:,} rows in all runs, in about {seconds:.0f} s; {way} before that"
    )
