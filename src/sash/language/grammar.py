"""The grammar: SQL as sqlglot reads it, with the windows of CQL in brackets and table functions.

    text ──► tokens ──► exp.Select, in which a table may have a Bracket, or be a TableFunction

The names of functions stay as they are written, because the engine that holds the data evaluates them.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, ClassVar

from sqlglot import exp, parser, tokens
from sqlglot.dialects.dialect import Dialect
from sqlglot.tokens import TokenType

TABLE_FUNCTIONS = ("HOP", "TUMBLE", "CUMULATE", "SESSION")
WITH_OWN_SYNTAX = ("CAST", "TRY_CAST", "EXTRACT", "SUBSTRING", "TRIM", "POSITION", "OVERLAY")
"""Functions whose arguments have words between them, as in `CAST(x AS INT)`."""
SPAN = "span"
"""The key of the first and last token of an expression, in its `meta`."""


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


class WindowSql(Dialect):
    """SQL with windows."""

    class Tokenizer(tokens.Tokenizer):
        """Names may be in double quotes or backticks."""

        IDENTIFIERS: ClassVar = ['"', "`"]

    class Parser(parser.Parser):
        """Reads brackets and table functions. It knows no function by name."""

        FUNCTIONS: ClassVar = {}
        FUNCTION_PARSERS: ClassVar = {name: parser.Parser.FUNCTION_PARSERS[name] for name in WITH_OWN_SYNTAX}
        NO_PAREN_FUNCTION_PARSERS: ClassVar = {
            name: one for name, one in parser.Parser.NO_PAREN_FUNCTION_PARSERS.items() if name in ("CASE", "ANY", "IF")
        }

        def parse(self, raw_tokens: list[Any], sql: str | None = None) -> list[Any]:
            """Return the statements. `window(` is a function, and no clause of named windows."""
            for token, following in pairwise(raw_tokens):
                if token.token_type is TokenType.WINDOW and following.token_type is TokenType.L_PAREN:
                    token.token_type = TokenType.VAR
            return super().parse(raw_tokens, sql)

        # -- spans: which tokens an expression consists of -------------------------------------------------------------

        def _spanned(self, parse: Any, *arguments: Any, **options: Any) -> Any:
            first = self._index
            made = parse(*arguments, **options)
            if isinstance(made, exp.Expression) and self._index > first:
                made.meta.setdefault(SPAN, (first, self._index))
            return made

        def _parse_lambda(self, *arguments: Any, **options: Any) -> Any:
            return self._spanned(super()._parse_lambda, *arguments, **options)

        def _parse_disjunction(self, *arguments: Any, **options: Any) -> Any:
            return self._spanned(super()._parse_disjunction, *arguments, **options)

        def _parse_expression(self, *arguments: Any, **options: Any) -> Any:
            return self._spanned(super()._parse_expression, *arguments, **options)

        def _parse_function_call(self, *arguments: Any, **options: Any) -> Any:
            return self._spanned(super()._parse_function_call, *arguments, **options)

        # -- tables ----------------------------------------------------------------------------------------------------

        def _parse_table(self, *arguments: Any, **options: Any) -> Any:
            called = self._curr.text.upper() if self._curr else ""
            if self._next and self._next.token_type is TokenType.L_PAREN and called in ("TABLE", *TABLE_FUNCTIONS):
                return self._parse_table_function()
            table = super()._parse_table(*arguments, **options)
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
                self.raise_error("Expected ] at the end of the window")
            return self.expression(Bracket(expressions=windows, partition_by=keys)).update_positions(start)

        def _parse_bracket_window(self) -> BracketWindow:
            options: dict[str, Any] = {}
            start = self._curr
            while self._parse_bracket_option(options):
                pass
            kind = self._curr.text.upper() if self._curr else ""
            this = threshold = None
            if self._match_texts(("RANGE", "ROWS")):
                this = None if self._curr and self._curr.text.upper() in ("BEFORE", "AFTER") else self._parse_amount()
            elif self._match_texts(("SESSION",)):
                this = self._parse_amount()
            elif self._match_text_seq("PUNCTUATED", "BY"):
                this = self._parse_column()
            elif self._match_texts(("DELTA",)):
                this, threshold = self._parse_column(), self._parse_amount()
            elif self._match_texts(("CUMULATE", "TUMBLE")):
                this = self._parse_amount()
            elif not self._match_texts(("EXPANDING",)):
                self.raise_error("Expected RANGE, ROWS, TUMBLE, CUMULATE, SESSION, EXPANDING, DELTA or PUNCTUATED BY")
            while self._parse_bracket_option(options):
                pass
            name = self._parse_id_var() if self._match(TokenType.ALIAS) else None
            while self._parse_bracket_option(options):
                pass
            made = BracketWindow(kind=kind, this=this, threshold=threshold, options=options, alias=name)
            return self.expression(made).update_positions(start)

        def _parse_bracket_option(self, options: dict[str, Any]) -> bool:
            token = self._curr
            if "ORDER BY" not in options and self._match(TokenType.ORDER_BY):
                options["ORDER BY",] = self._parse_csv(self._parse_column)
                return True
            for words, read in self.BRACKET_OPTIONS.items():
                if self._match_text_seq(*words):
                    if words in options:
                        self.raise_error(f"{' '.join(words)} is given twice", token)
                    options[words] = read(self)
                    return True
            return False

        def _parse_amount(self) -> Amount:
            """Read a number with or without a unit, an INTERVAL, or text such as '1 hour'."""
            start = self._curr
            self._match(TokenType.INTERVAL)
            negative = self._match(TokenType.DASH)
            number = self._parse_number() or self._parse_string()
            if number is None:
                self.raise_error("Expected a number or a duration, such as 10 or 1 HOUR")
            has_unit = self._curr and self._curr.token_type in self.ID_VAR_TOKENS and is_unit(self._curr.text)
            unit = self._parse_var(any_token=True) if has_unit else None
            value = f"-{number.name}" if negative else number.name
            return self.expression(Amount(this=value, unit=unit and unit.name)).update_positions(start)

        BRACKET_OPTIONS: ClassVar[dict[tuple[str, ...], Any]] = {
            ("SLIDE",): lambda self: self._parse_amount(),
            ("BEFORE",): lambda self: self._parse_bound(),
            ("AFTER",): lambda self: self._parse_bound(),
            ("STEP",): lambda self: self._parse_amount(),
            ("ON",): lambda self: self._parse_column(),
            ("WATTR",): lambda self: self._parse_column(),
            ("OFFSET",): lambda self: self._parse_amount(),
            ("CLOSED",): lambda self: self._parse_var(any_token=True),
            ("TZ",): lambda self: self._parse_string(),
            ("MIN", "ROWS"): lambda self: self._parse_number(),
            ("EXCLUDE",): lambda self: self._parse_var_from_options(self.WINDOW_EXCLUDE_OPTIONS),
            ("EMPTY",): lambda self: exp.true(),  # noqa: ARG005
        }

        def _parse_bound(self) -> Amount:
            """Read a length, or UNBOUNDED."""
            if self._match_text_seq("UNBOUNDED"):
                return self.expression(Amount(this="UNBOUNDED")).update_positions(self._prev)
            return self._parse_amount()

        def _parse_table_function(self) -> TableFunction:
            wrapped = self._match_text_seq("TABLE")
            if wrapped:
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
            keys = []
            if self._match(TokenType.PARTITION_BY):
                keys.append(self._parse_column())
                while self._next and self._next.token_type is TokenType.VAR and self._is_key(self._index + 1):
                    self._match(TokenType.COMMA)
                    keys.append(self._parse_column())
            durations, time = [], None
            while self._match(TokenType.COMMA):
                name = self._skip_name()
                if self._match_text_seq("DESCRIPTOR"):
                    time = self._parse_wrapped(self._parse_column)
                else:
                    value = self._spanned(self._parse_assignment)
                    durations.append(value if name is None else exp.Kwarg(this=exp.var(name), expression=value))
            self._match_r_paren()
            if wrapped:
                self._match_r_paren()
            made = TableFunction(
                kind=kind,
                this=table,
                time=time,
                expressions=durations,
                partition_by=keys,
                alias=self._parse_table_alias(),
            )
            return self.expression(made).update_positions(token)

        def _is_key(self, index: int) -> bool:
            """Return whether the token is a column after PARTITION BY, rather than the next argument."""
            following = self._tokens[index + 1].token_type if index + 1 < len(self._tokens) else None
            return following not in (TokenType.L_PAREN, TokenType.FARROW)

        def _skip_name(self) -> str | None:
            """Read the name of an argument, as in `DATA => TABLE t`."""
            if self._next and self._next.token_type is TokenType.FARROW:
                name = self._curr.text.upper()
                self._advance(2)
                return name
            return None


UNITS = {
    "ns": "ns", "nanosecond": "ns", "us": "us", "microsecond": "us", "ms": "ms", "millisecond": "ms", "s": "s", "sec": "s",
    "second": "s", "m": "m", "min": "m", "minute": "m", "h": "h", "hour": "h", "d": "d", "day": "d", "w": "w", "week": "w",
    "mo": "mo", "month": "mo", "q": "q", "quarter": "q", "y": "y", "year": "y",
}  # fmt: skip
"""The units of durations, in the singular, and how Sash writes them."""


def is_unit(word: str) -> bool:
    """Return whether a word is a unit of time.

    >>> is_unit("Hours"), is_unit("SLIDE")
    (True, False)
    """
    return unit_of(word) is not None


def unit_of(word: str) -> str | None:
    """Return how Sash writes a unit; None if the word is none.

    >>> unit_of("Hours"), unit_of("ms"), unit_of("rows")
    ('h', 'ms', None)
    """
    lower = word.lower()
    return UNITS.get(lower) or (UNITS.get(lower.removesuffix("s")) if len(lower) > 2 else None)  # noqa: PLR2004 — "ms" is no plural
