"""Query: what the user declares. It runs on any engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sash.aggregates.base import Aggregate
from sash.plan.declared import declare
from sash.windows import Window
from sash.windows.durations import DurationLike

if TYPE_CHECKING:
    from sash.engine.prepare import PreparedCache
    from sash.plan.explanation import Explanation


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
        lateness: DurationLike | None = None,
        *,
        objective: str = "throughput",
        slicing: str = "auto",
    ) -> None:
        """Parse and validate the query. Raise ValueError or TypeError if a window or aggregate is invalid.

        `by` names the keys, `time` the column that orders the rows, `order_by` columns that break ties. `lateness` is the
        maximum delay of a row behind the newest row of a stream. `algorithm` and `slicing` are chosen unless named;
        `objective` is "throughput" or "latency".
        """
        self._declared = declare(aggregates, windows, by, time, order_by, algorithm, objective, slicing, lateness)
        self._cache: PreparedCache | None = None

    def run(self, data: Any, **options: Any) -> Any:
        """Return the results for data of any kind, as the same kind: PySpark (lazily), Arrow, pandas or Polars.

        On PySpark `strategy=` names one of "slices", "buckets" and "ranges" instead of leaving the choice, `buckets=` and
        `ranges=` say how many, and `types=` what aggregates give where only running them would tell, as {"s": "double"}.
        On a streaming DataFrame `mode="update"` gives windows whenever rows change them, `on_bad_time="drop"` drops and
        counts rows without a usable time, `ahead=` says how far ahead of the clock times may be, and `metrics=` names the
        counts of rows. `compiled=False` interprets everything. For a RecordBatchReader `mode="update"` gives the results of windows as
        soon as they end, and again when a row within `lateness` changes them; `order="keys"` says that rows come by key.
        """
        from sash.data import run  # noqa: PLC0415 — it imports Numba, which declaring a query does not need
        from sash.engine.prepare import PreparedCache  # noqa: PLC0415

        if self._cache is None:
            self._cache = PreparedCache(self._declared)
        return run(self._cache, data, options)

    def explain(self, data: Any = None, **options: Any) -> Explanation:
        """Return how the query is answered, and why so: printed it is a tree, and in a notebook also a picture.

        With data of any kind, or its Arrow schema, it is the plan for these types, and what can't be compiled is found out;
        with a PySpark DataFrame also what Spark does, for the same options as of `run`.

        >>> import sash
        >>> from sash import agg, window
        >>> query = sash.Query(
        ...     by="household", time="ts",
        ...     windows={"day": window.time("24h", slide="1m"), "hour": window.time("1h", slide="1m")},
        ...     aggregates={"sd": agg.stddev("load"), "mean": agg.mean("load"), "notes": agg.collect("note")},
        ... )
        >>> query.explain()  # doctest: +ELLIPSIS
        Query by household, ordered by ts
        ├─ types    assumed, as there is no data: ts timestamp[ns], load double, note double
        ├─ windows  day: time("24h", slide="1m")
        │           hour: time("1h", slide="1m")
        ├─ slices   cut where windows begin (cutty), every 1m; 1,440 per window of day, 60 of hour; shared by day and
        │           hour
        ├─ sd: stddev(load), mean: mean(load)  in one pass
        │    algorithm  two_stacks: associative...
        │    partials   mean is read from the partial of sd
        │    cost       1 combine for each row, into its slice; for each slice and window: 3 combines, amortised
        │    memory     2n partials of 4 numbers, n = 1,440 + 60 slices: up to 96 KB a key
        │    runs       compiled
        └─ notes: collect(note)
        ...
             runs       interpreted: its partials grow with the window, so they have no place in flat columns
        """
        from sash.data import explain  # noqa: PLC0415 — it imports Numba, which declaring a query does not need

        return explain(self._declared, data, options)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out prepared queries: compiled functions cannot be sent to another process."""
        return {"_declared": self._declared, "_cache": None}
