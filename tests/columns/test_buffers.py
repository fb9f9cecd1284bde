from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sash.columns.buffers import slice_bits


@given(st.lists(st.booleans(), min_size=1, max_size=40), st.data())
def test_a_part_of_a_validity_bitmap(valid: list[bool], data: st.DataObject) -> None:
    begin = data.draw(st.integers(0, len(valid)))
    rows = data.draw(st.integers(0, len(valid) - begin))
    part = slice_bits(np.packbits(valid, bitorder="little"), begin, rows)
    assert len(part) == (rows + 7) // 8
    assert np.unpackbits(part, count=rows, bitorder="little").astype(bool).tolist() == valid[begin : begin + rows]
