"""Errors in the text of a query: the problem, and its place."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

TAB = "\t"


class SqlError(ValueError):
    """The text is not a query that Sash can run. The message shows the place.

    `problem` is the message without the place. `line` and `column` count from 1, in characters.

    >>> print(SqlError("There is no aggregate maxx. Did you mean 'max'?", "SELECT maxx(load)", 7, 11))
    There is no aggregate maxx. Did you mean 'max'? At line 1, column 8:
      SELECT maxx(load)
             ^^^^
    """

    def __init__(self, problem: str, text: str, start: int, end: int) -> None:
        self.problem = problem
        self.line = text.count("\n", 0, start) + 1
        begin = text.rfind("\n", 0, start) + 1
        self.column = start - begin + 1
        line = text[begin:].split("\n", maxsplit=1)[0].rstrip("\r")
        before, marked = line[: start - begin], line[start - begin : max(end - begin, 0)]
        place = f"At line {self.line}, column {self.column}:\n  {line}\n  {blank(before)}{'^' * max(width(marked), 1)}"
        super().__init__(f"{problem} {place}")

    def __reduce__(self) -> tuple[type[ValueError], tuple[str]]:
        """Pickle as a plain ValueError with the same message."""
        return ValueError, (str(self),)


def width(text: str) -> int:
    """Return how many columns of a terminal a text takes: letters of East Asia take two, accents none.

    >>> width("load"), width("負荷"), width("e\u0301")
    (4, 4, 1)
    """
    is_wide = [unicodedata.east_asian_width(letter) in "WF" for letter in text]
    return sum(2 if wide else not unicodedata.combining(letter) for letter, wide in zip(text, is_wide, strict=True))


def blank(text: str) -> str:
    """Return spaces as wide as a text; tabs stay, because only a terminal knows their width."""
    return "".join(TAB if letter == TAB else " " * width(letter) for letter in text)


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
