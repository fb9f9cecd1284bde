"""Which windows there are, and their answers, recomputed from raw rows. They share nothing with any contestant."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.column_case import without_nulls
from benchmarks.references import ELEMENTS, REFERENCES, SAMPLES, relative_error
from benchmarks.windows.case import AGGREGATES, Instants, TimeWindow

PEER_TOLERANCE = 1e-9
DAYS = 1 << 40
"""Microseconds between the codes of neighbouring keys: 12 days, more than the events span and their windows reach."""


class Answers:
    """The right answers for one table. A code is a key and an instant in one number that sorts as they do."""

    def __init__(self, table: pa.Table) -> None:
        instants = _instants(table["ts"])
        self.origin = int(instants.min()) - DAYS // 2
        codes = self._codes(table["household"], instants)
        order = np.argsort(codes, kind="stable")
        self.codes = codes[order]
        self.values = table["load"].to_numpy()[order]
        self._known: dict[tuple[TimeWindow, int], tuple[Any, ...]] = {}
        self._places: dict[TimeWindow, Instants] = {}

    def _codes(self, keys: pa.ChunkedArray, instants: Instants) -> Instants:
        return np.asarray(keys.to_numpy() * DAYS + (instants - self.origin))

    def places(self, window: TimeWindow) -> Instants:
        """Return the codes of all answers, sorted: of the rows, or of the starts of all windows that hold a row."""
        if window not in self._places:
            self._places[window] = self._starts(window) if window.slide else self.codes
        return self._places[window]

    def _starts(self, window: TimeWindow) -> Instants:
        keys, times = np.divmod(self.codes, DAYS)
        times += self.origin
        newest = times // window.step
        oldest = (times - window.length) // window.step + 1
        before = np.roll(newest, 1)
        before[np.roll(keys, 1) != keys] = np.iinfo(np.int64).min
        before[0] = np.iinfo(np.int64).min
        first = np.maximum(oldest, before + 1)  # the others hold the row before too
        several = np.maximum(newest - first + 1, 0)
        ends = np.cumsum(several)
        number = np.arange(ends[-1]) - np.repeat(ends - several, several)
        starts = (np.repeat(first, several) + number) * window.step
        return np.asarray(np.repeat(keys, several) * DAYS + (starts - self.origin))

    def check(self, window: TimeWindow, given: pa.Table, tolerance: float, shares: int = 1) -> None:
        """Raise if the answers are not those of all windows, or one of a sample, which several share, is wrong."""
        expected = self.places(window)
        found = self._codes(given["household"], _instants(given["window_start" if window.slide else "ts"]))
        order = np.argsort(found, kind="stable")
        if not np.array_equal(found[order], expected):
            missing, other = (len(np.setdiff1d(*pair)) for pair in ((expected, found), (found, expected)))
            message = f"{len(found)} answers for {len(expected)} windows: {missing} missing, {other} of no window."
            raise AssertionError(message)
        columns = {name: without_nulls(given[name]) for name in AGGREGATES}
        for place in self._sample(window, shares):
            right = self._recomputed(window, place)
            for (name, reference), value in zip(AGGREGATES.items(), right, strict=True):
                answer = columns[name][order[place]]
                if relative_error(answer, value) > tolerance:
                    at = np.datetime64(int(expected[place] % DAYS + self.origin), "us")
                    message = (
                        f"{answer} is {reference} of the window of household {expected[place] // DAYS} at {at}, "
                        f"which is {value} (tolerance {tolerance:g})."
                    )
                    raise AssertionError(message)

    def _sample(self, window: TimeWindow, shares: int) -> list[int]:
        """Return which answers are recomputed: all if that is cheap, else the first, the last and some in between."""
        places = len(self.places(window))
        begin, end = self._rows(window, places // 2)
        affordable = max(10, min(ELEMENTS // max(1, end - begin), SAMPLES) // shares)
        if places <= affordable:
            return list(range(places))
        between = np.random.default_rng(places).integers(0, places, affordable)
        return sorted({0, 1, places - 2, places - 1, *between.tolist()})

    def _rows(self, window: TimeWindow, place: int) -> tuple[int, int]:
        begin, end = np.searchsorted(self.codes, window.interval(self.places(window)[place]))
        return int(begin), int(end)

    def _recomputed(self, window: TimeWindow, place: int) -> tuple[Any, ...]:
        if (window, place) not in self._known:
            begin, end = self._rows(window, place)
            rows = self.values[begin:end]
            self._known[window, place] = tuple(REFERENCES[name](rows) for name in AGGREGATES.values())
        return self._known[window, place]


def _instants(column: pa.ChunkedArray) -> Instants:
    return np.asarray(column.cast(pa.timestamp("us")).cast("int64").to_numpy())
