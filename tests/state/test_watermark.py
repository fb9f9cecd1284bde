"""A row joins exactly the windows that are open when it arrives, however rows are batched."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

import sash
from sash import agg, window
from sash.engine.prepare import prepare
from sash.plan.query_spec import parse_query
from sash.state.reader import Stream
from sash.windows import Window

WINDOWS: dict[str, tuple[Window, int, int]] = {
    "sliding": (window.time(10, slide=3), 10, 3),
    "hopping": (window.time(6, slide=6), 6, 6),
    "with gaps": (window.time(2, slide=5), 2, 5),
}
"""Windows with their length and the distance between their starts."""


def counts_of(times: list[int], lateness: int, length: int, slide: int) -> dict[int, int]:
    """Return the rows of each window by its start: each row joins the windows that end after the watermark before it."""
    counts: Counter[int] = Counter()
    newest = -(10**9)
    for time in times:
        first = (time - length) // slide * slide + slide
        for start in range(first, time + 1, slide):
            counts[start] += start + length > newest - lateness
        newest = max(newest, time)
    return {start: count for start, count in counts.items() if count}


@pytest.mark.parametrize("name", WINDOWS)
@pytest.mark.parametrize("seed", range(12))
def test_a_row_joins_the_windows_that_are_open(name: str, seed: int) -> None:
    windows, length, slide = WINDOWS[name]
    chooser = np.random.default_rng(seed)
    arrived = np.arange(60) + chooser.integers(0, 2)
    times = (arrived - chooser.integers(0, 1 + seed, 60)).tolist()
    lateness = int(chooser.integers(0, 5))
    table = pa.table({"t": times})
    cuts = [0, *sorted(chooser.integers(0, 60, 3).tolist()), 60]
    batches = [batch for begin, end in pairwise(cuts) for batch in table.slice(begin, end - begin).to_batches()]
    stream = pa.RecordBatchReader.from_batches(table.schema, batches)
    query = sash.Query({"n": agg.count()}, windows, time="t", lateness=lateness)
    found = query.run(stream, late="keep").read_all().to_pylist()
    results = {row["window_start"]: row["n"] for row in found if row["late"] is None}
    assert results == counts_of(times, lateness, length, slide)


def test_rows_behind_the_watermark_that_miss_no_window_start_no_micro_batch() -> None:
    """A micro-batch for each of them took ten times as long."""
    times = [time + step for time in range(0, 60, 2) for step in (1, 0)]  # each second row is a tick late
    made = parse_query(
        {"n": agg.count()}, window.time(100, slide=50), (), "t", (), "auto", "throughput", "auto", lateness=0
    )
    stream = Stream(prepare(made, pa.schema({"t": pa.int64()})), late="drop")
    batches = stream.watermark.split(pa.table({"t": times}))
    assert len(batches) == 1
    assert len(stream.watermark.split(pa.table({"t": [101, 99]}))) == 2  # 99 misses the window that ends at 100
