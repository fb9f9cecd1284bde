"""Lookups: what `query.lookup` calls. It finds the header of a state, reads times, and holds one PointLookup for each header."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from numbers import Integral
from typing import Any

import pyarrow as pa

from sash.engine.prepare import Recent
from sash.engine.time_column import TimeColumn, has_zone, nanoseconds_between, nanoseconds_of
from sash.lookup.point_lookup import PointLookup
from sash.plan.query_spec import QuerySpec
from sash.state.key_layout import END, damaged, layout_from

MOST_HEADERS = 8
State = bytes | bytearray | memoryview | None


class Lookups:
    """The lookups of a query. Threads may share it."""

    def __init__(self, query: QuerySpec, headers: Mapping[bytes, bytes]) -> None:
        self.query = query
        self.headers = headers
        """The headers that the query has made in this process, by id."""
        self._known: Recent[bytes, PointLookup] = Recent(MOST_HEADERS)

    def features(self, state: State | Sequence[State], now: Any, header: bytes | None) -> Any:
        """Return the features of a key, or of several keys."""
        if state is None or isinstance(state, bytes | bytearray | memoryview):
            encoded = _as_bytes(state)
            lookup = self._lookup([encoded], header)
            return lookup.features([encoded], [read_now(lookup.time, now)])[0]
        if not isinstance(state, list | tuple):
            raise TypeError(
                f"lookup: a state is bytes or None, or several in a list, not {type(state).__name__}. Pass the value of the column `state`."
            )
        states = list(map(_as_bytes, state))
        lookup = self._lookup(states, header)
        if not isinstance(now, list | tuple):
            return lookup.features(states, [read_now(lookup.time, now)] * len(states))
        if len(now) != len(states):
            raise ValueError(
                f"lookup: there are {len(states)} states, but {len(now)} times. Pass one time for all, or one for each."
            )
        return lookup.features(states, [read_now(lookup.time, moment) for moment in now])

    def _lookup(self, states: Sequence[bytes | None], header: bytes | None) -> PointLookup:
        """Return the lookup of a header, prepared once."""
        if not isinstance(header, bytes | bytearray | memoryview | None):
            advice = "Pass the bytes of query.state_header(stream); base64, as in the metadata of the column, has to be decoded"
            raise TypeError(f"lookup: header= is bytes, not {type(header).__name__}. {advice}.")
        header = self._header(states) if header is None else bytes(header)
        lookup = self._known.get(header)
        if lookup is None:
            lookup = self._known[header] = PointLookup(self.query, layout_from(header))
        return lookup

    def _header(self, states: Sequence[bytes | None]) -> bytes:
        """Return the header that a state names, if this query has made it."""
        known = next((state for state in states if state is not None), None)
        if known is not None and len(known) < END.size:
            raise damaged()
        found = list(self.headers.values())[-1:] if known is None else [self.headers.get(known[: END.size])]
        if not found or found[0] is None:
            raise ValueError(
                "lookup: this query does not know the header of the state. Pass the one that was stored with it, header=…, or "
                "header=query.state_header(stream)."
            )
        return found[0]


def _as_bytes(state: Any) -> bytes | None:
    if state is None or isinstance(state, bytes):
        return state
    if isinstance(state, bytearray | memoryview):
        return bytes(state)
    raise TypeError(
        f"lookup: a state is bytes or None, not {type(state).__name__}. Pass the value of the column `state`."
    )


def read_now(time: TimeColumn, now: Any) -> int:
    """Return a time in ticks of a time column. Raise TypeError or ValueError if it is not a time of this column."""
    try:
        return time.check_range(to_ticks(time, now))
    except ValueError as error:
        raise ValueError(f"lookup: now={now!r} is out of range. {error}") from error


def to_ticks(time: TimeColumn, now: Any) -> int:
    """Return a time in ticks of a time column, rounded down. Raise TypeError if it is not a time of this column.

    >>> from datetime import datetime
    >>> from sash.engine.time_column import time_column
    >>> to_ticks(time_column("ts", pa.timestamp("ms")), datetime(1970, 1, 1, 0, 0, 2))
    2000
    """
    if time.tick is None:
        if isinstance(now, Integral) and not isinstance(now, bool):
            return int(now)
        raise TypeError(f"lookup: now={now!r} must be an integer, as the time column {time.name!r} holds integers.")
    if pa.types.is_duration(time.type) and isinstance(now, timedelta):
        return nanoseconds_between(now) // time.tick
    try:
        since = nanoseconds_of(now)
    except TypeError:
        since = None
    if since is None or pa.types.is_duration(time.type):
        example = "datetime.now(UTC)" if time.unit.zone else "datetime(2026, 3, 1, 12, 30)"
        advice = "Pass a timedelta" if pa.types.is_duration(time.type) else f"Pass a datetime, as {example}"
        raise TypeError(f"lookup: now={now!r} is not a time of column {time.name!r}, which is {time.type}. {advice}.")
    if has_zone(now) != bool(time.unit.zone):
        has, needs = ("no zone", "one") if time.unit.zone else ("a zone", "none")
        raise TypeError(
            f"lookup: now={now!r} has {has}, but the time column {time.name!r} is {time.type}, which has {needs}."
        )
    return since // time.tick
