"""What an explanation promises of results, in words: which see the future, how far they may be from exact ones, what a tail costs and saves."""

from __future__ import annotations

from collections.abc import Mapping

from sash.durations import TimeUnit, to_text
from sash.plan.expected import NUMBER, Expected, bytes_to_text
from sash.plan.query_spec import QuerySpec
from sash.plan.sharing import Plan
from sash.plan.tree import Branch, and_between
from sash.windows.capabilities import Frame


def describe_results(query: QuerySpec, plan: Plan, kinds: Mapping[str, str], unit: TimeUnit) -> tuple[Branch, ...]:
    """Return the branches of an explanation about results; none if they are exact and see no later rows."""
    branches = {
        "future": describe_future(query),
        "estimates": describe_errors(plan),
        "tail": describe_tails(plan, kinds, unit, query.objective),
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


def describe_tails(plan: Plan, kinds: Mapping[str, str], unit: TimeUnit, objective: str) -> list[str]:
    """Return what the tails of windows cost and save."""
    frames = {name: window.frame for name, window in plan.windows.items() if window.frame is not None}
    edges = {name: frame.begin_edges(unit) for name, frame in frames.items()}
    with_tail = {name: tail for name, tail in edges.items() if tail is not None}
    if not with_tail:
        return []
    texts = []
    for name, tail in with_tail.items():
        length = to_text(tail * unit.tick) if unit.tick else str(tail)
        texts.append(
            f"{plan.windows[name]} begins up to {length} earlier than without its tail, so it may hold older rows"
        )
        most = most_slices(frames[name], unit)
        size = slice_bytes(plan, kinds, objective)
        if most is not None and size is not None:
            texts[-1] += (
                f"; a stream stores its rows, {row_bytes(plan)} B each; {most:,} slices of {length} could replace them, {size} B each: "
                f"{bytes_to_text(most * size)} a key"
            )
    needy = [name for one in plan.passes if not one.compact or one.over_objects for name in one.aggregates]
    if needy:
        verb = "needs" if len(needy) == 1 else "need"
        texts.append(f"{and_between(needy)} {verb} all values, so a tail saves no memory there")
    return texts


def most_slices(frame: Frame, unit: TimeUnit) -> int | None:
    """Return how many slices between edges a window may touch at most; None if there is no limit."""
    tail, width = frame.begin_edges(unit), frame.width(unit)
    return None if tail is None or width is None else width // tail + 1


def slice_bytes(plan: Plan, kinds: Mapping[str, str], objective: str) -> int | None:
    """Return the bytes of a slice: its time, and for each pass that has small partials a count and the partial. None if no pass has any."""
    passes = [one for one in plan.passes if one.compact and not one.over_objects]
    numbers = [count for one in passes if (count := Expected(plan, one, kinds, objective).numbers()) is not None]
    return NUMBER * (1 + sum(1 + count for count in numbers)) if numbers else None


def row_bytes(plan: Plan) -> int:
    """Return the bytes of a row of numbers: its time and the values that aggregates read."""
    aggregates = (aggregate for one in plan.passes for aggregate in one.aggregates.values())
    return NUMBER * (1 + len({column for aggregate in aggregates for column in aggregate.columns}))
