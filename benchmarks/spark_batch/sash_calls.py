"""How Sash is asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sash
from benchmarks.spark_batch.case import ResultColumn
from sash import agg, window

AGGREGATES: Mapping[str, Any] = {"peak": agg.max("load"), "mean": agg.mean("load"), "sd": agg.stddev("load")}

steepest = sash.aggregate(
    "steepest",
    lift=lambda load: (load, load, 0.0),
    combine=lambda older, newer: (older[0], newer[1], max(older[2], newer[2], newer[0] - older[1])),
    lower=lambda rise: rise[2],
)


def by_sash(
    windows: window.Window | Mapping[str, window.Window],
    aggregates: Mapping[str, Any] = AGGREGATES,
    *,
    by: str | tuple[str, ...] = "household",
    **options: Any,
) -> ResultColumn:
    """Return Sash's query, declared once; running it is what is timed."""
    query = sash.Query(aggregates, windows, by=by, time="ts")
    return lambda frame: query.run(frame, **options)
