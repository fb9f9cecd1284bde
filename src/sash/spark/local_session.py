"""A local Spark session for people who have none."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from sash.spark.java import check_java
from sash.spark.quiet import without_noise

GIGABYTE = 1 << 30
MOST_MEMORY = 8
"""Gigabytes: more only makes the garbage collector's pauses longer, and Python's workers need memory too."""
PARTITIONS_OF_A_CORE = 4
ROWS_OF_A_BATCH = 100_000
"""Ten times Spark's default: each batch that goes to Python costs a call."""
LOGGING = Path(__file__).with_name("log4j2.properties")


def session(name: str, cores: int | None, memory: str | None, conf: Mapping[str, Any]) -> SparkSession:
    """Return the session that is active; if there is none, start a local one."""
    try:
        return SparkSession.active()
    except PySparkRuntimeError:
        pass
    check_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # not whatever python3 the PATH has
    warehouse = tempfile.mkdtemp(prefix="sash-spark-")
    atexit.register(shutil.rmtree, warehouse, ignore_errors=True)
    builder = SparkSession.builder.appName(name)
    for key, value in settings(cores, memory, warehouse, conf).items():
        builder = builder.config(key, value)
    with without_noise():
        return builder.getOrCreate()


def settings(cores: int | None, memory: str | None, warehouse: str, conf: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a good local session is configured with; what is in `conf` wins."""
    counted = cores or os.cpu_count() or 1
    java_options = "spark.driver.extraJavaOptions"
    quietly = f'"-Dlog4j2.configurationFile={LOGGING.as_uri()}"'
    return {
        "spark.master": f"local[{cores or '*'}]",
        "spark.driver.memory": memory or f"{driver_memory()}g",
        # a name for this machine that also holds without a network
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.execution.arrow.pyspark.enabled": True,
        "spark.sql.execution.arrow.maxRecordsPerBatch": ROWS_OF_A_BATCH,
        "spark.sql.shuffle.partitions": PARTITIONS_OF_A_CORE * counted,
        "spark.sql.streaming.stateStore.providerClass": (
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
        ),
        # what a micro-batch has changed is written, not all files of RocksDB anew
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": True,
        "spark.sql.warehouse.dir": warehouse,
        "spark.ui.enabled": False,
        "spark.ui.showConsoleProgress": sys.stderr.isatty(),
        **conf,
        java_options: f"{quietly} {conf.get(java_options, '')}".strip(),
    }


def driver_memory() -> int:
    """Return how many gigabytes to give Spark: half of what the machine or the container has, within limits."""
    try:
        there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        there = MOST_MEMORY * GIGABYTE  # this system doesn't say
    limit = Path("/sys/fs/cgroup/memory.max")
    told = limit.read_text(encoding="ascii").strip() if limit.exists() else ""
    if told.isdigit():
        there = min(there, int(told))
    return max(1, min(MOST_MEMORY, there // 2 // GIGABYTE))
