"""The kernels of one run."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from copy import copy
from threading import Lock

import numpy as np

from sash.kernels import Kernel


class Kernels:
    """Kernels by what they are for: one thread makes each, and every block works with its own copy.

    Only for one run: a function of the user's may mean something else in the next.
    """

    def __init__(self) -> None:
        self._made: dict[Hashable, Kernel] = {}
        self._making = Lock()

    def get(self, key: Hashable, make: Callable[[], Kernel]) -> Kernel:
        """Return a kernel, made now if it is the first of its kind."""
        with self._making:
            if key not in self._made:
                self._made[key] = make()
        kernel = copy(self._made[key])
        kernel.progress = np.zeros(1, np.int64)
        return kernel
