"""Ways to bring Sash to executors whose Python does not have it. test_shipping.py starts this script.

    python -m helpers.spark.shipped FOLDER wheel | py_files | archives | artifacts | archive_artifact

The executors have no home. Their Python is a virtual environment with the packages of this one, as links, and without Sash.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

import sash
from helpers.spark.cluster import CONF, READINGS, ROWS, assert_same, own_home, stream_results
from helpers.spark.connect import connect_builder
from sash import agg, window
from sash.spark.generated_readings import Readings
from sash.spark.local_session import settings

PACKAGE = Path(sash.__file__).parent
ARCHIVE = "environment"
IN_ARCHIVE = f"./{ARCHIVE}/bin/python"
rise = sash.aggregate(
    "rise",
    lift=lambda load: (load, load, 0.0),
    combine=lambda older, newer: (older[0], newer[1], max(older[2], newer[2], newer[0] - older[1])),
    lower=lambda found: found[2],
)
BATCH = sash.Query({"rise": rise("load"), "n": agg.count()}, window.time("5m"), by="household", time="ts")
STREAM = sash.Query({"rise": rise("load"), "n": agg.count()}, window.time("5m", slide="1m"), by="household", time="ts")


def make_environment(folder: Path) -> Path:
    """Make a virtual environment without Sash, and return the folder of its packages."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    [packages] = folder.glob("lib/python*/site-packages")
    for path in map(Path, sys.path):
        if path.name != "site-packages":
            continue
        for entry in path.iterdir():
            if "sash" not in entry.name and entry.suffix != ".pth" and not (packages / entry.name).exists():
                (packages / entry.name).symlink_to(entry)
    return packages


def make_zip(folder: Path) -> Path:
    """Write the package into a zip file."""
    path = folder / "sash.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for file in PACKAGE.rglob("*"):
            if file.is_file() and "__pycache__" not in file.parts:
                archive.write(file, Path("sash") / file.relative_to(PACKAGE))
    return path


def install_wheel(folder: Path, packages: Path) -> None:
    """Build a wheel of Sash and install it."""
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    root = PACKAGE.parents[1]
    options = ["--no-deps", "--no-build-isolation", "--wheel-dir", str(folder / "wheels")]
    subprocess.run([*pip, "wheel", *options, str(root)], check=True)
    [wheel] = (folder / "wheels").iterdir()
    subprocess.run([*pip, "install", "--no-deps", "--no-index", "--target", str(packages), str(wheel)], check=True)


def pack(folder: Path, environment: Path) -> Path:
    """Write an environment into an archive, as venv-pack does."""
    path = folder / f"{ARCHIVE}.tar.gz"
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        archive.add(environment, arcname=".")
    return path


def start(
    folder: Path, submit: str = "", *, beside_driver: Path | None = None, connect: bool = False, **conf: Any
) -> SparkSession:
    """Start a cluster with arguments of spark-submit, on which only the arguments bring Sash.

    To plan a stream, Spark starts a Python beside the driver that does not get files: it reads `beside_driver`.
    """
    own_home(folder)
    for name in ("PYTHONPATH", "SASH_CACHE_DIR", "XDG_CACHE_HOME"):
        os.environ.pop(name, None)  # of this process, which executors on this machine would inherit
    if beside_driver is not None:
        os.environ["PYTHONPATH"] = str(beside_driver)
    (folder / "tmp").mkdir()
    os.environ["PYSPARK_SUBMIT_ARGS"] = f"{submit} pyspark-shell"
    executors = {"HOME": "/proc/nowhere", "PYTHONPATH": "/proc/nowhere", "TMPDIR": str(folder / "tmp")}
    own = {f"spark.executorEnv.{name}": value for name, value in executors.items()}
    given = {**settings(2, "1g", str(folder / "tables"), {}), **CONF, **own, **conf}
    builder = SparkSession.builder.appName("sash shipped")
    if connect:
        builder = connect_builder(given.pop("spark.master")).appName("sash shipped")
    for key, value in given.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def where(_: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import sash as found  # noqa: PLC0415 — in a worker

    yield pa.RecordBatch.from_pydict({"file": [str(Path(found.__file__).absolute())]})


def check(folder: Path, spark: SparkSession, inside: str, sent: Path = PACKAGE, *, runs_streams: bool = True) -> None:
    """Run a query and a stream. Raise AssertionError if results differ, or if Sash comes from elsewhere."""
    found = {row.file for row in spark.range(0, 4, 1, 4).mapInArrow(where, "file string").collect()}
    assert all(inside in file and not file.startswith(str(sent)) for file in found), found
    rows = pa.Table.from_batches([Readings(**READINGS).batch(0, ROWS)])
    results = BATCH.run(spark.createDataFrame(rows), strategy="buckets", compiled=True).toArrow()
    assert_same(results, BATCH.run(rows))
    assert [*(folder / "tmp").glob("sash-*/*/*.object")], "no machine code is cached in the temporary folder"
    if runs_streams:
        assert_same(stream_results(spark, rows, folder / "stream", STREAM, 2), STREAM.run(rows))
    spark.stop()


def wheel(folder: Path) -> None:
    """Install a wheel where the Python of executors finds it."""
    install_wheel(folder, make_environment(folder / "executors"))
    os.environ["PYSPARK_PYTHON"] = str(folder / "executors" / "bin" / "python")
    check(folder, start(folder), "executors/lib")


def py_files(folder: Path) -> None:
    """Send a zip file."""
    make_environment(folder / "executors")
    os.environ["PYSPARK_PYTHON"] = str(folder / "executors" / "bin" / "python")
    sent = make_zip(folder)
    check(folder, start(folder, f"--py-files {sent}", beside_driver=sent), "sash.zip/", sent)


def archives(folder: Path) -> None:
    """Send an environment."""
    install_wheel(folder, make_environment(folder / "driver" / ARCHIVE))
    archive = pack(folder, folder / "driver" / ARCHIVE)
    os.environ["PYSPARK_PYTHON"] = IN_ARCHIVE
    os.chdir(folder / "driver")  # Spark also starts this Python where the driver runs, for streams
    check(folder, start(folder, f"--archives {archive}#{ARCHIVE}"), f"{ARCHIVE}/lib")


def artifacts(folder: Path) -> None:
    """Send a zip file over Spark Connect. Workers of streams do not get it."""
    make_environment(folder / "executors")
    os.environ["PYSPARK_PYTHON"] = str(folder / "executors" / "bin" / "python")
    sent = make_zip(folder)
    spark = start(folder, connect=True)
    spark.addArtifacts(str(sent), pyfile=True)
    check(folder, spark, "sash.zip/", sent, runs_streams=False)


def archive_artifact(folder: Path) -> None:
    """Send an environment over Spark Connect. Workers of streams do not get it."""
    install_wheel(folder, make_environment(folder / "driver" / ARCHIVE))
    archive = pack(folder, folder / "driver" / ARCHIVE)
    spark = start(folder, connect=True)
    spark.addArtifacts(f"{archive}#{ARCHIVE}", archive=True)
    spark.conf.set("spark.sql.execution.pyspark.python", IN_ARCHIVE)
    check(folder, spark, f"{ARCHIVE}/lib", runs_streams=False)


WAYS = {one.__name__: one for one in (wheel, py_files, archives, artifacts, archive_artifact)}

if __name__ == "__main__":
    WAYS[sys.argv[2]](Path(sys.argv[1]))
