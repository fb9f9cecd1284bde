"""Nodes of the syntax tree: those that SQL does not have, and what is wrong with a node."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, NoReturn

from sqlglot import exp
from sqlglot.errors import ParseError


class PlacedError(ParseError):
    """The text cannot be parsed. `start` and `end` are the first and the last character of the token that is wrong."""

    def __init__(self, problem: str, start: int, end: int) -> None:
        super().__init__(problem)
        self.start = start
        self.end = end


class NodeError(Exception):
    """The statement is not one that Sash can run, because of a node. `translate` finds the place of the node in the text."""

    def __init__(self, node: Any, problem: str) -> None:
        super().__init__(problem)
        self.node = node


def fail(node: Any, problem: str) -> NoReturn:
    """Raise NodeError."""
    raise NodeError(node, problem)


@contextmanager
def errors_at(node: Any) -> Iterator[None]:
    """Raise NodeError with the message of a window or an aggregate if its arguments are not valid."""
    try:
        yield
    except (TypeError, ValueError, ArithmeticError) as error:
        raise NodeError(node, str(error)) from error


class Bracket(exp.Expression):
    """The windows of a table in CQL: `[PARTITION BY k RANGE 24 HOURS SLIDE 1 MINUTE ON ts]`."""

    arg_types: ClassVar = {"expressions": True, "partition_by": False}


class BracketWindow(exp.Expression):
    """One window of a bracket: its kind, the length or column after it, and its options by name."""

    arg_types: ClassVar = {"kind": True, "this": False, "threshold": False, "options": True, "alias": False}


class TableFunction(exp.Expression):
    """`TABLE(HOP(TABLE t, DESCRIPTOR(ts), slide, size))`: its name, the table, the time column, and durations."""

    arg_types: ClassVar = {"kind": True, "this": True, "expressions": True} | dict.fromkeys(
        ("time", "partition_by", "alias"), False
    )


class Amount(exp.Expression):
    """A number with a unit of time, `24 HOURS`, or without one."""

    arg_types: ClassVar = {"this": True, "unit": False}


def is_name(node: Any) -> bool:
    """Return whether a node is the name of a column, and nothing more."""
    is_column = isinstance(node, exp.Column) and len(node.parts) == 1
    return is_column and isinstance(node.this, exp.Identifier) and bool(node.name)


def column_name(node: Any) -> str:
    """Return the name of a column. Raise NodeError for other expressions."""
    if not is_name(node):
        fail(node, "Expected the name of a column.")
    return str(node.name)
