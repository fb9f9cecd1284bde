"""Feed: the newest results of a stream, by zoom and key, from which messages are made.

A zoom is a window of the query. Each zoom and key has a `Series`, a buffer of its newest results in order of time:

    results ──► by zoom and key ──► Series: ends, values ──► reduce ──► message
                                    a result replaces the one with the same end; the oldest leave

A result that changes a window of the past is a correction. The series keeps when it came and what the value was before.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sash.live.reduce import Floats, Ints
from sash.live.result_layout import Layout

MOST_POINTS = 4096
"""Results of a series: more than the pixels of a wide screen."""
MOST_RESULTS = 4_000_000
"""Results of all series: with many keys, each keeps fewer."""
MOST_KEYS = 2_000
"""Keys beyond these are not shown."""
FEWEST_POINTS = 64
NEVER = -np.inf
ALL_ROWS = "all rows"
"""The name of the only key of a query without keys."""
ONE_ZOOM = "results"
"""The name of the only zoom, if the source names none."""
FIRST, LAST = np.iinfo(np.int64).min, np.iinfo(np.int64).max


class Series:
    """The newest results of one zoom and key, in order of time. The buffer has room for twice as many, so that it rarely moves."""

    def __init__(self, columns: int) -> None:
        values = [(name, np.float64, (columns,)) for name in ("values", "before")]
        self._buffer = np.empty(0, [("end", np.int64), ("corrected", np.float64), *values])
        self.count = 0
        self.revision = 0
        self._forgotten = FIRST
        """The newest end that has left the series: older results are not taken back."""

    @property
    def _results(self) -> npt.NDArray[Any]:
        return self._buffer[: self.count]

    @property
    def ends(self) -> Ints:
        """The time of each result, ascending."""
        return self._results["end"]

    @property
    def values(self) -> Floats:
        """The values of each result."""
        return self._results["values"]

    @property
    def before(self) -> Floats:
        """The values of each result before its last correction; NaN if there was none."""
        return self._results["before"]

    @property
    def corrected(self) -> Floats:
        """When each result was corrected last, or `NEVER`."""
        return self._results["corrected"]

    def merge(self, ends: Ints, values: Floats, past: int, now: float, most: int) -> int:
        """Add results with ascending ends. Return how many of them correct a window that ends at `past` or before."""
        self.revision += 1
        rows = np.searchsorted(self.ends, ends)
        known = rows < self.count
        known[known] = self.ends[rows[known]] == ends[known]
        old, new = rows[known], values[known]
        was = self.values[old]
        changed = ((was != new) & ~(np.isnan(was) & np.isnan(new))).any(axis=1) & (ends[known] <= past)
        self.values[old] = new
        self.before[old[changed]] = was[changed]
        self.corrected[old[changed]] = now
        # a window that had no rows, in the past of a series that has begun, is a correction too
        added = ~known & (ends > self._forgotten)
        late = (ends[added] <= past) & (self.count > 0)
        self._append(ends[added], values[added], np.where(late, now, NEVER), most)
        return int(changed.sum() + late.sum())

    def delete(self, ends: Ints) -> None:
        """Remove results, such as sessions that another one has replaced."""
        self.revision += 1
        kept = self._results[~np.isin(self.ends, ends)]
        self.count = len(kept)
        self._results[:] = kept

    def _append(self, ends: Ints, values: Floats, corrected: Floats, most: int) -> None:
        if not len(ends):
            return
        ends, values, corrected = ends[-most:], values[-most:], corrected[-most:]
        in_order = not self.count or bool(ends[0] > self.ends[-1])
        if self.count + len(ends) > len(self._buffer):
            self._make_room(len(ends), most)
        new = self._buffer[self.count : self.count + len(ends)]
        new["end"], new["values"], new["corrected"], new["before"] = ends, values, corrected, np.nan
        self.count += len(ends)
        if not in_order:
            self._results[:] = self._results[np.argsort(self.ends, kind="stable")]

    def _make_room(self, more: int, most: int) -> None:
        """Keep the newest results, in a buffer with room for more."""
        kept = min(self.count, most - more)
        dropped = self.count - kept
        if dropped:
            self._forgotten = int(self.ends[dropped - 1])
        buffer = np.empty(min(max(2 * (kept + more), FEWEST_POINTS), 2 * most), self._buffer.dtype)
        buffer[:kept] = self._results[dropped:]
        self._buffer, self.count = buffer, kept

    def _check(self) -> None:
        assert (np.diff(self.ends) > 0).all()
        assert self.count <= len(self._buffer)


@dataclass
class Feed:
    """The results that the page shows. The thread of the source adds them; the server reads them under `lock`."""

    layout: Layout | None = None
    clock: Callable[[], float] = time.monotonic
    lock: threading.RLock = field(default_factory=threading.RLock)
    zooms: list[str] = field(default_factory=list)
    keys: dict[tuple[Any, ...], str] = field(default_factory=dict)
    """The keys in order of their first results, and the text that stands for each."""
    series: dict[tuple[str, str], Series] = field(default_factory=dict)
    """By zoom and text of the key."""
    results: int = 0
    corrections: int = 0
    newest: int | None = None
    """The newest start of a window: about the time of the newest row."""
    newest_by_zoom: dict[str, int] = field(default_factory=dict)
    """The newest start of a window of each zoom: windows of the zoom that end by then belong to the past."""
    revision: int = 0
    """Changes when the layout, a zoom or a key is new."""
    first_result: float | None = None

    def describe(self, layout: Layout, zooms: Sequence[str] = ()) -> None:
        """Set the columns of the results, and the zooms in the order in which the page shows them."""
        with self.lock:
            self.layout = layout
            self.zooms = [*zooms]
            self.revision += 1

    def add(self, results: pa.Table) -> None:
        """Add results, in the order in which they came. Deletions come before what replaces them."""
        layout = self.layout
        if layout is None or not len(results):
            return
        ends, starts = layout.ticks(results[layout.time]), layout.ticks(results[layout.start])
        values = layout.numbers(results)
        codes, groups = _groups(results, [*([layout.window] if layout.window else []), *layout.keys])
        deleted = layout.deleted(results)
        order = np.lexsort((ends, codes))  # stable: of equal ends, the newest stays last
        edges = np.flatnonzero(np.diff(codes[order], prepend=-1, append=-1))
        with self.lock:
            only_zoom = self.zooms[0] if self.zooms else ONE_ZOOM
            newest: dict[str, int] = {}
            now, most = self.clock(), self._most()
            for group, begin, end in zip(groups, edges[:-1], edges[1:], strict=True):
                rows = order[begin:end]
                zoom = str(group[0]) if layout.window else only_zoom
                newest[zoom] = max(int(starts[rows].max()), newest.get(zoom, FIRST))
                self._add_zoom(zoom)
                key = self._key(group[1:] if layout.window else group)
                if key is None:
                    continue
                series = self.series.setdefault((zoom, key), Series(len(layout.values)))
                if deleted[rows].any():
                    series.delete(ends[rows[deleted[rows]]])
                    rows = rows[~deleted[rows]]
                rows = rows[np.flatnonzero(np.diff(ends[rows], append=LAST))]  # the newest of each end
                if len(rows):
                    past = self.newest_by_zoom.get(zoom, FIRST)
                    self.corrections += series.merge(ends[rows], values[rows], past, now, most)
            self.results += len(results)
            for zoom, start in newest.items():
                self.newest_by_zoom[zoom] = max(start, self.newest_by_zoom.get(zoom, FIRST))
            self.newest = max(self.newest_by_zoom.values())
            self.first_result = now if self.first_result is None else self.first_result

    def _most(self) -> int:
        """Return how many results each series keeps."""
        return max(FEWEST_POINTS, min(MOST_POINTS, MOST_RESULTS // max(1, len(self.series))))

    def _add_zoom(self, name: str) -> None:
        if name not in self.zooms:
            self.zooms.append(name)
            self.revision += 1

    def _key(self, key: tuple[Any, ...]) -> str | None:
        """Return the text that stands for a key; None if there are too many keys."""
        text = self.keys.get(key)
        if text is None and len(self.keys) < MOST_KEYS:
            assert self.layout is not None
            named = zip(self.layout.keys, key, strict=True)
            text = self.keys[key] = ", ".join(f"{name} {value}" for name, value in named) or ALL_ROWS
            self.revision += 1
        return text

    def key_values(self) -> dict[str, tuple[Any, ...]]:
        """Return the keys by the texts that stand for them."""
        with self.lock:
            return {text: values for values, text in self.keys.items()}


def _groups(results: pa.Table, names: Sequence[str]) -> tuple[Ints, list[tuple[Any, ...]]]:
    """Return the number of the group of each result, and the groups: results with equal values in some columns."""
    codes = np.zeros(len(results), np.int64)
    for name in names:
        encoded = pc.dictionary_encode(results[name].combine_chunks(), null_encoding="encode")
        codes = codes * len(encoded.dictionary) + np.asarray(encoded.indices.to_numpy(), np.int64)
    _, first, codes = np.unique(codes, return_index=True, return_inverse=True)
    groups = results.select(list(names)).take(pa.array(first)).to_pylist() if names else [{}]
    return codes, [tuple(group.values()) for group in groups]
