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

        `aggregates` and `windows` are dictionaries by name, or a single one. `by` names the keys, `time` the column that orders
        the rows, `order_by` columns that break ties. `lateness` is the maximum delay of a row behind the newest row of a
        stream. `algorithm` and `slicing` ("cutty", "pairs", "panes" or "none") override the choice of the plan; `objective`
        is "throughput" or, for the best worst case, "latency".
        """
        self._declared = declare(aggregates, windows, by, time, order_by, algorithm, objective, slicing, lateness)
        self._cache: PreparedCache | None = None

    def run(self, data: Any, **options: Any) -> Any:
        """Return the results as data of the same kind: Arrow, pandas, Polars, or PySpark (lazily).

        A result per row is the input row with one more column per aggregate and window. A result per window is a row with
        the keys, `window` (its name, if there are several), `window_start`, `window_end` and the aggregates.

        Options, by the kind of data:

        - all: `compiled=False` interprets everything;
        - data in this process: `threads=` is the number of threads;
        - a RecordBatchReader: `mode="update"` emits a window as soon as it ends, and again when a row within `lateness`
          changes it; `order="keys"` accepts rows sorted by key and then time;
        - a PySpark DataFrame: `strategy=` is "slices", "buckets" or "ranges"; `buckets=` and `ranges=` are their numbers;
          `types=` are the result types of aggregates, such as {"s": "double"}, where they are not known before they run;
        - a streaming DataFrame: `mode="update"` emits a window whenever rows change it; `buckets=` and `types=` as above;
          `on_bad_time="drop"` drops and counts rows without a usable time; `ahead=` is how far ahead of the clock a time may
          be; `metrics=` is the name of the row counts among Spark's observed metrics.

        Raise TypeError or ValueError if the query cannot read the data, or if an option does not apply to it.
        """
        from sash.data import run  # noqa: PLC0415 — it imports Numba, which declaring a query does not need
        from sash.engine.prepare import PreparedCache  # noqa: PLC0415

        if self._cache is None:
            self._cache = PreparedCache(self._declared)
        return run(self._cache, data, options)

    def explain(self, data: Any = None, **options: Any) -> Explanation:
        """Return the plan: slices, sharing, the algorithm of each aggregate and why, cost and memory.

        `print` shows it as a tree, a notebook also as a picture. Without data, types are assumed. With data of any kind, or
        its Arrow schema, the plan is for these types, and everything that compiles is compiled. With a PySpark DataFrame it
        also says what Spark does; `options` are those of `run`.

        >>> import sash
        >>> from sash import agg, window
        >>> query = sash.Query(
        ...     by="household", time="ts",
        ...     windows={"day": window.time("24h", slide="1m"), "hour": window.time("1h", slide="1m")},
        ...     aggregates={"sd": agg.stddev("load"), "n": agg.count("load"), "notes": agg.collect("note")},
        ... )
        >>> query.explain()  # doctest: +ELLIPSIS
        Query by household, ordered by ts
        ├─ types    assumed, as there is no data: ts timestamp[ns], load double, note double
        ├─ windows  day: time("24h", slide="1m")
        │           hour: time("1h", slide="1m")
        ├─ slices   cut where windows begin (cutty), every 1m; 1,440 per window of day, 60 of hour; shared by day and
        │           hour
        ├─ sd: stddev(load), n: count(load)  in one pass
        │    algorithm  two_stacks: associative...
        │    partials   n is read from the partial of sd
        │    cost       1 combine for each row, into its slice; for each slice and window: 3 combines, amortised
        │    memory     2n partials of 4 numbers, n = 1,440 + 60 slices: up to 96 KB a key
        │    runs       compiled
        └─ notes: collect(note)
        ...
             runs       interpreted: its partials grow with the window, so they do not fit in flat columns
        """
        from sash.data import explain  # noqa: PLC0415 — it imports Numba, which declaring a query does not need

        return explain(self._declared, data, options)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out prepared queries: compiled functions cannot be sent to another process."""
        return {"_declared": self._declared, "_cache": None}
