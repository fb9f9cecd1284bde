"""Writers that are killed at any moment: the repeated micro-batch leaves the store as if nothing had happened."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time

import pytest
from helpers.pairwise import FULL
from helpers.shell import ROOT, environment

from sash.serve import open_store
from sash.serve.store import Store
from serve.made_states import made_states

NAME, RUN = "cards", "a run"
KEYS, BATCHES = 2_000, 12
PATHS = os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests")])
WRITE = """
import sys
from serve.test_kill import write_from
write_from(sys.argv[1])
"""


def state_of(card: int, number: int) -> bytes | None:
    """Return the state of a card after a micro-batch; each one deletes some cards."""
    return None if (card + number) % 7 == 0 else b"%d after %d " % (card, number) * 30


def write_from(url: str) -> None:
    """Write the micro-batches that are missing, as a stream does that starts again."""
    with open_store(url) as store:
        stored = store.find(NAME)
        first = 0 if stored is None or stored.number is None else stored.number  # repeats the last one
        print("writing", flush=True)  # noqa: T201 — the test waits for it
        for number in range(first, BATCHES):
            states = [state_of(card, number) for card in range(KEYS)]
            store.write_next(made_states(states, card=range(KEYS)), NAME, RUN, number)


def numbers_of(store: Store) -> set[int]:
    """Return the micro-batches that states in the store come from; each state must be whole."""
    codec = store.get(NAME).layout.codec
    found = set()
    keys = [codec.encode_one({"card": card}) for card in range(KEYS)]
    for card, state in enumerate(store.read(NAME, keys).states):
        if state is not None:
            number = int(state.split()[2])
            assert state == state_of(card, number)
            found.add(number)
    return found


@pytest.mark.parametrize("kills", [8 if not FULL else 40])
def test_a_killed_writer_leaves_whole_states(url: str, kills: int) -> None:
    dice = random.Random(5)
    for _ in range(kills):
        process = subprocess.Popen(
            [sys.executable, "-c", WRITE, url], env=environment(PYTHONPATH=PATHS), stdout=subprocess.PIPE
        )
        assert process.stdout is not None
        assert process.stdout.readline() == b"writing\n"
        time.sleep(dice.uniform(0, 0.08))
        process.kill()
        process.wait()
        process.stdout.close()
        with open_store(url) as store:
            stored = store.find(NAME)
            if stored is None or stored.number is None:
                continue
            numbers = numbers_of(store)
            if url.startswith("sqlite"):
                assert numbers == {stored.number}  # a transaction: all or nothing
            else:
                assert numbers <= {stored.number, stored.number + 1}  # states of a batch that is repeated
    write_from(url)
    with open_store(url) as store:
        assert store.get(NAME).number == BATCHES - 1
        assert numbers_of(store) == {BATCHES - 1}
        assert store.count(NAME) == sum(state_of(card, BATCHES - 1) is not None for card in range(KEYS))
