"""A text of several SELECTs: those with windows are for Sash, all else is text for the engine that holds the data.

    text ──► SelectTree ──┬─► SELECTs with windows ──► Statement: each reads the rows of its own FROM and WHERE
                          └─► texts for the engine: the rows that they read, and what is made of their results

A SELECT is for Sash if all its windows are ones that Sash evaluates, and for the engine if none is.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, NamedTuple

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from sash.language.engine_text import EngineText, EngineTextWriter
from sash.language.group_functions import GROUP_FUNCTIONS, TRUNCATING
from sash.language.select_tree import Reference, Select, SelectTree, Span
from sash.language.source_text import SourceText, quoted, tokens_of
from sash.language.sql_error import SqlError
from sash.language.time_expressions import TIME, is_expression, time_expressions
from sash.language.translate import Statement, statement_of
from sash.language.window_clauses import PLACES

ROWS = "sash_rows"
"""The name in FROM of a SELECT with windows that stands for a subquery or for joins."""
NAMED = ("table", "path", "windows")
"""The members of FROM that have a name."""
NUMBERING = ("row_number", "rank", "dense_rank", "lag", "lead")
"""Functions with OVER that number and shift rows. Every engine has them, in any order, not only that of time."""
NOTHING: tuple[str, ...] = ()
INPUT, RESULT = "sash_input_", "sash_result_"
"""The names of the data that FROM names, and of the results of SELECTs with windows, with a number each."""
IN_SUBQUERY = "Put it into a subquery, and name that in a SELECT with the windows: FROM (SELECT … FROM a JOIN b …) AS ab [RANGE 1 HOUR ON ts]."


class NamedInput(NamedTuple):
    """Data that a text names in FROM."""

    name: str
    is_path: bool
    place: tuple[int, int]
    """The first and the last character of the name."""


@dataclass(frozen=True)
class WindowedSelect:
    """A SELECT with windows that Sash evaluates."""

    select: Select
    statement: Statement
    qualified: Mapping[tuple[str, ...], str]
    """Over joins: the columns with the name of a table before them, and their names in the rows."""
    names: tuple[str, ...]
    """The names in the SELECT that may be columns, in lower case."""
    all_columns: bool
    """Whether the results have all columns of the rows."""
    times: tuple[Span, ...] = ()
    """The expressions that stand for the time column."""


@dataclass
class AroundText:
    """A text of several SELECTs, for the engine with these quotes around names."""

    text: str
    time: str | None = None
    quote: str = '"'
    tokens: list[Any] = field(init=False)
    tree: SelectTree = field(init=False)
    inputs: list[NamedInput] = field(init=False)
    windowed: list[WindowedSelect] = field(init=False)

    def __post_init__(self) -> None:
        """Find the SELECTs. Raise SqlError if none has windows that Sash evaluates, or if one cannot be run."""
        self.tokens, self.tree = _read(self.text)
        self._check_tables()
        tables = sorted(self.tree.tables(), key=lambda table: table.table[0], reverse=True)
        named = {(table.name, self._is_path(table)): table.table for table in tables}
        self.inputs = [NamedInput(name, path, self._place(span)) for (name, path), span in reversed(named.items())]
        self.windowed = [self._windowed(select) for select in self.tree.selects if self._is_ours(select)]
        if not self.windowed:  # otherwise the engine truncates times, and numbers rows, around the windows
            others = [s for s in self.tree.selects if self._truncates(s) or self._is_ours(s, NOTHING)]
            self.windowed = [self._windowed(select) for select in others]
        if not self.windowed:
            self._fail_without_windows()

    @property
    def is_root(self) -> bool:
        """Whether the results of the last SELECT with windows are those of the text."""
        select = self.windowed[-1].select
        return select.group.parent is None and not select.in_union

    # -- texts for the engine ------------------------------------------------------------------------------------------

    def rows(self, number: int, columns: Sequence[str] | None = None, times: Sequence[str] = ()) -> EngineText:
        """Return the text of the rows that a SELECT with windows reads: what its FROM and WHERE say.

        `columns` are the names of all columns of FROM, of which the text has those that the SELECT names, and `times`; None for all
        columns. Over joins, names with a table before them are chosen by their new names.
        """
        windowed = self.windowed[number]
        select = windowed.select
        writer = self._writer()
        levels = self.tree.sees(select)
        for place, (group, ctes) in enumerate(levels):
            writer.add("SELECT * FROM (" if place else "")
            writer.add(group.with_words)
            for position, cte in enumerate(ctes):
                writer.add("," if position else "")
                writer.tokens(*cte.span)
        writer.add("SELECT * FROM (" if levels else "")
        writer.add("SELECT")
        self._choose(writer, windowed, columns, times)
        if windowed.times:
            writer.add(", (")
            writer.tokens(*windowed.times[0])
            writer.add(f") AS {TIME}")
        elif is_expression(self.time):
            writer.add(f", ({self.time}) AS {TIME}")
        writer.add("FROM")
        plain = _plain_table(select)
        if plain is None:
            writer.tokens(*select.clauses["from"])
        else:
            writer.tokens(*plain.table)
            if plain.alias is not None:
                writer.tokens(*plain.alias)
        if "where" in select.clauses:
            writer.add("WHERE")
            writer.tokens(*select.clauses["where"])
        for _ in levels:
            writer.add(f") AS {ROWS}")
        return writer.done()

    def around(self) -> EngineText:
        """Return the whole text, in which results stand for the SELECTs with windows."""
        writer = self._writer()
        writer.tokens(0, len(self.tokens))
        return writer.done()

    def _choose(
        self, writer: EngineTextWriter, windowed: WindowedSelect, columns: Sequence[str] | None, times: Sequence[str]
    ) -> None:
        if columns is None:
            writer.add("*")
            return
        own = dict.fromkeys(name for name in columns if name != TIME)
        needed = [name for name in own if name.lower() in windowed.names or name in times]
        chosen = [quoted(name, self.quote) for name in needed]
        if windowed.all_columns:
            chosen = ["*"]
        known = {name.lower() for name in columns}
        for parts, name in windowed.qualified.items():
            if not (windowed.all_columns and name.lower() in known):
                qualified = ".".join(quoted(part, self.quote) for part in parts)
                chosen = [other for other in chosen if other != quoted(name, self.quote)]
                chosen.append(f"{qualified} AS {quoted(name, self.quote)}")
        writer.add(", ".join(chosen) or "1 AS sash_nothing")

    def _writer(self) -> EngineTextWriter:
        source = SourceText(self.text, self.tokens, None, self.quote)
        replaced: dict[int, tuple[int, str]] = {}
        numbers = {(name, is_path): number for number, (name, is_path, _) in enumerate(self.inputs)}
        for table in self.tree.tables():
            number = numbers[table.name, self._is_path(table)]
            name = _stem(table.name) if self._is_path(table) else table.name.rpartition(".")[2]
            alias = "" if table.alias is not None else f" AS {quoted(name, self.quote)}"
            replaced[table.table[0]] = (table.table[1], f"{INPUT}{number}{alias}")
        for number, windowed in enumerate(self.windowed):
            first, end = windowed.select.span
            replaced[first] = (end, f"SELECT * FROM {RESULT}{number}")  # noqa: S608 — our own name
        return EngineTextWriter(source, replaced)

    # -- SELECTs with windows ------------------------------------------------------------------------------------------

    def _is_ours(self, select: Select, of_engine: Collection[str] = NUMBERING) -> bool:
        """Return whether Sash evaluates a SELECT. Raise SqlError if it has windows of both kinds."""
        if any(table.bracket is not None or table.kind == "windows" for table in select.references):
            return True
        if self._groups_by(select, GROUP_FUNCTIONS.keys() - {*TRUNCATING}):
            return True
        calls = self._over(select)
        if all(self.tokens[begin].text.lower() in of_engine for begin, _ in calls):
            return False
        errors = {call: self._problem(select, call) for call in calls}
        if not any(error is None for error in errors.values()):
            return False
        for call, error in errors.items():
            if error is not None:
                problem = "Sash evaluates other windows of this SELECT, but not this one"
                advice = "Compute it in a SELECT of its own, which the engine evaluates."
                raise SqlError(f"{problem}: {error.problem} {advice}", self.text, *self._place(call))
        return True

    def _groups_by(self, select: Select, names: Collection[str]) -> bool:
        begin, end = select.clauses.get("group", (0, 0))
        places = (place for place in select.group.direct if begin <= place < end - 1)
        calls = (place for place in places if self.tokens[place + 1].token_type is TokenType.L_PAREN)
        return any(self.tokens[place].text.lower() in names for place in calls)

    def _truncates(self, select: Select) -> bool:
        """Return whether a SELECT groups by `date_trunc` or the like, which GROUP BY may name by its position or its alias."""
        begin = select.clauses.get("group", (0, 0))[0]
        places = (place for place in select.group.direct if select.span[0] <= place < select.span[1] - 1)
        return bool(begin) and any(
            self.tokens[place].text.lower() in TRUNCATING and self.tokens[place + 1].token_type is TokenType.L_PAREN
            for place in places
        )

    def _over(self, select: Select) -> list[Span]:
        """Return the calls with OVER in a SELECT, and not in others that it contains."""
        inner = [other.span for other in self.tree.selects if other is not select and _within(other.span, select.span)]
        places = [
            place
            for place in range(*select.span)
            if self.tokens[place].token_type is TokenType.OVER and not any(a <= place < b for a, b in inner)
        ]
        return [(self._call_begin(place), self._over_end(place)) for place in places]

    def _over_end(self, place: int) -> int:
        return self.tree.close.get(place + 1, place + 1) + 1

    def _call_begin(self, place: int) -> int:
        """Return the first token of the call that ends before OVER."""
        opened = {end: begin for begin, end in self.tree.close.items()}
        words = ("FILTER", "WITHIN", "GROUP", "NULLS", "IGNORE", "RESPECT", "WITHIN GROUP", "IGNORE NULLS")
        place -= 1
        while place > 0:
            if place in opened:
                place = opened[place] - 1
                if self.tokens[place].text.upper() not in words:
                    break
            elif self.tokens[place].text.upper() not in words:
                break
            else:
                place -= 1
        return place

    def _problem(self, select: Select, call: Span) -> SqlError | None:
        """Return the error of a window if it is the only one of its SELECT; None if Sash evaluates it."""
        begin, end = select.clauses.get("window", (0, 0))
        named = self.tokens[begin - 1 : end] if end else []
        head = [self.tokens[select.span[0]], *self.tokens[slice(*call)]]
        tokens = [*head, self._token("FROM", TokenType.FROM, call), self._token(ROWS, TokenType.VAR, call), *named]
        try:
            tokens, _ = self._without_tables(select, SourceText.of_tokens(self.text, tokens))
            statement_of(SourceText.of_tokens(self.text, tokens), None)
        except SqlError as error:
            return error
        return None

    def _check_tables(self) -> None:
        for select in self.tree.selects:
            if "from" in select.clauses and not select.references:
                begin, _ = select.clauses["from"]
                problem = "FROM must name a table, or a file as in FROM 'data.parquet'."
                raise SqlError(problem, self.text, *self._place((begin - 1, begin)))

    def _windowed(self, select: Select) -> WindowedSelect:
        begin, end = select.clauses.get("from", (select.span[1], select.span[1]))
        plain = _plain_table(select)
        if plain is None:
            for table in select.references:
                if table.bracket is not None or table.kind == "windows":
                    problem = "Windows in FROM are over one table, which is not joined with others."
                    raise SqlError(f"{problem} {IN_SUBQUERY}", self.text, *self._place((table.span[0], table.end)))
        times = tuple(time_expressions(self.tokens, self.tree, select))
        tables = [self._token(ROWS, TokenType.VAR, (begin, end))] if plain is None else self._table_tokens(plain, times)
        where = select.clauses.get("where")
        rest = self._without_times((end, select.span[1]), times)
        if where is not None:
            rest = self._without_times((end, where[0] - 1), times) + self._without_times(
                (where[1], select.span[1]), times
            )
        head = self.tokens[select.span[0] : begin]
        tokens = [*head, *tables, *rest]
        source = SourceText.of_tokens(self.text, tokens, self.quote)
        qualified: dict[tuple[str, ...], str] = {}
        if plain is None:
            tokens, qualified = self._without_tables(select, source)
            source = SourceText.of_tokens(self.text, tokens, self.quote)
        time = TIME if is_expression(self.time) else self.time
        statement = replace(statement_of(source, time), is_path=False)
        of_windows = [column for window in statement.windows.values() for column in window.columns]
        named = [column.parts[0].name for column in source.statement.find_all(exp.Column)]
        named += [statement.time, *statement.order_by, *of_windows, *map(str, statement.by)]
        names = tuple(dict.fromkeys(name.lower() for name in named if name))
        selection = statement.selection
        outputs = {None: None} if selection is None or selection.outputs is None else selection.outputs
        return WindowedSelect(
            select, statement, qualified, names, statement.per_row and None in outputs.values(), times
        )

    def _table_tokens(self, table: Reference, times: Sequence[Span]) -> list[Any]:
        """Return the tokens of the only table of a SELECT with windows: a subquery or a function has a name instead."""
        is_named = table.kind in NAMED and not table.names_columns
        tokens = self.tokens[slice(*table.span)] if is_named else [self._token(ROWS, TokenType.VAR, table.span)]
        if table.alias is not None:
            words = self.tokens[slice(*table.alias)]
            tokens += [word for word in words[:2] if word.token_type is not TokenType.L_PAREN]
        return tokens + ([] if table.bracket is None else self._without_times(table.bracket, times))

    def _without_times(self, span: Span, times: Sequence[Span]) -> list[Any]:
        """Return tokens, with the name of a column for expressions that stand for the time. Raise SqlError if they differ."""
        tokens, last = [], span[0]
        for begin, end in times:
            if not span[0] <= begin < span[1]:
                continue
            texts = ["".join(token.text for token in self.tokens[slice(*each)]) for each in (times[0], (begin, end))]
            if texts[0] != texts[1]:
                raise SqlError(
                    "The windows have several times, but a query has one.", self.text, *self._place((begin, end))
                )
            tokens += [*self.tokens[last:begin], self._token(TIME, TokenType.VAR, (begin, end))]
            last = end
        return tokens + self.tokens[last : span[1]]

    def _without_tables(self, select: Select, source: SourceText) -> tuple[list[Any], dict[tuple[str, ...], str]]:
        """Return tokens in which columns have no tables before them: the rows of joins have no tables.

        Columns of the same name in two tables get the names of both, as in "a.load".
        """
        spans = [table.alias or table.table for table in select.references]
        known = {token.text.lower() for begin, end in spans for token in self.tokens[begin:end]}
        columns: dict[Span, tuple[str, ...]] = {}
        for column in source.statement.find_all(exp.Column):
            parts, span = tuple(part.name for part in column.parts), source.span(column)
            if len(parts) > 1 and parts[0].lower() in known and span is not None:
                columns[span] = parts
        tables: dict[str, set[str]] = {}
        for parts in columns.values():
            tables.setdefault(parts[-1].lower(), set()).add(".".join(parts[:-1]).lower())
        names = {
            parts: parts[-1] if len(tables[parts[-1].lower()]) == 1 else ".".join(parts) for parts in columns.values()
        }
        tokens = list(source.tokens)
        for (begin, end), parts in sorted(columns.items(), reverse=True):
            first, last = tokens[begin], tokens[end - 1]
            tokens[begin:end] = [
                Token(TokenType.IDENTIFIER, names[parts], first.line, first.col, first.start, last.end)
            ]
        return tokens, names

    def _fail_without_windows(self) -> None:
        """Raise SqlError: no SELECT has windows that Sash evaluates."""
        for select in self.tree.selects:
            for call in self._over(select):
                error = self._problem(select, call)
                if error is not None:
                    raise SqlError(
                        f"No SELECT has a window that Sash evaluates. {error.problem}", self.text, *self._place(call)
                    )
        place = self._place(self.tree.selects[-1].span)
        raise SqlError(f"The query has no window. {PLACES}", self.text, place[0], place[0] + len("SELECT"))

    def place_of(self, number: int) -> tuple[int, int]:
        """Return the first and the last character of FROM in a SELECT with windows."""
        select = self.windowed[number].select
        return self._place(select.clauses.get("from", select.span))

    def token_end(self, start: int) -> int:
        """Return the end of the token at a character of the text."""
        return next((token.end + 1 for token in self.tokens if token.start <= start <= token.end), start + 1)

    # -- tokens --------------------------------------------------------------------------------------------------------

    def _is_path(self, table: Reference) -> bool:
        return self.tokens[table.table[0]].token_type is TokenType.STRING

    def _place(self, span: Span) -> tuple[int, int]:
        return self.tokens[span[0]].start, self.tokens[max(span[0], span[1] - 1)].end + 1

    def _token(self, text: str, kind: Any, span: Span) -> Any:
        """Return a token that stands for others, at their place."""
        begin, end = self._place(span) if span[0] < len(self.tokens) else (len(self.text), len(self.text))
        return Token(kind, text, 1, 1, begin, max(end - 1, begin))


@lru_cache(maxsize=64)
def around_text(text: str, time: str | None = None, quote: str = '"') -> AroundText:
    """Return a parsed text; see AroundText."""
    return AroundText(text, time, quote)


def is_one_select(text: str, time: str | None = None) -> bool:
    """Return whether a text is one SELECT over one table, or no SELECT at all: then it needs nothing around its windows.

    Times that are expressions are computed before the windows.

    >>> is_one_select("SELECT max(x) FROM t [ROWS 10]"), is_one_select("SELECT max(x) FROM (SELECT 1 AS x) [ROWS 10]")
    (True, False)
    """
    try:
        tokens, tree = _read(text)
    except SqlError:
        return True
    if len(tree.selects) != 1:
        return not tree.selects
    select = tree.selects[0]
    if is_expression(time) or any(time_expressions(tokens, tree, select)):
        return False
    plain = _plain_table(select)
    is_table = plain is not None and plain.kind in NAMED and not plain.names_columns
    return (is_table or "from" not in select.clauses) and select.group.parent is None and not select.group.ctes


def _read(text: str) -> tuple[list[Any], SelectTree]:
    tokens = tokens_of(text)
    while tokens and tokens[-1].token_type is TokenType.SEMICOLON:
        tokens.pop()
    for token in tokens:
        if token.token_type is TokenType.SEMICOLON:
            raise SqlError("The text must be one SELECT statement.", text, token.start, token.end + 1)
    try:
        tree = SelectTree(tokens)
    except ValueError as error:
        raise SqlError(str(error), text, 0, 0) from error
    except RecursionError as error:
        raise SqlError("The text is nested too deeply.", text, 0, 0) from error
    return tokens, tree


def _plain_table(select: Select) -> Reference | None:
    """Return the only table, subquery or function of FROM; None if there are joins."""
    table = select.single
    return table if table is not None and table.kind != "group" else None


def _within(inner: Span, outer: Span) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1]


def _stem(path: str) -> str:
    """Return the name of a file as SQL knows it: without folders and ending."""
    name = path.replace("\\", "/").rpartition("/")[2]
    return name.partition(".")[0] or name
