"""The arguments of a query, read one by one: aggregates and windows by name, and the names of columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sash.aggregates import BUILT_IN
from sash.aggregates.base import Aggregate, with_fields
from sash.aggregates.naming import result_name, shorten
from sash.durations import read_duration
from sash.expressions import ComputedColumn, as_key, is_computed
from sash.hints import counted
from sash.windows import Window


def read_aggregates(value: Any) -> dict[str, Aggregate[Any]]:
    """Return the aggregates by name. Raise TypeError or ValueError if the argument is not a dictionary or a list of them."""
    if isinstance(value, Aggregate):
        value = {value.call.alias or value.name: value}
    elif isinstance(value, list | tuple) and value:
        value = _name_aggregates(value)
    if not isinstance(value, Mapping) or not value:
        problem = "is empty" if isinstance(value, Mapping | list | tuple) else "is not a dictionary of aggregates"
        problem = "is a window; windows come second or as windows=" if isinstance(value, Window) else problem
        if callable(value) and getattr(value, "__name__", "") in BUILT_IN:
            raise TypeError(f"aggregates: {_not_an_aggregate(value)}. {_aggregate_hint(value)}")
        raise TypeError(f'aggregates={value!r} {problem}. Use aggregates={{"peak": agg.max("load")}}.')
    for name, aggregate in value.items():
        if not isinstance(name, str) or not isinstance(aggregate, Aggregate):
            problem = _not_an_aggregate(aggregate) if isinstance(name, str) else "the name is not a string"
            raise TypeError(f"aggregates: {name!r}: {problem}. {_aggregate_hint(aggregate)}")
        if len(aggregate.columns) != aggregate.inputs:
            examples = ", ".join(('"load"', '"plug"', '"x"', '"y"')[: aggregate.named_inputs])
            raise ValueError(
                f"aggregates: {name!r}: {aggregate.name} needs {counted(aggregate.named_inputs, 'column')}, but has "
                f"{len(aggregate.columns)}. Name {'it' if aggregate.named_inputs == 1 else 'them'}, as in {aggregate.name}({examples})."
            )
        if aggregate.call.alias not in (None, name):
            problem = f"has two names, this one and that of .alias({aggregate.call.alias!r})"
            raise ValueError(f"aggregates: {name!r}: {problem}. Leave one of them out.")
    return _tell_apart({name: with_fields(aggregate, alias=None) for name, aggregate in value.items()})


def _name_aggregates(value: Sequence[Any]) -> dict[str, Aggregate[Any]]:
    """Return a list of aggregates by the names that they give themselves."""
    for aggregate in value:
        if not isinstance(aggregate, Aggregate):
            raise TypeError(f"aggregates: {_not_an_aggregate(aggregate)}. {_aggregate_hint(aggregate, named=False)}")
    names = [result_name(aggregate) for aggregate in value]
    _check_unique(names, value, "aggregates", '"peak": agg.max("load")')
    return dict(zip(names, value, strict=True))


def _not_an_aggregate(value: Any) -> str:
    function = getattr(value, "__name__", "")
    return f"{function} is a function, not an aggregate" if function else f"{value!r} is not an aggregate"


def _aggregate_hint(value: Any, *, named: bool = True) -> str:
    """Return what to write: for a factory that was not called, and for the name of an aggregate, the call."""
    name = value if isinstance(value, str) else getattr(value, "__name__", "")
    if name in BUILT_IN:
        return f'Use agg.{name}("load").'
    return 'Use "peak": agg.max("load").' if named else 'Use agg.max("load").'


def _tell_apart(aggregates: Mapping[str, Aggregate[Any]]) -> dict[str, Aggregate[Any]]:
    """Return the aggregates with different names for different computed columns: native expressions may look alike.

    Names that differ in case alone are different too, as Spark ignores case.
    """
    known: dict[str, ComputedColumn] = {}

    def unique(column: str) -> str:
        if not is_computed(column):
            return column
        name, number = str(column), 1
        other = known.setdefault(name.lower(), column)
        while str(other) != name or (other.value, other.where) != (column.value, column.where):
            number += 1
            name = f"{column} ({number})"
            column = column.renamed(name)
            other = known.setdefault(name.lower(), column)
        return other

    over = {name: one.over(tuple(map(unique, one.named_columns))) for name, one in aggregates.items() if one.columns}
    return {**aggregates, **over}


def over_time(aggregates: Mapping[str, Aggregate[Any]], time: str | None) -> dict[str, Aggregate[Any]]:
    """Return the aggregates with the time column among the columns of those that read it."""
    for name, aggregate in aggregates.items():
        if time is None and aggregate.time is not None:
            raise ValueError(
                f'aggregates: {name!r}: {aggregate!r} needs a time column. Name it, as in Query(time="ts", …).'
            )
    return {name: aggregate.over(aggregate.named_columns, time or "") for name, aggregate in aggregates.items()}


def read_windows(value: Any) -> dict[str, Window]:
    """Return the windows by name. Raise TypeError or ValueError if the argument is not a window or several of them."""
    if isinstance(value, Window):
        value = {value.kind: value}
    elif isinstance(value, list | tuple) and value and all(isinstance(window, Window) for window in value):
        names = [window.result_name for window in value]
        _check_unique(names, value, "windows", '"hour": window.time("1h")')
        value = dict(zip(names, value, strict=True))
    if not isinstance(value, Mapping) or not value:
        is_empty = isinstance(value, Mapping | list | tuple) and not value
        problem = "is empty" if is_empty else "is neither a window nor a dictionary or a list of windows"
        hint = _window_hint(value)
        raise TypeError(f'windows={value!r} {problem}. Use windows={hint} or, with a name, windows={{"w": {hint}}}.')
    for name, window in value.items():
        if not isinstance(name, str) or not isinstance(window, Window):
            problem = f"{window!r} is not a window" if isinstance(name, str) else "the name is not a string"
            raise TypeError(f'windows: {name!r}: {problem}. Use windows={{"w": {_window_hint(window)}}}.')
    return dict(value)


def _window_hint(value: Any) -> str:
    """Return a window, with the argument as its length if it is one."""
    if isinstance(value, int) and not isinstance(value, bool):
        return f"window.rows({value})"
    try:
        return f'window.time("{read_duration(value, "range")}")'
    except (TypeError, ValueError):
        return 'window.time("1h")'


def _check_unique(names: list[str], members: Sequence[Any], parameter: str, example: str) -> None:
    """Raise ValueError if two members of a list have the same name."""
    for name in names:
        alike = [repr(member) for other, member in zip(names, members, strict=True) if other == name]
        if len(alike) > 1:
            raise ValueError(
                f"{parameter}: {' and '.join(alike)} are both named {name!r}. Use a dictionary to name them, as in "
                f"{parameter}={{{example}, …}}."
            )


def read_keys(value: Any) -> tuple[str, ...]:
    """Return the names of keys, in place of expressions too; None is no key."""
    value = () if value is None else value
    return read_columns([as_key(key) for key in value] if isinstance(value, list | tuple) else as_key(value), "by")


def read_columns(value: Any, parameter: str) -> tuple[str, ...]:
    """Return the names of columns. Raise TypeError or ValueError if they are not names, or not different."""
    value = () if value is None else value
    columns = (value,) if isinstance(value, str) or not isinstance(value, Iterable) else tuple(value)
    if not all(isinstance(column, str) and column for column in columns):
        raise TypeError(f"{parameter}={shorten(value)} must be the name of a column, or a list of names.")
    if len(set(columns)) != len(columns):
        raise ValueError(f"{parameter}={value!r} names a column twice. Name it once.")
    return columns


def read_time(value: Any) -> str | None:
    """Return the name of the time column; None if there is none. Raise TypeError if it is not a name."""
    if value is not None and (not isinstance(value, str) or not value):
        raise TypeError(
            f'time={value!r} is not the name of a column. Name the column that orders the rows, as in time="ts".'
        )
    return value or None
