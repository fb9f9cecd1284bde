"""What the tests of wide windows share: rows whose density varies, aggregates that show any swapped, lost or doubled row."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa

import sash
from helpers.queries import Named
from sash import agg, window
from sash.engine.executors.bind import compile_ahead
from sash.engine.prepare import prepare
from sash.spark.batch.ranges import RangeSplit
from sash.windows import Window
from sash.workers.bucket_worker import BucketWorker
from sash.workers.range_worker import RangeWorker, SliceWorker
from sash.workers.time_ranges import KeyAxis, RangeWindows, even_bounds, no_partials, reach_of, sample_axis

PRIME = 1_000_003
chain = sash.aggregate(
    "chain",
    lift=lambda x: (x + 20, x),
    combine=lambda older, newer: (older[0] * newer[0] % 1_000_003, (older[1] * newer[0] + newer[1]) % 1_000_003),
    lower=lambda whole: whole[1],
)
"""The value of numerals of differing bases, which no two rows may change places in."""
AGGREGATES: Named = {"chain": chain("x"), "mean": agg.mean("y")}
WIDE_PER_ROW: dict[str, dict[str, Window]] = {
    **{closed: {"w": window.time(400, closed=closed)} for closed in ("right", "both", "left", "neither")},
    "several": {"a": window.time(3), "b": window.time(300), "c": window.time(650, closed="both")},
    "rows": {"w": window.rows(170)},
    "all": {"w": window.rows(100_000), "t": window.time(100_000)},
    "mixed": {"r": window.rows(200), "t": window.time(250)},
    "least": {"r": window.rows(150, min_rows=90), "t": window.time(400, min_rows=90)},
    "tail": {"a": window.time(400, tail=30), "b": window.time(300, tail=200, closed="left")},
}
LAGGED_PER_ROW: dict[str, dict[str, Window]] = {
    "rows": {"w": window.rows(before=90, after=-20)},
    "time": {"w": window.time(before=400, after=-100)},
    "both": {"r": window.rows(before=9, after=-2), "t": window.time(before=300, after=0)},
    "exclude_row": {"r": window.rows(before=90, exclude="row"), "t": window.time(before=300, after=0, exclude="row")},
    "exclude_ties": {"r": window.rows(before=9, exclude="ties"), "t": window.time(before=300, after=0, exclude="ties")},
    "exclude_group": {"r": window.rows(before=9, exclude="group"), "t": window.time(300, exclude="group")},
}
"""Frames that end before the row, or leave out rows: ranges hold all their rows."""
WIDE_PER_WINDOW: dict[str, dict[str, Window]] = {
    "fine": {"w": window.time(400, slide=2)},
    "coarse": {"w": window.time(400, slide=40, offset=7)},
    "tumbling": {"w": window.tumbling(300)},
    "cumulative": {"w": window.cumulative(600, 20)},
    "several": {"a": window.time(30, slide=3), "b": window.time(420, slide=3), "c": window.time(300, slide=30)},
    "least": {"w": window.time(400, slide=2, min_rows=90)},
    "right": {"w": window.time(400, slide=40, closed="right")},
    "apart": {"a": window.time(300, slide=350, closed="right"), "b": window.time(290, slide=330, offset=11)},
    "cumulative_right": {"w": window.cumulative(600, 20, closed="right", min_rows=2)},
}


def uneven_rows(count: int = 400, seed: int = 5) -> pa.Table:
    """Rows of a thousand ticks, half of them in a hundredth of the time, with ties and nulls, in no order."""
    chooser = random.Random(seed)
    times = [chooser.randint(600, 609) if number % 2 else chooser.randint(0, 999) for number in range(count)]
    return pa.table(
        {
            "id": pa.array(chooser.sample(range(count), count)),
            "t": pa.array(times, pa.int64()),
            "key": pa.array([chooser.choice(["a"] * 9 + ["b", None]) for _ in times]),
            "x": pa.array([chooser.choice([None, 1, 2, 3, 7]) for _ in times], pa.int64()),
            "y": pa.array([chooser.choice([None, chooser.uniform(-1, 1)]) for _ in times], pa.float64()),
        }
    )


def even_rows(count: int = 400) -> pa.Table:
    """Rows at all times but every fifth."""
    times = [number * 5 // 4 * 2 for number in range(count)]
    values = [number * 7 % 11 for number in range(count)]
    columns = {"id": range(count), "t": times, "key": ["a"] * count, "x": values}
    return pa.table(
        {**{name: pa.array(list(column)) for name, column in columns.items()}, "y": pa.array(values, pa.float64())}
    )


def dense_rows(count: int) -> pa.Table:
    """Times alone, half of them in a hundredth of the time, and no two the same."""
    half = count // 2
    return pa.table({"t": sorted({*range(0, 200 * half, 200), *range(120_001, 120_001 + 2 * half, 2)})})


def exactly(times: list[int]) -> KeyAxis:
    """How many rows lie before each of their times."""
    return sample_axis(sorted(times), len(times))


class InProcess:
    """A query over ranges without Spark: the same parts, cells and workers."""

    def __init__(self, query: sash.Query, rows: pa.Table, ranges: int, most_bytes: int = 1 << 30) -> None:
        """Cut the rows of one key."""
        declared = query._declared
        prepared = compile_ahead(prepare(declared, rows.select(declared.columns).schema))
        times = rows["t"].to_pylist()
        every = tuple(declared.windows.values())
        reach = reach_of(every, prepared.unit)
        assert not isinstance(reach, str)
        windows = RangeWindows(every, reach, not no_partials(prepared))
        axis = replace(exactly(times), newest=max(times) + 1)
        self.split = RangeSplit({0: windows.ranges(even_bounds(sorted(times), ranges), ranges, axis)})
        self.expected = query.run(rows)
        self.worker = BucketWorker(declared, prepared.interpreted, self.expected.schema, most_bytes=most_bytes)
        [(_, begins)] = self.split.cells.values()
        self.cells = np.searchsorted(begins, times, side="right") - 1
        self.rows = rows

    def groups(self) -> dict[int, pa.Table]:
        """The rows that each part is sent."""
        owners = [set(parts) for parts in self.split.ranges_by_cell()]
        return {
            part: self.rows.filter(pa.array([part in owners[cell] for cell in self.cells]))
            for part in range(len(self.split.numbered))
        }

    def slices(self) -> dict[int, list[bytes]]:
        """What each part is sent of other rows."""
        made: dict[int, list[bytes]] = {}
        for cell in self.split.sliced_cells:
            chosen = self.rows.select(self.worker.query.columns).filter(pa.array(self.cells == cell))
            if len(chosen):
                batches = SliceWorker(**vars(self.worker)).evaluate_group(
                    cell, iter(chosen.to_batches(max_chunksize=7))
                )
                made[cell] = [row["slices"] for batch in batches for row in batch.to_pylist()]
        by_part = enumerate(self.split.slice_cells)
        return {part: [each for cell in cells for each in made.get(cell, [])] for part, cells in by_part}

    def run(self) -> pa.Table:
        """The results of all parts."""
        ranges = {part: time_range for part, (_, time_range) in enumerate(self.split.numbered)}
        worker = RangeWorker(**vars(self.worker), ranges=ranges, slices=self.slices())

        def answers() -> Iterator[pa.RecordBatch]:
            for part, rows in self.groups().items():
                if len(rows):  # Spark starts no task for a group without rows
                    yield from worker.evaluate_group(part, iter(rows.to_batches(max_chunksize=30)))

        return pa.Table.from_batches(answers(), self.expected.schema)
