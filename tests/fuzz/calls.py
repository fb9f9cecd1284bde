"""Calls as text and as values: the text that a reproduction shows is the text that ran.

A window, an aggregate and a column are drawn as calls. `text` writes a call for the query, where a length is a duration such as "5s", or for
the oracle, which counts in ticks of the time column. `build` evaluates a text.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from helpers.windows import Alternating, one_or_two, until_mark

import sash
from sash import agg, window
from sash.durations import UNITS, to_text
from sash.state import reader

NAMES: dict[str, Any] = {
    "Alternating": Alternating, "Decimal": Decimal, "agg": agg, "date": date, "inf": math.inf, "nan": math.nan, "one_or_two": one_or_two,
    "pa": pa, "pc": pc, "pd": pd, "pl": pl, "reader": reader, "sash": sash, "timedelta": timedelta, "until_mark": until_mark, "window": window,
}  # fmt: skip
"""What the text of a reproduction may name."""

Lengths = Callable[[int], str]
"""Writes the length of n ticks."""


@dataclass(frozen=True)
class Ticks:
    """A length of time, in ticks of the time column."""

    count: int


@dataclass(frozen=True)
class Code:
    """An argument that is written as it is, such as the name of a function."""

    text: str


@dataclass(frozen=True)
class Call:
    """A call of a function."""

    function: str
    arguments: tuple[Any, ...] = ()
    keywords: dict[str, Any] = field(default_factory=dict)

    def text(self, lengths: Lengths) -> str:
        """Return the call as Python."""
        listed = [written(one, lengths) for one in self.arguments]
        named = [f"{name}={written(one, lengths)}" for name, one in self.keywords.items()]
        return f"{self.function}({', '.join(listed + named)})"

    @property
    def has_calendar(self) -> bool:
        """Whether a length is written in days, weeks or months of a calendar, so that the oracle cannot count in ticks."""
        given = [*self.arguments, *self.keywords.values()]
        return any(isinstance(one, str) and one.lstrip("-")[:1].isdigit() for one in given)


def written(argument: Any, lengths: Lengths) -> str:
    """Return an argument as Python."""
    match argument:
        case Ticks():
            return lengths(argument.count)
        case Code():
            return argument.text
        case Call():
            return argument.text(lengths)
        case list():
            return f"[{', '.join(written(one, lengths) for one in argument)}]"
        case str():
            return '"' + argument.replace('"', '\\"') + '"'
    return repr(argument)


def in_ticks(count: int) -> str:
    """Write a length for integer times, and for the oracle."""
    return str(count)


def in_units(tick: int) -> Lengths:
    """Return how lengths are written if a tick has some nanoseconds: with hours instead of days, which could follow a zone."""

    def text(count: int) -> str:
        hours, rest = divmod(abs(count) * tick, UNITS["h"])
        shown = f"{hours}h" if hours else ""
        shown += to_text(rest) if rest or not hours else ""
        return f'"{"-" * (count < 0)}{shown}"'

    return text


def build(text: str, **names: Any) -> Any:
    """Return the value of a text."""
    return eval(text, NAMES | names)  # noqa: S307 — the text is our own
