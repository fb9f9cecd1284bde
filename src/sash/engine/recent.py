"""Recent: a dictionary that keeps its newest entries."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Recent(dict[Key, Value]):
    """A dictionary of at most `most` entries: a new one replaces the oldest.

    >>> recent = Recent[str, int](2)
    >>> recent["a"], recent["b"], recent["c"] = 1, 2, 3
    >>> recent
    {'b': 2, 'c': 3}
    """

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most

    def __setitem__(self, key: Key, value: Value) -> None:
        """Store an entry."""
        while len(self) >= self.most:
            self.pop(next(iter(self)), None)  # another thread may have removed it
        super().__setitem__(key, value)
