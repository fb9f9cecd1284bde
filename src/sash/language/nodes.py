"""Nodes of the syntax tree that SQL does not have: brackets, table functions and amounts of time."""

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.errors import ParseError


class PlacedError(ParseError):
    """The text cannot be read. `start` and `end` are the first and the last character of the token that is wrong."""

    def __init__(self, problem: str, start: int, end: int) -> None:
        super().__init__(problem)
        self.start = start
        self.end = end


class Bracket(exp.Expression):
    """The windows of a table in CQL: `[PARTITION BY k RANGE 24 HOURS SLIDE 1 MINUTE ON ts]`."""

    arg_types: ClassVar[dict[str, bool]] = {"expressions": True, "partition_by": False}


class BracketWindow(exp.Expression):
    """One window of a bracket: its kind, the length or column after it, and its options by name."""

    arg_types: ClassVar[dict[str, bool]] = {
        "kind": True,
        "this": False,
        "threshold": False,
        "options": True,
        "alias": False,
    }


class TableFunction(exp.Expression):
    """`TABLE(HOP(TABLE t, DESCRIPTOR(ts), slide, size))`: its name, the table, the time column, and durations."""

    arg_types: ClassVar[dict[str, bool]] = {
        "kind": True,
        "this": True,
        "time": False,
        "expressions": True,
        "partition_by": False,
        "alias": False,
    }


class Amount(exp.Expression):
    """A number with a unit of time, `24 HOURS`, or without one."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "unit": False}


def is_name(node: Any) -> bool:
    """Return whether a node is the name of a column, and nothing more."""
    return (
        isinstance(node, exp.Column)
        and len(node.parts) == 1
        and isinstance(node.this, exp.Identifier)
        and bool(node.name)
    )
