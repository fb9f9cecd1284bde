"""Sash: sliding-window aggregation. A window's result is the ordered combine of its slices.

    rows ──► windows ──► slices ──► aggregator ──► results
             WHERE do    CUT at     HOW are the    lower()
             windows     those      slices combined
             begin/end   places     and evicted

>>> import pyarrow as pa
>>> import sash
>>> from sash import agg, window
>>> rows = pa.table({"minute": [1, 2, 9], "load": [3.1, 0.4, 2.2], "plug": ["kettle", "lamp", "oven"]})
>>> query = sash.Query({"who": agg.arg_max("load", "plug")}, window.tumbling(5), time="minute")
>>> query.run(rows).to_pylist()
[{'window_start': 0, 'window_end': 5, 'who': 'kettle'}, {'window_start': 5, 'window_end': 10, 'who': 'oven'}]

    sash.Query        windows and aggregates over Arrow, pandas, Polars or PySpark data
    sash.agg          the built-in aggregates; sash.aggregate defines your own
    sash.sql          a query from SQL or CQL text
    sash.expr         SQL as the input of an aggregate
    sash.window       the kinds of windows
    sash.Aggregator   one window that you move yourself; sash.catalogue() lists the algorithms
    sash.warm         compiles a query ahead, for images and clusters
    sash.live         the results of a stream in a browser
    sash.serve        features at the moment of a request, from the states of a stream
    sash.spark        a local session, demo data, the state of streams
    sash.testing      checks for your own aggregates and queries
"""

from sash import aggregates as agg
from sash import live, serve, spark, testing
from sash import windows as window
from sash.aggregates.base import Aggregate
from sash.aggregates.definition import aggregate
from sash.aggregator import Aggregator
from sash.algorithms.catalogue import catalogue
from sash.expressions import expr
from sash.plan.pictures import draw_window
from sash.query import Query
from sash.sql_query import register, sql
from sash.warm_up import warm

__all__ = [
    "Aggregate",
    "Aggregator",
    "Query",
    "agg",
    "aggregate",
    "catalogue",
    "expr",
    "live",
    "register",
    "serve",
    "spark",
    "sql",
    "testing",
    "warm",
    "window",
]
__version__ = "0.2.0"

window.Window.picture = draw_window  # the package of windows lies below plan and cannot import it
