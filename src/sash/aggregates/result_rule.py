"""What the result of an aggregate is: its kind, its type, when it is null, and the last step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sash.aggregates.pickling import Picklable

if TYPE_CHECKING:
    import numpy.typing as npt


@dataclass(frozen=True, kw_only=True)
class ResultRule(Picklable):
    """What `lower` returns, and what becomes of it."""

    gives: str = "arithmetic"
    """The kind of the result: a "value" of the (last) column, in its type, or a list of "values"; the "difference" of two
    values; a "number" of a type that does not depend on the values, or specifically a "whole" or "real" number; "text"; a
    "map"; or the outcome of "arithmetic" with the values, which timestamps don't support."""
    type: Any = None
    """The Arrow type of the result, if the user declared it."""
    decimals: tuple[int, int] | None = None
    """How many more digits a result for decimals has than the column: in all, and behind the point, as Spark's results have. None
    for as many as a decimal can have, four more of them behind the point."""
    empty: Any = None
    """The result for a window with fewer than `at_least` values: null, but 0 for a count."""
    at_least: int = 1
    """The number of values that a result needs."""
    held: int | None = None
    """The field of a partial that counts its values, if `lift` takes the partials of slices instead of values. This count,
    not the number of rows, must then be `at_least`. None if each row is one value."""
    of_newest: bool = False
    """The result belongs to the newest row of the window: it is null if that row has a null."""
    auxiliary: Callable[[Any], Any] | None = None
    """Turns the partial of the whole window into a second number that `finish` needs."""
    finish: Callable[..., npt.NDArray[Any]] | None = field(default=None, compare=False)
    """The last step, for whole columns: `finish(results, auxiliary, ticks)` returns the final results as a masked array, or as a
    plain one if none of them is null. `ticks` are the times that the results belong to: of the row if there is a result per
    row, else `window_end`; empty if the query has no time column."""

    @property
    def rows_needed(self) -> int:
        """The number of non-null rows from which on a window may have a result."""
        return max(1, self.at_least) if self.held is None else 1

    def has_enough(self, partial: Any) -> bool:
        """Return whether the partial of a window with `rows_needed` rows has `at_least` values.

        >>> rule = ResultRule(at_least=2, held=0)
        >>> rule.rows_needed, rule.has_enough((1.0, (0.5, 0.0), 0.0))
        (1, False)
        """
        return self.held is None or bool(partial[self.held] >= self.at_least)
