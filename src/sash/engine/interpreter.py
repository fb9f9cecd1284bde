"""The loops of kernels as they stand, over Python's own objects; an error is told where it happened."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sash.aggregates.base import Aggregate
from sash.algorithms import Algorithm
from sash.engine.failures import COMBINING, LIFTING, LOWERING, failure
from sash.kernels import loops
from sash.kernels.kernel_io import Schedule
from sash.slices.cuts import Records
from sash.slices.open_slice import OpenSlice
from sash.windows.base import Bounds, Ints

Objects = npt.NDArray[np.object_]
Where = Callable[[int], str]
"""What a message calls a row, or a record; "" if nothing is known of it."""


@dataclass
class Interpreter:
    """An aggregate over rows that are there as objects."""

    label: str
    """The name of the result and the aggregate, for errors."""
    aggregate: Aggregate[Any]
    rows: list[tuple[Any, ...]]
    present: npt.NDArray[np.bool_]
    where: Where

    def __post_init__(self) -> None:
        """Be nowhere yet."""
        self.row = 0
        self.doing = LIFTING

    @contextmanager
    def _telling(self, where: Where) -> Iterator[None]:
        """Note where the loop was when one of the aggregate's functions raised."""
        try:
            yield
        except Exception as error:
            error.add_note(failure(self.label, self.doing, where(self.row)))
            raise

    def _lift(self, row: int) -> Any:
        self.row = row
        self.doing = LIFTING
        partial = self.aggregate.lift(*self.rows[row])
        self.doing = COMBINING  # until a row is lifted or a window lowered
        return partial

    def lift_all(self) -> Objects:
        """Return the partial of each row that has a value."""
        partials = np.empty(len(self.rows), object)
        with self._telling(self.where):
            for row in np.flatnonzero(self.present).tolist():
                partials[row] = self._lift(row)
        return partials

    def cut(self, records: Records) -> Objects:
        """Return the partial of each record."""
        partials = np.empty(len(records), object)

        def keep(record: int, partial: Any) -> None:
            partials[record] = partial

        with self._telling(self.where):
            loops.cut_slices(
                OpenSlice(self.aggregate),
                len(records),
                records.positions.tolist(),
                records.closes.tolist(),
                lambda row: bool(self.present[row]),
                self._lift,
                keep,
            )
        return partials

    def slide(self, algorithm: type[Algorithm[Any]], bounds: Bounds) -> list[Any]:
        """Return the results of windows over rows."""
        results = [self.aggregate.empty] * len(bounds)
        with self._telling(self.where):
            loops.slide_between(
                algorithm(self.aggregate),
                len(bounds),
                bounds.begins.tolist(),
                bounds.ends.tolist(),
                self.aggregate.rows_needed,
                lambda row: bool(self.present[row]),
                self._lift,
                self._lower_into(results, bounds.ends),
            )
        return results

    def slide_slices(
        self,
        algorithm: type[Algorithm[Any]],
        partials: Objects,
        present: npt.NDArray[np.bool_],
        turns: Schedule,
        where: Where,
    ) -> list[Any]:
        """Return the results of windows over slices; `where` says what their records are called."""
        results = [self.aggregate.empty] * len(turns.begins)

        def take(record: int) -> Any:
            self.row = record
            self.doing = COMBINING
            return partials[record]

        with self._telling(where):
            loops.slide_slices(
                algorithm(self.aggregate, turns.ranges),
                len(turns.begins),
                turns.begins.tolist(),
                turns.ends.tolist(),
                turns.lasts.tolist(),
                turns.numbers.tolist(),
                turns.opens.tolist(),
                turns.values.tolist(),
                self.aggregate.rows_needed,
                lambda record: bool(present[record]),
                take,
                self._lower_into(results, turns.ends),
            )
        return results

    def _lower_into(self, results: list[Any], ends: Ints) -> loops.Emit:
        """Return what lowers the partials of windows into a list; each ends before one of the `ends`."""

        def emit(number: int, _: int, partial: Any) -> None:
            if not self.aggregate.has_enough(partial):
                return
            self.doing = LOWERING
            try:
                results[number] = self.aggregate.lower(partial)
            except Exception:
                self.row = int(ends[number]) - 1
                raise
            self.doing = COMBINING

        return emit
