"""Evolution: the state of a query for another one, which has other aggregates or windows.

    arrays of the old query ──► which are kept? ──► WindowStates of the new query, with the kept part of the arrays

An aggregate or a window is kept if its name and its definition stay the same. Everything else about a query must stay.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain, count, takewhile
from typing import Any, NamedTuple

from sash.engine.prepare import Prepared
from sash.engine.stream_plan import stream_plan
from sash.kernels.array_codec import Arrays
from sash.state.fingerprint import AGGREGATES, CODE, KEYS, WINDOWS, Fingerprint, changed_functions, changes
from sash.state.handover import StateOf, read_description
from sash.state.known_since import KnownSince, NewResult
from sash.state.state_log import arrays_by_group
from sash.state.window_states import WINDOWS as NAMES
from sash.state.window_states import StateOptions, WindowStates
from sash.windows.base import NEVER

MAY_CHANGE = (AGGREGATES, WINDOWS, CODE, "columns", "state")


class StoredState(NamedTuple):
    """The state of an older query."""

    query: Fingerprint
    arrays: Arrays
    watermark: int
    newest: int
    """The time of the newest row that it has seen."""
    described: Sequence[Mapping[str, Any]] | None = None
    """Which windows and aggregates each of its states is of; None if that follows from the query."""
    partials: Sequence[Any] = ()
    """By state: the parts of its partials."""


def stored_state(arrays: Arrays, header: Mapping[str, Any]) -> StoredState:
    """Return a state from its arrays and its header."""
    return StoredState(
        header["query"],
        arrays,
        header["watermark"],
        header["newest"],
        header.get("states"),
        header.get("partials", ()),
    )


def check_evolves(then: Fingerprint, now: Fingerprint) -> None:
    """Raise ValueError if two queries differ in more than their aggregates and windows."""
    fixed_then, fixed_now = ({part: query[part] for part in query if part not in MAY_CHANGE} for query in (then, now))
    found = changes(fixed_then, fixed_now) + changed_functions(then, now, (KEYS,))
    types_then, types_now = then.get("columns", {}), now.get("columns", {})
    found += [
        f"columns: {name}: {types_then[name]} became {types_now[name]}"
        for name in types_now
        if types_then.get(name, types_now[name]) != types_now[name]
    ]
    slicing_then, slicing_now = (_slicing(query) for query in (then, now))
    if slicing_then and slicing_now and slicing_then != slicing_now:
        found.append(f"slicing: {slicing_then} became {slicing_now}")
    if found:
        raise ValueError(
            f"evolve=True can change the aggregates and windows of a query, but the checkpoint differs in more: {'; '.join(found)}. Run "
            "a query that has these as the checkpoint has them, or use a new checkpoint."
        )


def _slicing(query: Fingerprint) -> str:
    last = _kinds(query)[-1]
    return last if last not in ("rows", "slices", "prefixes", "tails") else ""


def _kinds(query: Fingerprint) -> list[str]:
    """Return what the state of a query stores, and perhaps how slices are cut."""
    return str(query.get("state", "")).split(", ")


def kept_names(then: Fingerprint, now: Fingerprint, part: str) -> list[str]:
    """Return the aggregates, or windows, of a query that an older one has too, with the same definition and functions.

    >>> kept_names({"windows": {"a": "rows(3)", "b": "rows(9)"}}, {"windows": {"b": "rows(9)", "a": "rows(4)"}}, "windows")
    ['b']
    """
    old, new = then[part], now[part]
    old_code, new_code = then.get(CODE, {}), now.get(CODE, {})
    same_python = old_code.get("python") == new_code.get("python")
    codes = [code.get(part, {}) if same_python else {} for code in (old_code, new_code)]
    return [name for name in new if old.get(name) == new[name] and codes[0].get(name) == codes[1].get(name)]


def evolve(prepared: Prepared, options: StateOptions, stored: StoredState, now: Fingerprint) -> WindowStates:
    """Return the states of a query that continues from the state of another one.

    Raise ValueError if something new could never have a result. `check_evolves` has compared the queries.
    """
    evolution = Evolution(prepared, stored, now)
    groups = evolution.groups()
    evolved = [[state.of for state in group] for group in groups]
    states = WindowStates(prepared, options.mode, forget=options.forget, evolved=evolved)
    if {"tails", "prefixes"} & set(_kinds(stored.query)):  # other buckets may have slices, if this one has none
        for state in states.states:
            state.check_slices(evolution.windows, evolution.new_aggregates)
    for state, (_, arrays, partials) in zip(states.states, chain.from_iterable(groups), strict=True):
        if arrays:
            state.continue_from(arrays, partials, evolution.windows, evolution.new_aggregates)
    return states


class EvolvedState(NamedTuple):
    """A state of the newer query, and the arrays of the stored state that it continues from."""

    of: StateOf
    arrays: Arrays | None = None
    partials: Sequence[Any] = ()


class Evolution:
    """The change from an older query to a newer one."""

    def __init__(self, prepared: Prepared, stored: StoredState, now: Fingerprint) -> None:
        self.prepared = prepared
        self.windows = kept_names(stored.query, now, WINDOWS)
        self.aggregates = kept_names(stored.query, now, AGGREGATES)
        self.every = list(prepared.query.aggregates)
        self.new_aggregates = [name for name in self.every if name not in self.aggregates]
        self.at = max(stored.watermark, stored.newest + 1)
        """The evolution: rows at or after this time have not arrived yet."""
        self.stored = self._stored_groups(stored)

    def _stored_groups(self, stored: StoredState) -> list[list[EvolvedState]]:
        """Return the stored states of each group of windows, the oldest first."""
        arrays = dict(arrays_by_group(stored.arrays))
        if stored.described is not None:
            groups = [read_description(described) for described in stored.described]
        else:
            every = list(stored.query[AGGREGATES])
            names = [_windows(arrays.get(number, {})) for number in range(max(arrays, default=-1) + 1)]
            rest: dict[Any, list[str]] = {}  # a group without state has no arrays
            for name in self.windows:
                if name not in chain.from_iterable(names):
                    rest.setdefault(self.prepared.plan.windows[name].lateness.rule, []).append(name)
            groups = [[StateOf(windows, every)] for windows in (*names, *rest.values())]
        partials = dict(enumerate(stored.partials))
        numbers = count()
        return [
            [EvolvedState(of, arrays.get(number := next(numbers)), partials.get(number, ())) for of in states]
            for states in groups
        ]

    def groups(self) -> list[list[EvolvedState]]:
        """Return the states of each group of windows of the newer query, the oldest first."""
        groups: list[list[EvolvedState]] = []
        for group in stream_plan(self.prepared).groups:
            names = list(group.query.windows)
            if all(group.plan.windows[name].is_time for name in names):
                groups.append(self._of_time(names))
            else:
                groups += ([state] for state in self._of_rows(names))
        return groups

    def _of_time(self, names: list[str]) -> list[EvolvedState]:
        """Return the states of windows of time: the older ones, and a newer one if something is new."""
        older = self._kept(names)
        kept = [name for name in names if older and name in self.windows]
        if older and kept == names and not self.new_aggregates:
            return older
        # The oldest state knows which windows began before; a window that it does not know is not known later either.
        first = self._first_known(names) | {name: max(self.at, _first_start(older, name)) for name in kept}
        return [*older, EvolvedState(StateOf(names, self.every, KnownSince(self.at, first)))]

    def _first_known(self, names: list[str]) -> dict[str, int]:
        """Return by window when the first one begins of which no row came before the evolution.

        A session that begins within its gap after that time may have begun before.
        """
        unit, windows = self.prepared.unit, self.prepared.plan.windows
        gaps = {name: (cuts := windows[name].cuts) and cuts.gap(unit) for name in names}
        return {name: self.at + (gap or 0) for name, gap in gaps.items()}

    def _of_rows(self, names: list[str]) -> list[EvolvedState]:
        """Return the states of windows that follow the order of rows: the older ones, whose rows lack what is new."""
        kept = [name for name in names if name in self.windows]
        stored = chain.from_iterable(self.stored)
        if self.prepared.query.per_row:  # a row has one result for all windows, so they share a state
            self._check_frames(kept)
            return [self._with_new(next(stored, EvolvedState(StateOf(names, self.every))), names)]
        in_state = [(state, [name for name in state.of.windows if name in kept]) for state in stored]
        states = [self._with_new(state, windows) for state, windows in in_state if windows]
        if others := [name for name in names if name not in kept]:
            states.append(EvolvedState(StateOf(others, self.every, KnownSince(self.at))))
        return states

    def _with_new(self, state: EvolvedState, windows: list[str]) -> EvolvedState:
        """Return a stored state with new aggregates and windows, whose results are null while they hold rows before the evolution."""
        known = state.of.known
        older = [
            replace(new, aggregates=[name for name in new.aggregates if name in self.aggregates]) for new in known.new
        ]
        new_windows = [name for name in windows if name not in self.windows]
        new = [*older, NewResult(self.at, self.new_aggregates, new_windows)]
        known = replace(known, new=[entry for entry in new if entry.aggregates or set(entry.windows) & set(windows)])
        return state._replace(of=StateOf(windows, self.every, known))

    def _check_frames(self, kept: list[str]) -> None:
        """Raise ValueError if a new result per row would be null forever, or for an unknown time."""
        for name, window in self.prepared.plan.windows.items():
            reach = window.frame and window.frame.reach(self.prepared.unit)
            if reach is None and (name not in kept or self.new_aggregates):
                what = (
                    f"aggregate {self.new_aggregates[0]!r} of window {name!r}" if name in kept else f"window {name!r}"
                )
                raise ValueError(
                    f"evolve=True cannot add {what}: {window} reaches back to rows before the checkpoint, without a limit, so a result "
                    "would never be complete. Use a new checkpoint."
                )

    # -- older states ------------------------------------------------------------------------------------------------

    def _kept(self, names: list[str]) -> list[EvolvedState]:
        """Return the stored states of some windows of time, with what the newer query has of them.

        An older state says which windows there are. So it stays while the newest one has something that is kept, even without aggregates.
        """
        # A window that is new under its old name may be in the state of other windows.
        kept = set(names) & set(self.windows)
        stored = next((group for group in self.stored if any(kept & set(state.of.windows) for state in group)), [])
        if not stored or not set(stored[-1].of.aggregates) & set(self.aggregates):
            return []
        newest_first = [self._kept_part(state) for state in reversed(stored)]
        return [*takewhile(lambda state: state.of.windows, newest_first)][::-1]

    def _kept_part(self, state: EvolvedState) -> EvolvedState:
        of = state.of
        windows = [name for name in self.prepared.query.windows if name in of.windows and name in self.windows]
        aggregates = [name for name in self.aggregates if name in of.aggregates]
        since = {name: time for name, time in of.known.emits_since.items() if name in windows}
        return state._replace(of=StateOf(windows, aggregates, replace(of.known, emits_since=since)))


def _first_start(group: Sequence[EvolvedState], window: str) -> int:
    """Return the time from which on the oldest state that has a window emits it."""
    return next((of.known.emits_since.get(window, NEVER) for of, *_ in group if window in of.windows), NEVER)


def _windows(arrays: Arrays) -> list[str]:
    return list(json.loads(arrays[NAMES].tobytes())) if NAMES in arrays else []
