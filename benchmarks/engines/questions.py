"""The questions: windows of time, sessions and windows per row, of max, mean and count, or of an aggregate that the user has written.

The forms are those that streams have: `hop` has windows of some length, one every `slide`; `session` ends after a gap; `rows` has the last
rows up to each row, and `range` the time up to each row. Lengths, slides and gaps are milliseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

SECOND, MINUTE, HOUR = 1_000, 60_000, 3_600_000
Form: TypeAlias = Literal["hop", "session", "rows", "range"]
THREE, OWN = ("peak", "mean", "n"), ("middle",)
"""The columns of results: max, mean and count, or the geometric mean."""


@dataclass(frozen=True)
class StreamQuestion:
    """One query on the events, by key."""

    name: str
    form: Form
    lengths: tuple[int, ...]
    """One for each window of the query; of `rows` a number of rows."""
    slide: int = 0
    columns: tuple[str, ...] = THREE

    @property
    def per_row(self) -> bool:
        """Whether each row has a result."""
        return self.form in ("rows", "range")


def hop(name: str, length: int, slide: int) -> StreamQuestion:
    """Return windows of one length."""
    return StreamQuestion(name, "hop", (length,), slide)


TUMBLING = hop("tumbling 1m", MINUTE, MINUTE)
CURVE = tuple(
    hop(f"1h every {name}", HOUR, slide)
    for name, slide in {"10m": 10 * MINUTE, "1m": MINUTE, "10s": 10 * SECOND, "1s": SECOND}.items()
)
SESSION = StreamQuestion("sessions, gap 30s", "session", (30 * SECOND,))
ROWS = StreamQuestion("last 100 rows, per row", "rows", (100,))
RANGE = StreamQuestion("last 1h, per row", "range", (HOUR,))
TEN = StreamQuestion("6m, 12m, … 1h every 1m", "hop", tuple(range(6 * MINUTE, HOUR + 1, 6 * MINUTE)), MINUTE)
OWN_AGGREGATE = StreamQuestion("an aggregate of your own, 10m every 1m", "hop", (10 * MINUTE,), MINUTE, OWN)
QUESTIONS = {one.name: one for one in (TUMBLING, *CURVE, SESSION, ROWS, RANGE, TEN, OWN_AGGREGATE)}
