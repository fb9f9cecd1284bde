"""A case: a question over a file that does not fit, and the time or the memory that it takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.case import MEMORY, SECONDS, Case, Contestant
from benchmarks.larger_than_memory.data import ROW_BYTES

TIMES = 4
"""How many times the memory the rows take."""
LEAST_MEGABYTES = 64
"""DuckDB needs so much for few rows, too."""
MEASURES: Mapping[str, str] = {"time": SECONDS, "memory": MEMORY}


@dataclass(frozen=True, kw_only=True)
class FileQuestion:
    """What is asked of the file `{path}`."""

    name: str
    window: str
    sash: str
    """The text for `sash run`."""
    duckdb: str
    identify: str
    """The column with a time that tells an answer of a key from the others."""
    answers: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class FileCase(Case):
    """The time or the memory of a question. Both come from the same processes."""

    question: FileQuestion
    contestants: Sequence[Contestant] = (
        Contestant(name="Sash", role="sash", algorithm="auto"),
        Contestant(name="DuckDB", package="duckdb"),
    )
    tolerance: float = 1e-9
    repeats: int = 1

    @property
    def range(self) -> str:
        """The window."""
        return self.question.window


def megabytes_of(rows: int) -> int:
    """Return the limit of memory for so many rows.

    >>> megabytes_of(32_000_000), megabytes_of(1_000)
    (256, 64)
    """
    return max(LEAST_MEGABYTES, rows * ROW_BYTES // TIMES // 1_000_000)
