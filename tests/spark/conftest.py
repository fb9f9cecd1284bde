"""One Spark session for all tests here: a classic one, or one of Spark Connect where SASH_SPARK=connect."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest
from helpers.spark.connect import connect_builder
from pyspark.sql import SparkSession

from sash.spark.local_session import settings

CONNECT = os.environ.get("SASH_SPARK") == "connect"
TESTS = Path(__file__).parent.parent
CONF = {
    "spark.master": "local[2]",
    "spark.default.parallelism": 2,
    "spark.sql.shuffle.partitions": 4,
    "spark.sql.execution.arrow.maxRecordsPerBatch": 50,  # so that groups come in several batches
    "spark.sql.execution.arrow.pyspark.validateSchema.enabled": True,
    "spark.sql.session.timeZone": "America/New_York",
    # compiling Java takes longer than reading some hundred rows, and so does making machine code of it as good as can be
    "spark.sql.codegen.wholeStage": False,
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.ui.showConsoleProgress": False,
}


def pytest_configure(config: pytest.Config) -> None:
    if pyspark.__version__.startswith("4.1."):  # which leaves the sockets of collect() to the garbage collector
        config.addinivalue_line("filterwarnings", "ignore:Exception ignored in. <socket")
        config.addinivalue_line("filterwarnings", "ignore:unclosed <socket:ResourceWarning")


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session with small batches and few partitions, in a time zone with gaps and overlaps."""
    paths = [os.environ.get("PYTHONPATH", ""), str(TESTS)]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))  # workers import the tests' own modules
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ.setdefault("PYARROW_IGNORE_TIMEZONE", "1")  # as pandas on Spark asks for
    given = settings(2, "2g", str(tmp_path_factory.mktemp("tables")), CONF)
    builder = SparkSession.builder
    if CONNECT:
        builder = connect_builder(given.pop("spark.master"))
    builder = builder.appName("sash tests")
    for key, value in given.items():
        builder = builder.config(key, value)
    with warnings.catch_warnings():
        # Connect sets all again that the server has begun with, and warns of what can't be set any more
        warnings.filterwarnings("ignore", "Failed to set")
        session = builder.getOrCreate()
    yield session
    session.stop()


@pytest.fixture
def classic() -> None:
    """Leave a test out on Connect, which looks at what only a classic session shows, or would take long to show it twice."""
    if CONNECT:
        pytest.skip("on a classic session only")
