"""What tells a query apart from others, in words: state that one has kept is for no other."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from functools import partial
from types import FunctionType
from typing import Any

from sash.aggregates.base import Aggregate
from sash.kernels.functions import fingerprint
from sash.plan.declared import Declared
from sash.windows import Window
from sash.windows.by_function import Custom

Described = dict[str, Any]
CODE = "code"
"""Under this name is what only the same Python compiles alike."""


def describe(declared: Declared, columns: Mapping[str, str], **more: Any) -> Described:
    """Return a query in words and numbers, part by part, as JSON has them.

    >>> from sash import agg, window
    >>> from sash.plan.declared import declare
    >>> declared = declare(agg.max("load"), window.rows(3), (), "ts", (), "auto", "throughput", "auto", None)
    >>> describe(declared, {"ts": "bigint", "load": "double"}, buckets=64)["aggregates"]
    {'max': 'max(load)'}
    """
    return {
        "aggregates": {name: _aggregate(one) for name, one in declared.aggregates.items()},
        "windows": {name: repr(window) for name, window in declared.windows.items()},
        "by": list(declared.by),
        "time": declared.time,
        "order_by": list(declared.order_by),
        "columns": dict(columns),
        **more,
        CODE: {
            "python": sys.implementation.cache_tag,
            "aggregates": {name: code for name, one in declared.aggregates.items() if (code := _aggregate_code(one))},
            "windows": {name: code for name, window in declared.windows.items() if (code := _window_code(window))},
        },
    }


def changes(then: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return what is different, a phrase for each part.

    >>> changes({"buckets": 64, "by": ["k"]}, {"buckets": 32, "by": ["k"]})
    ['buckets was 64, and is 32']
    """
    found = []
    for part in {**then, **now}:
        if part == CODE:
            continue
        old, new = then.get(part), now.get(part)
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            found += [f"{part}: {said}" for said in _entries(old, new)]
        elif old != new:
            found.append(f"{part} was {_shown(old)}, and is {_shown(new)}")
    then_code, now_code = then.get(CODE, {}), now.get(CODE, {})
    if not found and then_code.get("python") == now_code.get("python"):
        for part in ("aggregates", "windows"):
            old, new = then_code.get(part, {}), now_code.get(part, {})
            found += [f"{part}: the functions of {name} are others" for name in new if old.get(name) != new[name]]
    return found


def _entries(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    for name in {**old, **new}:
        if name not in new:
            yield f"{name} = {old[name]} is gone"
        elif name not in old:
            yield f"{name} = {new[name]} is new"
        elif old[name] != new[name]:
            yield f"{name} was {old[name]}, and is {new[name]}"
    if list(old) != list(new) and set(old) == set(new):
        yield f"their order was {', '.join(old)}, and is {', '.join(new)}"


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "nothing"
    return "nothing" if value is None else str(value)


def _aggregate(aggregate: Aggregate[Any]) -> str:
    """Return an aggregate as it is written, with the numbers that it was made with."""
    numbers = ", ".join(dict.fromkeys(repr(number) for each in _functions(aggregate) for number in _constants(each)))
    return f"{aggregate.label} of {numbers}" if numbers and aggregate.is_built_in else aggregate.label


def _functions(aggregate: Aggregate[Any]) -> list[Any]:
    made = (aggregate.lift, aggregate.combine, aggregate.lower, aggregate.inverse, aggregate.rank, aggregate.between)
    return [function for function in made if function is not None]


def _constants(function: Any) -> Iterator[Any]:
    """Yield the numbers and words that a function was made with."""
    if isinstance(function, partial):
        yield from (value for value in (*function.args, *function.keywords.values()) if _is_plain(value))
        yield from _constants(function.func)
    for cell in getattr(function, "__closure__", None) or ():
        if _is_plain(cell.cell_contents):
            yield cell.cell_contents
        elif isinstance(cell.cell_contents, FunctionType | partial):
            yield from _constants(cell.cell_contents)


def _is_plain(value: Any) -> bool:
    if isinstance(value, tuple | list):
        return all(map(_is_plain, value))
    return isinstance(value, int | float | str | bytes)


def _aggregate_code(aggregate: Aggregate[Any]) -> str:
    """Return what tells one's own lift and combine apart; lower may change, and those of Sash be written anew."""
    return "" if aggregate.is_built_in else _hash([aggregate.lift, aggregate.combine])


def _window_code(window: Window) -> str:
    return _hash(list(_parts(window.discretize))) if isinstance(window, Custom) else ""


def _parts(made: Any) -> Iterator[Any]:
    """Yield what tells apart a function, a class whose objects are functions, or such an object."""
    if isinstance(made, FunctionType | partial):
        yield made
        return
    own = vars(made if isinstance(made, type) else type(made))
    yield from (own[name] for name in sorted(own) if isinstance(own[name], FunctionType) or _is_plain(own[name]))
    if not isinstance(made, type):
        yield from (value for _, value in sorted(getattr(made, "__dict__", {}).items()) if _is_plain(value))


def _hash(functions: list[Any]) -> str:
    return fingerprint(*functions, any_value=True)
