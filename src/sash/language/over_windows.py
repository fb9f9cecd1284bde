"""The windows of OVER → windows of Sash. All of a query have the same keys and order, so that one pass evaluates them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from sash import windows
from sash.hints import did_you_mean
from sash.language.nodes import column_name, errors_at, fail
from sash.language.source_text import SourceText
from sash.language.window_clauses import EXCLUDED, Clause, Length, length_of
from sash.windows import Window

OVER_PARTS = {"this", "partition_by", "order", "spec", "alias", "over"}


@dataclass(frozen=True)
class Over:
    """One OVER: its keys, order and frame. A reference to a named window stands for its parts."""

    keys: tuple[Any, ...]
    order: tuple[Any, ...]
    frame: Any

    def __or__(self, base: Over) -> Over:
        """Return this window with the parts of a named one."""
        return Over(self.keys or base.keys, self.order or base.order, self.frame or base.frame)

    def in_both(self, base: Over) -> str:
        """Return the words of a part that this window and a named one have; "" if there is none."""
        parts = {
            "PARTITION BY": self.keys and base.keys,
            "ORDER BY": self.order and base.order,
            "frame": self.frame and base.frame,
        }
        return next((words for words, both in parts.items() if both), "")


def over_clause(source: SourceText, calls: list[Any], named: Mapping[str, Any]) -> Clause:
    """Return the windows of all calls with OVER. Raise NodeError if they differ in keys or order."""
    by_name: dict[str, Window] = {}
    of_call: dict[int, str] = {}
    first: Over | None = None
    for call in calls:
        over = _read(call, named)
        first = first or over
        same_keys = [*map(source.normal, over.keys)] == [*map(source.normal, first.keys)]
        if not same_keys or _columns(source, over) != _columns(source, first):
            fail(call, "All windows of a query must have the same PARTITION BY and ORDER BY.")
        with errors_at(call):
            window = _frame(call, over)
        name = next((name for name, known in by_name.items() if repr(known) == repr(window)), None)
        if name is None:
            name = call.alias if call.alias and not call.args.get("spec") else window.result_name
            while name in by_name:
                name += "_"
            by_name[name] = window
        of_call[id(call)] = name
    assert first is not None
    if len(by_name) == 1:  # results have no name of a window
        by_name = {window.kind: window for window in by_name.values()}
        of_call = dict.fromkeys(of_call, next(iter(by_name)))
    time, *ties = _columns(source, first) or (None,)
    return Clause(by_name, first.keys, time, tuple(column for column in ties if column), of_call)


def _read(node: Any, named: Mapping[str, Any], seen: tuple[str, ...] = ()) -> Over:
    if node.args.get("over", "OVER") not in ("OVER", None) or any(
        value for name, value in node.args.items() if name not in OVER_PARTS
    ):
        fail(node, "Only OVER (PARTITION BY … ORDER BY … frame) is supported.")
    order = node.args.get("order")
    keys = tuple(node.args.get("partition_by") or ())
    over = Over(keys, tuple(order.expressions if order else ()), node.args.get("spec"))
    name = node.args.get("alias")
    if name is None:
        return over
    called = name.name.lower()
    if called not in named or called in seen:
        fail(name, f"There is no window {name.name}.{did_you_mean(name.name, named)}")
    base = _read(named[called], named, (*seen, called))
    if part := over.in_both(base):
        fail(name, f"The window {name.name} has its own {part}, which OVER cannot replace. Leave one of them out.")
    return over | base


def _columns(source: SourceText, over: Over) -> tuple[str, ...]:
    """Return the columns of ORDER BY."""
    for ordered in over.order:
        if ordered.args.get("desc"):
            problem = "ORDER BY … DESC in a window is not supported: windows follow time."
            fail(ordered, f"{problem} Swap PRECEDING and FOLLOWING.")
        if source.nulls_first(ordered):
            fail(
                ordered,
                "NULLS FIRST in a window is not supported: a time must not be null, and columns that break its ties have nulls "
                "last. Leave it out, or write NULLS LAST.",
            )
    return tuple(column_name(ordered.this) for ordered in over.order)


def _frame(call: Any, over: Over) -> Window:
    """Return the window of a frame. Without one it is that of SQL: up to the row and its ties if there is an order, else all rows."""
    spec = over.frame
    kind = "RANGE" if spec is None else str(spec.args["kind"]).upper()
    if kind == "GROUPS":
        fail(call, "GROUPS frames are not supported. Use ROWS or RANGE.")
    exclude = None if spec is None else spec.args.get("exclude")
    words = "" if exclude is None else exclude.name.upper()
    if words in ("TIES", "GROUP") and not over.order:
        fail(call, f"EXCLUDE {words} needs ORDER BY: without it, all rows of a window are ties.")
    options: dict[str, Any] = {"exclude": EXCLUDED[words]} if words else {}
    before: Length | None = None
    after: Length | None = 0
    if spec is not None:
        start = _bound(call, spec, "start")
        before = None if start is None else negated(start)
        after = _bound(call, spec, "end") if spec.args.get("end") else 0
    if not over.order and kind == "RANGE" and after == 0:
        after = None  # all rows are ties
    if kind == "ROWS" or (before, after) == (None, None):
        return windows.rows(before=before, after=after, **options)
    if len(over.order) != 1:  # ties would be rows that are equal in all of them, but those of Sash have the same time
        fail(
            call,
            f"RANGE needs one column in ORDER BY, not {len(over.order)}. Use ROWS, as in ROWS UNBOUNDED PRECEDING.",
        )
    if (before, after) == (None, 0):
        return windows.expanding(**options)
    return windows.time(before=before, after=after, **options)


def _bound(call: Any, spec: Any, side: str) -> Length | None:
    """Return where a frame begins or ends after the row; None if it has no bound."""
    value, direction = spec.args[side], str(spec.args.get(f"{side}_side") or "").upper()
    if value == "CURRENT ROW":
        return 0
    if value == "UNBOUNDED":
        if direction == ("FOLLOWING" if side == "start" else "PRECEDING"):
            fail(call, f"A frame cannot {side} with UNBOUNDED {direction}.")
        return None
    if not isinstance(value, exp.Expression) or direction not in ("PRECEDING", "FOLLOWING"):
        fail(call, "A frame is between bounds such as 3 PRECEDING, CURRENT ROW and UNBOUNDED FOLLOWING.")
    length = length_of(value)
    if str(length).startswith("-"):
        fail(value, "The distance of a frame must not be negative.")
    return negated(length) if direction == "PRECEDING" else length


def negated(length: Length) -> Length:
    """Return the opposite of a length.

    >>> negated("1h"), negated("-1h"), negated(3)
    ('-1h', '1h', -3)
    """
    if isinstance(length, str):
        return length[1:] if length.startswith("-") else f"-{length}"
    return -length
