"""A tree as text: a title, and branches whose text is wrapped and aligned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import wrap

WIDTH = 110
"""The longest line, unless a single word is longer."""


@dataclass(frozen=True)
class Branch:
    """Lines after a label, or in its place if the label is empty; and below them leaves with labels of their own."""

    label: str
    lines: tuple[str, ...]
    leaves: Mapping[str, str] = field(default_factory=dict)
    evaluates_all: bool = False
    """Whether the engine that this branch describes evaluates the query alone, so that no pass runs in Python."""


def to_text(title: str, branches: Sequence[Branch]) -> str:
    """Return a tree as text.

    >>> print(to_text("Query", [Branch("windows", ("rows(3)",)), Branch("", ("n: count()",), {"runs": "compiled"})]))
    Query
    ├─ windows  rows(3)
    └─ n: count()
         runs  compiled
    """
    width = max((len(branch.label) for branch in branches), default=0)
    lines = _wrapped(title, "", "  ")
    for branch in branches:
        last = branch is branches[-1]
        stem = "   " if last else "│  "
        lines += _labelled(branch.label, branch.lines, "└─ " if last else "├─ ", stem, width)
        inner = max(map(len, branch.leaves), default=0)
        for label, text in branch.leaves.items():
            lines += _labelled(label, (text,), f"{stem}  ", f"{stem}  ", inner)
    return "\n".join(line.rstrip() for line in lines)


def _labelled(label: str, texts: Sequence[str], first: str, after: str, width: int) -> list[str]:
    """Return the lines of texts after a label, all of them aligned with the first."""
    lead = first + (f"{label:{width}}  " if label else "")
    hanging = after + " " * (width + 2 if label else 2)
    lines = []
    for text in texts:
        lines += _wrapped(text, lead, hanging)
        lead = hanging if label else after
    return lines


def _wrapped(text: str, first: str, after: str) -> list[str]:
    return wrap(
        text, WIDTH, initial_indent=first, subsequent_indent=after, break_long_words=False, break_on_hyphens=False
    ) or [first]


def and_between(names: Sequence[str]) -> str:
    """Return names as an enumeration.

    >>> and_between(["day"]), and_between(["day", "hour", "minute"])
    ('day', 'day, hour and minute')
    """
    return ", ".join(names) if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
