"""Sash: sliding-window aggregation. A window's result is the ordered combine of its slices.

    rows ──► windows ──► slices ──► aggregator ──► results
             WHERE do    CUT at     HOW are the    lower()
             windows     those      slices combined
             begin/end   places     and evicted

>>> import sash
>>> from sash import agg
>>> window = sash.Aggregator(agg.arg_max("load", "plug"))
>>> for load, plug in ((3.1, "kettle"), (0.4, "lamp"), (2.2, "oven")):
...     window.insert(load, plug)
>>> window.query()
'kettle'
>>> window.evict()
>>> window.query()
'oven'
"""

from sash import aggregates as agg
from sash import spark, testing
from sash import windows as window
from sash.aggregates.base import Aggregate, aggregate
from sash.aggregator import Aggregator
from sash.algorithms.catalogue import catalogue
from sash.plan.pictures.timeline import draw_window
from sash.query import Query

__all__ = ["Aggregate", "Aggregator", "Query", "agg", "aggregate", "catalogue", "spark", "testing", "window"]
__version__ = "0.1.0"

window.Window.picture = draw_window  # the package of windows lies below plan and cannot import it
