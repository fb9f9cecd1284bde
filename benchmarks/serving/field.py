"""Checks and times the cases: fills stores once, compares features with those of labels, then sends requests."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.case import Contestant
from benchmarks.serving.cards import CARDS, END, expected
from benchmarks.serving.case import RequestCase, ServingCase, SizeCase, StateCase
from benchmarks.serving.cases import CONTENT, FILE, LOOKUP, MEDIAN, READ, SLOW, STATE, STORES, WRITE
from benchmarks.serving.stores import NAME, ROOT, TOKEN, fill, serving, store_url
from sash.serve import open_store
from sash.serve.store import Store
from sash.state.key_layout import layout_from

NOW = END + 600
"""Ten minutes after the last event."""
ASKED = 2_000
"""Keys whose lookups are timed one by one."""
TIME_BYTES = COUNT_BYTES = 8
"""Of a row or slice; and of each pass in a slice, for the number of values."""


class ServingField:
    """Stores with states, and what they are compared with."""

    def __init__(self, case: ServingCase) -> None:
        self.case = case
        self.compiled: dict[str, float] = {}

    def counted(self, contestant: Contestant) -> int:  # noqa: ARG002 — all have the same keys
        """Return the number of keys."""
        return self.case.rows

    @contextmanager
    def filled(self, kind: str) -> Iterator[tuple[str, list[float]]]:
        """Yield the URL of a store with all states, and how long each key took in each write."""
        with tempfile.TemporaryDirectory(prefix="sash-serving-") as folder, store_url(kind, Path(folder)) as url:
            yield url, fill(url, self.case.rows)

    def sample(self) -> list[int]:
        """Return some cards. They are of one block, whose events are made again for each."""
        return np.random.default_rng(3).integers(0, min(self.case.rows, 1_000), self.case.checked).tolist()  # type: ignore[no-any-return]


class RequestField(ServingField):
    """Requests over HTTP: the median and the 99th percentile of each run of the load generator."""

    case: RequestCase

    def measure(self, repeats: int) -> dict[str, list[float]]:
        """Return the seconds of each contestant in each repeat."""
        found: dict[str, list[float]] = {one.name: [] for one in self.case.contestants}
        for kind in STORES:
            with self.filled(kind) as (url, _), serving(url) as port:
                self.check(port)
                self.send(port, min(self.case.seconds, 3))  # the first requests prepare
                for _ in range(repeats):
                    seconds = self.send(port, self.case.seconds)
                    found[f"{kind}, {MEDIAN}"].append(float(np.median(seconds)))
                    found[f"{kind}, {SLOW}"].append(float(np.quantile(seconds, 0.99)))
        return found

    def check(self, port: int) -> None:
        """Raise AssertionError if features differ from those of labels."""
        moment = datetime.fromtimestamp(NOW, UTC).isoformat().replace("+00:00", "Z")
        connection = HTTPConnection("127.0.0.1", port, timeout=30)
        for card in self.sample():
            path = f"/features?card={card}&now={moment}"
            connection.request("GET", path, headers={"Authorization": f"Bearer {TOKEN}"})
            answer = json.loads(connection.getresponse().read())
            compare(answer["results"][NAME]["features"], expected(card, NOW, self.case.rows), self.case.tolerance)
        connection.close()

    def send(self, port: int, seconds: float) -> list[float]:
        """Return how long each request took, of some seconds of load from another process."""
        moment = datetime.fromtimestamp(NOW, UTC).isoformat().replace("+00:00", "Z")
        options = [port, TOKEN, self.case.rate, seconds, self.case.rows, moment]
        command = [sys.executable, "-m", "benchmarks.serving.load", *map(str, options)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        answer = json.loads(done.stdout)
        if answer["failed"]:
            raise AssertionError(f"Requests have failed: {answer['failed'][0]}")
        return list(answer["seconds"])


class StateField(ServingField):
    """What the parts of a lookup take."""

    case: StateCase

    def measure(self, repeats: int) -> dict[str, list[float]]:
        """Return the seconds of each contestant in each repeat."""
        found: dict[str, list[float]] = {one.name: [] for one in self.case.contestants}
        now = datetime.fromtimestamp(NOW, UTC)
        for kind in STORES:
            with self.filled(kind) as (url, written), open_store(url) as store:
                found[f"{kind}, {WRITE}"] = [nanoseconds / 1e9 for nanoseconds in written]
                stored = store.get(NAME)
                cards = np.random.default_rng(5).integers(0, self.case.rows, ASKED).tolist()
                keys = [stored.layout.codec.encode_one({"card": card}) for card in cards]
                states = [store.read(NAME, [key]).states[0] for key in keys]
                for card in self.sample():
                    features = CARDS.lookup(store.state(NAME, {"card": card}), now=now, header=stored.layout.header)
                    compare(features, expected(card, NOW, self.case.rows), self.case.tolerance)
                read = partial(read_one, store)
                look_up = partial(CARDS.lookup, now=now, header=stored.layout.header)
                found[f"{kind}, {READ}"] = [median_of(read, keys) for _ in range(repeats)]
                if kind == STORES[0]:
                    found[LOOKUP] = [median_of(look_up, states) for _ in range(repeats)]
        return found


class SizeField(ServingField):
    """What a key takes in a file of SQLite, and what its state does."""

    case: SizeCase

    def measure(self, repeats: int) -> dict[str, list[float]]:  # noqa: ARG002 — sizes do not vary
        """Return the bytes of each contestant."""
        with self.filled(STORES[0]) as (url, _):
            file = Path(url.removeprefix("sqlite:///")).stat().st_size / self.case.rows
            with open_store(url) as store:
                layout = layout_from(store.get(NAME).layout.header)
                cards = range(min(self.case.rows, ASKED))
                states = [store.state(NAME, {"card": card}) or b"" for card in cards]
        sizes = [layout.start(state)[1:] for state in states]
        row = TIME_BYTES + sum(dtype.byte_width for dtype in layout.types)
        partials = sum(COUNT_BYTES + sum(field.itemsize for field in fields) for fields in layout.fields)
        content = float(np.mean([rows * row + slices * (TIME_BYTES + partials) for rows, slices in sizes]))
        return {CONTENT: [content], STATE: [float(np.mean([len(state) for state in states]))], FILE: [file]}


def read_one(store: Store, key: bytes) -> object:
    """Read a state."""
    return store.read(NAME, [key])


def median_of(call: Callable[[Any], object], arguments: Sequence[object]) -> float:
    """Return the median of the seconds of calls."""
    seconds = []
    for argument in arguments:
        start = time.perf_counter()
        call(argument)
        seconds.append(time.perf_counter() - start)
    return float(np.median(seconds))


def compare(features: Mapping[str, object], right: Mapping[str, object], tolerance: float) -> None:
    """Raise AssertionError if features differ."""
    if features.keys() != right.keys():
        raise AssertionError(f"The features are {list(features)}, not {list(right)}.")
    for name, value in right.items():
        found = features[name]
        if found != value and not np.isclose(float(str(found)), float(str(value)), rtol=tolerance, atol=0):
            raise AssertionError(f"{name} is {found}, not {value}.")
