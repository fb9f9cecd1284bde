"""Custom windows: what their functions may return, and which state survives a restart."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import sash
from sash import agg, window


class Slotted:
    __slots__ = ("seen",)

    def __call__(self, _: Any) -> tuple[int, int]:
        return 1, 1


def closure() -> Any:
    seen: list[Any] = []
    return lambda row: (seen.append(row) or 1, 1)  # type: ignore[func-returns-value]


class HoldsATuple:
    def __init__(self) -> None:
        self.seen: Any = (1, 2)

    def __call__(self, _: Any) -> tuple[int, int]:
        return 1, 1


class HoldsNanAndNull(HoldsATuple):
    def __init__(self) -> None:
        self.seen = {"least": float("nan"), "some": [1, None, "x"]}


def test_state_with_nan_and_null_can_be_stored() -> None:
    window.custom(HoldsNanAndNull).memory.check_restart()


@pytest.mark.parametrize("made", [Slotted, closure, HoldsATuple])
def test_state_that_cannot_be_stored_is_refused(made: Any) -> None:
    with pytest.raises(
        TypeError, match=r"has state that cannot be stored for a restart\. Make it a class whose attributes"
    ):
        window.custom(made).memory.check_restart()


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (None, r"discretize returned None for .* it must return two numbers, \(begin, end\)"),
        ((1, 2, 3), r"it must return two numbers"),
        ((-1, 0), r"numbers of windows cannot be negative"),
        ((1, 2), r"discretize ends 2 window\(s\) after .*, but only 1 are open"),
    ],
)
def test_wrong_results_of_discretize_are_refused(answer: Any, sentence: str) -> None:
    with pytest.raises((ValueError, TypeError), match=sentence):
        sash.Query({"n": agg.count()}, window.custom(lambda _: answer)).run(pa.table({"x": [1.0]}))
