"""The SELECTs of a text, found by its tokens: where each begins and ends, its clauses, the tables of its FROM, and the CTEs it sees.

    WITH c AS (SELECT … FROM t) SELECT … FROM c JOIN (SELECT …) d ON … UNION SELECT …
               └── Select ──┘   └─────────────── Select ───────────┘       └ Select ┘

Tokens suffice, so that text which only the engine understands need not be parsed here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sqlglot.tokenizer_core import TokenType

from sash.language.grammar import TABLE_FUNCTIONS

Span = tuple[int, int]
"""The first token, and the one after the last."""
OPENING = {TokenType.L_PAREN: TokenType.R_PAREN, TokenType.L_BRACKET: TokenType.R_BRACKET}
SET_OPERATIONS = (TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT)
CLAUSES = {
    TokenType.FROM: "from",
    TokenType.WHERE: "where",
    TokenType.GROUP_BY: "group",
    TokenType.HAVING: "having",
    TokenType.WINDOW: "window",
    TokenType.QUALIFY: "qualify",
    TokenType.ORDER_BY: "order",
    TokenType.LIMIT: "limit",
    TokenType.OFFSET: "offset",
    TokenType.FETCH: "fetch",
}
"""The clauses of a SELECT by their first token."""
AFTER_UNION = ("order", "limit", "offset", "fetch")
"""The clauses that belong to a whole UNION if they follow its last SELECT."""
NAMES = (TokenType.VAR, TokenType.IDENTIFIER)
BEFORE_JOIN = ("POSITIONAL", "ASOF", "SEMI", "ANTI", "NATURAL")
"""Words before JOIN that could be taken for an alias."""


class Reference(NamedTuple):
    """A member of FROM."""

    kind: str
    """table, path, subquery, function (of the engine), windows (a table function), or group (joins in parentheses)."""
    span: Span
    """Its tokens, without alias and bracket."""
    name: str
    """The name of the table or the path of the file; empty for others."""
    alias: Span | None
    bracket: Span | None
    table: Span
    """The tokens of the table: those of the member itself, or of the table in a table function."""

    @property
    def names_columns(self) -> bool:
        """Whether it renames its columns, as in AS t(a, b)."""
        return self.alias is not None and self.alias[1] - self.alias[0] > 2  # noqa: PLR2004 — AS and a name

    @property
    def end(self) -> int:
        """The token after its last one."""
        return max(span[1] for span in (self.span, self.alias, self.bracket) if span is not None)


class Cte(NamedTuple):
    """A member of WITH."""

    name: str
    span: Span
    body: Span


@dataclass(frozen=True)
class TokenGroup:
    """The whole text, or the tokens between parentheses."""

    span: Span
    parent: TokenGroup | None
    direct: tuple[int, ...]
    """The tokens that are in no inner parentheses or brackets."""
    ctes: tuple[Cte, ...] = ()
    with_words: str = "WITH"


@dataclass(frozen=True)
class Select:
    """One SELECT, without WITH before it."""

    group: TokenGroup
    span: Span
    clauses: dict[str, Span]
    """The tokens after the words of each clause."""
    references: tuple[Reference, ...]
    in_union: bool

    @property
    def single(self) -> Reference | None:
        """The only member of FROM; None if there are joins."""
        begin, end = self.clauses.get("from", (0, 0))
        first = self.references[0] if len(self.references) == 1 else None
        return first if first is not None and (first.span[0], first.end) == (begin, end) else None


@dataclass
class SelectTree:
    """The SELECTs of some tokens."""

    tokens: Sequence[Any]
    close: dict[int, int] = field(default_factory=dict)
    """The token that closes each parenthesis or bracket."""
    selects: list[Select] = field(default_factory=list)
    """All SELECTs; those that others contain, or whose names they see, come first."""

    def __post_init__(self) -> None:
        """Match parentheses, and find the SELECTs. Raise ValueError if parentheses do not match: a parser tells where."""
        waiting: list[int] = []
        for place, token in enumerate(self.tokens):
            if token.token_type in OPENING:
                waiting.append(place)
            elif token.token_type in OPENING.values():
                if not waiting or OPENING[self.tokens[waiting[-1]].token_type] != token.token_type:
                    raise ValueError("Parentheses do not match.")
                self.close[waiting.pop()] = place
        if waiting:
            raise ValueError("Parentheses do not match.")
        found = [select for group in self._groups(None, (0, len(self.tokens))) for select in self._selects(group)]
        self.selects = sorted(found, key=lambda select: select.span[1])

    def sees(self, select: Select) -> list[tuple[TokenGroup, list[Cte]]]:
        """Return the CTEs that a SELECT may name, by the group of their WITH, outermost first."""
        levels: list[tuple[TokenGroup, list[Cte]]] = []
        group: TokenGroup | None = select.group
        while group is not None:
            before = [cte for cte in group.ctes if cte.span[1] <= select.span[0]]
            if before:
                levels.insert(0, (group, before))
            group = group.parent
        return levels

    def tables(self) -> Iterator[Reference]:
        """Yield the members of FROM that are tables or files, rather than CTEs."""
        for select in self.selects:
            known = {cte.name.lower() for _, ctes in self.sees(select) for cte in ctes} | self._own_names(select)
            for reference in select.references:
                is_cte = reference.kind != "path" and reference.name.lower() in known
                if reference.name and not is_cte:
                    yield reference

    def _own_names(self, select: Select) -> set[str]:
        """Return the names of the recursive CTEs around a SELECT."""
        names, group = set(), select.group.parent
        while group is not None:
            inside = [cte for cte in group.ctes if cte.body[0] <= select.span[0] < cte.body[1]]
            names |= {cte.name.lower() for cte in inside if "RECURSIVE" in group.with_words}
            group = group.parent
        return names

    # -- groups --------------------------------------------------------------------------------------------------------

    def _groups(self, parent: TokenGroup | None, span: Span) -> Iterator[TokenGroup]:
        direct, inner, place = [], [], span[0]
        while place < span[1]:
            direct.append(place)
            if place in self.close:
                inner.append((place + 1, self.close[place]))
                place = self.close[place]
            place += 1
        group = TokenGroup(span, parent, tuple(direct))
        if direct and self._type(direct[0]) is TokenType.WITH:
            group = self._with_ctes(group)
        yield group
        for inner_span in inner:
            yield from self._groups(group, inner_span)

    def _with_ctes(self, group: TokenGroup) -> TokenGroup:
        """Return a group with the members of its WITH."""
        ctes: list[Cte] = []
        place = group.span[0] + 1
        words = "WITH"
        if self._text(place) == "RECURSIVE":
            words, place = "WITH RECURSIVE", place + 1
        while place < group.span[1]:
            first, name = place, self.tokens[place].text
            while place < group.span[1] and self._type(place) is not TokenType.ALIAS:
                place = self.close.get(place, place) + 1
            while place < group.span[1] and self._type(place) is not TokenType.L_PAREN:
                place += 1
            if place >= group.span[1]:
                break
            end = self.close[place] + 1
            ctes.append(Cte(name, (first, end), (place + 1, end - 1)))
            if end >= group.span[1] or self._type(end) is not TokenType.COMMA:
                break
            place = end + 1
        return TokenGroup(group.span, group.parent, group.direct, tuple(ctes), words)

    # -- SELECTs -------------------------------------------------------------------------------------------------------

    def _selects(self, group: TokenGroup) -> Iterator[Select]:
        begin = group.ctes[-1].span[1] if group.ctes else group.span[0]
        direct = [place for place in group.direct if place >= begin]
        starts = [place for place in direct if self._type(place) is TokenType.SELECT]
        in_union = any(self._type(place) in SET_OPERATIONS for place in direct)
        for number, first in enumerate(starts):
            last = starts[number + 1] if number + 1 < len(starts) else group.span[1]
            own = [place for place in direct if first < place < last]
            end = next((place for place in own if self._ends(place, in_union=in_union)), last)
            clauses = self._clauses([place for place in own if place < end], end)
            references = tuple(self._references(clauses["from"])) if "from" in clauses else ()
            yield Select(group, (first, end), clauses, references, in_union)

    def _ends(self, place: int, *, in_union: bool) -> bool:
        kind = self._type(place)
        return kind in SET_OPERATIONS or kind is TokenType.SEMICOLON or (in_union and CLAUSES.get(kind) in AFTER_UNION)

    def _clauses(self, direct: Sequence[int], end: int) -> dict[str, Span]:
        starts: list[tuple[str, int]] = []
        for place in direct:
            name = CLAUSES.get(self._type(place))
            if self._text(place) == "EMIT" and self._text(place + 1) in ("CHANGES", "FINAL"):  # of ksqlDB
                name = "emit"
            is_call = name == "window" and place + 1 < end and place + 1 in self.close
            is_distinct = name == "from" and self._type(place - 1) is TokenType.DISTINCT
            if name is not None and not is_call and not is_distinct:
                starts.append((name, place))
        ends = [*(place for _, place in starts[1:]), *([end] if starts else [])]
        return {name: (place + 1, stop) for (name, place), stop in zip(starts, ends, strict=True)}

    # -- FROM ----------------------------------------------------------------------------------------------------------

    def _references(self, span: Span) -> Iterator[Reference]:
        """Yield the members of FROM, and those of joins in parentheses."""
        place, expected = span[0], True
        while place < span[1]:
            kind = self._type(place)
            if not expected:
                expected = kind in (TokenType.COMMA, TokenType.JOIN)
                place = self.close.get(place, place) + 1
                continue
            if kind in (TokenType.LATERAL, TokenType.COMMA):
                place += 1
                continue
            reference = self._reference(place, span[1])
            expected = False
            if reference is None:
                place = self.close.get(place, place) + 1
                continue
            if reference.kind == "group":
                yield from self._references((reference.span[0] + 1, reference.span[1] - 1))
            yield reference
            place = reference.end

    def _reference(self, place: int, stop: int) -> Reference | None:
        kind, name, table = self._type(place), "", None
        if place in self.close:
            inner = self._type(place + 1)
            queries = (TokenType.SELECT, TokenType.WITH, TokenType.VALUES, TokenType.FROM, TokenType.L_PAREN)
            found, end = "subquery" if inner in queries else "group", self.close[place] + 1
        elif kind is TokenType.STRING:
            found, end, name = "path", place + 1, self.tokens[place].text
        else:
            parts, end = [self.tokens[place].text], place + 1
            while end + 1 < stop and self._type(end) is TokenType.DOT:
                parts.append(self.tokens[end + 1].text)
                end += 2
            if end in self.close and self._type(end) is TokenType.L_PAREN:
                called, end = self._text(place), self.close[end] + 1
                inside = self._text(place + 2) if called == "TABLE" else called
                found = "windows" if inside in TABLE_FUNCTIONS else "function"
                table = self._table_within((place, end)) if found == "windows" else None
                name = "" if table is None else ".".join(self.tokens[part].text for part in range(*table, 2))
            else:
                found, name = "table", ".".join(parts)
        alias = bracket = None
        rest = end
        for _ in range(3):
            if bracket is None and rest < stop and self._type(rest) is TokenType.L_BRACKET:
                bracket = (rest, self.close[rest] + 1)
                rest = bracket[1]
            elif alias is None and (alias := self._alias(rest, stop)) is not None:
                rest = alias[1]
        return Reference(found, (place, end), name, alias, bracket, table or (place, end))

    def _table_within(self, span: Span) -> Span | None:
        """Return the table of a table function, which follows the word TABLE."""
        for place in range(span[0] + 1, span[1] - 1):
            if self._text(place) == "TABLE" and self._type(place + 1) not in OPENING:
                end = place + 2
                while end + 1 < span[1] and self._type(end) is TokenType.DOT:
                    end += 2
                return place + 1, end
        return None

    def _alias(self, place: int, stop: int) -> Span | None:
        if place >= stop:
            return None
        if self._type(place) is TokenType.ALIAS:
            end = place + 2
        elif self._type(place) in NAMES and self._text(place) not in BEFORE_JOIN:
            end = place + 1
        else:
            return None
        if end < stop and self._type(end) is TokenType.L_PAREN:  # names of columns
            end = self.close[end] + 1
        return place, min(end, stop)

    def _type(self, place: int) -> Any:
        return self.tokens[place].token_type if place < len(self.tokens) else None

    def _text(self, place: int) -> str:
        return str(self.tokens[place].text).upper() if place < len(self.tokens) else ""
