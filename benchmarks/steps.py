"""The time of each single step of a window: what a row costs at worst, not on average."""

from __future__ import annotations

import ctypes
import time
from typing import Any

import numpy as np
from numba import njit

from benchmarks.column_case import Values
from benchmarks.sash_calls import kept_window

clock_gettime: Any = ctypes.CDLL(None).clock_gettime
clock_gettime.argtypes = (ctypes.c_int, ctypes.c_void_p)
MONOTONIC = time.CLOCK_MONOTONIC


@njit
def nanoseconds(timespec: Any) -> Any:
    """Read the clock from compiled code: a step takes less time than a call from Python."""
    clock_gettime(MONOTONIC, timespec.ctypes)
    return timespec[0] * 1_000_000_000 + timespec[1]


@njit
def step_through(run: Any, own: Any, column: Any, rest: Any, answer: Any, answers: Any, durations: Any) -> None:
    """Move the window on row by row, and note how long each row took, the reading of the clock included."""
    timespec = np.zeros(2, np.int64)
    for row in range(len(column)):
        values = column[row : row + 1]
        before = nanoseconds(timespec)
        run(*own, values, *rest)
        durations[row] = nanoseconds(timespec) - before
        answers[row] = answer[0]


def time_steps(aggregate: str, algorithm: str, values: Values, length: int) -> tuple[Values, Values]:
    """Return the answers of a window that is moved on row by row, and how many nanoseconds each row took."""
    (run, own, rest), answer = kept_window(aggregate, algorithm, str(values.dtype), length)
    answers = np.empty(len(values), answer.dtype)
    durations = np.empty(len(values), np.int64)
    in_numba = run.module.namespace[run.__name__]  # compiled code can call Numba's function, but not linked object code
    step_through(in_numba, own, values, rest, answer, answers, durations)
    return answers, durations
