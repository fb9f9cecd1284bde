"""What an explanation promises of results, in words: which see the future, how far they may be from exact ones, what a tail costs.

What a stream stores is promised by `state/declared_size.py`, and the combines of each row by `expected.py`.
"""

from __future__ import annotations

from sash.durations import TimeUnit, to_text
from sash.plan.query_spec import QuerySpec
from sash.plan.sharing import Plan
from sash.plan.tree import Branch, and_between


def describe_results(query: QuerySpec, plan: Plan, unit: TimeUnit) -> tuple[Branch, ...]:
    """Return the branches of an explanation about results; none if they are exact and see no later rows."""
    branches = {
        "future": describe_future(query),
        "estimates": describe_errors(plan),
        "tail": describe_tails(plan, unit),
    }
    return tuple(Branch(label, tuple(lines)) for label, lines in branches.items() if lines)


def describe_future(query: QuerySpec) -> list[str]:
    """Return which columns are computed from later rows."""
    targets = query.future_columns
    if not targets:
        return []
    verb = "reads" if len(targets) == 1 else "read"
    return [f"{and_between(targets)} {verb} rows after the row or label of the result: for targets, not for features"]


def describe_errors(plan: Plan) -> list[str]:
    """Return how far estimates may be from exact results. Where Sash reads the rows of windows, sketches are replaced by exact aggregates."""
    named = {name: aggregate for one in plan.passes for name, aggregate in one.aggregates.items()}
    return [f"{name}: {aggregate.result.error}" for name, aggregate in named.items() if aggregate.result.error]


def describe_tails(plan: Plan, unit: TimeUnit) -> list[str]:
    """Return how much further windows reach because of their tails."""
    texts = []
    for window in plan.windows.values():
        tail = None if window.frame is None else window.frame.begin_edges(unit)
        if tail is not None:
            length = to_text(tail * unit.tick) if unit.tick else str(tail)
            texts.append(f"{window} begins up to {length} earlier than without its tail, so it may hold older rows")
    return texts
