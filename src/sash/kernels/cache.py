"""Files of generated modules and their machine code, by name (machine_code.py).

A module is named by the fingerprint of everything that it was generated from. So it never changes once written, and
processes that start together may all write it: each writes its own file and renames it.

It is only a cache. A folder that is read-only, full or missing costs time, and never fails a query. But its files are executed:
Sash reads them only if nobody but this user and root can write them.
"""

from __future__ import annotations

import hashlib
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # what takes long to import is imported by the functions that need it: a query may compile nothing
    from pathlib import Path

PREFIX = "sash_kernel_"
NAMED = "SASH_CACHE_DIR"
DIGEST = b"\n# sha256 "
"""What separates the text of a module from the digest of it."""
WRITABLE_BY_OTHERS = 0o022


def cache_folders() -> list[Path]:
    """Return the safe folders, those to look in first at the front: $SASH_CACHE_DIR; else the user's and the temporary one.

    A folder that is missing is made. Folders that cannot be made, and those that other users can write to, are left out.
    """
    from importlib.metadata import version  # noqa: PLC0415 — as above; Numba itself takes much longer

    versions = f"numba{version('numba')}-{sys.implementation.cache_tag}"
    folders = []
    for candidate in _candidates():
        folder = candidate / versions
        with suppress(OSError):  # it may be there, on a disk that is read-only
            # One by one: with parents=True, only the last folder would get the mode, and the umask may allow all.
            candidate.parent.mkdir(parents=True, exist_ok=True)
            candidate.mkdir(exist_ok=True, mode=0o700)
            folder.mkdir(exist_ok=True, mode=0o700)
        if is_safe(candidate) and is_safe(folder):
            folders.append(folder)
        elif NAMED in os.environ and folder.exists():
            message = (
                f"{NAMED} is not used, because other users can write to {candidate}, and Sash would execute their files. Make it a "
                f"folder of this user or of root that only they can write: chmod -R go-w {candidate}."
            )
            warnings.warn(message, RuntimeWarning, stacklevel=3)
    return folders


def cache_folder() -> Path | None:
    """Return the first folder that can be written; else None."""
    return next((folder for folder in cache_folders() if os.access(folder, os.W_OK | os.X_OK)), None)


def _candidates() -> Iterator[Path]:
    import tempfile  # noqa: PLC0415 — as above
    from pathlib import Path  # noqa: PLC0415 — as above

    if named := os.environ.get(NAMED):
        yield Path(named).absolute()
        return
    # no home: HOME is not set, and the system does not know this user, as in some containers
    with suppress(RuntimeError):
        yield Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "sash"
    with suppress(OSError):  # no folder is writable
        yield Path(tempfile.gettempdir()) / f"sash-{os.getuid() if hasattr(os, 'getuid') else 0}"


def is_safe(path: Path) -> bool:
    """Return whether a file or folder is there, and nobody but this user and root can write it."""
    try:
        link, target = path.lstat(), path.stat()
    except OSError:
        return False
    if not hasattr(os, "getuid"):
        return True  # Windows: the permissions are not in the mode, and folders of a user are not open to others
    return {link.st_uid, target.st_uid} <= {os.getuid(), 0} and not target.st_mode & WRITABLE_BY_OTHERS


def has_mark(name: str) -> bool:
    """Return whether a mark was set in the cache, by this process or another one."""
    return file_path(f"{PREFIX}{name}.mark") is not None


def set_mark(name: str) -> None:
    """Set a mark in the cache, if it can be written."""
    folder = cache_folder()
    if folder is not None and not has_mark(name):
        with suppress(OSError):  # a full disk
            (folder / f"{PREFIX}{name}.mark").touch()


def read_seconds(name: str) -> float:
    """Return the sum of the seconds that `add_seconds` stored, in this process and others."""
    path = file_path(f"{PREFIX}{name}.seconds")
    try:
        return 0.0 if path is None else sum(map(float, path.read_text(encoding="ascii").split()))
    except (OSError, ValueError):  # another process is writing its line
        return 0.0


def add_seconds(name: str, seconds: float) -> None:
    """Store seconds in the cache, if it can be written. Processes may add at the same time: a short line is appended as a whole."""
    folder = cache_folder()
    if folder is not None:
        with suppress(OSError), (folder / f"{PREFIX}{name}.seconds").open("a", encoding="ascii") as file:
            file.write(f"{seconds:.3f}\n")


def find_module(name: str) -> str | None:
    """Return the text of a module on disk, or None; also if the file is damaged."""
    data = read_bytes(f"{PREFIX}{name}.py")
    text, _, digest = (data or b"").rpartition(DIGEST)
    return text.decode() if digest and digest == _digest(text) else None


def write_module(name: str, text: str) -> None:
    """Write the text of a module."""
    data = text.encode()
    write_file(f"{PREFIX}{name}.py", data + DIGEST + _digest(data))


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).hexdigest().encode()


def read_bytes(name: str) -> bytes | None:
    """Return the content of a file in the cache; None if it is not there, not safe or not readable."""
    path = file_path(name)
    try:
        return None if path is None else path.read_bytes()
    except OSError:
        return None


def file_path(name: str) -> Path | None:
    """Return the path of a file in the cache, if it is there and safe."""
    return next((folder / name for folder in cache_folders() if is_safe(folder / name)), None)


def write_file(name: str, data: bytes) -> None:
    """Write a file as a whole, if the cache can be written: other processes see the old file, or the new one."""
    import tempfile  # noqa: PLC0415 — as above

    folder = cache_folder()
    if folder is None:
        return
    draft = ""
    try:
        with tempfile.NamedTemporaryFile("wb", dir=folder, delete=False) as file:
            draft = file.name
            file.write(data)
        os.replace(draft, folder / name)  # noqa: PTH105 — pathlib is not imported here
    except OSError:  # a full disk
        if draft and os.path.exists(draft):  # noqa: PTH110 — as above
            os.unlink(draft)  # noqa: PTH108 — as above
