"""OVER → windows: those with the same keys and the same order make one clause, which one pass over the rows evaluates.

max(x) OVER (PARTITION BY k ORDER BY ts ROWS 3 PRECEDING)       rows(before=3, after=0), by k, in order of ts
max(x) OVER (PARTITION BY k ORDER BY ts DESC ROWS 3 PRECEDING)  rows(before=0, after=3), in the same clause
max(x) OVER (PARTITION BY j ORDER BY ts)                        expanding(), in a clause of its own
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sqlglot import exp

from sash import windows
from sash.hints import did_you_mean
from sash.language.clause import EXCLUDED, Clause, Length, length_of
from sash.language.grammar import is_name
from sash.language.source_text import SourceText
from sash.language.sql_error import errors_at, fail
from sash.language.value_functions import own_frame
from sash.windows import Window

OVER_PARTS = {"this", "partition_by", "order", "spec", "alias", "over"}


class Over(NamedTuple):
    """One OVER: its keys, order and frame. A reference to a named window stands for its parts."""

    keys: tuple[Any, ...]
    order: tuple[Any, ...]
    frame: Any


class OverOrder(NamedTuple):
    """ORDER BY in OVER."""

    columns: tuple[str, ...]
    descending: bool


@dataclass
class OverGroup:
    """The windows with the same keys and order."""

    keys: tuple[Any, ...]
    columns: tuple[str, ...]
    by_name: dict[str, Window] = field(default_factory=dict)
    of_call: dict[int, str] = field(default_factory=dict)
    descending: set[int] = field(default_factory=set)

    def add(self, call: Any, window: Window, *, descending: bool) -> None:
        """Add the window of a call; windows that are equal have one name."""
        name = next((name for name, known in self.by_name.items() if repr(known) == repr(window)), None)
        if name is None:
            name = call.alias if call.alias and not call.args.get("spec") else window.result_name
            while name in self.by_name:
                name += "_"
            self.by_name[name] = window
        self.of_call[id(call)] = name
        if descending:
            self.descending.add(id(call))

    def clause(self) -> Clause:
        """Return the clause of the windows."""
        by_name, of_call = self.by_name, self.of_call
        if len(by_name) == 1:  # results have no name of a window
            by_name = {window.kind: window for window in by_name.values()}
            of_call = dict.fromkeys(of_call, next(iter(by_name)))
        time, *ties = self.columns or (None,)
        order_by = tuple(column for column in ties if column)
        return Clause(by_name, self.keys, time, order_by, of_call, frozenset(self.descending))


def over_clauses(source: SourceText, calls: list[Any], named: Mapping[str, Any]) -> list[Clause]:
    """Return the clauses of all calls with OVER, one for each PARTITION BY and ORDER BY."""
    groups: dict[tuple[Any, ...], OverGroup] = {}
    for call in calls:
        over = _read(call, named)
        order = _order(source, over)
        keys = tuple(map(source.normal, over.keys))
        group = groups.setdefault((keys, order.columns), OverGroup(over.keys, order.columns))
        with errors_at(call):
            window = _window(call, over, descending=order.descending)
        group.add(call, window, descending=order.descending)
    return [group.clause() for group in groups.values()]


def _read(node: Any, named: Mapping[str, Any], seen: tuple[str, ...] = ()) -> Over:
    others = [value for name, value in node.args.items() if name not in OVER_PARTS]
    if node.args.get("over", "OVER") not in ("OVER", None) or any(others):
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
    for part, own, named_part in zip(("PARTITION BY", "ORDER BY", "frame"), over, base, strict=True):
        if own and named_part:
            fail(name, f"The window {name.name} has its own {part}, which OVER cannot replace. Leave one of them out.")
    return Over(*(own or named_part for own, named_part in zip(over, base, strict=True)))


def _order(source: SourceText, over: Over) -> OverOrder:
    """Return the columns of ORDER BY. Raise NodeError if their rows cannot be read from the ascending order.

    The first column is the time, which must not be null. Columns that break its ties have nulls last, so first if the order is reversed.
    """
    descending = [bool(ordered.args.get("desc")) for ordered in over.order]
    for number, ordered in enumerate(over.order):
        if descending[number] != descending[0]:
            problem = "Rows are sorted by all columns of ORDER BY in one direction"
            fail(ordered, f"{problem}. Write {'DESC' if descending[0] else 'ASC'} after each, or leave this one out.")
        nulls_first = source.nulls_first(ordered)
        if number and descending[0] and not nulls_first:
            name = source.of(ordered.this)
            fail(ordered, f"Columns that break ties have nulls first here. Write {name} DESC NULLS FIRST.")
        if number and nulls_first and not descending[0]:
            problem = "NULLS FIRST in a window is not supported: columns that break ties have nulls last"
            fail(ordered, f"{problem}. Leave it out, or write NULLS LAST.")
        if not is_name(ordered.this):
            computed = source.of(ordered.this)
            problem = "ORDER BY in OVER names columns. Compute this one in a subquery"
            fail(ordered, f"{problem}, FROM (SELECT *, {computed} AS t FROM …), and write ORDER BY t.")  # noqa: S608 — a message
    return OverOrder(tuple(str(ordered.this.name) for ordered in over.order), any(descending))


def _window(call: Any, over: Over, *, descending: bool) -> Window:
    """Return the window of a call: of its own frame, of that of OVER, or of SQL's default.

    That is up to the row and its ties if there is an order, else all rows.
    """
    own = own_frame(call)
    if own is not None:
        called = call.this.find(exp.Anonymous).name
        if not over.order:
            fail(call, f"{called} needs ORDER BY in OVER, as in OVER (ORDER BY ts).")
        if over.frame is not None:
            fail(call, f"{called} does not depend on a frame. Leave {over.frame.args['kind']} and what follows it out.")
        before, after = (own.after, own.before) if descending else (own.before, own.after)
        return windows.rows(before=before, after=after, exclude=own.exclude)
    spec = over.frame
    kind = "RANGE" if spec is None else str(spec.args["kind"]).upper()
    if kind == "GROUPS":
        fail(call, "GROUPS frames are not supported. Use ROWS or RANGE.")
    options = _excluded(call, over)
    sides = _sides(call, over, kind)
    return _frame(call, over, kind, sides[::-1] if descending else sides, options)


def _excluded(call: Any, over: Over) -> dict[str, Any]:
    """Return the rows that EXCLUDE leaves out, as an argument of a window."""
    exclude = None if over.frame is None else over.frame.args.get("exclude")
    words = "" if exclude is None else exclude.name.upper()
    if words in ("TIES", "GROUP") and not over.order:
        fail(call, f"EXCLUDE {words} needs ORDER BY: without it, all rows of a window are ties.")
    return {"exclude": EXCLUDED[words]} if words else {}


def _sides(call: Any, over: Over, kind: str) -> tuple[Length | None, Length | None]:
    """Return how far a frame reaches before and after the row, in the order of OVER; None without bound."""
    spec = over.frame
    start: Length | None = None if spec is None else _bound(call, spec, "start")
    after: Length | None = 0 if spec is None or not spec.args.get("end") else _bound(call, spec, "end")
    if not over.order and kind == "RANGE" and after == 0:
        after = None  # all rows are ties
    return None if start is None else negated(start), after


def _frame(
    call: Any, over: Over, kind: str, sides: tuple[Length | None, Length | None], options: dict[str, Any]
) -> Window:
    before, after = sides
    if kind == "ROWS" or (before, after) == (None, None):
        return windows.rows(before=before, after=after, **options)
    if len(over.order) != 1:  # ties would be rows that are equal in all of them, but those of Sash have the same time
        problem = f"RANGE needs one column in ORDER BY, not {len(over.order)}."
        fail(call, f"{problem} Use ROWS, as in ROWS UNBOUNDED PRECEDING.")
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
        fail(
            call,
            "A frame needs a bound, as in ROWS 3 PRECEDING, or two, as in ROWS BETWEEN 3 PRECEDING AND CURRENT ROW.",
        )
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
