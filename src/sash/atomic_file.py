"""Files that are replaced as a whole: a crash at any point leaves the old file or the new one, never half of one."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

UMASK_BITS = 0o666


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a new file that gets its name when the block has ended without an error.

    It is written under another name in the same folder, synced to the disk and renamed; then the folder is synced, too.

    >>> path = Path(tempfile.mkdtemp()) / "x"
    >>> with replacing(path) as file:
    ...     file.write(b"new") and path.exists()
    False
    >>> path.read_bytes()
    b'new'
    """
    path = path.resolve()  # a link stays a link
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(path.stat().st_mode & 0o777 if path.exists() else _usual_mode())
        Path(name).replace(path)
    except BaseException:  # Ctrl-C too
        with suppress(OSError):
            Path(name).unlink()
        raise
    _sync_folder(path.parent)


@contextmanager
def folder_lock(folder: Path) -> Iterator[None]:
    """Wait until no other process or thread holds the lock of a folder, and hold it. It ends with the process, and leaves no file. Windows has none."""
    try:
        import fcntl  # noqa: PLC0415 — Windows has none
    except ImportError:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # some file systems refuse
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _usual_mode() -> int:
    mask = os.umask(0)  # there is no other way to read it
    os.umask(mask)
    return UMASK_BITS & ~mask


def _sync_folder(folder: Path) -> None:
    """Write the names of a folder to the disk; Windows cannot, and some file systems refuse."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
