"""The session that all contestants share: two cores, as sash.spark.session() sets one up."""

from __future__ import annotations

import os
from functools import cache

from pyspark.sql import SparkSession

import sash
from benchmarks.results import ROOT

CORES = 2


@cache
def spark() -> SparkSession:
    """Start the session."""
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))  # functions of ours are run by Python's workers
    return sash.spark.session("sash benchmarks", cores=CORES)
