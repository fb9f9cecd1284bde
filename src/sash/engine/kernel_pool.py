"""The kernels of a prepared query."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from copy import copy
from threading import Lock

from sash.kernels import Kernel
from sash.kernels.numpy_kernel import NumpyKernel
from sash.kernels.traced import CannotVectorizeError


class KernelPool:
    """Kernels by what they compute, shared by threads.

    One thread makes a kernel. Every caller gets a copy, because a kernel stores the progress of its current call.
    """

    def __init__(self) -> None:
        self._made: dict[Hashable, Kernel] = {}
        self._vectorised: dict[Hashable, NumpyKernel | None] = {}
        self._making = Lock()

    @property
    def has_any(self) -> bool:
        """Whether a kernel was made, compiled or not."""
        return bool(self._made or self._vectorised)

    def get(self, key: Hashable, make: Callable[[], Kernel]) -> Kernel:
        """Return a kernel; make it if it is the first of its kind."""
        with self._making:
            if key not in self._made:
                self._made[key] = make()
        return self._made[key].twin()

    def get_vectorised(self, key: Hashable, make: Callable[[], NumpyKernel]) -> NumpyKernel | None:
        """Return a kernel that NumPy evaluates; None if there is none. Every caller gets a copy."""
        if key not in self._vectorised:
            try:
                self._vectorised[key] = make()
            except CannotVectorizeError:
                self._vectorised[key] = None
        known = self._vectorised[key]
        return None if known is None else copy(known)
