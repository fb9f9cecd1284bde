"""The fingerprint of a query: a stream continues only from the state of the same query."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from functools import partial
from types import FunctionType
from typing import Any

from sash.aggregates.base import Aggregate
from sash.aggregates.parts import Ranking
from sash.durations import Duration, read_duration, standard_text
from sash.kernels.function_identity import identify
from sash.plan.query_spec import QuerySpec
from sash.windows import Window
from sash.windows.by_function import is_constant

Fingerprint = dict[str, Any]
"""A query, part by part, as JSON."""
AGGREGATES, WINDOWS = "aggregates", "windows"
KEYS = "keys"
"""What computes keys, if expressions of PySpark do: their names do not tell."""
CODE = "code"
"""The entry for user-written functions, which only the same version of Python compiles to the same code."""


def fingerprint_query(
    declared: QuerySpec, columns: Mapping[str, str], functions: Mapping[str, str] | None = None, **more: Any
) -> Fingerprint:
    """Return the fingerprint of a query, with the types of its columns.

    `functions` are hashes of the user-written functions that compute columns and keys, by their names.

    >>> from sash import agg, window
    >>> from sash.plan.query_spec import parse_query
    >>> declared = parse_query(agg.max("load"), window.rows(3), time="ts")
    >>> fingerprint_query(declared, {"ts": "bigint", "load": "double"}, buckets=64)["aggregates"]
    {'max': 'max(load)'}
    """
    functions = functions or {}
    keys = {name: functions[name] for name in declared.by if name in functions}
    return {
        AGGREGATES: {name: _aggregate(aggregate) for name, aggregate in declared.aggregates.items()},
        WINDOWS: {name: window.standard_text for name, window in declared.windows.items()},
        "by": list(declared.by),
        "time": declared.time,
        "order_by": list(declared.order_by),
        "columns": dict(columns),
        **more,
        CODE: {
            "python": sys.implementation.cache_tag,
            "aggregates": {
                name: code
                for name, aggregate in declared.aggregates.items()
                if (code := _aggregate_code(aggregate, functions))
            },
            "windows": {name: code for name, window in declared.windows.items() if (code := _window_code(window))},
            **({KEYS: keys} if keys else {}),
        },
    }


def describe_state(kinds: Iterable[str], slicing: str) -> Fingerprint:
    """Return the part of a fingerprint that says what the state holds, and how it cuts slices.

    >>> describe_state(["slices", "rows"], "auto")
    {'state': 'slices, rows, auto'}
    """
    named = ", ".join(sorted(kinds, reverse=True))
    return {"state": named if named == "rows" else f"{named}, {slicing}"}


def changes(then: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return the differences between two fingerprints, a phrase for each.

    >>> changes({"buckets": 64, "by": ["k"]}, {"buckets": 32, "by": ["k"]})
    ['buckets: 64 became 32']
    """
    found = []
    for part in {**then, **now}:
        if part == CODE:
            continue
        old, new = then.get(part), now.get(part)
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            found += [f"{part}: {said}" for said in _entries(old, new)]
        elif old != new:
            found.append(f"{part}: {_shown(old)} became {_shown(new)}")
    return found or changed_functions(then, now, ("aggregates", "windows", KEYS))


def changed_functions(then: Mapping[str, Any], now: Mapping[str, Any], parts: Sequence[str]) -> list[str]:
    """Return which parts of a query have other user-written functions, a phrase for each; none if Python has another version."""
    then_code, now_code = then.get(CODE, {}), now.get(CODE, {})
    if then_code.get("python") != now_code.get("python"):
        return []
    found = []
    for part in parts:
        old, new = then_code.get(part, {}), now_code.get(part, {})
        changed = [name for name in new if old.get(name) != new[name]]
        found += [f"{part[:-1]} {name!r}: its functions changed" for name in changed]
    return found


def _entries(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    for name in {**old, **new}:
        if name not in new:
            yield f"{name} = {old[name]} was removed"
        elif name not in old:
            yield f"{name} = {new[name]} was added"
        elif old[name] != new[name]:
            yield f"{name}: {old[name]} became {new[name]}"
    if list(old) != list(new) and set(old) == set(new):
        yield f"their order changed from {', '.join(old)} to {', '.join(new)}"


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "nothing"
    return "nothing" if value is None else str(value)


def _aggregate(aggregate: Aggregate[Any]) -> str:
    """Return the call that makes an aggregate, with the constants of its functions."""
    constants = [number for each in _functions(aggregate) for number in _constants(each)]
    duration = None if aggregate.time is None else aggregate.time.duration
    given = [_standard(value, duration) for value in aggregate.call.keywords.values()]
    numbers = ", ".join(dict.fromkeys(map(repr, (*constants, *given))))
    return f"{aggregate.label} of {numbers}" if numbers and aggregate.is_built_in else aggregate.label


def _standard(value: Any, duration: Duration | None) -> Any:
    """Return an argument of an aggregate; if it is its duration, in the text that all equal durations have."""
    is_duration = duration is not None and isinstance(value, str | timedelta) and read_duration(value, "") == duration
    return standard_text(duration) if duration is not None and is_duration else value


def _functions(aggregate: Aggregate[Any]) -> list[Any]:
    ranking = aggregate.laws.ranked or Ranking()
    functions = (aggregate.lift, aggregate.combine, aggregate.lower, aggregate.inverse, ranking.rank, ranking.between)
    return [function for function in functions if function is not None]


def _constants(function: Any) -> Iterator[Any]:
    """Yield the numbers and strings in the closure or the bound arguments of a function."""
    if isinstance(function, partial):
        yield from (value for value in (*function.args, *function.keywords.values()) if is_constant(value))
        yield from _constants(function.func)
    for cell in getattr(function, "__closure__", None) or ():
        if is_constant(cell.cell_contents):
            yield cell.cell_contents
        elif isinstance(cell.cell_contents, FunctionType | partial):
            yield from _constants(cell.cell_contents)


def _aggregate_code(aggregate: Aggregate[Any], functions: Mapping[str, str]) -> str:
    """Return a hash of user-written lift and combine, and of the functions that compute columns.

    Lower is not part of the state, so it may change.
    """
    code = "" if aggregate.is_built_in else identify(aggregate.lift, aggregate.combine)
    computed = [functions[column] for column in aggregate.columns if column in functions]
    return identify(code, *computed) if computed else code


def _window_code(window: Window) -> str:
    return identify(*window.memory.code) if window.memory.code else ""


def check_same_query(then: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Raise ValueError if a state belongs to a different query."""
    if found := changes(then, now):
        raise ValueError(
            f"The checkpoint belongs to a different query: {'; '.join(found)}. Run the query that wrote the checkpoint, or "
            "use a new checkpoint. If only aggregates and windows changed, run(stream, evolve=True) continues from it."
        )
