"""The windows that were found in a block, and one pass that answers them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from sash.engine.passes import PassOver, Results, Slices
from sash.slices.cuts import Reads, Records, all_closed
from sash.windows import Window
from sash.windows.base import Bounds

T = TypeVar("T")


@dataclass
class Found:
    """The windows of one name in a block."""

    window: Window
    rows: Bounds | None
    """As stretches of rows, where they were asked for."""
    records: Bounds | None
    """As stretches of records of slices."""
    reads: Reads | None

    def select(self, chosen: npt.NDArray[np.bool_]) -> None:
        """Leave out all windows but the chosen ones."""
        self.rows = self.rows and self.rows.select(chosen)
        self.records = self.records and self.records.select(chosen)
        self.reads = self.reads and self.reads.select(chosen)

    @property
    def bounds(self) -> Bounds:
        """The windows as stretches of something."""
        found = self.rows if self.rows is not None else self.records
        assert found is not None
        return found


def run_pass(over: PassOver, records: Records | None, found: Mapping[str, Found]) -> dict[str, Results]:
    """Return the results of each window's aggregates of one pass."""
    if not over.one.over_slices and not over.one.together:
        return {name: over.slide_rows(one.window, _given(one.rows)) for name, one in found.items()}
    if over.one.over_slices:
        return slide_all(over, over.cut(_given(records)), found)
    of_rows = {name: replace(one, reads=all_closed(_given(one.rows))) for name, one in found.items()}
    return slide_all(over, over.as_slices(), of_rows)


def slide_all(over: PassOver, slices: Slices, found: Mapping[str, Found]) -> dict[str, Results]:
    """Return the results of windows over slices: of all kinds by one structure, or of each by its own."""
    answers: dict[str, Results] = {}
    for names in [list(found)] if over.one.together else [[name] for name in found]:
        windows = [found[name].window for name in names]
        results = over.slide_slices(windows, slices, [_given(found[name].reads) for name in names])
        answers |= dict(zip(names, results, strict=True))
    return answers


def _given(value: T | None) -> T:
    assert value is not None
    return value
