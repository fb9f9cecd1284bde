"""Generated modules on disk, so that Numba's own cache can store the machine code beside them.

A module is named by the fingerprint of everything that it was generated from. So it never changes once written, and
processes that start together may all write it: each writes a file of its own and renames it into place.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what takes long to import is imported by the functions that need it: a query may compile nothing
    from importlib.resources.abc import Traversable
    from pathlib import Path

PREFIX = "sash_kernel_"


def cache_folder() -> Path | None:
    """Return the first writable folder of $SASH_CACHE_DIR, the user's cache and the temporary folder; else None."""
    import tempfile  # noqa: PLC0415 — as above
    from importlib.metadata import version  # noqa: PLC0415 — as above; Numba itself takes much longer
    from pathlib import Path  # noqa: PLC0415 — as above

    versions = f"numba{version('numba')}-{sys.implementation.cache_tag}"
    named = os.environ.get("SASH_CACHE_DIR")
    home = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    for candidate in [Path(named)] if named else [home / "sash", Path(tempfile.gettempdir()) / f"sash-{_user()}"]:
        folder = candidate / versions
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            # The files in this folder are executed, so nobody else may own it.
            if candidate.stat().st_uid == _user():
                with tempfile.TemporaryFile(dir=folder):
                    return folder
        except OSError:
            continue
    return None


def _user() -> int:
    return os.getuid() if hasattr(os, "getuid") else 0  # on Windows st_uid is 0


def read_sources(folder: Traversable | None = None) -> Iterator[tuple[str, str]]:
    """Yield name and text of every Python file of this package, subfolders included; from a zip file too."""
    from importlib.resources import files  # noqa: PLC0415 — as above

    folder = files(__package__) if folder is None else folder
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from read_sources(entry)
        elif entry.name.endswith(".py"):
            yield entry.name, entry.read_text(encoding="utf-8")


def has_mark(name: str) -> bool:
    """Return whether a mark was set in the cache, by this process or another one."""
    folder = cache_folder()
    return folder is not None and (folder / f"{PREFIX}{name}.mark").exists()


def set_mark(name: str) -> None:
    """Set a mark in the cache."""
    folder = cache_folder()
    if folder is not None:
        (folder / f"{PREFIX}{name}.mark").touch()


def loaded_module(name: str) -> ModuleType | None:
    """Return a module that this process has already loaded, or None."""
    return sys.modules.get(PREFIX + name)


def find_module(name: str) -> str | None:
    """Return the text of a module on disk, or None."""
    folder = cache_folder()
    if folder is None:
        return None
    try:
        return (folder / f"{PREFIX}{name}.py").read_text(encoding="utf-8")
    except OSError:
        return None


def load_module(name: str, text: str, names: dict[str, Any]) -> ModuleType:
    """Write the module unless it is on disk, and import it with `names` defined in it."""
    module_name = PREFIX + name
    folder = cache_folder()
    if folder is None:
        module = ModuleType(module_name)
        code = compile(text.replace("cache=True", "cache=False"), f"<{module_name}>", "exec")
    else:
        path = folder / f"{module_name}.py"
        if not path.exists():
            _write(path, text)
        spec = importlib.util.spec_from_file_location(module_name, path)
        assert spec is not None
        module = importlib.util.module_from_spec(spec)
        code = compile(text, str(path), "exec")
    vars(module).update(names)
    exec(code, vars(module))  # noqa: S102 — fuse.py generated the text from Sash's own classes
    # Numba finds the globals of a cached function through the module's name. Registered last: other threads look here too.
    sys.modules[module_name] = module
    return module


def _write(path: Path, text: str) -> None:
    import tempfile  # noqa: PLC0415 — as above

    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False, encoding="utf-8") as draft:
        draft.write(text)
    os.replace(draft.name, path)  # noqa: PTH105 — pathlib is not imported here
