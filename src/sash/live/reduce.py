"""Reduction: the points of a line, as many as a screen shows. Each pixel keeps its lowest, highest and last value.

points   · ·· ·  ····  ·  · ··· ·        any number
pixels   |  0  |  1  |  2  |  3  |       low = min, high = max, last = the last of each pixel
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def visible(x: Floats, begin: float, end: float) -> slice:
    """Return the points between two times, and one point on each side, so that lines reach the border.

    >>> visible(np.array([1.0, 2, 3, 4, 5]), 2.5, 3.5)
    slice(1, 4, None)
    """
    first = int(np.searchsorted(x, begin, side="left"))
    after = int(np.searchsorted(x, end, side="right"))
    return slice(max(first - 1, 0), min(after + 1, len(x)))


def pixel_starts(x: Floats, begin: float, end: float, width: int) -> Ints:
    """Return the first point of each pixel that has one. `x` is sorted. Up to `width` points are kept as they are.

    >>> pixel_starts(np.arange(100.0), 0, 100, 4)
    array([ 0, 25, 50, 75])
    """
    if len(x) <= width:
        return np.arange(len(x))
    pixels = np.floor((x - begin) * (width / max(end - begin, 1e-300)))
    pixels = np.clip(pixels, -1, width)
    return np.flatnonzero(np.concatenate([[True], pixels[1:] != pixels[:-1]]))


def lowest(values: Floats, starts: Ints) -> Floats:
    """Return the lowest value of each pixel; NaN only where there is nothing else."""
    return _by_pixel(np.fmin, values, starts)


def highest(values: Floats, starts: Ints) -> Floats:
    """Return the highest value of each pixel; NaN only where there is nothing else."""
    return _by_pixel(np.fmax, values, starts)


def last(values: Floats, starts: Ints) -> Floats:
    """Return the last value of each pixel.

    >>> last(np.array([1.0, 2, 3]), np.array([0, 2]))
    array([2., 3.])
    """
    return values[np.concatenate([starts[1:], [len(values)]]) - 1] if len(starts) else values[:0]


def _by_pixel(function: Any, values: Floats, starts: Ints) -> Floats:
    return np.asarray(function.reduceat(values, starts)) if len(starts) else values[:0]
