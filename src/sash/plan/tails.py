"""What a tail costs and saves, in words: how much further windows reach, and the bytes of a key with slices in place of rows."""

from __future__ import annotations

from collections.abc import Mapping

from sash.durations import TimeUnit, to_text
from sash.plan.expected import NUMBER, Expected, bytes_to_text
from sash.plan.sharing import Plan
from sash.plan.tree import Branch, and_between
from sash.windows.capabilities import Frame


def describe_tails(plan: Plan, kinds: Mapping[str, str], unit: TimeUnit, objective: str) -> tuple[Branch, ...]:
    """Return the branch of an explanation about windows with a tail; no branch if there are none."""
    frames = {name: window.frame for name, window in plan.windows.items() if window.frame is not None}
    edges = {name: frame.begin_edges(unit) for name, frame in frames.items()}
    with_tail = {name: tail for name, tail in edges.items() if tail is not None}
    if not with_tail:
        return ()
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
    return (Branch("tail", tuple(texts)),)


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
