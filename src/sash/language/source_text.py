"""The text of a query and its parts: which characters an expression covers, and the text with other names in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from sqlglot import exp
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokens import TokenType

from sash.language.grammar import SPAN, WindowSql
from sash.language.sql_error import SqlError


@dataclass(frozen=True)
class SourceText:
    """A text, its tokens and its statement."""

    text: str
    tokens: list[Any]
    statement: Any
    quote: str = '"'
    """The quote around names in the texts that the engine evaluates."""

    @classmethod
    def parse(cls, text: str, quote: str = '"') -> SourceText:
        """Return a parsed text. Raise SqlError if it is not one statement."""
        dialect = WindowSql()
        try:
            tokens = dialect.tokenize(text)
        except TokenError as error:
            message = f"The text cannot be read: {str(error).splitlines()[0]}."
            raise SqlError(message, text, 0, 0) from error
        try:
            statements = dialect.parser().parse(tokens, text)
        except ParseError as error:
            found = error.errors[0]
            offset = sum(len(line) + 1 for line in text.split("\n")[: (found["line"] or 1) - 1])
            length = len(found["highlight"] or "") or 1
            start = max(offset + (found["col"] or 1) - length, 0)
            problem = (found["description"] or "The text cannot be read").rstrip(".")
            raise SqlError(f"{problem}.", text, start, start + length) from error
        except RecursionError as error:
            message = "The text is nested too deeply."
            raise SqlError(message, text, 0, 0) from error
        made = cls(text, tokens, statements[0] if statements else None, quote)
        if len([one for one in statements if one is not None]) != 1:
            message = "The text must be one SELECT statement."
            raise SqlError(message, text, 0, 0)
        return made

    def fail(self, node: Any, problem: str) -> NoReturn:
        """Raise SqlError at the place of a node."""
        start, end = self.place(node)
        raise SqlError(problem, self.text, start, end)

    def place(self, node: Any) -> tuple[int, int]:
        """Return the first and the last character of a node; of the statement if nothing is known."""
        if isinstance(node, exp.Expression):
            if SPAN in node.meta:
                first, last = node.meta[SPAN]
                return self.tokens[first].start, self.tokens[last - 1].end + 1
            for one in node.walk():
                if "start" in one.meta:
                    return one.meta["start"], one.meta["end"] + 1
        return 0, 0

    def of(self, node: Any, names: Mapping[int, str] | None = None) -> str:
        """Return the text of a node for the engine. `names` replaces nodes within it, by `id`, with names of columns."""
        first, last = node.meta[SPAN]
        replaced = {}
        for one in node.walk():
            if id(one) in (names or {}) and SPAN in one.meta:
                replaced[one.meta[SPAN][0]] = (one.meta[SPAN][1], quoted(names[id(one)], self.quote))  # type: ignore[index]
        return "".join(self._pieces(first, last, replaced)).strip()

    def _pieces(self, first: int, last: int, replaced: Mapping[int, tuple[int, str]]) -> Iterator[str]:
        """Yield the tokens with what is between them."""
        place = first
        end = None
        while place < last:
            token = self.tokens[place]
            if end is not None:
                yield self.text[end : token.start]
            if place in replaced:
                place, name = replaced[place]
                yield name
            else:
                raw = self.text[token.start : token.end + 1]
                yield quoted(token.text, self.quote) if token.token_type is TokenType.IDENTIFIER else raw
                place += 1
            end = self.tokens[place - 1].end + 1


def quoted(name: str, quote: str = '"') -> str:
    """Return a name in quotes.

    >>> print(quoted('a "b" c'), quoted("a", "`"))
    "a ""b"" c" `a`
    """
    return quote + name.replace(quote, quote * 2) + quote
