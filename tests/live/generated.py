"""A source of generated results, without Spark and without windows: for tests of the server and of the page.

As a script it serves them: python -m live.generated PORT RESULTS_PER_SECOND KEYS
"""

from __future__ import annotations

import sys
import threading
import time

import numpy as np
import pyarrow as pa

from sash.live.demo import EXAMPLE, QUERY, READINGS
from sash.live.feed import Feed, layout_of
from sash.live.server import serve_source
from sash.live.source import RecentRows, Status
from sash.plan.explanation import Explanation
from sash.spark.generated_readings import Readings

ZOOMS = {"1 minute": 60, "5 minutes": 300, "1 hour": 3600, "1 day": 86_400}
BEGAN = 1_800_000_000
KEYS = ("house", "household")
SCHEMA = pa.schema(
    {
        "house": pa.int32(),
        "household": pa.int32(),
        "window": pa.string(),
        "window_start": pa.timestamp("us", "UTC"),
        "window_end": pa.timestamp("us", "UTC"),
        "change": pa.string(),
        "min": pa.float64(),
        "mean": pa.float64(),
        "max": pa.float64(),
        "readings": pa.int64(),
    }
)


def results_at(tick: int, keys: int, raised: float = 0.0, back: int = 0) -> pa.Table:
    """Return a result for each key and zoom: the window that ends at a tick, with values that depend on it."""
    names = list(ZOOMS)
    key = np.repeat(np.arange(keys), len(names))
    zoom = np.tile(np.arange(len(names)), keys)
    length = np.array(list(ZOOMS.values()))[zoom]
    end = (BEGAN + (tick - back) * length) * 1_000_000
    mean = 100 + 50 * np.sin(tick / 20 + key) + raised
    columns = [
        pa.array(key // 2 + 1, pa.int32()),
        pa.array(key % 2 + 1, pa.int32()),
        pa.array(names).take(pa.array(zoom)),
        pa.array(end - length * 1_000_000).cast(pa.timestamp("us", "UTC")),
        pa.array(end).cast(pa.timestamp("us", "UTC")),
        pa.array(["upsert"] * len(key)),
        pa.array(mean - 20),
        pa.array(mean),
        pa.array(mean + 30),
        pa.array(np.full(len(key), 60)),
    ]
    return pa.Table.from_arrays(columns, schema=SCHEMA)


class GeneratedSource:
    """As many results per second as asked for."""

    title = "Generated <b>results</b>"  # as text, not as HTML
    engine = "a generator"
    query_text = repr(QUERY)
    example = EXAMPLE
    can_burst = True

    def __init__(self, per_second: float = 200, keys: int = 2, history: int = 300) -> None:
        self.per_second, self.keys, self.history = per_second, keys, history
        self.status = Status(state_bytes=12_345_678, delay=0.2)
        self.recent = RecentRows()
        self.stopped = threading.Event()
        self.bursts = threading.Event()

    def run(self, feed: Feed) -> None:
        """Add results until `stop` is called."""
        self.recent.add(pa.Table.from_batches([Readings(**READINGS).batch(0, 20_000)]))
        feed.describe(layout_of(SCHEMA, KEYS, "ts"), list(ZOOMS))
        feed.add(pa.concat_tables([results_at(tick, self.keys) for tick in range(self.history)]))
        self.status.state = "running"
        tick, owed, last = self.history, 0.0, time.monotonic()
        while not self.stopped.wait(0.05):
            now = time.monotonic()
            owed, last = owed + (now - last) * self.per_second, now
            ticks = int(owed // (self.keys * len(ZOOMS)))
            owed -= ticks * self.keys * len(ZOOMS)
            made = [results_at(tick + number, self.keys) for number in range(ticks)]
            if self.bursts.is_set():
                self.bursts.clear()
                self.status.late += 12
                made += [results_at(tick, self.keys, raised=500, back=back) for back in range(20, 60)]
            tick += ticks
            if made:
                feed.add(pa.concat_tables(made))
                self.status.rows += sum(map(len, made))

    def stop(self) -> None:
        """Make `run` return soon."""
        self.stopped.set()

    def burst(self, key: str | None) -> str:
        """Correct forty windows of the past."""
        self.bursts.set()
        return f"Sent late rows of {key}."

    def explain(self) -> Explanation:
        """Return the plan of the demo."""
        return QUERY.explain()


if __name__ == "__main__":
    port, per_second, keys = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
    token = sys.argv[4] if len(sys.argv) > 4 else None
    sys.exit(serve_source(GeneratedSource(per_second, keys), port=port, token=token))
