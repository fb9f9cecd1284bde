"""Copies of buckets' states on the machine that computed them.

Reading a state from the state store takes longer than all the rest of a micro-batch, since Spark sends it to Python as text. The
store decides: a copy is valid only if its token is the one in the store, so a copy from a failed attempt is never used. Copies are
in the folder that Spark makes for the files of an application, and disappear with it. Nothing that happens to a copy fails a
stream: not a full or read-only disk, not a damaged file.
"""

from __future__ import annotations

import os
import tempfile
import time
import uuid
from contextlib import suppress
from functools import cache
from pathlib import Path

from pyspark import SparkFiles

FOLDER = "sash-state"
TOKEN = 32
"""Characters of a token."""
MOST_SECONDS = 86_400
"""The age at which a copy is removed: its stream has stopped, or its bucket is idle."""


def new_token() -> str:
    """Return a unique name for a state."""
    return uuid.uuid4().hex


def write(place: str, token: str, state: bytes) -> None:
    """Write a copy of a state in place of the previous one. If that fails, the next micro-batch reads the store."""
    folder = _folder()
    try:
        folder.mkdir(exist_ok=True, mode=0o700)  # the rows of users: for this user alone
        _sweep(folder)
        handle, name = tempfile.mkstemp(dir=folder)
    except OSError:
        return
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(token.encode())
            file.write(state)
        Path(name).replace(folder / place)
    except OSError:  # for example, a full disk
        _unlink(Path(name))


def read(place: str, token: str) -> memoryview | None:
    """Return the copy of the state with a token; None if there is none."""
    try:
        copy = memoryview((_folder() / place).read_bytes())
    except OSError:
        return None
    return copy[TOKEN:] if copy[:TOKEN] == token.encode() else None


def remove(place: str) -> None:
    """Remove the copy of a state."""
    _unlink(_folder() / place)


@cache
def _sweep(folder: Path) -> None:
    """Remove old copies of stopped streams, once per process."""
    for path in folder.iterdir():
        with suppress(OSError):  # another process removed it
            if path.stat().st_mtime < time.time() - MOST_SECONDS:
                path.unlink()


def _unlink(path: Path) -> None:
    """Remove a file; a copy that stays is not used, because its token is not the one in the store."""
    with suppress(OSError):
        path.unlink()


def _folder() -> Path:
    return Path(SparkFiles.getRootDirectory()) / FOLDER
