"""Where times and rows lie in a picture, and the numbers below it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sash.plan.pictures.stretch import Part
from sash.plan.pictures.svg import width_of
from sash.plan.slicing import length_to_text
from sash.windows.durations import UNITS

BREAK = 34
"""The room between two parts of an axis."""
STEPS = {
    "time": sorted(
        [count * 10**zeros for zeros in range(9) for count in (1, 2, 5)]
        + [count * UNITS[unit] for unit in ("s", "m") for count in (1, 2, 5, 10, 15, 30)]
        + [count * UNITS["h"] for count in (1, 2, 3, 6, 12)]
        + [count * 10**zeros * UNITS["d"] for zeros in range(6) for count in (1, 2, 5)]
    ),
    "number": [count * 10**zeros for zeros in range(18) for count in (1, 2, 5)],
}
"""Round lengths."""


@dataclass(frozen=True)
class Axis:
    """One or two parts of a stream between two sides of a picture, in one scale.

    >>> axis = Axis(((0, 4), (96, 100)), 0, 234)
    >>> axis.x(1), axis.x(4), axis.x(96), axis.x(50)
    (25.0, 100.0, 134.0, 100.0)
    """

    parts: tuple[Part, ...]
    left: float
    right: float

    @property
    def scale(self) -> float:
        """How wide one tick, or one row, is."""
        room = self.right - self.left - BREAK * (len(self.parts) - 1)
        return room / sum(end - begin for begin, end in self.parts)

    def x(self, place: float) -> float:
        """Return where a place of the stream is; what is in no part lies at the end of the part before it."""
        x = self.left
        for begin, end in self.parts:
            if place < begin:
                return max(self.left, x - BREAK)
            if place <= end:
                return x + (place - begin) * self.scale
            x += (end - begin) * self.scale + BREAK
        return self.right

    @property
    def breaks(self) -> list[float]:
        """Where the room between two parts begins."""
        return [self.x(end) for _, end in self.parts[:-1]]

    def inside(self, place: float) -> bool:
        """Tell whether a place is in one of the parts."""
        return any(begin <= place <= end for begin, end in self.parts)

    def round_places(self, unit: str, apart: float) -> list[int]:
        """Return round numbers that lie so far apart in the picture."""
        steps = STEPS["time" if unit == "time" else "number"]
        step = next((step for step in steps if step * self.scale >= apart), steps[-1])
        return [place for begin, end in self.parts for place in range(-(-begin // step) * step, end + 1, step)]


@dataclass(frozen=True)
class Label:
    """Words below a place."""

    x: float
    words: str


def make_labels(axis: Axis, places: Iterable[float], unit: str, origin: int, size: float) -> list[Label]:
    """Return labels for places, but for those that would lie on others."""
    labels: list[Label] = []
    free_from = float("-inf")
    for place in sorted(set(places)):
        words = f"{int(place):,}" if unit == "rows" else signed_to_text(int(place) - origin, unit)
        x = axis.x(place - 0.5 if unit == "rows" else place)  # rows are counted from 1, and lie before their number
        half = width_of(words, size) / 2
        if axis.inside(place) and x - half >= free_from:
            labels.append(Label(x, words))
            free_from = x + half + size
    return labels


def signed_to_text(amount: int, unit: str) -> str:
    """Return a place in words: how far it is from 0.

    >>> signed_to_text(-90_000_000_000, "time"), signed_to_text(0, "time"), signed_to_text(-5, "number")
    ('-1m30s', '0', '-5')
    """
    if amount == 0:
        return "0"
    return ("-" if amount < 0 else "") + length_to_text(abs(amount), unit)
