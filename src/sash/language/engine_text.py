"""Text for an engine, made of parts of a query, which knows the place of each part: errors of the engine point to the query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sash.language.source_text import SourceText


@dataclass(frozen=True)
class EngineText:
    """A text, and where each of its lines begins in the query; None for lines that are not in it."""

    text: str
    begins: tuple[int | None, ...]

    def place(self, line: int, column: int) -> int | None:
        """Return the character of the query at a line and a column, which count from 1 and from 0."""
        begin = self.begins[line - 1] if 0 < line <= len(self.begins) else None
        return None if begin is None else begin + column


@dataclass
class EngineTextWriter:
    """Writes tokens of a query, one line for each run of them without spaces between. `replaced` has other text for some spans."""

    source: SourceText
    replaced: Mapping[int, tuple[int, str]]
    lines: list[str] = field(default_factory=list)
    begins: list[int | None] = field(default_factory=list)

    def add(self, text: str, begin: int | None = None) -> None:
        """Write text that is at a place of the query, or not in it."""
        if not text:
            return
        lines = text.split("\n")
        self.lines += lines
        if begin is None:
            self.begins += [None] * len(lines)
            return
        for line in lines:
            self.begins.append(begin)
            begin += len(line) + 1

    def tokens(self, first: int, end: int) -> None:
        """Write tokens."""
        place, run, begin, last = first, "", 0, -1
        while place < end:
            token: Any = self.source.tokens[place]
            if place in self.replaced:
                self.add(run, begin)
                following, text = self.replaced[place]
                self.add(text, token.start) if "\n" not in text else self.add(text)
                place, run, last = following, "", -1
                continue
            if token.start != last:
                self.add(run, begin)
                run, begin = "", token.start
            run += self.source.engine_token(token)
            last = token.end + 1
            place += 1
        self.add(run, begin)

    def done(self) -> EngineText:
        """Return the text."""
        return EngineText("\n".join(self.lines), tuple(self.begins))
