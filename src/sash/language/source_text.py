"""The text of a query and its parts: which tokens an expression covers, and its text for the engine that evaluates it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from sqlglot import exp
from sqlglot.errors import SqlglotError, TokenError
from sqlglot.tokenizer_core import TokenType

from sash.language.grammar import SPAN, PlacedError, WindowSql
from sash.language.sql_error import SqlError, fail

INTERNAL = (AttributeError, IndexError, KeyError, TypeError, ValueError)
"""Errors that sqlglot raises for some texts that it cannot parse, besides its own."""


@dataclass(frozen=True)
class SourceText:
    """A text, its tokens and its statement."""

    text: str
    tokens: list[Any]
    statement: Any
    quote: str = '"'
    """The quote around names in the texts that the engine evaluates."""
    dropped: set[int] = field(default_factory=set)
    """Tokens that the engine does not see: the name of the table in `meters.load`."""

    @classmethod
    def parse(cls, text: str, quote: str = '"') -> SourceText:
        """Return a parsed text. Raise SqlError if it is not one statement."""
        return cls.of_tokens(text, tokens_of(text), quote)

    @classmethod
    def of_tokens(cls, text: str, tokens: list[Any], quote: str = '"') -> SourceText:
        """Return the statement that some tokens of a text make. Raise SqlError if it is not one."""
        try:
            if not tokens or tokens[0].token_type is not TokenType.SELECT:
                place = (tokens[0].start, tokens[0].end + 1) if tokens else (0, 0)
                raise PlacedError("The text must be one SELECT statement", *place)  # noqa: TRY301 — the parser raises it too
            statements = [node for node in WindowSql().parser().parse(tokens, text) if node is not None]
        except PlacedError as error:
            raise SqlError(f"{str(error).rstrip('.')}.", text, error.start, error.end) from error
        except RecursionError as error:
            raise SqlError("The text is nested too deeply.", text, 0, 0) from error
        except (SqlglotError, *INTERNAL) as error:
            raise SqlError("The text cannot be read.", text, 0, 0) from error
        if len(statements) != 1:
            raise SqlError("The text must be one SELECT statement.", text, 0, 0)
        return cls(text, tokens, statements[0], quote)

    def place(self, node: Any) -> tuple[int, int]:
        """Return the first and the last character of a node; of the statement if nothing is known."""
        if isinstance(node, exp.Expression):
            if (span := self.span(node)) is not None:
                return self.tokens[span[0]].start, self.tokens[span[1] - 1].end + 1
            for inner in node.walk():
                if "start" in inner.meta:
                    return inner.meta["start"], inner.meta["end"] + 1
        return 0, 0

    def span(self, node: Any) -> tuple[int, int] | None:
        """Return the first token of a node, and the one after its last; None if they are not known."""
        if SPAN in node.meta:
            first, end = node.meta[SPAN]
            return first, end
        if isinstance(node, exp.Column):
            starts = [part.meta.get("start") for part in node.parts]
            numbers = [self._by_start[start] for start in starts if start in self._by_start]
            if len(numbers) == len(starts) > 0:
                return min(numbers), max(numbers) + 1
        return None

    @cached_property
    def _by_start(self) -> dict[Any, int]:
        return {token.start: place for place, token in enumerate(self.tokens)}

    def quoted(self, name: str) -> str:
        """Return a name in the quotes of the engine."""
        return quoted(name, self.quote)

    def normal(self, node: Any) -> str | None:
        """Return the tokens of a node without regard to spaces, comments, and the case of words; None if they are not known."""
        span = self.span(node)
        if span is None:
            return None
        places = [place for place in range(*span) if place not in self.dropped]
        return " ".join(self._normal_token(self.tokens[place]) for place in places)

    def nulls_first(self, ordered: Any) -> bool | None:
        """Return whether a member of ORDER BY says NULLS FIRST; None if it says neither that nor NULLS LAST.

        Raise NodeError for WITH FILL, which nothing evaluates.
        """
        if ordered.args.get("with_fill"):
            fail(ordered, "WITH FILL is not supported.")
        span = self.span(ordered)
        words = [] if span is None else [self._normal_token(self.tokens[place]) for place in range(*span)]
        return words[-1] == "FIRST" if words[-2:-1] == ["NULLS"] else None

    def _normal_token(self, token: Any) -> str:
        is_exact = token.token_type in (TokenType.IDENTIFIER, TokenType.STRING)
        return f"{token.token_type.name} {token.text}" if is_exact else str(token.text).upper()

    def of(self, node: Any, texts: Mapping[int, str] | None = None) -> str:
        """Return the text of a node for the engine. `texts` replaces nodes within it, by `id`. Raise NodeError if it is not known."""
        span = self.span(node)
        if span is None:
            fail(node, "This expression is not supported here.")
        replaced, texts = {}, texts or {}
        for inner in node.walk():
            if id(inner) in texts and (inner_span := self.span(inner)) is not None:
                replaced[inner_span[0]] = (inner_span[1], texts[id(inner)])
        return "".join(self._pieces(*span, replaced)).strip()

    def _pieces(self, first: int, end: int, replaced: Mapping[int, tuple[int, str]]) -> Iterator[str]:
        """Yield the tokens and the text between them."""
        place, last = first, None
        while place < end:
            if last is not None and place not in self.dropped:
                yield self.text[last : self.tokens[place].start]
            if place in replaced:
                place, text = replaced[place]
                yield text
            else:
                if place not in self.dropped:
                    yield self.engine_token(self.tokens[place])
                place += 1
            last = self.tokens[place - 1].end + 1

    def engine_token(self, token: Any) -> str:
        """Return a token as the engine reads it: names in its quotes, strings with its escapes."""
        raw = self.text[token.start : token.end + 1]
        if token.token_type is TokenType.IDENTIFIER:
            return quoted(token.text, self.quote)
        if token.token_type is TokenType.STRING and self.quote == "`":
            return raw[0] + raw[1:-1].replace("''", "\\'") + raw[-1]  # Spark reads 'it''s' as "its"
        return raw


def tokens_of(text: str) -> list[Any]:
    """Return the tokens of a text. Raise SqlError if a quote or a comment has no end."""
    try:
        tokens: list[Any] = WindowSql().tokenize(text)
    except TokenError as error:
        raise SqlError("A quote or a comment has no end.", text, len(text.rstrip()), len(text)) from error
    return tokens


def quoted(name: str, quote: str = '"') -> str:
    """Return a name in quotes.

    >>> quoted("my load"), quoted("a", "`")
    ('"my load"', '`a`')
    """
    return quote + name.replace(quote, quote * 2) + quote
