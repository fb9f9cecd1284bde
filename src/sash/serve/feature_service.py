"""The features of keys, from stored states: what the lookup service answers, without HTTP."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sash.columns.json_values import plain
from sash.hints import did_you_mean, list_names
from sash.query import Query
from sash.serve.request_time import epoch, read_moment
from sash.serve.store import Store
from sash.serve.stored_query import StoredQuery


class StatesError(RuntimeError):
    """The states in the store do not belong to the query that is served."""


class ServedQuery:
    """A query whose states are in a store."""

    def __init__(self, name: str, query: Query, store: Store) -> None:
        """Raise LookupError if the store has no such states, StatesError if they belong to another query."""
        self.name, self.query, self.store = name, query, store
        self._lock = threading.Lock()
        self.stored = self._load()

    def _load(self) -> StoredQuery:
        """Return what the store remembers of the query. A lookup of no state prepares the query, and checks that the header is its own."""
        stored = self.store.get(self.name)
        try:
            self.query.lookup(None, now=epoch(stored.layout.time_type), header=stored.layout.header)
        except (TypeError, ValueError) as error:
            problem = f"The states of {self.name!r} in {self.store.url} do not belong to this query."
            raise StatesError(f"{problem} {error}") from error
        return stored

    @property
    def key_names(self) -> list[str]:
        """The names of the key columns."""
        return list(self.stored.layout.codec.schema.names)

    def features(self, keys: Sequence[Mapping[str, Any]], now: Any) -> list[dict[str, Any]]:
        """Return the answer for each key. Raise ValueError if a key or the time does not fit."""
        stored = self.stored
        encoded = [stored.layout.codec.encode_one(key) for key in keys]
        found = self.store.read(self.name, encoded)
        if found.digest != stored.layout.digest:  # the states were dropped, and another stream has written
            with self._lock:
                self.stored = self._load()
            return self.features(keys, now)
        moment = read_moment(now, stored.layout.time_type)
        try:
            rows = self.query.lookup(found.states, now=moment, header=stored.layout.header)
        except ValueError as error:
            if now is not None:  # it is before the states
                raise
            raise StatesError(str(error)) from error
        return [
            {"known": state is not None, "now": plain(moment), "features": plain(row)}
            for state, row in zip(found.states, rows, strict=True)
        ]


class FeatureService:
    """Several queries over one store."""

    def __init__(self, queries: Mapping[str, Query], store: Store) -> None:
        self.store = store
        self.queries = {name: ServedQuery(name, query, store) for name, query in queries.items()}

    def answer(
        self, keys: Sequence[Mapping[str, Any]], now: Any = None, names: Sequence[str] = ()
    ) -> list[dict[str, Any]]:
        """Return, for each key, the answers of the queries by name.

        Without names, the queries answer whose key columns are all given. Raise ValueError if a name, a column or a value is wrong.
        """
        answers: list[dict[str, Any]] = [{} for _ in keys]
        for query, places in self._plan(keys, names):
            chosen = [{name: keys[place][name] for name in query.key_names} for place in places]
            for place, found in zip(places, query.features(chosen, now), strict=True):
                answers[place][query.name] = found
        return answers

    def _plan(self, keys: Sequence[Mapping[str, Any]], names: Sequence[str]) -> Iterator[tuple[ServedQuery, list[int]]]:
        """Yield each query with the places of the keys that it answers."""
        places: dict[str, list[int]] = {}
        for place, key in enumerate(keys):
            for name in self._answering(key, names):
                places.setdefault(name, []).append(place)
        for name, answered in places.items():
            yield self.queries[name], answered

    def _answering(self, key: Mapping[str, Any], names: Sequence[str]) -> list[str]:
        """Return the names of the queries that answer a key. Raise ValueError if a column is missing, or belongs to none."""
        for name in names:
            if name not in self.queries:
                raise ValueError(f"There is no query {name!r}.{did_you_mean(name, self.queries)} {self._served}")
        chosen = [self.queries[name] for name in dict.fromkeys(names) or self.queries]
        answering = [query for query in chosen if key.keys() >= set(query.key_names)]
        used = {column for query in answering for column in query.key_names}
        known = {column for query in chosen for column in query.key_names}
        for column in key:
            if column not in known:
                raise ValueError(f"No query has the key column {column!r}.{did_you_mean(column, known)} {self._served}")
        missing = [query for query in chosen if query not in answering]
        if missing and (names or not answering or key.keys() - used):
            lacking = [column for column in missing[0].key_names if column not in key]
            raise ValueError(f"{missing[0].name!r} needs the key column {list_names(lacking)}. {self._served}")
        return [query.name for query in answering]

    @property
    def _served(self) -> str:
        """A sentence with the queries and their keys."""
        listed = (f"{name} ({', '.join(query.key_names) or 'without a key'})" for name, query in self.queries.items())
        return f"The queries and their keys are: {', '.join(listed)}."

    def check(self) -> list[str]:
        """Return the names of the queries, if the store has all of them. Raise what the store raises."""
        for query in self.queries.values():
            self.store.get(query.name)
        return list(self.queries)

    def describe(self) -> dict[str, Any]:
        """Return the queries with their key columns and types, and the type of their time."""
        return {
            name: {
                "keys": {field.name: str(field.type) for field in query.stored.layout.codec.schema},
                "time": str(query.stored.layout.time_type),
            }
            for name, query in self.queries.items()
        }
