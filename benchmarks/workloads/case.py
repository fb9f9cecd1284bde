"""A case: the memory that each library takes for a question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.case import MEMORY, Case, Contestant
from benchmarks.questions.case import TableQuestion


@dataclass(frozen=True, kw_only=True)
class MemoryCase(Case):
    """The most memory above the rows, of libraries in this process."""

    question: TableQuestion
    contestants: Sequence[Contestant]
    tolerance: float = 1e-6
    measure: str = MEMORY
    repeats: int = 1

    @property
    def range(self) -> str:
        """The window."""
        return self.question.window
