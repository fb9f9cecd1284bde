"""The machine code of generated modules: Numba's cache of compiled functions, beside the module.

Numba's own cache needs a folder that it can write, and raises if a write fails. This one also reads from a folder that is read-only,
and does without what it cannot read or write: the function is compiled again.
"""

from __future__ import annotations

import hashlib
import pickle
from contextlib import suppress
from pathlib import Path
from types import FunctionType
from typing import Any, ClassVar

import numba.core.caching
from numba import njit

from sash.kernels.cache import is_safe

numba_caching: Any = numba.core.caching
UNREADABLE = (pickle.UnpicklingError, EOFError, ValueError, TypeError, LookupError, AttributeError, ImportError)
"""What pickle may raise for a damaged file."""


def compiled(function: FunctionType) -> Any:
    """Return a function of a generated module compiled; its machine code is cached if the module is on disk."""
    dispatcher: Any = njit(nogil=True)(function)
    if Path(function.__code__.co_filename).is_file():
        dispatcher._cache = MachineCodeCache(function)  # noqa: SLF001 — as njit(cache=True) does, with Numba's class
    return dispatcher


class BesideModule:
    """Where Numba looks for the machine code of a function: a locator, in the words of Numba."""

    def __init__(self, function: FunctionType, file: str) -> None:
        self._py_file = file  # Numba names it in warnings
        self._line = function.__code__.co_firstlineno

    @classmethod
    def from_function(cls, function: FunctionType, file: str) -> BesideModule:
        """Return the locator of a function."""
        return cls(function, file)

    def get_cache_path(self) -> str:
        """Return the folder of the module."""
        return str(Path(self._py_file).parent)

    def ensure_cache_path(self) -> None:
        """Do nothing: the module is in this folder."""

    def get_source_stamp(self) -> str:
        """Return a hash of the module. A time stamp would change if the cache is copied to other machines."""
        return hashlib.sha256(Path(self._py_file).read_bytes()).hexdigest()

    def get_disambiguator(self) -> str:
        """Return what differs between functions of a name in one file."""
        return str(self._line)


class MachineCodeFiles(numba_caching.CompileResultCacheImpl):  # type: ignore[misc] # Numba has no types
    """The names of the files, and what is in them."""

    _locator_classes: ClassVar[list[type[object]]] = [BesideModule]


class MachineCodeCache(numba_caching.FunctionCache):  # type: ignore[misc]
    """The machine code of one function on disk."""

    _impl_class = MachineCodeFiles

    def load_overload(self, signature: Any, target: Any) -> Any:
        """Return the machine code for a signature; None if there is none that can be used."""
        if not self._is_safe():
            return None
        try:
            return super().load_overload(signature, target)
        except MemoryError:
            raise
        except Exception:  # noqa: BLE001 — of pickle, for a damaged file: any
            with suppress(OSError):
                self.flush()  # delete the index: the next save would read the damaged one
            return None

    def save_overload(self, signature: Any, data: Any) -> None:
        """Write the machine code for a signature, if there is space and a permission.

        Numba reads the index first. So nothing is added to files that others can write, nor to a damaged index that cannot be replaced.
        """
        if self._is_safe():
            with suppress(OSError, *UNREADABLE):
                super().save_overload(signature, data)

    def _is_safe(self) -> bool:
        """Return whether nobody but this user and root can write the files."""
        return all(map(is_safe, Path(self.cache_path).glob(f"{self._impl.filename_base}.*")))
