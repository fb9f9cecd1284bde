"""A copy of a bucket's state on the machine that has computed it.

Reading it from the state store takes longer than all the rest: Spark sends it to Python as text. The store holds the truth: a copy counts only if it has the token that the store has. Copies lie in the folder that Spark
makes for an application's files, and go with it.
"""

from __future__ import annotations

import mmap
import os
import tempfile
import time
import uuid
from pathlib import Path

from pyspark import SparkFiles

FOLDER = "sash-state"
TOKEN = 32
"""Characters of a token."""
LONG = 86_400
"""Seconds after which a copy is not used any more: its stream has stopped, or its bucket is idle."""
_swept: set[Path] = set()


def new_token() -> str:
    """Return a name for a state that no other has."""
    return uuid.uuid4().hex


def write(place: str, token: str, state: bytes) -> None:
    """Keep a copy of a state, in the place of the one before; where that fails, there is none."""
    folder = _folder()
    try:
        folder.mkdir(exist_ok=True)
        _sweep(folder)
        handle, name = tempfile.mkstemp(dir=folder)
    except OSError:
        return
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(token.encode())
            file.write(state)
        Path(name).replace(folder / place)
    except OSError:  # as a full disk
        Path(name).unlink(missing_ok=True)


def read(place: str, token: str) -> memoryview | None:
    """Return the state that goes by a token, if there is a copy."""
    try:
        with (_folder() / place).open("rb") as file:
            mapped = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError):
        return None
    return mapped[TOKEN:] if bytes(mapped[:TOKEN]) == token.encode() else None


def forget(place: str) -> None:
    """Remove the copy of a state that is no more."""
    (_folder() / place).unlink(missing_ok=True)


def _sweep(folder: Path) -> None:
    """Remove copies that streams have left which stopped long ago, once in a process."""
    if folder in _swept:
        return
    _swept.add(folder)
    for path in folder.iterdir():
        if path.stat().st_mtime < time.time() - LONG:
            path.unlink(missing_ok=True)


def _folder() -> Path:
    return Path(SparkFiles.getRootDirectory()) / FOLDER
