"""HeldWindow: the interface of the windows of an Aggregator, and their common errors."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sash.aggregates.base import Aggregate
from sash.algorithms import Algorithm

NO_LIMIT = 2**62


def refuse_time(algorithm: type[Algorithm[Any]], time: Any) -> None:
    """Raise ValueError if a row has a time, and the algorithm takes rows in order."""
    if time is not None:
        raise ValueError(f'{algorithm.about.name} takes rows in order. Leave time out, or use algorithm="fiba".')


def no_times(call: str) -> ValueError:
    """Return the error of a call that needs rows with times."""
    return ValueError(f'{call} needs rows with times. Use algorithm="fiba".')


def no_row() -> IndexError:
    """Return the error of an eviction from an empty window."""
    return IndexError("evict: the window is empty, so there is no row to remove.")


@dataclass(eq=False)
class HeldWindow:
    """The window of an Aggregator: what windows of objects and compiled windows have in common. It begins empty."""

    aggregate: Aggregate[Any]
    algorithm: type[Algorithm[Any]]
    ranges: tuple[int, ...]
    """The announced lengths."""
    limit: int
    """The maximum number of rows; 0 if there is none."""
    _failure: Exception | None = field(default=None, init=False)
    rows_before = 0
    """How many rows the Aggregator had before this window: `evict(at=…)` counts them too."""
    is_compiled = False
    holds_untyped_nulls = False
    """Whether a compiled window holds only nulls, from columns without a type."""

    def __post_init__(self) -> None:
        """Make the state of an empty window: each form of windows has another."""

    @property
    def reason(self) -> str | None:
        """Why it is interpreted, if the window knows that itself; empty if it is not."""
        return None

    @property
    def rows_so_far(self) -> int:
        """The number of rows that were ever inserted, those before this window included."""
        raise NotImplementedError

    def insert(self, values: tuple[Any, ...], time: Any = None) -> None:
        """Add the newest row, or a row with a time. If the window is at its limit, evict the oldest row."""
        raise NotImplementedError

    def insert_many(self, rows: list[Any]) -> None:
        """Add rows, in the form that the window holds."""
        raise NotImplementedError

    def slide(self, rows: list[Any], lengths: tuple[int, ...]) -> list[Any]:
        """Add rows and return, for each length, the results after each row."""
        raise NotImplementedError

    def evict(self, before: Any = None) -> None:
        """Remove the oldest row, or all rows whose time is less than `before`. Raise IndexError if there is no row."""
        raise NotImplementedError

    def evict_at(self, position: int) -> None:  # noqa: ARG002 — for windows that evict any row
        """Remove the row that was inserted as number `position`."""
        name = self.algorithm.about.name
        raise ValueError(f'{name} does not evict rows by position. evict(at=…) needs algorithm="reactive_aggregator".')

    def query(self, last: int | None = None) -> Any:
        """Return the result for the whole window or its `last` rows."""
        raise NotImplementedError

    def query_between(self, start: Any, end: Any) -> Any:  # noqa: ARG002 — for windows of rows with times
        """Return the result for the times from `start` up to before `end`."""
        raise no_times("query(start=…, end=…)")

    def __len__(self) -> int:
        """Return the number of rows in the window, nulls included."""
        raise NotImplementedError

    def _check_stored(self, rows: int) -> None:
        """Raise ValueError if the algorithm answers only its ranges, and all of them hold fewer rows."""
        most = max(self.ranges, default=rows)
        if rows > most and self.algorithm.answers_ranges and not self.algorithm.answers_any_length:
            raise ValueError(
                f"{self.algorithm.about.name} stores the newest {most} rows at most, not {rows}. Evict rows before the query, "
                "or pass ranges=[…] to the Aggregator."
            )

    def _refuse_if_lost(self) -> None:
        """Raise RuntimeError after an error in combine: the state is half changed, so the window is never used again."""
        if self._failure is not None:
            raise RuntimeError(
                f"An earlier error in {self.aggregate.name} left this window incomplete. Make a new Aggregator."
            ) from self._failure
