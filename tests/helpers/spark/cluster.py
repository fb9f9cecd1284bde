"""A Spark whose executors are processes of their own, with faults that can be armed; for scripts, since a process has one SparkContext.

Nothing here is sent to the executors: they do not have the tests on their path.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
from pyspark.sql import DataFrame, SparkSession

import sash
from helpers.spark import faulty_daemon
from sash.spark.generated_readings import Readings

TESTS = Path(__file__).parents[2]
ROWS = 3_000
READINGS: dict[str, Any] = {"rows_per_second": 10, "households": 4, "late": 0.1, "lateness": "1m", "seed": 3}
QUICKLY = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
CONF: dict[str, Any] = {
    "spark.master": "local-cluster[2,1,1500]",
    "spark.executor.memory": "1500m",
    "spark.executor.extraJavaOptions": QUICKLY,
    "spark.driver.extraJavaOptions": QUICKLY,
    "spark.sql.shuffle.partitions": 2,
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.codegen.wholeStage": False,
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.ui.showConsoleProgress": False,
}
SECONDS = 300
"""How long to wait for a stream: it only ends a test that would hang."""


def run_script(name: str, folder: Path, *arguments: str, **variables: str) -> str:
    """Run a script of this folder, and return what it prints. Raise AssertionError if it fails."""
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path and Path(path) != TESTS]
    done = subprocess.run(
        [sys.executable, "-m", f"helpers.spark.{name}", str(folder), *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=TESTS,  # on the path of the driver, not on that of executors
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), **variables},
    )
    assert done.returncode == 0, done.stdout[-3_000:] + done.stderr[-12_000:]
    return done.stdout


def own_home(folder: Path) -> Path:
    """Make a home of Spark in a folder, where executors write their files instead of into PySpark."""
    home = folder / "spark"
    home.mkdir(parents=True, exist_ok=True)
    for entry in Path(pyspark.__file__).parent.iterdir():
        if not (home / entry.name).exists():
            (home / entry.name).symlink_to(entry)
    os.environ["SPARK_HOME"] = str(home)
    return home


@dataclass
class Cluster:
    """A session with two executors, and readings."""

    folder: Path
    spark: SparkSession
    rows: pa.Table
    streams: int = 0

    @classmethod
    def start(cls, folder: Path, **conf: Any) -> Cluster:
        """Start the session."""
        own_home(folder)
        (folder / "modules").mkdir()
        (folder / "local").mkdir()
        shutil.copy(faulty_daemon.__file__, folder / "modules")
        paths = [str(folder / "modules"), os.environ.get("PYTHONPATH", "")]
        own = {
            "spark.python.daemon.module": "faulty_daemon",
            "spark.executorEnv.PYTHONPATH": os.pathsep.join(filter(None, paths)),
            f"spark.executorEnv.{faulty_daemon.FOLDER}": str(folder / "faults"),
            "spark.local.dir": str(folder / "local"),
        }
        os.environ["PYTHONPATH"] = own[
            "spark.executorEnv.PYTHONPATH"
        ]  # Spark asks a worker of the driver about streams
        os.environ[faulty_daemon.FOLDER] = str(folder / "faults")
        faulty_daemon.arm(folder / "faults")
        rows = pa.Table.from_batches([Readings(**READINGS).batch(0, ROWS)])
        return cls(folder, sash.spark.session(memory="1g", **{**CONF, **own, **conf}), rows)

    def arm(self, *faults: str) -> None:
        """Let faults happen from now on."""
        faulty_daemon.arm(self.folder / "faults", *faults)

    def assert_struck(self, fault: str) -> None:
        """Raise AssertionError if a fault did not happen."""
        assert not (self.folder / "faults" / fault).exists(), f"{fault!r} did not happen"

    @property
    def frame(self) -> DataFrame:
        """The readings."""
        return self.spark.createDataFrame(self.rows)

    def stream_results(self, query: sash.Query, batches: int, faults: Sequence[str] = (), **options: Any) -> pa.Table:
        """Return the results of a stream over the readings while faults happen."""
        self.streams += 1
        self.arm(*faults)
        return stream_results(self.spark, self.rows, self.folder / f"stream_{self.streams}", query, batches, **options)


def stream_results(
    spark: SparkSession, rows: pa.Table, folder: Path, query: sash.Query, batches: int, **options: Any
) -> pa.Table:
    """Return the results of a stream over rows, those of windows that are open at the end included."""
    (folder / "rows").mkdir(parents=True)
    size = -(-len(rows) // batches)
    for number in range(batches):  # in the order of their names, a micro-batch each
        pq.write_table(rows.slice(number * size, size), folder / "rows" / f"{number}.parquet")
    read = spark.readStream.schema(spark.createDataFrame(rows).schema).option("maxFilesPerTrigger", 1)
    stream = read.parquet(str(folder / "rows")).withWatermark("ts", "1 minute")
    checkpoint = str(folder / "checkpoint")
    writer = query.run(stream, buckets=4, **options).writeStream.option("checkpointLocation", checkpoint)
    started = writer.format("parquet").trigger(availableNow=True).start(str(folder / "results"))
    assert started.awaitTermination(SECONDS)
    emitted = spark.read.parquet(str(folder / "results"))
    assert emitted.count() > 0
    return emitted.unionByName(sash.spark.finish(query, stream, checkpoint, buckets=4, **options)).toArrow()


def assert_same(found: pa.Table, expected: pa.Table) -> None:
    """Raise AssertionError if results differ, in any order of rows."""
    expected = expected.cast(found.schema)
    assert len(found) == len(expected) > 0
    order = [(name, "ascending") for name in found.column_names]
    assert found.sort_by(order).equals(expected.sort_by(order))
