"""Evolution: the state of a query for another one, which has other aggregates or windows.

    arrays of the old query ──► which are kept? ──► EvolvedStates of the new query, with the kept part of the arrays

An aggregate or a window is kept if its name and its definition stay the same. Everything else about a query must stay.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import pyarrow as pa

from sash.engine.prepare import Prepared
from sash.engine.stream_plan import stream_plan
from sash.kernels.array_codec import Arrays
from sash.state.carried_partials import carry_partials, check_new_parts
from sash.state.codec import read_table, table_bytes
from sash.state.evolved_states import EvolvedStates, Handover, Leaf, NewResult, Node, StateOf, new_leaf
from sash.state.fingerprint import AGGREGATES, CODE, KEYS, WINDOWS, Fingerprint, changed_functions, changes
from sash.state.slice_state import SliceState
from sash.state.state_log import arrays_by_group, as_slices, rows_and_slices
from sash.state.stored_items import StoredItems
from sash.state.window_states import WINDOWS as NAMES
from sash.state.window_states import StateOptions

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
    fixed_then, fixed_now = ({part: one[part] for part in one if part not in MAY_CHANGE} for one in (then, now))
    found = changes(fixed_then, fixed_now) + changed_functions(then, now, (KEYS,))
    types_then, types_now = then.get("columns", {}), now.get("columns", {})
    found += [
        f"columns: {name}: {types_then[name]} became {types_now[name]}"
        for name in types_now
        if types_then.get(name, types_now[name]) != types_now[name]
    ]
    slicing_then, slicing_now = (_slicing(one) for one in (then, now))
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


def evolve(prepared: Prepared, options: StateOptions, stored: StoredState, now: Fingerprint) -> EvolvedStates:
    """Return the states of a query that continues from the state of another one.

    Raise ValueError if something new could never have a result. `check_evolves` has compared the queries.
    """
    return Evolution(prepared, options, stored, now).states()


class Evolution:
    """The change from an older query to a newer one."""

    def __init__(self, prepared: Prepared, options: StateOptions, stored: StoredState, now: Fingerprint) -> None:
        self.prepared = prepared
        self.options = options
        self.stored = stored
        self.windows = kept_names(stored.query, now, WINDOWS)
        self.aggregates = kept_names(stored.query, now, AGGREGATES)
        self.every = list(prepared.query.aggregates)
        self.new_aggregates = [name for name in self.every if name not in self.aggregates]
        self.at = max(stored.watermark, stored.newest + 1)
        """The evolution: rows at or after this time have not arrived yet."""
        self.groups = dict(arrays_by_group(stored.arrays))

    def states(self) -> EvolvedStates:
        """Return the states of the newer query."""
        made: list[Node] = []
        for part in stream_plan(self.prepared).groups:
            names = list(part.query.windows)
            if all(part.plan.windows[name].is_time for name in names):
                made.append(self._of_time(names))
            else:
                made += self._of_rows(names)
        return EvolvedStates(self.prepared, self.options, made)

    def _of_time(self, names: list[str]) -> Node:
        """Return the state of windows of time: a newer one beside the older one, if something is new."""
        older = self._restricted(names)
        kept = [] if older is None else [name for name in names if name in self.windows]
        if older is not None and kept == names and not self.new_aggregates:
            return older
        first = self._first_known(names, self.at)
        if (
            older is not None
        ):  # it knows which windows began before; a window that it does not know is not known later either
            first |= {name: max(self.at, older.first_start(name)) for name in kept}
        newer = new_leaf(self.prepared, self.options, StateOf(names, self.every, self.at, first))
        return newer if older is None else Handover(older, newer, self.at)

    def _first_known(self, names: list[str], at: int) -> dict[str, int]:
        """Return by window when the first one begins of which no row came before a time.

        A session that begins within its gap after that time may have begun before.
        """
        cuts = {name: self.prepared.plan.windows[name].cuts for name in names}
        return {name: at + ((own and own.gap(self.prepared.unit)) or 0) for name, own in cuts.items()}

    def _of_rows(self, names: list[str]) -> list[Node]:
        """Return the states of windows that follow the order of rows: the older ones, whose rows lack what is new."""
        kept = [name for name in names if name in self.windows]
        if self.prepared.query.per_row:  # a row has one result for all windows, so they share a state
            self._check_frames(kept)
            of = next(iter(self._stored_states()), StateOf(names, self.every))
            return [self._with_new(of, names, 0)]
        made: list[Node] = []
        for number, of in enumerate(self._stored_states()):
            if own := [name for name in of.windows if name in kept]:
                made.append(self._with_new(of, own, number))
        if others := [name for name in names if name not in kept]:
            made.append(new_leaf(self.prepared, self.options, StateOf(others, self.every, self.at)))
        return made

    def _with_new(self, of: StateOf, windows: list[str], number: int) -> Leaf:
        """Return a stored state with new aggregates and windows, whose results are null while they hold rows before the evolution."""
        new_windows = [name for name in windows if name not in self.windows]
        new = [replace(one, aggregates=self._still(one.aggregates)) for one in of.new]
        new = [*new, NewResult(self.at, self.new_aggregates, new_windows)]
        new = [one for one in new if one.aggregates or set(one.windows) & set(windows)]
        leaf = new_leaf(self.prepared, self.options, replace(of, windows=windows, aggregates=self.every, new=new))
        if any(
            kind in ("tails", "prefixes") for kind in _kinds(self.stored.query)
        ):  # other buckets may have slices, if this one has none
            check_slices(leaf.state, set(self.windows), self.new_aggregates)
        return self._fill(leaf, number)

    def _still(self, aggregates: list[str]) -> list[str]:
        return [name for name in aggregates if name in self.aggregates]

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

    def _stored_states(self) -> list[StateOf]:
        """Return of what each stored state is, in the order of their numbers."""
        if self.stored.described is not None:
            return [of for one in self.stored.described for of in _all_of(one)]
        every = list(self.stored.query[AGGREGATES])
        numbers = range(max(self.groups, default=-1) + 1)
        found = [StateOf(_windows(self.groups.get(number, {})), every) for number in numbers]
        known = {name for of in found for name in of.windows}
        rest: dict[Any, list[str]] = {}  # a group without state has no arrays
        for name in self.windows:
            if name not in known:
                rest.setdefault(self.prepared.plan.windows[name].lateness.rule, []).append(name)
        return [*found, *(StateOf(names, every) for names in rest.values())]

    def _restricted(self, names: list[str]) -> Node | None:
        """Return the kept part of the stored state of some windows, with its content; None if nothing of it is kept."""
        if self.stored.described is None:
            for number, of in enumerate(self._stored_states()):
                # A window that is new under its old name may be in the part of other windows now.
                if set(of.windows) & set(names) & set(self.windows) and self._keeps(of):
                    return self._fill(self._kept_leaf(of), number)
            return None
        number = 0
        for one in self.stored.described:
            own = _all_of(one)
            if any(set(of.windows) & set(names) & set(self.windows) for of in own):
                return self._kept_node(one, number)
            number += len(own)
        return None

    def _kept_node(self, described: Mapping[str, Any], number: int, *, is_older: bool = False) -> Node | None:
        """Return the kept part of stored states; `number` is that of the first.

        An older state says which windows there are, so it stays while a newer one has something that is kept, even without aggregates.
        """
        if "at" not in described:
            [of] = _all_of(described)
            return self._fill(self._kept_leaf(of), number) if self._keeps(of, is_older=is_older) else None
        newer = self._kept_node(described["newer"], number + len(_all_of(described["older"])), is_older=is_older)
        if newer is None:  # it has all windows and aggregates of the older one
            return None
        assert isinstance(newer, Leaf)
        older = self._kept_node(described["older"], number, is_older=True)
        if older is None:
            return newer
        return Handover(older, newer, described["at"]) if _adds(newer, older) else older

    def _keeps(self, of: StateOf, *, is_older: bool = False) -> bool:
        """Return whether a state has kept windows, with kept aggregates unless a newer state has them."""
        has_aggregates = is_older or bool(set(of.aggregates) & set(self.aggregates))
        return has_aggregates and bool(set(of.windows) & set(self.windows))

    def _kept_leaf(self, of: StateOf) -> Leaf:
        windows = [name for name in self.prepared.query.windows if name in of.windows and name in self.windows]
        aggregates = [name for name in self.aggregates if name in of.aggregates]
        since = {name: time for name, time in of.emits_since.items() if name in windows}
        return new_leaf(
            self.prepared, self.options, replace(of, windows=windows, aggregates=aggregates, emits_since=since)
        )

    def _fill(self, leaf: Leaf, number: int) -> Leaf:
        """Return a state with the content of a stored one."""
        arrays = self.groups.get(number, {})
        if arrays:
            parts = self.stored.partials[number] if number < len(self.stored.partials) else []
            fill(leaf.state, arrays, parts, set(self.windows), self.new_aggregates)
        return leaf


def fill(state: StoredItems, arrays: Arrays, parts: Sequence[Any], kept: set[str], new: Sequence[str] = ()) -> None:
    """Give a state the content of a stored one, which may have other columns, partials and windows.

    `kept` are the windows that both have, and `new` the aggregates that only the newer one has. Raise ValueError if it needs rows in whose place
    the stored one has slices.
    """
    prepared = state.prepared
    own, slices = rows_and_slices(arrays)
    if "rows" not in own:
        if not isinstance(state, SliceState):
            raise ValueError("The state holds slices, but the changed query needs rows. Use a new checkpoint.")
        state.from_arrays(as_slices(carry_partials(prepared, slices, parts)))
        state.is_too_fine = True
        return
    rows = with_schema(read_table(own["rows"]), prepared.schema)
    if isinstance(state, SliceState):
        state.add_rows(rows)
        return
    own = {**own, "rows": table_bytes(rows)}
    keys = len(own["sizes"])
    for name, window in prepared.plan.windows.items():
        if name not in kept:
            fresh = window.memory.new(keys)
            own |= {f"memory {name} {part}": window.memory.encode(values) for part, values in fresh.items()}
    if slices:
        check_slices(state, kept, new)
        own |= as_slices(carry_partials(prepared, slices, parts, new)) if state.stores_partials else {}
    state.from_arrays(own)


def check_slices(state: StoredItems, kept: set[str], new: Sequence[str]) -> None:
    """Raise ValueError if a state cannot go on with slices in place of older rows: it needs these rows, or other partials."""
    prepared = state.prepared
    if state.stores_partials:
        check_new_parts(prepared, new)
        return
    for name, window in prepared.plan.windows.items():
        if name in kept and window.frame is not None and window.frame.begins_at_edges(prepared.unit):
            raise ValueError(
                f"evolve=True: the checkpoint holds slices in place of the older rows of window {name!r}, but the changed query needs these rows: "
                f"{stream_plan(prepared).why_rows}. Leave this change out, or use a new checkpoint."
            )


def with_schema(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return a table with the columns of a schema; those that it lacks are null.

    >>> with_schema(pa.table({"a": [1], "b": [2]}), pa.schema({"b": pa.int64(), "c": pa.string()})).to_pylist()
    [{'b': 2, 'c': None}]
    """
    columns = [
        table[one.name].cast(one.type) if one.name in table.column_names else pa.nulls(len(table), one.type)
        for one in schema
    ]
    return pa.table(columns, schema=pa.schema([pa.field(one.name, one.type) for one in schema])).cast(schema)


def _adds(newer: Leaf, older: Node) -> bool:
    """Return whether a state has windows or aggregates that an older one lacks; the newest part of that one has all of them."""
    known = older.leaves[-1].of
    return not (set(newer.of.windows) <= set(known.windows) and set(newer.of.aggregates) <= set(known.aggregates))


def _all_of(described: Mapping[str, Any]) -> list[StateOf]:
    if "at" in described:
        return [*_all_of(described["older"]), *_all_of(described["newer"])]
    return [StateOf(**{**described, "new": [NewResult(**new) for new in described.get("new", ())]})]


def _windows(arrays: Arrays) -> list[str]:
    return list(json.loads(arrays[NAMES].tobytes())) if NAMES in arrays else []
