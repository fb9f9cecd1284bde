"""The fuser: what it supports, and the line that its errors name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from helpers import unfusable

from sash import agg
from sash.aggregates.base import P
from sash.algorithms import TwoStacks
from sash.kernels import CannotFuseError, Kernel, loops


def integers(rows: int, seed: int = 3) -> npt.NDArray[np.int64]:
    return np.random.default_rng(seed).integers(-4, 10, rows)


UNFUSABLE = [value for value in vars(unfusable).values() if hasattr(value, "complaint")]


@pytest.mark.parametrize("algorithm", UNFUSABLE, ids=lambda algorithm: algorithm.__name__)
def test_what_cannot_be_fused_is_named_with_its_line(algorithm: Any) -> None:
    lines = Path(unfusable.__file__).read_text(encoding="utf-8").splitlines()
    begin = lines.index(f"class {algorithm.__name__}(TwoStacks[P]):")
    line = next(number for number in range(begin, len(lines)) if lines[number].endswith("# HERE")) + 1
    with pytest.raises(CannotFuseError, match=rf"unfusable\.py:{line}: in \w+: .*{algorithm.complaint}"):
        Kernel(algorithm, agg.max(), ("float64",), loops.slide_rows)


class CountsDown(TwoStacks[P]):
    """Uses the rest of what the fuser knows: annotated names, break, continue, pass, assert, constants of the module."""

    def evict(self) -> None:
        super_steps: int = STEPS
        assert super_steps > 0
        for step in range(super_steps):
            if step == 0:
                pass
            if step > 0:
                continue
            while True:
                break
            if self.begin == self.flip:
                self._flip()
        self.begin += super_steps - 2


STEPS = 3


def test_the_rest_of_what_the_fuser_knows() -> None:
    column = integers(40)
    [results] = Kernel(CountsDown, agg.max(), ("int64",), loops.slide_rows).slide_rows((column,), 5)
    assert results.values.tolist() == [max(column[max(0, row - 4) : row + 1]) for row in range(40)]


def test_a_class_inside_a_function_has_no_source_to_read() -> None:
    class Local(TwoStacks[P]):
        pass

    with pytest.raises(CannotFuseError, match="has no class Local at its top level"):
        Kernel(Local, agg.max(), ("int64",), loops.slide_rows)
