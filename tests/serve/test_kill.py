"""Writers that are killed: the repeated micro-batch leaves the store as if nothing had happened."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pyarrow as pa
import pytest
from helpers.pairwise import FULL
from helpers.shell import ROOT, environment

from sash.serve import open_store
from sash.serve.store import Store
from serve.made_states import made_states

NAME, RUN = "cards", "a run"
KEYS, PIECES, BATCHES = 2_000, 4, 200
PATHS = os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests")])
WRITE = """
import sys
from serve.test_kill import write_from
write_from(*sys.argv[1:2], *map(int, sys.argv[2:]))
"""


def state_of(card: int, number: int) -> bytes | None:
    """Return the state of a card after a micro-batch; each one deletes some cards."""
    return None if (card + number) % 7 == 0 else b"%d after %d " % (card, number) * 30


def pieces_of(number: int, deadly: int | None) -> Iterator[pa.RecordBatch]:
    """Yield the states of a micro-batch in pieces. Kill this process before a piece, or at the end."""
    states = [state_of(card, number) for card in range(KEYS)]
    table = made_states(states, card=range(KEYS))
    for piece in range(PIECES + 1):
        if piece == deadly:
            os.kill(os.getpid(), signal.SIGKILL)
        yield from table.slice(piece * KEYS // PIECES, KEYS // PIECES).to_batches()


def write_from(url: str, last: int, deadly: int | None = None) -> None:
    """Write the micro-batches up to `last` as a stream does that starts again: the newest one is repeated."""
    with open_store(url) as store:
        stored = store.find(NAME)
        first = 0 if stored is None or stored.number is None else stored.number
        schema = made_states([], card=pa.array([], pa.int64())).schema
        for number in range(first, last + 1):
            pieces = pieces_of(number, deadly if number == last else None)
            store.write_next(pa.RecordBatchReader.from_batches(schema, pieces), NAME, RUN, number)
            print("written", number, flush=True)  # noqa: T201 — the test waits for it


def start(url: str, *arguments: int) -> subprocess.Popen[bytes]:
    """Start a writer in a process of its own."""
    command = [sys.executable, "-c", WRITE, url, *map(str, arguments)]
    return subprocess.Popen(command, env=environment(PYTHONPATH=PATHS), stdout=subprocess.PIPE)


def numbers_of(store: Store) -> set[int]:
    """Return the micro-batches that states in the store come from. Each state must be whole."""
    codec = store.get(NAME).layout.codec
    found = set()
    keys = [codec.encode_one({"card": card}) for card in range(KEYS)]
    for card, state in enumerate(store.read(NAME, keys).states):
        if state is not None:
            number = int(state.split()[2])
            assert state == state_of(card, number)
            found.add(number)
    return found


def check_whole(store: Store, number: int) -> None:
    """Check that a store has the states of a micro-batch, and no others."""
    assert store.get(NAME).number == number
    assert numbers_of(store) == {number}
    assert store.count(NAME) == sum(state_of(card, number) is not None for card in range(KEYS))


MOMENTS = [(number, piece) for number in (0, 3) for piece in range(PIECES + 1)]
QUICK = [(0, 2), (3, 0), (3, 2), (3, PIECES)]


@pytest.mark.parametrize(("number", "piece"), MOMENTS if FULL else QUICK)
def test_a_writer_that_is_killed_inside_a_batch(url: str, number: int, piece: int) -> None:
    writer = start(url, number, piece)
    writer.communicate()
    assert writer.returncode == -signal.SIGKILL
    with open_store(url) as store:
        stored = store.find(NAME)
        assert (None if stored is None else stored.number) == (number - 1 if number else None)
        if number and url.startswith("sqlite"):
            check_whole(store, number - 1)  # a transaction: nothing of it is left
        elif number:
            assert numbers_of(store) == ({number - 1, number} if 0 < piece < PIECES else {number - (piece == 0)})
    write_from(url, number)
    with open_store(url) as store:
        check_whole(store, number)


@pytest.mark.full
def test_a_writer_that_is_killed_at_any_time(url: str) -> None:
    dice = random.Random(5)
    for _ in range(40 if FULL else 4):
        writer = start(url, BATCHES)
        assert writer.stdout is not None
        assert writer.stdout.readline().startswith(b"written")
        time.sleep(dice.uniform(0, 0.1))
        writer.kill()
        writer.communicate()
        with open_store(url) as store:
            number = store.get(NAME).number
            assert number is not None
            numbers = numbers_of(store)
            assert numbers == {number} if url.startswith("sqlite") else numbers <= {number, number + 1}
    with open_store(url) as store:
        last = (store.get(NAME).number or 0) + 1
        write_from(url, last)
        check_whole(store, last)
