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
        self.count = 0
        self.revision = 0
        self._forgotten = FIRST
        """The newest end that has left the buffer: older results are not taken back."""
        self._ends = np.empty(0, np.int64)
        self._corrected = np.empty(0)
        self._values = np.empty((0, columns))
        self._before = np.empty((0, columns))

    @property
    def ends(self) -> Ints:
        """The time of each result, ascending."""
        return self._ends[: self.count]

    @property
    def values(self) -> Floats:
        """The values of each result."""
        return self._values[: self.count]

    @property
    def before(self) -> Floats:
        """The values of each result before its last correction; NaN if there was none."""
        return self._before[: self.count]

    @property
    def corrected(self) -> Floats:
        """When each result was corrected last, or `NEVER`."""
        return self._corrected[: self.count]

    def merge(self, ends: Ints, values: Floats, past: int, now: float, most: int) -> int:
        """Add results with ascending ends. Return how many of them correct a window that ends at `past` or before."""
        self.revision += 1
        places = np.searchsorted(self.ends, ends)
        known = places < self.count
        known[known] = self.ends[places[known]] == ends[known]
        old, new = places[known], values[known]
        was = self._values[old]
        changed = ((was != new) & ~(np.isnan(was) & np.isnan(new))).any(axis=1) & (ends[known] <= past)
        self._values[old] = new
        self._before[old[changed]] = was[changed]
        self._corrected[old[changed]] = now
        # a window that had no rows, in the past of a series that has begun, is a correction too
        added = ~known & (ends > self._forgotten)
        late = (ends[added] <= past) & (self.count > 0)
        self._append(ends[added], values[added], np.where(late, now, NEVER), most)
        return int(changed.sum() + late.sum())

    def delete(self, ends: Ints) -> None:
        """Remove results, such as sessions that another one has replaced."""
        kept = ~np.isin(self.ends, ends)
        self.revision += 1
        count = int(kept.sum())
        for array in (self._ends, self._corrected, self._values, self._before):
            array[:count] = array[: self.count][kept]
        self.count = count

    def _append(self, ends: Ints, values: Floats, corrected: Floats, most: int) -> None:
        if not len(ends):
            return
        ends, values, corrected = ends[-most:], values[-most:], corrected[-most:]
        in_order = not self.count or bool(ends[0] > self.ends[-1])
        if self.count + len(ends) > len(self._ends):
            self._make_room(len(ends), most)
        begin, self.count = self.count, self.count + len(ends)
        new = slice(begin, self.count)
        self._ends[new], self._values[new], self._corrected[new], self._before[new] = ends, values, corrected, np.nan
        if not in_order:
            order = np.argsort(self.ends, kind="stable")
            for array in (self._ends, self._corrected, self._values, self._before):
                array[: self.count] = array[: self.count][order]

    def _make_room(self, more: int, most: int) -> None:
        """Keep the newest results, in a buffer with room for more."""
        kept = min(self.count, most - more)
        size = min(max(2 * (kept + more), FEWEST_POINTS), 2 * most)
        begin = self.count - kept
        self._forgotten = int(self._ends[begin - 1]) if begin else self._forgotten
        for name in ("_ends", "_corrected", "_values", "_before"):
            old = getattr(self, name)
            fresh = np.empty((size, *old.shape[1:]), old.dtype)
            fresh[:kept] = old[begin : self.count]
            setattr(self, name, fresh)
        self.count = kept

    def _check(self) -> None:
        assert (np.diff(self.ends) > 0).all()
        assert self.count <= len(self._ends) == len(self._values) == len(self._before) == len(self._corrected)


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
        zoom_codes, zoom_names = _zoom_codes(results, layout.window, self.zooms[0] if self.zooms else ONE_ZOOM)
        key_codes, key_values = _key_codes(results, layout.keys)
        deleted = layout.deleted(results)
        with self.lock:
            texts = [self._key(key) for key in key_values]
            zooms = [self._zoom(name) for name in zoom_names]
            groups = zoom_codes * len(texts) + key_codes
            order = np.lexsort((ends, groups))  # stable: of equal ends, the newest stays last
            edges = np.flatnonzero(np.diff(groups[order], prepend=-1, append=-1))
            now, most = self.clock(), self._most()
            for begin, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
                rows = order[begin:end]
                zoom, key = divmod(int(groups[rows[0]]), len(texts))
                text = texts[key]
                if text is not None:
                    series, past = self.series[zooms[zoom], text], self.newest_by_zoom.get(zooms[zoom], FIRST)
                    self._add_rows(series, ends[rows], values[rows], deleted[rows], past, now, most)
            self.results += len(results)
            for number, name in enumerate(zooms):
                newest = int(starts[zoom_codes == number].max())
                self.newest_by_zoom[name] = max(newest, self.newest_by_zoom.get(name, FIRST))
            self.newest = max(self.newest_by_zoom.values())
            self.first_result = now if self.first_result is None else self.first_result

    def _add_rows(
        self,
        series: Series,
        ends: Ints,
        values: Floats,
        deleted: npt.NDArray[np.bool_],
        past: int,
        now: float,
        most: int,
    ) -> None:
        if deleted.any():
            series.delete(ends[deleted])
            ends, values = ends[~deleted], values[~deleted]
        newest = np.flatnonzero(np.diff(ends, append=LAST))
        if len(newest):
            self.corrections += series.merge(ends[newest], values[newest], past, now, most)

    def _most(self) -> int:
        """Return how many results each series keeps."""
        return max(FEWEST_POINTS, min(MOST_POINTS, MOST_RESULTS // max(1, len(self.series))))

    def _zoom(self, name: str) -> str:
        if name not in self.zooms:
            self.zooms.append(name)
            self.revision += 1
        for text in self.keys.values():
            if (name, text) not in self.series:
                self.series[name, text] = self._new_series()
        return name

    def _key(self, key: tuple[Any, ...]) -> str | None:
        text = self.keys.get(key)
        if text is None and len(self.keys) < MOST_KEYS:
            assert self.layout is not None
            named = zip(self.layout.keys, key, strict=True)
            text = self.keys[key] = ", ".join(f"{name} {value}" for name, value in named) or ALL_ROWS
            self.revision += 1
        return text

    def _new_series(self) -> Series:
        assert self.layout is not None
        return Series(len(self.layout.values))

    def key_values(self) -> dict[str, tuple[Any, ...]]:
        """Return the keys by the texts that stand for them."""
        with self.lock:
            return {text: values for values, text in self.keys.items()}

    def newest_results(self, most: int = 12) -> list[dict[str, Any]]:
        """Return the newest result of each key and zoom: what a terminal shows."""
        with self.lock:
            layout = self.layout
            if layout is None:
                return []
            found = []
            for key in sorted(self.keys.values()):
                for zoom in self.zooms:
                    one = self.series.get((zoom, key))
                    if one is None or not one.count:
                        continue
                    # the newest window that has ended, or else the oldest one
                    place = max(int(np.searchsorted(one.ends, self.newest or 0, side="right")) - 1, 0)
                    end = float(layout.seconds(one.ends[place : place + 1])[0])
                    found.append(
                        {
                            "zoom": zoom,
                            "key": key,
                            "end": end,
                            **dict(zip(layout.values, one.values[place].tolist(), strict=True)),
                        }
                    )
        return found[:most]


def _zoom_codes(results: pa.Table, name: str | None, only: str) -> tuple[Ints, list[str]]:
    """Return the number of the zoom of each result, and the zooms."""
    if name is None:
        return np.zeros(len(results), np.int64), [only]
    encoded = results[name].combine_chunks().dictionary_encode()
    return np.asarray(encoded.indices.to_numpy(), np.int64), [str(one) for one in encoded.dictionary.to_pylist()]


def _key_codes(results: pa.Table, names: Sequence[str]) -> tuple[Ints, list[tuple[Any, ...]]]:
    """Return the number of the key of each result, and the keys."""
    codes = np.zeros(len(results), np.int64)
    for name in names:
        encoded = pc.dictionary_encode(results[name].combine_chunks(), null_encoding="encode")
        codes = codes * len(encoded.dictionary) + np.asarray(encoded.indices.to_numpy(), np.int64)
    _, first, codes = np.unique(codes, return_index=True, return_inverse=True)
    keys = results.select(list(names)).take(pa.array(first)).to_pylist() if names else [{}]
    return codes, [tuple(key.values()) for key in keys]
