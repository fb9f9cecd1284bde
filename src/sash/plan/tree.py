"""A tree as text: a title, and branches whose words are wrapped and aligned."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from textwrap import wrap

WIDTH = 110
"""No line is longer, unless a word is."""


@dataclass(frozen=True)
class Leaf:
    """A label and what it says, in one or more lines."""

    label: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Branch:
    """A heading, or a label and its words, and the leaves below."""

    heading: Leaf
    leaves: tuple[Leaf, ...] = ()


def to_text(title: str, branches: Sequence[Branch]) -> str:
    """Return a tree as text.

    >>> print(to_text("Query", [Branch(Leaf("windows", ("rows(3)",))), Branch(Leaf("", ("n: count()",)))]))
    Query
    ├─ windows  rows(3)
    └─ n: count()
    """
    room = max((len(branch.heading.label) for branch in branches), default=0)
    lines = _wrapped(title, "", "  ")
    for branch in branches:
        last = branch is branches[-1]
        stem = "   " if last else "│  "
        lines += _leaf(branch.heading, "└─ " if last else "├─ ", stem, room)
        inner = max((len(leaf.label) for leaf in branch.leaves), default=0)
        for leaf in branch.leaves:
            lines += _leaf(leaf, f"{stem}  ", f"{stem}  ", inner)
    return "\n".join(line.rstrip() for line in lines)


def _leaf(leaf: Leaf, first: str, after: str, room: int) -> Iterable[str]:
    """Yield the lines of a label and its words; without a label they take its place."""
    lead = first + (f"{leaf.label:{room}}  " if leaf.label else "")
    for line in leaf.lines:
        hanging = after + " " * (len(lead) - len(first) if leaf.label else 2)
        yield from _wrapped(line, lead, hanging)
        lead = hanging if leaf.label else after


def _wrapped(words: str, first: str, after: str) -> list[str]:
    return wrap(
        words, WIDTH, initial_indent=first, subsequent_indent=after, break_long_words=False, break_on_hyphens=False
    ) or [first]
