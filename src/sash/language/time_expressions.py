"""Expressions that stand for the time column of windows: `ON CAST(ts AS TIMESTAMP)`. The engine computes them before the windows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sqlglot.tokenizer_core import TokenType

from sash.language.group_functions import GROUP_FUNCTIONS, TRUNCATING
from sash.language.select_tree import Select, SelectTree, Span

TIME = "computed_time"
"""The column of the rows that has the time if the text has an expression for it."""
TIME_WORDS = ("ON", "WATTR")
AFTER_TIME = (
    *(
        "RANGE",
        "ROWS",
        "TUMBLE",
        "CUMULATE",
        "SESSION",
        "EXPANDING",
        "DELTA",
        "PUNCTUATED",
        "SLIDE",
        "STEP",
        "OFFSET",
        "BEFORE",
    ),
    *("AFTER", "CLOSED", "TZ", "MIN", "EXCLUDE", "EMPTY", "AS", "ORDER BY", "PARTITION BY", ",", *TIME_WORDS),
)
"""The words in a bracket that may follow the time."""


def is_expression(time: str | None) -> bool:
    """Return whether a time is an expression, rather than the name of a column.

    >>> is_expression("CAST(ts AS TIMESTAMP)"), is_expression("my time")
    (True, False)
    """
    return time is not None and ("(" in time or "::" in time)


def time_expressions(tokens: Sequence[Any], tree: SelectTree, select: Select) -> Iterator[Span]:
    """Yield the expressions that stand for a time column: after ON in a bracket, and in `window(…)` in GROUP BY."""
    for table in select.references:
        begin, end = table.bracket or (0, 0)
        place = begin + 1
        while place < end - 1:
            word = str(tokens[place].text).upper()
            following = tree.close.get(place, place) + 1
            if word in TIME_WORDS and place + 1 < end:
                following = place + 1
                while following < end - 1 and str(tokens[following].text).upper() not in AFTER_TIME:
                    following = tree.close.get(following, following) + 1
                if not _is_name(tokens[place + 1 : following]):
                    yield place + 1, following
            place = following
    begin, end = select.clauses.get("group", (0, 0))
    functions = GROUP_FUNCTIONS.keys() - {*TRUNCATING}
    for place in select.group.direct:
        if begin <= place < end - 1 and tokens[place].text.lower() in functions and place + 1 in tree.close:
            following = place + 2
            while following < tree.close[place + 1] and tokens[following].token_type is not TokenType.COMMA:
                following = tree.close.get(following, following) + 1
            if not _is_name(tokens[place + 2 : following]):
                yield place + 2, following


def _is_name(tokens: Sequence[Any]) -> bool:
    """Return whether tokens are the name of a column, perhaps with that of its table, or nothing."""
    return len(tokens) <= 1 or all(token.token_type is TokenType.DOT for token in tokens[1::2])
