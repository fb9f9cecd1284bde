"""A case: lookups from stores with the states of many keys."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from benchmarks.case import Case, Contestant


@dataclass(frozen=True, kw_only=True)
class ServingCase(Case):
    """Stores with the states of `rows` keys."""

    contestants: tuple[Contestant, ...]
    aggregate: str = "count, sum, max"
    tolerance: float = 1e-9
    rows: int = 1_000_000
    repeats: int = 3
    rate: float = 500
    """Requests a second."""
    seconds: float = 20
    """How long requests are sent, in each repeat."""
    quick_seconds: ClassVar[float] = 1
    checked: int = 20
    """The number of keys whose features are compared with those of labels."""

    @property
    def range(self) -> str:
        """The ranges of the windows."""
        return "1h, 24h, 7d, 30d"

    def at_most(self, rows: int) -> ServingCase:
        """Return the case with fewer keys and, if they are very few, less time."""
        seconds = self.quick_seconds if rows < 10_000 else self.seconds  # noqa: PLR2004 — a quick run
        return replace(self, rows=min(rows, self.rows), seconds=seconds)


@dataclass(frozen=True, kw_only=True)
class RequestCase(ServingCase):
    """Requests over HTTP."""


@dataclass(frozen=True, kw_only=True)
class SizeCase(ServingCase):
    """What a state takes, beside the rows and slices that it holds."""


@dataclass(frozen=True, kw_only=True)
class StateCase(ServingCase):
    """What a store and `query.lookup` take, without HTTP."""
