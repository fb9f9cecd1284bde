from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sash.kernels import kernel_arrays
from sash.kernels.kernel_arrays import find_longest


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(-1, 9))), st.booleans())
def test_the_longest_window_is_found_and_bounds_that_move_back_are_not(
    steps: list[tuple[int, int, int]], valid: bool
) -> None:
    begins: list[int] = []
    ends: list[int] = []
    for number, (begin, end, length) in enumerate(steps):
        begins.append((begins[-1] if begins else 0) + begin - (0 if valid else number % 2))
        ends.append(max(begins[-1] if valid else -9, (ends[-1] if ends else length) + end))
    moves_back = sorted(begins) != begins or sorted(ends) != ends
    lengths = [end - begin for begin, end in zip(begins, ends, strict=True)]
    expected = -1 if moves_back or min(lengths, default=0) < 0 else max(lengths, default=0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel_arrays, "BLOCK", 3)
        assert find_longest(np.array(begins, np.int64), np.array(ends, np.int64)) == expected
