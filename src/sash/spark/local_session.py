"""A local Spark session, and the Java that it needs."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

GIGABYTE = 1 << 30
MAX_MEMORY = 8
"""Gigabytes: more only makes the pauses of the garbage collector longer, and Python workers need memory too."""
PARTITIONS_PER_CORE = 4
ROWS_PER_BATCH = 100_000
"""Ten times Spark's default: each batch that goes to Python costs a call."""
STORE = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
LOGGING = Path(__file__).with_name("log4j2.properties")
OLDEST_JAVA = 17
REMEDY = "Install one (Debian: apt-get install openjdk-17-jre-headless), or set JAVA_HOME to its folder"


def start(name: str, cores: int | None, memory: str | None, conf: Mapping[str, Any]) -> SparkSession:
    """Return the active session; if there is none, start a local one."""
    try:
        return SparkSession.active()
    except PySparkRuntimeError:
        pass
    check_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # not the first python3 on the PATH
    warehouse = tempfile.mkdtemp(prefix="sash-spark-")
    atexit.register(shutil.rmtree, warehouse, ignore_errors=True)
    builder = SparkSession.builder.appName(name)
    for key, value in settings(cores, memory, warehouse, conf).items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def settings(cores: int | None, memory: str | None, warehouse: str, conf: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a local session; those in `conf` win."""
    java_options = "spark.driver.extraJavaOptions"
    # Java does not find it in a zip file, from which Sash may be imported.
    logging = f'"-Dlog4j2.configurationFile={LOGGING.as_uri()}"' if LOGGING.is_file() else ""
    return {
        "spark.master": f"local[{cores or '*'}]",
        "spark.driver.memory": memory or f"{driver_memory()}g",
        # an address of this machine that is valid without a network
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.execution.arrow.pyspark.enabled": True,
        "spark.sql.execution.arrow.maxRecordsPerBatch": ROWS_PER_BATCH,
        "spark.sql.shuffle.partitions": PARTITIONS_PER_CORE * (cores or os.cpu_count() or 1),
        STORE: ROCKSDB,
        # write the changes of a micro-batch, not all files of RocksDB again
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": True,
        # With Spark's default, stateful operators and mapInArrow have Python workers with different environments, which start one
        # after the other; so the first micro-batch takes a second longer.
        "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": False,
        "spark.python.daemon.module": "sash.spark.worker_daemon",  # workers start faster
        # Over TCP, each task in Python waits 40 ms for its first rows: Java sends them when the worker has confirmed what it sent before,
        # and Linux delays that.
        "spark.python.unix.domain.socket.enabled": hasattr(socket, "AF_UNIX"),
        "spark.sql.warehouse.dir": warehouse,
        "spark.ui.enabled": False,
        "spark.ui.showConsoleProgress": sys.stderr.isatty(),
        **conf,
        java_options: f"{logging} {conf.get(java_options, '')}".strip(),
    }


def driver_memory() -> int:
    """Return the gigabytes to give Spark: half of the memory of the machine or container, from 1 to `MAX_MEMORY`."""
    try:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        memory = MAX_MEMORY * GIGABYTE  # unknown on this system
    limit = Path("/sys/fs/cgroup/memory.max")
    text = limit.read_text(encoding="ascii").strip() if limit.exists() else ""
    if text.isdigit():
        memory = min(memory, int(text))
    return max(1, min(MAX_MEMORY, memory // 2 // GIGABYTE))


def check_java() -> None:
    """Raise RuntimeError if Java is missing or too old: Spark itself would print half a page."""
    home = os.environ.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else "java"  # noqa: PTH118 — as Spark's own script does it
    where = f"in JAVA_HOME ({home})" if home else "on the PATH"
    path = shutil.which(java)
    text = subprocess.run([path, "-version"], capture_output=True, text=True, check=False).stderr if path else ""  # noqa: S603
    version = java_version(text)
    if version is None or version < OLDEST_JAVA:
        problem = f"there is none {where}" if version is None else f"the one {where} is Java {version}"
        raise RuntimeError(f"Spark needs Java {OLDEST_JAVA} or newer, but {problem}. {REMEDY}.")


def java_version(text: str) -> int | None:
    """Return the version in the output of `java -version`, or None if there is none in it.

    >>> java_version('openjdk version "17.0.2" 2022-01-18'), java_version('java version "1.8.0_402"'), java_version("")
    (17, 8, None)
    """
    version = re.search(r'version "(?:1\.)?(\d+)', text)
    return int(version[1]) if version else None
