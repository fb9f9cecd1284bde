"""Errors in the text of a query: what is wrong, where, and the nearest valid name."""

from __future__ import annotations

TAB = "\t"


class SqlError(ValueError):
    """The text is no query that Sash can run. The message shows the place.

    >>> print(SqlError("There is no aggregate maxx. Did you mean max?", "SELECT maxx(load)", 7, 11))
    There is no aggregate maxx. Did you mean max? At line 1, column 8:
      SELECT maxx(load)
             ^^^^
    """

    def __init__(self, problem: str, text: str, start: int, end: int) -> None:
        self.problem = problem
        self.line = text.count("\n", 0, start) + 1
        begin = text.rfind("\n", 0, start) + 1
        self.column = start - begin + 1
        stop = text.find("\n", start)
        line = text[begin:] if stop < 0 else text[begin:stop]
        before = "".join(TAB if letter == TAB else " " for letter in line[: start - begin])
        marks = "^" * max(min(end, begin + len(line)) - start, 1)
        super().__init__(f"{problem} At line {self.line}, column {self.column}:\n  {line}\n  {before}{marks}")

    def __reduce__(self) -> tuple[type[ValueError], tuple[str]]:
        """Pickle as a plain ValueError with the same message."""
        return ValueError, (str(self),)
