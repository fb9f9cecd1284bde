"""The kernels of a prepared query."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any


class KernelPool:
    """Kernels by what they compute, shared by threads.

    One thread makes a kernel. Every caller gets a twin, because a kernel stores the progress of its current call.
    """

    def __init__(self) -> None:
        self._made: dict[tuple[Hashable, ...], Any] = {}
        self._making = Lock()

    @property
    def has_any(self) -> bool:
        """Whether a kernel was made."""
        return bool(self._made)

    def get(self, key: tuple[Hashable, ...], make: Callable[[], Any]) -> Any:
        """Return a kernel; make it if it is the first of its kind."""
        with self._making:
            if key not in self._made:
                self._made[key] = make()
        return self._made[key].twin()
