"""Query: what the user declares. It runs on any engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from sash.aggregates.base import Aggregate
from sash.plan.declared import declare
from sash.windows import Window
from sash.windows.durations import Given


class Query:
    """Windows and aggregates over rows in order.

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> query = sash.Query(
    ...     by="household", time="minute",
    ...     windows=window.time(10, slide=5),
    ...     aggregates={"peak": agg.max("load"), "mean": agg.mean("load")},
    ... )
    >>> rows = pa.table({"household": [1, 1, 2], "minute": [3, 8, 4], "load": [2.0, 5.0, 1.5]})
    >>> for row in query.run(rows).to_pylist():
    ...     print(row)
    {'household': 1, 'window_start': -5, 'window_end': 5, 'peak': 2.0, 'mean': 2.0}
    {'household': 1, 'window_start': 0, 'window_end': 10, 'peak': 5.0, 'mean': 3.5}
    {'household': 1, 'window_start': 5, 'window_end': 15, 'peak': 5.0, 'mean': 5.0}
    {'household': 2, 'window_start': -5, 'window_end': 5, 'peak': 1.5, 'mean': 1.5}
    {'household': 2, 'window_start': 0, 'window_end': 10, 'peak': 1.5, 'mean': 1.5}
    """

    def __init__(
        self,
        aggregates: Mapping[str, Aggregate[Any]] | Aggregate[Any],
        windows: Window | Mapping[str, Window],
        by: str | Sequence[str] = (),
        time: str | None = None,
        order_by: str | Sequence[str] = (),
        algorithm: str = "auto",
        lateness: Given | None = None,
        *,
        objective: str = "throughput",
        slicing: str = "auto",
    ) -> None:
        """Declare what is computed; what is wrong with it is said now, in a sentence.

        `by` are the keys, `time` is the column that orders the rows, `order_by` breaks its ties. `lateness` is how much
        later than newer ones rows may come in a stream. `algorithm` and `slicing` are chosen, unless named; `objective`
        says for what: "throughput" or "latency".
        """
        self._declared = declare(aggregates, windows, by, time, order_by, algorithm, objective, slicing, lateness)

    def run(self, data: Any, **options: Any) -> Any:
        """Return the results for data of any kind, as the same kind: Arrow, pandas or Polars.

        `compiled=False` interprets everything. For a RecordBatchReader `mode="update"` gives the results of windows as
        soon as they end, and again when a row within `lateness` changes them; `order="keys"` says that rows come by key.
        """
        return import_module("sash.engines.tables").run(self._declared, data, **options)
