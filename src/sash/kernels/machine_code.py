"""Generated modules and the machine code of their functions: from the disk without Numba, or compiled.

    GeneratedModule("slide", text) ── function("slide_rows") ──► MachineFunction
                                                                     │ called with arrays and numbers
                                          one Entry per signature ◄──┘
                                            ├ in this process already
                                            ├ object code in the cache folder: linked, without Numba
                                            └ compiled by Numba from the text, and stored

Object code belongs to one type of processor and to some versions (`entry.machine`), which are in the names of the files. A file that is
damaged, or that cannot be read or written, costs time only: the function is compiled again.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from typing import Any

from sash.kernels.cache import PREFIX, file_path, find_module, read_bytes, write_file, write_module
from sash.kernels.entry import Entry, NotLinkedError, ObjectCode, Signature, linked, machine, read_arguments

Names = Callable[[], dict[str, Any]]

_lock = threading.RLock()
_modules: dict[str, GeneratedModule] = {}
"""Those of this process, by name."""


class MachineFunction:
    """A function of a generated module, called with arrays, numbers and tuples of them."""

    def __init__(self, module: GeneratedModule, name: str, *, is_method: bool) -> None:
        self.module = module
        self.__name__ = name
        self._is_method = is_method
        self._entries: dict[Signature, Entry] = {}
        self.from_disk = 0
        """The number of signatures whose machine code was in the cache folder."""

    def __call__(self, *arguments: Any) -> Any:
        """Run the machine code. Arrays may be read-only: the caller knows which ones the function writes."""
        leaves: list[Any] = []
        entry = self.entry(read_arguments(arguments, leaves))
        return entry(*leaves)

    def entry(self, signature: Signature) -> Entry:
        """Return the machine code for a signature."""
        found = self._entries.get(signature)
        if found is None:
            with _lock:
                found = self._entries.get(signature) or self._read(signature) or self._compile(signature)
                self._entries[signature] = found
        return found

    def _name(self, signature: Signature) -> str:
        key = hashlib.sha256(f"{signature} {machine()}".encode()).hexdigest()[:16]
        return f"{PREFIX}{self.module.name}.{self.__name__}.{key}"

    def _read(self, signature: Signature) -> Entry | None:
        data = read_bytes(f"{self._name(signature)}.object")
        try:
            code = None if data is None else ObjectCode.unpack(data)
            entry = None if code is None else linked(code)
        except NotLinkedError:
            return None
        self.from_disk += entry is not None
        return entry

    def _compile(self, signature: Signature) -> Entry:
        from sash.kernels.compile_entry import Compiled  # noqa: PLC0415 — it imports Numba

        name = self._name(signature)
        made = Compiled(
            self.module.namespace[self.__name__], signature, name.replace(".", "_"), is_method=self._is_method
        )
        entry = made.link()
        if made.can_be_stored:
            write_file(f"{name}.object", made.code.pack())
        return entry


class GeneratedModule:
    """The text of a module, whose functions are compiled when they are called first."""

    def __init__(self, name: str, text: str, names: Names) -> None:
        self.name = name
        self.text = text
        self._names = names
        self._namespace: dict[str, Any] | None = None
        self._functions: dict[str, MachineFunction] = {}

    def function(self, name: str, *, is_method: bool = False) -> MachineFunction:
        """Return one of its functions; see `ObjectCode.is_method`."""
        return self._functions.setdefault(name, MachineFunction(self, name, is_method=is_method))

    @property
    def namespace(self) -> dict[str, Any]:
        """What the module defines; its functions are those of Numba."""
        with _lock:
            if self._namespace is None:
                path = file_path(f"{PREFIX}{self.name}.py")
                namespace: dict[str, Any] = {"__name__": PREFIX + self.name, **self._names()}
                code = compile(self.text, str(path or f"<{PREFIX}{self.name}>"), "exec")
                exec(code, namespace)  # noqa: S102 — fuse.py generated the text from Sash's own classes
                self._namespace = namespace
        return self._namespace


def load_module(name: str, write: Callable[[], str], names: Names = dict) -> GeneratedModule:
    """Return a generated module: the one of this process, or from the disk; else `write` its text. `names` are defined in it."""
    with _lock:
        if name not in _modules:
            text = find_module(name)
            if text is None:
                text = write()
                write_module(name, text)
            _modules[name] = GeneratedModule(name, text, names)
        return _modules[name]


def is_loaded(name: str) -> bool:
    """Return whether this process has loaded a module."""
    return name in _modules
