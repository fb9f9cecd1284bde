"""The queries of `sash serve`: [NAME=]QUERY, where QUERY is a text, a file with one, or module:query."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from sash.cli.text_query import read_text
from sash.nested_query import NestedQuery
from sash.query import Query
from sash.sql_query import sql

NAMED = re.compile(r"([\w.-]+)=(.+)", re.DOTALL)
IN_MODULE = re.compile(r"[\w.]+:\w+")


def read_queries(arguments: Sequence[str], time: str | None) -> dict[str, Query]:
    """Return queries by name. Raise ValueError if a name is missing or occurs twice."""
    queries: dict[str, Query] = {}
    for argument in arguments:
        name, query = read_query(argument, time)
        if name in queries:
            raise ValueError(f"Two queries have the name {name!r}. Name them: sash serve first={argument} …")
        queries[name] = query
    return queries


def read_query(argument: str, time: str | None) -> tuple[str, Query]:
    """Return the name and the query of an argument.

    The name of a file or of a variable is that of the query, unless there is one before it.

    >>> read_query("cards=SELECT count(*) AS n FROM t [PARTITION BY card RANGE 1 HOUR ON ts]", None)
    ('cards', Query(by="card", time="ts", windows=time("1h"), aggregates={"n": count()}))
    """
    named = NAMED.fullmatch(argument)
    name, rest = (named[1], named[2]) if named else ("", argument)
    if IN_MODULE.fullmatch(rest):
        return name or rest.partition(":")[2], query_of_module(rest)
    text = read_text(rest)
    if not name and text == rest:
        advice = "Name it as its states were written, as in card_features='SELECT …'."
        raise ValueError(f"The query {rest!r} has no name. {advice}")
    query = sql(text, time)
    if isinstance(query, NestedQuery):
        raise ValueError(f"The query {name or rest!r} has several SELECTs, and features come from one.")
    return name or Path(rest).stem, query


def query_of_module(place: str) -> Query:
    """Return the query that a variable of a module holds. Modules of the current folder are found, as with `python -m`."""
    module, _, variable = place.partition(":")
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        found = getattr(import_module(module), variable)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise
        raise ValueError(f"There is no module {module!r} for {place!r}, in this folder or installed.") from error
    except AttributeError as error:
        raise ValueError(f"The module {module!r} has no variable {variable!r}.") from error
    if not isinstance(found, Query):
        raise ValueError(f"{place} is {type(found).__name__}, not a query.")
    return found
