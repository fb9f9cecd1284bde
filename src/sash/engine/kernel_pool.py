"""The kernels of a prepared query."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from copy import copy
from threading import Lock

import numpy as np

from sash.kernels import Kernel


class KernelPool:
    """Kernels by what they compute, shared by threads.

    One thread makes a kernel. Every caller gets a copy, because a kernel stores the progress of its current call.
    """

    def __init__(self) -> None:
        self._made: dict[Hashable, Kernel] = {}
        self._making = Lock()

    def get(self, key: Hashable, make: Callable[[], Kernel]) -> Kernel:
        """Return a kernel; make it if it is the first of its kind."""
        with self._making:
            if key not in self._made:
                self._made[key] = make()
        kernel = copy(self._made[key])
        kernel.progress = np.zeros(1, np.int64)
        return kernel
