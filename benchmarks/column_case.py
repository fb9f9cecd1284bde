"""A case over one column: every contestant slides windows of so many rows over it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from benchmarks.case import Call, Case, Contestant, say

Values: TypeAlias = npt.NDArray[Any]
Ranges: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class ColumnContestant(Contestant):
    """One way to slide over a column. While a window is still filling, fewer rows are in the contestant's favour."""

    prepare: Callable[[Values, Ranges], Call]
    """From the column to the call that is timed: what comes before the call, such as making a Series, is not."""
    answers: str
    """The name of the reference in `references.py` that its answers must agree with."""
    lead: int = 0
    """Rows before those, given to fill the first window and not counted, since the contestant skips them."""


@dataclass(frozen=True, kw_only=True)
class ColumnCase(Case):
    """Windows of rows over one column."""

    column: str
    """The name of the data in `columns.py`."""
    ranges: Ranges
    contestants: tuple[ColumnContestant, ...]

    @property
    def dtype(self) -> str:
        """The type of the column."""
        return "int64" if self.column == "int64" else "float64"

    @property
    def range(self) -> str:
        """The range as people say it; for several at once, from the shortest to the longest.

        >>> ColumnCase(name="", aggregate="", column="", ranges=(65536,), contestants=(), tolerance=0).range
        '64 K'
        """
        shortest, longest = say(min(self.ranges)), say(max(self.ranges))
        return longest if len(self.ranges) == 1 else f"{shortest} … {longest}"

    def at_most(self, rows: int) -> ColumnCase:
        """Return the case with fewer rows, and with ranges that still slide over them."""
        shrink = min(1.0, rows / 3 / max(self.ranges))
        ranges = tuple(sorted({max(2, int(length * shrink)) for length in self.ranges}))
        fewer = (replace(one, lead=min(one.lead, max(ranges) - 1)) for one in self.contestants)
        return replace(self, rows=min(rows, self.rows), ranges=ranges, contestants=tuple(fewer))


def without_nulls(answers: Any) -> npt.NDArray[np.float64] | npt.NDArray[np.int64]:
    """Return one contestant's answers for one range as NumPy's, NaN where there is none."""
    if type(answers).__module__.startswith("pyarrow"):
        if hasattr(answers, "column_names"):
            answers = answers.column(0)
        if answers.null_count or str(answers.type) not in ("int64", "double"):  # DuckDB adds integers to decimals
            answers = answers.cast("float64")
        return np.asarray(answers.to_numpy(zero_copy_only=False))
    return np.asarray(answers.to_numpy() if hasattr(answers, "to_numpy") else answers)
