"""Sash on Spark: `query.run(df)` takes PySpark's DataFrames of any session, and here is a good local session."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def session(name: str = "sash", *, cores: int | None = None, memory: str | None = None, **conf: Any) -> SparkSession:
    """Return the active Spark session as it is, or else start one on this machine that is set up for Sash.

    It runs on all cores or on `cores`, with `memory` as Spark writes it ("4g"), or else half of the machine's, at most 8g.
    Arrow is on, the state of streams is in RocksDB, tables go to a temporary folder, and nothing is printed but errors
    and, in a terminal, progress. `conf` has further settings of Spark.

    >>> import sash
    >>> spark = sash.spark.session(cores=2, **{"spark.sql.session.timeZone": "UTC"})  # doctest: +SKIP
    >>> spark.range(3).count()  # doctest: +SKIP
    3
    """
    try:
        engine = import_module("sash.engines.spark.session")
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("sash"):
            raise
        message = f'Spark is not installed ({error.name} is missing): pip install "sash[spark]".'
        raise ModuleNotFoundError(message, name=error.name) from error
    started: SparkSession = engine.session(name, cores, memory, conf)
    return started
