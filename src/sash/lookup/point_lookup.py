"""PointLookup: the features of keys at a time, from the bytes of their states.

    bytes ──► KeyState ──► few items: FoldedPass, key by key   ──► dictionaries
                      └──► else: evaluate_states, all together ──┘

Both give the same results; `folds` is the rule. Preparing a query takes milliseconds, so a Query holds its lookups, by header.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import localcontext
from typing import Any

import numpy as np
import pyarrow as pa

from sash.columns.buffers import unpack
from sash.columns.read_column import objects_of, read_numbers
from sash.engine.evaluate import EXACT
from sash.engine.prepare import Prepared, prepare
from sash.lookup.folded_pass import FoldedPass, NotFoldedError, Read, Windows
from sash.lookup.point_evaluation import as_declared, evaluate_states
from sash.plan.query_spec import QuerySpec
from sash.state.fingerprint import changes, fingerprint_query
from sash.state.key_layout import KeyLayout, KeySlices, KeyState
from sash.state.key_states import check_lookup
from sash.windows.base import Ints, Items, Points, whole_span
from sash.windows.numpy_forms import numpy_form

ONE = np.ones(1, np.int64)
MOST_FOLDED = 2_000
"""Up to this many rows and slices, folding them in Python takes less time than the calls of NumPy for all of them together: for ten aggregates
over four windows, 0.14 ms against 3.6 for 20 rows, 1.7 against 7.4 for 1,000."""
MOST_FOLDED_VALUES = 200
"""The same for aggregates whose partials grow with the values: a median takes 0.8 ms against 1.4 for 200 rows, 3.6 against 2.1 for 500."""


class PointLookup:
    """Lookups of a query over the states of one header."""

    def __init__(self, query: QuerySpec, layout: KeyLayout) -> None:
        check_lookup(query, "lookup")
        self.layout = layout
        self.prepared: Prepared = prepare(query, layout.schema)
        columns = layout.query["columns"]
        if found := changes(layout.query, fingerprint_query(self.prepared.query, columns)):
            raise ValueError(
                f"lookup: the header belongs to a different query: {'; '.join(found)}. Use the query that wrote the states, or write "
                "those of this query under another name."
            )
        assert self.prepared.time is not None
        self.time = self.prepared.time
        nothing = self._no_rows()
        empty = evaluate_states(self.prepared, layout, [nothing], np.zeros(1, np.int64))
        self.names = [
            self.prepared.query.result_name(aggregate, window)
            for aggregate in self.prepared.query.aggregates
            for window in self.prepared.plan.windows
        ]
        self.empty: dict[str, Any] = empty.select(self.names).to_pylist()[0]
        """The features of a key without rows."""
        self.passes = self._folded(empty.schema)

    def _no_rows(self) -> KeyState:
        layout = self.layout
        columns = {name: pa.nulls(0, dtype) for name, dtype in zip(layout.names, layout.types, strict=True)}
        return KeyState(0, np.zeros(0, np.int64), columns, layout.no_slices if layout.shapes else None)

    def _folded(self, types: pa.Schema) -> list[FoldedPass] | None:
        """Return the passes that fold rows in Python; None if the evaluation driver evaluates some of them."""
        try:
            return [
                FoldedPass(self.prepared, self.layout, number, types)
                for number in range(len(self.prepared.plan.passes))
            ]
        except NotFoldedError:
            return None

    # -- lookups -------------------------------------------------------------------------------------------------------

    def features(self, states: Sequence[bytes | None], now: Sequence[int]) -> list[dict[str, Any]]:
        """Return the features of some keys, each at its own time in ticks."""
        decoded = [None if state is None else self._decode(state, at) for state, at in zip(states, now, strict=True)]
        known = [place for place, state in enumerate(decoded) if state is not None]
        features: list[dict[str, Any]] = [dict(self.empty) for _ in states]
        if not known:
            return features
        states_of_known = [state for state in decoded if state is not None]
        times = np.array([now[place] for place in known], np.int64)
        try:
            self.prepared.check_times(times)
        except OverflowError as error:
            raise ValueError(f"lookup: now is out of range. {error}") from error
        found = self._folds(states_of_known, times) if self.folds(states_of_known) else None
        if found is None:
            found = evaluate_states(self.prepared, self.layout, states_of_known, times).select(self.names).to_pylist()
        for place, result in zip(known, found, strict=True):
            features[place] = result
        return features

    def folds(self, states: Sequence[KeyState]) -> bool:
        """Return whether states are so small that folding them in Python is faster."""
        if self.passes is None:
            return False
        most = MOST_FOLDED if all(each.is_compact for each in self.passes) else MOST_FOLDED_VALUES
        items = sum(len(state.times) + (0 if state.slices is None else len(state.slices.times)) for state in states)
        return items <= most

    def _decode(self, state: bytes, now: int) -> KeyState:
        """Return the state of a key as of a time. Raise ValueError if it may have dropped rows of that time."""
        decoded = self.layout.decode(state)
        if now < decoded.since:
            shown, since = (self.time.write(np.array([ticks]))[0].as_py() for ticks in (now, decoded.since))
            raise ValueError(
                f"lookup: now={shown} is before {since}, the watermark when this state was emitted. The stream may have dropped rows that "
                "windows at that time hold. Pass a later time, or accept older rows with a larger lateness (on Spark, withWatermark)."
            )
        return decoded if self.layout.forget is None else _newest_epoch(decoded, now, self.layout.forget)

    # -- in Python -----------------------------------------------------------------------------------------------------

    def _folds(self, states: Sequence[KeyState], now: Ints) -> list[dict[str, Any]] | None:
        """Return the features of some keys; None if a function fails, for which the evaluation driver names the row."""
        try:
            with localcontext(EXACT):
                return [self._fold(state, at) for state, at in zip(states, now.tolist(), strict=True)]
        except Exception:  # noqa: BLE001 — whatever a user's function raises
            return None

    def _fold(self, state: KeyState, now: int) -> dict[str, Any]:
        assert self.passes is not None
        times = state.times if state.slices is None else np.concatenate([state.slices.times, state.times])
        windows = self._windows(times, now)
        results: dict[str, Any] = {}
        known: dict[Read, list[Any]] = {}
        for folded in self.passes:
            for column in folded.columns:
                if column not in known:
                    known[column] = self._read(state, column)
            columns = [known[column] for column in folded.columns]
            if folded.reads_time:
                columns.append(state.times.tolist())
            slices = None if state.slices is None else state.slices.partials[folded.number]
            folded.fold(columns, len(state.times), slices, windows, results)
        return {name: results[name] for name in self.names}

    def _windows(self, times: Ints, now: int) -> Windows:
        """Return the windows of a key at a time, as items."""
        points = Points(np.array([now]), np.array([times.searchsorted(now, "right")]), ONE)
        firsts = np.array([0, len(times)])
        items = Items(times, firsts, whole_span(firsts[1:]), self.prepared.unit, points=points)
        found = [window.bounds(items, {}, numpy_form) for window in self.prepared.plan.windows.values()]
        return Windows([(int(bounds.begins[0]), int(bounds.ends[0])) for bounds in found], now)

    def _read(self, state: KeyState, column: Read) -> list[Any]:
        """Return the values of a column."""
        name = column.name
        if name == self.layout.time:
            if column.as_numbers and self.time.type != pa.date64():  # its ticks are days, its numbers milliseconds
                return list(state.times.tolist())
            values = self.time.write(state.times).cast(self.time.type)
        else:
            values = as_declared(state.columns[name], self.layout.schema.field(name).type)
        if not column.as_numbers:
            return objects_of(values if column.cast_to is None else values.cast(column.cast_to))
        numbers = read_numbers(values)
        listed: list[Any] = numbers.values.tolist()
        if len(numbers.bits):
            valid = unpack(numbers.bits, len(listed)).tolist()
            listed = [value if ok else None for value, ok in zip(listed, valid, strict=True)]
        return listed


def _newest_epoch(state: KeyState, now: int, forget: int) -> KeyState:
    """Return the rows of the epoch of a key at a time; none if it is forgotten by then."""
    times = state.times.tolist()
    end = int(np.searchsorted(state.times, now, side="right"))
    if not end or now - times[end - 1] >= forget:
        return _section(state, 0, 0, keeps_slices=False)
    begin = end - 1
    while begin and times[begin] - times[begin - 1] < forget:
        begin -= 1
    return _section(state, begin, end, keeps_slices=begin == 0)


def _section(state: KeyState, begin: int, end: int, *, keeps_slices: bool) -> KeyState:
    columns = {name: column.slice(begin, end - begin) for name, column in state.columns.items()}
    slices = state.slices
    if slices is not None and not keeps_slices:
        slices = KeySlices(slices.times[:0], [partials.select(slice(0, 0)) for partials in slices.partials])
    return replace_rows(state, state.times[begin:end], columns, slices)


def replace_rows(state: KeyState, times: Ints, columns: Any, slices: KeySlices | None) -> KeyState:
    """Return a state with other rows and slices."""
    return KeyState(state.since, times, columns, slices)
