"""Interpreter: runs the loops of kernels uncompiled, over Python objects. Errors name the row."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sash.aggregates.base import Aggregate
from sash.algorithms import Algorithm
from sash.algorithms.recalculate import Recalculate
from sash.engine.failures import COMBINING, LIFTING, LOWERING, Where, failure
from sash.kernels import loops
from sash.kernels.kernel_arrays import Schedule
from sash.slices.cuts import SliceRecords
from sash.slices.open_slice import OpenSlice
from sash.windows.base import Bounds, Ints

Objects = npt.NDArray[np.object_]


@dataclass
class Interpreter:
    """An aggregate over rows of Python objects."""

    label: str
    """The names of the result and the aggregate, for errors."""
    aggregate: Aggregate[Any]
    rows: list[tuple[Any, ...]]
    present: npt.NDArray[np.bool_]
    where: Where

    def __post_init__(self) -> None:
        """Start before the first row."""
        self.row = 0
        self.step = LIFTING

    @contextmanager
    def _noting(self, where: Where) -> Iterator[None]:
        """Add the place to an error that one of the aggregate's functions raises."""
        try:
            yield
        except Exception as error:
            error.add_note(failure(self.label, self.step, where(self.row)))
            raise

    def _lift(self, row: int) -> Any:
        self.row = row
        self.step = LIFTING
        partial = self.aggregate.lift(*self.rows[row])
        self.step = COMBINING  # until the next lift or lower
        return partial

    def lift_all(self) -> Objects:
        """Return the partial of each row that has a value."""
        partials = np.empty(len(self.rows), object)
        with self._noting(self.where):
            for row in np.flatnonzero(self.present).tolist():
                partials[row] = self._lift(row)
        return partials

    def cut(self, records: SliceRecords) -> Objects:
        """Return the partial of each record."""
        partials = np.empty(len(records), object)

        def keep(record: int, partial: Any) -> None:
            partials[record] = partial

        with self._noting(self.where):
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
        results = [self.aggregate.result.empty] * len(bounds)
        with self._noting(self.where):
            loops.slide_between(
                algorithm(self.aggregate),
                len(bounds),
                bounds.begins.tolist(),
                bounds.ends.tolist(),
                self.aggregate.result.rows_needed,
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
        schedule: Schedule,
        where: Where,
    ) -> list[Any]:
        """Return the results of windows over slices; `where` names their records."""
        results = [self.aggregate.result.empty] * len(schedule.begins)

        def take(record: int) -> Any:
            self.row = record
            self.step = COMBINING
            return partials[record]

        with self._noting(where):
            loops.slide_slices(
                algorithm(self.aggregate, schedule.ranges),
                len(schedule.begins),
                schedule.begins.tolist(),
                schedule.ends.tolist(),
                schedule.lasts.tolist(),
                schedule.numbers.tolist(),
                schedule.opens.tolist(),
                schedule.values.tolist(),
                self.aggregate.result.rows_needed,
                lambda record: bool(present[record]),
                take,
                self._lower_into(results, schedule.ends),
            )
        return results

    def combine_runs(
        self, partials: Objects, runs: int, present: npt.NDArray[np.bool_], values: Ints, where: Where
    ) -> list[Any]:
        """Return the results of windows that consist of several runs; `where` names a window."""
        results = [self.aggregate.result.empty] * len(values)

        def take(record: int) -> Any:
            self.row = record % len(values)
            self.step = COMBINING
            return partials[record]

        with self._noting(where):
            loops.combine_runs(
                Recalculate(self.aggregate),
                len(values),
                runs,
                values.tolist(),
                self.aggregate.result.rows_needed,
                lambda record: bool(present[record]),
                take,
                self._lower_into(results, np.arange(1, len(values) + 1)),
            )
        return results

    def _lower_into(self, results: list[Any], ends: Ints) -> loops.Emit:
        """Return a function that lowers the partials of windows into a list; window n ends before `ends[n]`."""

        def emit(number: int, _: int, partial: Any) -> None:
            if not self.aggregate.result.has_enough(partial):
                return
            self.step = LOWERING
            try:
                results[number] = self.aggregate.lower(partial)
            except Exception:
                self.row = int(ends[number]) - 1
                raise
            self.step = COMBINING

        return emit
