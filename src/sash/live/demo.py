"""The demo: smart plugs at four zooms, and bursts of late readings that correct the past."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from sash import aggregates as agg
from sash import windows as window
from sash.query import Query
from sash.spark.generated_readings import SCHEMA

LATENESS = "2h"
"""The maximum delay of a reading. Bursts are younger, except for a few readings that are dropped."""
READINGS: dict[str, Any] = {
    "rows_per_second": 200,
    "households": 6,
    "late": 0.05,
    "lateness": "2m",
    "speed": 300,
    "seed": 7,
}
"""Five minutes of readings pass in a second, so that all zooms move."""
QUERY = Query(
    by=["house", "household"],
    time="ts",
    windows={
        "1 minute": window.tumbling("1m"),
        "5 minutes": window.time("5m", slide="1m"),
        "1 hour": window.time("1h", slide="5m"),
        "1 day": window.time("1d", slide="1h"),
    },
    aggregates={
        "min": agg.min("load"),
        "mean": agg.mean("load"),
        "max": agg.max("load"),
        "stddev": agg.stddev("load"),
        "readings": agg.count(),
    },
    lateness=LATENESS,
)
TEXT = """\
Query(by=["house", "household"], time="ts",
      windows={"1 minute": tumbling("1m"), "5 minutes": time("5m", slide="1m"),
               "1 hour": time("1h", slide="5m"), "1 day": time("1d", slide="1h")},
      aggregates={"min": min("load"), "mean": mean("load"), "max": max("load"),
                  "stddev": stddev("load"), "readings": count()}).run(stream, mode="update")"""
EXAMPLE = """\
SELECT avg(load) AS mean, max(load) AS peak
FROM rows [RANGE 30 MINUTES SLIDE 5 MINUTES ON ts]
GROUP BY house"""
MINUTE = 60_000_000
BURST_ROWS = 240
BURST_MINUTES = (12, 72)
"""How far back the readings of a burst go."""
TOO_LATE_ROWS = 12
TOO_LATE_MINUTES = 3 * 24 * 60
"""Some readings of a burst are so old that all their windows are closed: they are dropped and counted."""


def late_rows(newest: int, key: tuple[int, int], seed: int) -> pa.Table:
    """Return a burst of late readings of a household: a heater that nobody knew about.

    >>> rows = late_rows(2_000_000_000_000_000, (1, 2), seed=0)
    >>> len(rows), rows["plug"][0].as_py(), rows["household"][0].as_py()
    (252, 'heater', 2)
    """
    random = np.random.default_rng(seed)
    back = random.uniform(*BURST_MINUTES, BURST_ROWS)
    wave = 1900 + 900 * np.sin(back / 8)
    load = np.concatenate([wave + random.normal(0, 60, BURST_ROWS), np.full(TOO_LATE_ROWS, 1000.0)])
    minutes = np.concatenate([back, np.full(TOO_LATE_ROWS, TOO_LATE_MINUTES)])
    times = newest - (minutes * MINUTE).astype(np.int64)
    house, household = (np.full(len(times), number) for number in key)
    columns = [house, household, ["heater"] * len(times), times, load.round(1), [None] * len(times)]
    return pa.Table.from_arrays([pa.array(column) for column in columns], SCHEMA.names).cast(SCHEMA)


def burst_text(key: str) -> str:
    """Describe a burst."""
    first, last = BURST_MINUTES
    sent = f"{BURST_ROWS} late readings of {key}, {first} to {last} minutes old"
    return f"Sent {sent}, and {TOO_LATE_ROWS} that are three days old and will be dropped."
