"""The grammar: SQL as sqlglot reads it, with the windows of CQL in brackets and table functions.

    text ──► tokens ──► exp.Select, in which a table may have a Bracket, or be a TableFunction

The names of functions stay as they are written, because the engine that holds the data evaluates them.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, ClassVar

from sqlglot import exp, parser, tokens
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError
from sqlglot.tokenizer_core import TokenType

from sash.durations import UNIT_NAMES
from sash.hints import did_you_mean
from sash.language.sql_error import fail

TABLE_FUNCTIONS = ("HOP", "TUMBLE", "CUMULATE", "SESSION")
WITH_OWN_SYNTAX = ("CAST", "TRY_CAST", "EXTRACT", "SUBSTRING", "TRIM", "POSITION", "OVERLAY")
"""Functions whose arguments have words between them, as in `CAST(x AS INT)`."""
NAME_TOKENS = (TokenType.VAR, TokenType.IDENTIFIER, TokenType.STRING)
CALLABLE = (TokenType.WINDOW, TokenType.ALL, TokenType.ANY, TokenType.SOME, TokenType.SESSION)
"""Keywords that are also names of functions."""
STRUCTURAL = (
    "SELECT",
    "FROM",
    "WHERE",
    "GROUP BY",
    "ORDER BY",
    "HAVING",
    "LIMIT",
    "AND",
    "OR",
    "AS",
    "ON",
    "BY",
    "OVER",
)
"""Keywords that are rarely meant as names of columns."""
EMITTED = {
    "CHANGES": 'pass mode="update" to run, which emits a window whenever it changes',
    "FINAL": "windows are emitted once, when they are final",
    "ON": "windows are emitted once, when they are final",
}
"""What to do instead of EMIT, by the word after it."""
BRACKETS = ("RANGE", "ROWS", "TUMBLE", "CUMULATE", "SESSION", "EXPANDING", "DELTA", "PUNCTUATED BY")
"""The words that a window in brackets begins with."""
KSQL = {"TUMBLING": "TUMBLE", "HOPPING": "RANGE", "SESSION": "SESSION"}
"""The windows of ksqlDB by the words after WINDOW, and those of CQL."""
SPAN = "span"
"""The key of the first and last token of an expression, in its `meta`."""


class PlacedError(ParseError):
    """The text cannot be parsed. `start` and `end` are the first and the last character of the token that is wrong."""

    def __init__(self, problem: str, start: int, end: int) -> None:
        super().__init__(problem)
        self.start, self.end = start, end


class Bracket(exp.Expression):
    """The windows of a table in CQL, `[PARTITION BY k RANGE 24 HOURS SLIDE 1 MINUTE ON ts]`, or in ksqlDB, `WINDOW TUMBLING (SIZE 1 HOUR)`."""

    arg_types: ClassVar = {"expressions": True, "partition_by": False, "ksql": False}


class BracketWindow(exp.Expression):
    """One window of a bracket: its kind, the length or column after it, and its options by name."""

    arg_types: ClassVar = {"kind": True, "this": False, "threshold": False, "options": True, "alias": False}


class TableFunction(exp.Expression):
    """`TABLE(HOP(TABLE t, DESCRIPTOR(ts), slide, size))`: its name, the table, the time column, and durations."""

    arg_types: ClassVar = dict.fromkeys(("kind", "this", "expressions", "time", "partition_by", "alias"), False)


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


def _are_words(*tokens_in_turn: Any) -> bool:
    """Return whether tokens are words, which may be one name with a space."""
    return all(token.text.isidentifier() and token.text.upper() not in STRUCTURAL for token in tokens_in_turn)


class WindowSql(Dialect):
    """SQL with windows."""

    def to_json_path(self, path: Any) -> Any:
        """Return a path as it is: the engine reads it."""
        return path

    class Tokenizer(tokens.Tokenizer):
        """Names may be in double quotes or backticks."""

        IDENTIFIERS: ClassVar = ['"', "`"]

    class Parser(parser.Parser):
        """Reads brackets and table functions. It knows no function by name."""

        FUNCTIONS: ClassVar = {}
        STATEMENT_PARSERS: ClassVar = {}  # a text is a SELECT
        FUNCTION_PARSERS: ClassVar = {name: parser.Parser.FUNCTION_PARSERS[name] for name in WITH_OWN_SYNTAX}
        NO_PAREN_FUNCTION_PARSERS: ClassVar = {"CASE": parser.Parser.NO_PAREN_FUNCTION_PARSERS["CASE"]}

        def parse(self, raw_tokens: list[Any], sql: str = "") -> list[Any]:
            """Return the statements. `window(` and `all(` call functions: they begin no clause, and no quantifier."""
            for token, following in pairwise(raw_tokens):
                if token.token_type in CALLABLE and following.token_type is TokenType.L_PAREN:
                    token.token_type = TokenType.VAR
                if token.text.upper() == "EMIT" and (instead := EMITTED.get(following.text.upper())):
                    clause = f"EMIT {following.text.upper()}"
                    raise PlacedError(f"Leave {clause} out: {instead}", token.start, following.end + 1)
            return super().parse(raw_tokens, sql)

        def raise_error(self, message: str, token: Any = None, *_: Any, **__: Any) -> None:
            """Raise PlacedError."""
            at = token or self._curr or self._prev
            before = self._tokens[self._index - 1] if at is self._curr and self._index else None
            problem = "Expected a name or an expression" if "<class" in message else message.rstrip(".")
            if at is not None and before is not None and "Unexpected token" in message:
                problem = f"{at.text} is not expected here"
            if at is not None and before is not None and message.startswith("Expecting )") and _are_words(before, at):
                problem = f'Expecting ). A name with a space needs quotes, as in "{before.text} {at.text}"'
                raise PlacedError(problem, before.start, at.end + 1)
            is_keyword = at is not None and at.text.isidentifier() and at.token_type not in NAME_TOKENS
            if "not expected" in problem and not is_keyword:
                problem += ". A comma may be missing before it"
            if is_keyword and at.text.upper() not in STRUCTURAL:
                problem = f'{problem}. {at.text} is a keyword: a column of this name needs quotes, as in "{at.text}"'
            raise PlacedError(problem, *((at.start, at.end + 1) if at else (0, 0)))

        # -- spans: which tokens an expression consists of -------------------------------------------------------------

        def _spanned(self, parse: Any, *arguments: Any, **options: Any) -> Any:
            first = self._index
            node = parse(*arguments, **options)
            if isinstance(node, exp.Expression) and self._index > first:
                node.meta.setdefault(SPAN, (first, self._index))
            return node

        def _parse_lambda(self, *arguments: Any, **options: Any) -> Any:
            return self._spanned(super()._parse_lambda, *arguments, **options)

        def _parse_disjunction(self, *arguments: Any, **options: Any) -> Any:
            return self._spanned(super()._parse_disjunction, *arguments, **options)

        def _parse_expression(self, *arguments: Any, **options: Any) -> Any:
            return self._spanned(super()._parse_expression, *arguments, **options)

        def _parse_ordered(self, *arguments: Any, **options: Any) -> Any:
            return self._spanned(super()._parse_ordered, *arguments, **options)

        def _parse_function_call(self, *arguments: Any, **options: Any) -> Any:
            return self._spanned(super()._parse_function_call, *arguments, **options)

        def _can_parse_limit_or_offset(self) -> bool:
            """Return whether a clause follows. LIMIT and OFFSET are no aliases, so a LIMIT without a number is an error."""
            return self._curr is not None and self._curr.token_type in (TokenType.LIMIT, TokenType.OFFSET)

        def _parse_partition_by(self) -> list[Any]:
            is_there = self._curr is not None and self._curr.token_type == TokenType.PARTITION_BY
            keys: list[Any] = super()._parse_partition_by()
            if is_there and not keys:
                self.raise_error("PARTITION BY needs a column, as in PARTITION BY house")
            return keys

        def _parse_window_spec(self) -> dict[str, Any]:
            is_end = self._prev is not None and self._prev.token_type == TokenType.AND
            bound: dict[str, Any] = super()._parse_window_spec()
            if is_end and not bound["value"]:
                self.raise_error("A frame that begins with BETWEEN needs a bound after AND, such as CURRENT ROW")
            return bound

        # -- tables ----------------------------------------------------------------------------------------------------

        def _parse_table(self, *arguments: Any, **options: Any) -> Any:
            called = self._curr.text.upper() if self._curr else ""
            if self._next and self._next.token_type is TokenType.L_PAREN and called in ("TABLE", *TABLE_FUNCTIONS):
                return self._parse_table_function()
            table: Any = super()._parse_table(*arguments, **options)
            if self._curr and self._curr.text.upper() == "WINDOW" and self._next and self._next.text.upper() in KSQL:
                table.set("bracket", self._parse_ksql())
                return table
            if self._curr and self._curr.token_type is TokenType.L_BRACKET:
                return self._parse_bracket(table)
            return table

        def _parse_bracket(self, this: Any = None) -> Any:
            if isinstance(this, exp.Table) and self._match(TokenType.L_BRACKET):
                this.set("bracket", self._parse_cql())
                return this
            return super()._parse_bracket(this)

        def _parse_cql(self) -> Bracket:
            """Read what follows `[`."""
            start = self._prev
            keys = self._parse_partition_by()
            windows = self._parse_csv(self._parse_bracket_window)
            if not self._match(TokenType.R_BRACKET):
                problem = "The window has no end"
                if self._curr:
                    problem = f"{self._curr.text} is neither a unit of time nor an option of the window"
                self.raise_error(f"{problem}. Expected ]")
            return self.expression(Bracket(expressions=windows, partition_by=keys)).update_positions(start)

        def _parse_ksql(self) -> Bracket:
            """Read `WINDOW HOPPING (SIZE 1 HOUR, ADVANCE BY 10 MINUTES)`."""
            start = self._curr
            self._advance()
            kind = KSQL[self._curr.text.upper()]
            if kind == "SESSION":
                problem = "Sessions of ksqlDB are closed at both ends, those of Sash begin anew after exactly the gap"
                self.raise_error(f"{problem}. Write FROM t [SESSION 10 MINUTES ON ts]")
            self._advance()
            self._match_l_paren()
            if not self._match_text_seq("SIZE"):
                self.raise_error("Expected SIZE, as in (SIZE 1 HOUR)")
            size, options = self._parse_amount(), {}
            if kind == "RANGE":
                if not (self._match(TokenType.COMMA) and self._match_text_seq("ADVANCE", "BY")):
                    self.raise_error("Expected ADVANCE BY, as in (SIZE 1 HOUR, ADVANCE BY 10 MINUTES)")
                options["SLIDE"] = self._parse_amount()
            if self._curr and self._curr.token_type is TokenType.COMMA:
                problem = "RETENTION and GRACE PERIOD are not supported. Leave them out"
                self.raise_error(f"{problem}: lateness= of a query says how late rows of a stream may be")
            self._match_r_paren()
            window = self.expression(BracketWindow(kind=kind, this=size, options=options)).update_positions(start)
            return self.expression(Bracket(expressions=[window], ksql=True)).update_positions(start)

        def _parse_bracket_window(self) -> BracketWindow:
            options: dict[str, Any] = {}
            start = self._curr
            self._parse_bracket_options(options)
            kind = self._curr.text.upper() if self._curr else ""
            this = threshold = None
            if self._match_texts(("RANGE", "ROWS")):
                this = None if self._curr and self._curr.text.upper() in ("BEFORE", "AFTER") else self._parse_amount()
            elif self._match_texts(("SESSION", "CUMULATE", "TUMBLE")):
                this = self._parse_amount()
            elif self._match_text_seq("PUNCTUATED", "BY"):
                this = self._parse_name()
            elif self._match_texts(("DELTA",)):
                this, threshold = self._parse_name(), self._parse_amount()
            elif not self._match_texts(("EXPANDING",)):
                problem = f"A window begins with {', '.join(BRACKETS[:-1])} or {BRACKETS[-1]}"
                self.raise_error(f"{did_you_mean(kind, BRACKETS)} {problem}".strip())
            self._parse_bracket_options(options)
            name = self._parse_id_var() if self._match(TokenType.ALIAS) else None
            self._parse_bracket_options(options)
            window = BracketWindow(kind=kind, this=this, threshold=threshold, options=options, alias=name)
            return self.expression(window).update_positions(start)

        def _parse_bracket_options(self, options: dict[str, Any]) -> None:
            while self._parse_bracket_option(options):
                pass

        def _parse_bracket_option(self, options: dict[str, Any]) -> bool:
            token = self._curr
            if "ORDER BY" not in options and self._match(TokenType.ORDER_BY):
                options["ORDER BY"] = self._parse_csv(self._parse_name)
                return True
            for words, read in self.BRACKET_OPTIONS.items():
                if self._match_text_seq(*words.split()):
                    if words in options:
                        self.raise_error(f"{words} is given twice", token)
                    options[words] = read(self)
                    return True
            return False

        def _parse_name(self) -> Any:
            column = self._parse_column()
            if column is None:
                self.raise_error("Expected the name of a column")
            return column

        def _parse_amount(self) -> Amount:
            """Read a number with or without a unit, an INTERVAL, or text such as '1 hour'."""
            start = self._curr
            self._match(TokenType.INTERVAL)
            negative = self._match(TokenType.DASH)
            number: Any = self._parse_number() or self._parse_string()
            if number is None:
                self.raise_error("Expected a number or a duration, such as 10 or 1 HOUR")
            words = [token.text.upper() for token in (self._curr, self._next) if token]
            is_unit = words and words != ["MIN", "ROWS"] and words[0].lower() in UNIT_NAMES
            has_unit = is_unit and self._curr.token_type in self.ID_VAR_TOKENS
            unit = self._parse_var(any_token=True) if has_unit else None
            value = f"-{number.name}" if negative else number.name
            return self.expression(Amount(this=value, unit=unit and unit.name)).update_positions(start)

        def _parse_bound(self) -> Amount:
            """Read a length, or UNBOUNDED."""
            if self._match_text_seq("UNBOUNDED"):
                return self.expression(Amount(this="UNBOUNDED")).update_positions(self._prev)
            return self._parse_amount()

        BRACKET_OPTIONS: ClassVar[dict[str, Any]] = {
            **dict.fromkeys(("SLIDE", "STEP", "OFFSET", "TAIL"), _parse_amount),
            **dict.fromkeys(("BEFORE", "AFTER"), _parse_bound),
            **dict.fromkeys(("ON", "WATTR"), _parse_name),
            "CLOSED": lambda self: self._parse_var(any_token=True),
            "TZ": lambda self: self._parse_string(),
            "MIN ROWS": lambda self: self._parse_number(),
            "EXCLUDE": lambda self: self._parse_var_from_options(self.WINDOW_EXCLUDE_OPTIONS),
            "EMPTY": lambda _: exp.true(),
        }

        def _parse_table_function(self) -> TableFunction:
            if wrapped := self._match_text_seq("TABLE"):
                self._match_l_paren()
            token = self._curr
            kind = token.text.upper() if token else ""
            if kind not in TABLE_FUNCTIONS:
                self.raise_error(f"Expected {', '.join(TABLE_FUNCTIONS)}")
            self._advance()
            self._match_l_paren()
            self._skip_name()
            if not self._match_text_seq("TABLE"):
                self.raise_error("Expected TABLE and the name of a table")
            table = self._parse_table_parts()
            keys = self._parse_table_keys() if self._match(TokenType.PARTITION_BY) else []
            durations, time = [], None
            while self._match(TokenType.COMMA):
                name = self._skip_name()
                if self._match_text_seq("DESCRIPTOR"):
                    time = self._parse_wrapped(self._parse_name)
                else:
                    value = self._spanned(self._parse_assignment)
                    durations.append(value if name is None else exp.Kwarg(this=exp.var(name), expression=value))
            self._match_r_paren()
            if wrapped:
                self._match_r_paren()
            function = TableFunction(kind=kind, this=table, time=time, expressions=durations, partition_by=keys)
            function.set("alias", self._parse_table_alias())
            return self.expression(function).update_positions(token)

        def _parse_table_keys(self) -> list[Any]:
            """Read the columns after PARTITION BY, in parentheses or not."""
            if self._curr and self._curr.token_type is TokenType.L_PAREN:
                return list(self._parse_wrapped_csv(self._parse_name))
            keys = [self._parse_name()]
            while self._curr and self._curr.token_type is TokenType.COMMA and self._is_key(self._index + 1):
                self._advance()
                keys.append(self._parse_name())
            return keys

        def _is_key(self, index: int) -> bool:
            """Return whether the token is a column after PARTITION BY, rather than the next argument."""
            if index + 1 >= len(self._tokens) or self._tokens[index].token_type not in self.ID_VAR_TOKENS:
                return False
            return self._tokens[index + 1].token_type not in (TokenType.L_PAREN, TokenType.FARROW)

        def _skip_name(self) -> str | None:
            """Read the name of an argument, as in `DATA => TABLE t`."""
            if not self._next or self._next.token_type is not TokenType.FARROW:
                return None
            name: str = self._curr.text.upper()
            self._advance(2)
            return name
