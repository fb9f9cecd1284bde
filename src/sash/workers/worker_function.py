"""What each function has that Spark calls in a Python worker: a title in plans, a line with [SASH] in its errors, and modules that stay.

The line makes errors easy to find in Spark's stack trace.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])
MARK = "[SASH]"
OUT_OF_MEMORY = (
    "A Python worker has no more memory. Set spark.executor.pyspark.memory to more, or leave it out and set spark.executor.memoryOverhead "
    "to more; or use more and smaller partitions: run(df, buckets=…) or ranges=…."
)


MANY = 20
"""From this many new modules on, a worker keeps them apart again."""
_kept_apart = 0
"""The number of modules when that was last done."""


def keep_modules_apart() -> None:
    """Tell Python that the objects of all modules stay.

    PySpark collects garbage after each task. To look at the objects of PySpark, PyArrow and Numba takes 10 to 20 ms, longer than a small
    task itself. Objects that are kept apart are not looked at.
    """
    global _kept_apart  # noqa: PLW0603 — of this process
    if len(sys.modules) > _kept_apart + MANY:
        gc.freeze()
        _kept_apart = len(sys.modules)


@contextmanager
def marked_errors() -> Iterator[None]:
    """Add the marked line to errors, in a worker.

    Spark puts the traceback of a worker between those of the JVM, more than a hundred lines in all. The message stays as it is; the
    line repeats it, with the notes that name the aggregate and the row, so that one search finds all of it.

    >>> try:
    ...     with marked_errors():
    ...         raise ValueError("The key is wrong.")
    ... except ValueError as error:
    ...     error.__notes__
    ['[SASH] ValueError: The key is wrong.']
    """
    try:
        yield
    except Exception as error:
        if isinstance(error, MemoryError):
            error.add_note(OUT_OF_MEMORY)
        notes = getattr(error, "__notes__", [])
        if not any(note.startswith(MARK) for note in notes):
            text = " ".join([f"{type(error).__name__}: {error}", *notes])
            error.add_note(f"{MARK} {' '.join(text.split())}")
        raise
    keep_modules_apart()


def titled(function: Function, title: str) -> Function:
    """Return a function under the name that plans and the pages of Spark show for it: without one, all queries look alike.

    >>> titled(lambda batches: batches, "max(x) over rows(3)").__name__
    'sash: max(x) over rows(3)'
    """
    function.__name__ = f"sash: {title}"
    return function
