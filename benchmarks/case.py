"""What a case is: contestants that answer the same question about one column, and the targets for what is measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

Values: TypeAlias = npt.NDArray[Any]
Ranges: TypeAlias = tuple[int, ...]
Call: TypeAlias = Callable[[], Any]
"""What is timed: it returns the answers in whatever form the contestant gives them."""

FASTEST_PEER = "fastest peer"
TIME, WORST_STEP, ERROR = "ns a row", "ns in the worst step", "relative error"


@dataclass(frozen=True, kw_only=True)
class Contestant:
    """One way to answer the case."""

    name: str
    prepare: Callable[[Values, Ranges], Call]
    """From the column to the call that is timed: what comes before the call, such as making a Series, is not."""
    answers: str
    """The name of the reference in `references.py` that its answers must agree with."""
    role: Literal["sash", "peer", "beside"] = "peer"
    """Only peers compete for the fastest peer; what is "beside" is there to be compared with."""
    package: str = "sash"
    algorithm: str = ""
    rows: int | None = None
    """Fewer rows than the case has, for the slow: while a window is still filling, that is in their favour."""
    lead: int = 0
    """Rows before those, given to fill the first window and not counted, since the contestant skips them."""


@dataclass(frozen=True, kw_only=True)
class Target:
    """What the issue asks for: a value, or how many times better one contestant is than another."""

    contestant: str = "Sash"
    against: str = ""
    """Another contestant or `FASTEST_PEER`; nothing if it is the value itself that counts."""
    at_least: float | None = None
    at_most: float | None = None

    def __str__(self) -> str:
        """Say it as the issue does.

        >>> print(Target(against=FASTEST_PEER, at_least=4), Target(at_most=1.5), sep=", ")
        ≥ 4 × fastest peer, ≤ 1.5
        """
        if self.at_least is not None:
            return f"≥ {self.at_least:g} × {self.against}"
        return f"≤ {self.at_most:g}"


@dataclass(frozen=True, kw_only=True)
class Case:
    """One line of the benchmark: it is checked, measured and judged as a whole."""

    name: str
    aggregate: str
    column: str
    """The name of the data in `columns.py`."""
    ranges: Ranges
    contestants: tuple[Contestant, ...]
    tolerance: float
    """The relative error that Sash may have in the check; peers may have `references.PEER_TOLERANCE`."""
    targets: tuple[Target, ...] = ()
    rows: int = 10_000_000
    measure: str = TIME

    @property
    def dtype(self) -> str:
        """The type of the column."""
        return "int64" if self.column == "int64" else "float64"

    @property
    def range(self) -> str:
        """The range as people say it; for several at once, from the shortest to the longest.

        >>> Case(name="", aggregate="", column="", ranges=(65536,), contestants=(), tolerance=0).range
        '64 K'
        """
        shortest, longest = say(min(self.ranges)), say(max(self.ranges))
        return longest if len(self.ranges) == 1 else f"{shortest} … {longest}"

    def at_most(self, rows: int) -> Case:
        """Return the case with fewer rows, and with ranges that still slide over them."""
        shrink = min(1.0, rows / 3 / max(self.ranges))
        ranges = tuple(sorted({max(2, int(length * shrink)) for length in self.ranges}))
        fewer = (replace(one, lead=min(one.lead, max(ranges) - 1)) for one in self.contestants)
        return replace(self, rows=min(rows, self.rows), ranges=ranges, contestants=tuple(fewer))


def say(number: int) -> str:
    """Write a number in K and M of 1024 where it is one.

    >>> say(16), say(1024), say(1 << 20), say(1000)
    ('16', '1 K', '1 M', '1000')
    """
    for unit, size in (("M", 1 << 20), ("K", 1 << 10)):
        if number >= size and number % size == 0:
            return f"{number // size} {unit}"
    return str(number)


def without_nulls(answers: Any) -> npt.NDArray[np.float64] | npt.NDArray[np.int64]:
    """Return one contestant's answers for one range as NumPy's, NaN where there is none."""
    if type(answers).__module__.startswith("pyarrow"):
        if hasattr(answers, "column_names"):
            answers = answers.column(0)
        if answers.null_count or str(answers.type) not in ("int64", "double"):  # DuckDB adds integers to decimals
            answers = answers.cast("float64")
        return np.asarray(answers.to_numpy(zero_copy_only=False))
    return np.asarray(answers.to_numpy() if hasattr(answers, "to_numpy") else answers)
