"""Concatenation of letters, with a record of its calls."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sash.aggregates.base import Aggregate, with_fields


@dataclass
class Recorder:
    """Concatenation whose inverse removes a prefix: the letters of a partial are the rows that it holds."""

    formulas: dict[str, str] = field(default_factory=dict)
    """How each result of the calls since `forget` was made."""
    reads: set[str] = field(default_factory=set)
    """The arguments of these calls that are no results of other calls."""
    calls: int = 0

    @property
    def aggregate(self) -> Aggregate[str]:
        """The aggregate."""
        return Aggregate(name="letters", lift=str, combine=self._combine, inverse=self._inverse)

    def forget(self) -> None:
        """Begin a new record."""
        self.formulas.clear()
        self.reads.clear()
        self.calls = 0

    def formula(self, partial: str) -> str:
        """Return how a partial was made from stored partials."""
        return self.formulas.get(partial, partial)

    def _combine(self, older: str, newer: str) -> str:
        return self._record("⊕", older, newer, older + newer)

    def _inverse(self, whole: str, older: str) -> str:
        assert whole.startswith(older)
        return self._record("⊖", whole, older, whole.removeprefix(older))

    def _record(self, sign: str, one: str, other: str, made: str) -> str:
        self.calls += 1
        self.reads |= {partial for partial in (one, other) if partial not in self.formulas}
        self.formulas[made] = f"{self.formula(one)} {sign} {self.formula(other)}"
        return made


class Count:
    """Counts the calls of combine and inverse of an aggregate."""

    def __init__(self, counted: Aggregate[Any]) -> None:
        self.calls = 0
        inverse = counted.inverse
        self.aggregate = with_fields(
            counted,
            combine=lambda older, newer: self._add(counted.combine(older, newer)),
            inverse=None if inverse is None else lambda whole, older: self._add(inverse(whole, older)),
            variants={},  # they would not be counted
        )

    def _add(self, partial: Any) -> Any:
        self.calls += 1
        return partial

    def take(self) -> int:
        """Return the number of calls since the last time."""
        calls, self.calls = self.calls, 0
        return calls
