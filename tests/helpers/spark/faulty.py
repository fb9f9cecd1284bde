"""Faults on a cluster: results are those of an undisturbed run, or there is one clear error. test_faults.py starts this script.

python -m helpers.spark.faulty FOLDER losses | speculation | memory
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException

import sash
from helpers.spark.cluster import Cluster, assert_same, own_home
from helpers.spark.faulty_daemon import FULL, KILL, LITTLE, LOSE, SLOW
from sash import agg, window

chain = sash.aggregate(
    "chain",
    lift=lambda x: (int(x) + 20, int(x)),
    combine=lambda older, newer: (older[0] * newer[0] % 1_000_003, (older[1] * newer[0] + newer[1]) % 1_000_003),
    lower=lambda whole: whole[1],
)
"""The value of numerals of differing bases: no row may be lost, be there twice or change places."""
ORDER = ("house", "plug", "load", "work")
TYPES = {"chain": "bigint"}
LOADS: dict[str, sash.Aggregate[Any]] = {"n": agg.count(), "peak": agg.max("load")}
CHAINS: dict[str, sash.Aggregate[Any]] = {"n": agg.count(), "chain": chain("load")}
STREAMS: dict[str, tuple[sash.Query, dict[str, Any]]] = {
    "slices": (sash.Query(LOADS, window.time("5m", slide="1m"), by="household", time="ts"), {}),
    "rows": (sash.Query(CHAINS, window.rows(20), by="plug", time="ts", order_by=ORDER), {"types": TYPES}),
}
BATCHES: dict[str, tuple[sash.Query, dict[str, Any]]] = {
    "slices": (sash.Query(LOADS, window.time("5m", slide="1m"), by="plug", time="ts"), {}),
    "buckets": (sash.Query(CHAINS, window.time("5m"), by="plug", time="ts", order_by=ORDER), {"types": TYPES}),
    "ranges": (sash.Query(CHAINS, window.time("2m", slide="30s"), time="ts", order_by=ORDER), {"types": TYPES}),
}
SPECULATION = {
    "spark.speculation": True,
    "spark.speculation.interval": "100ms",
    "spark.speculation.quantile": 0.5,
    "spark.speculation.multiplier": 1.1,
    "spark.speculation.minTaskRuntime": "500ms",
}


def check_batches(cluster: Cluster, *faults: str) -> None:
    """Compare each strategy under a fault with the run in this process."""
    strategy: Any
    for strategy, (query, options) in BATCHES.items():
        frame = cluster.frame.repartition(2)
        results = query.run(frame, strategy=strategy, **options)
        cluster.arm(*faults)
        assert_same(results.toArrow(), query.run(cluster.rows))
        for fault in set(faults) & {KILL, LOSE, SLOW}:
            cluster.assert_struck(fault)
        sys.stdout.write(f"{strategy}: {faults}\n")


def check_streams(cluster: Cluster, *faults: str) -> None:
    """Compare streams under a fault with the batch run in this process."""
    for name, (query, options) in STREAMS.items():
        assert_same(cluster.stream_results(query, 3, faults, **options), query.run(cluster.rows))
        for fault in set(faults) & {KILL, LOSE, SLOW}:
            cluster.assert_struck(fault)
        sys.stdout.write(f"stream of {name}: {faults}\n")


def error_of(run: Any) -> str:
    """Return the only line of Sash's in the error of a job."""
    with pytest.raises(PySparkException) as raised:
        run()
    text = str(raised.value)
    lines = {line.strip() for line in text.splitlines() if line.strip().startswith("[SASH]")}
    assert len(lines) == 1, text[-4_000:]
    return lines.pop()


def losses(folder: Path) -> None:
    """Lose executors and shuffle files; fill the disks of copies of state and of sorted runs."""
    cluster = Cluster.start(folder)
    check_batches(cluster, KILL)
    check_batches(cluster, LOSE)
    check_streams(cluster, KILL)
    check_streams(cluster, FULL)
    query, options = BATCHES["buckets"]
    results = query.run(cluster.frame, strategy="buckets", **options)
    cluster.arm(LITTLE)
    assert_same(results.toArrow(), query.run(cluster.rows))
    cluster.arm(LITTLE, FULL)
    line = error_of(results.toArrow)
    assert line.startswith("[SASH] OSError: [Errno 28] A partition has more rows than fit memory"), line
    assert "No space left on device" in line
    assert "spark.local.dir" in line
    cluster.arm()
    assert_same(results.toArrow(), query.run(cluster.rows))
    cluster.spark.stop()


@contextmanager
def two_hosts(home: Path) -> Iterator[str]:
    """Start a cluster whose executors are on two hosts, and yield its address. On one host Spark runs no task a second time.

    Both are addresses of this machine.
    """
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    address = f"spark://127.0.0.1:{port}"
    master = ["master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0"]
    worker = ["worker.Worker", "--cores", "1", "--memory", "1500m", "--webui-port", "0", "--host"]
    starts = [master, *([*worker, host, address] for host in ("127.0.0.2", "127.0.0.3"))]
    with ExitStack() as started:
        for name, *arguments in starts:
            command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *arguments]
            process = started.enter_context(subprocess.Popen(command, start_new_session=True))
            started.callback(os.killpg, process.pid, signal.SIGTERM)
        yield address


def speculation(folder: Path) -> None:
    """Run slow tasks twice at the same time."""
    home = own_home(folder)
    with two_hosts(home) as address:
        cluster = Cluster.start(folder, **{"spark.master": address, **SPECULATION})
        check_batches(cluster, SLOW)
        check_streams(cluster, SLOW)
        cluster.spark.stop()
    logs = [path.read_text(encoding="utf-8") for path in home.glob("work/*/*/stderr")]
    twice = sum(len(re.findall(r"Running task \d+\.1 in stage", text)) for text in logs)
    assert twice >= len(BATCHES) + len(STREAMS), f"{twice} tasks ran twice"


def memory(folder: Path) -> None:
    """Limit the memory of Python workers."""
    cluster = Cluster.start(folder, **{"spark.executor.pyspark.memory": "700m", "spark.task.maxFailures": 1})
    rows = cluster.spark.range(2_400_000).selectExpr("id % 50 AS k", "id AS t", "CAST(id AS double) AS x")
    query = sash.Query({"mean": agg.mean("x")}, window.time(1_000, slide=10), by="k", time="t")
    results = query.run(rows, strategy="buckets", buckets=1)
    line = error_of(results.count)
    assert "MemoryError: " in line, line
    assert "spark.executor.pyspark.memory" in line
    few = rows.where("t < 1000")  # the cluster goes on
    assert_same(query.run(few, strategy="buckets").toArrow(), query.run(few.toArrow()))
    cluster.spark.stop()


if __name__ == "__main__":
    {"losses": losses, "speculation": speculation, "memory": memory}[sys.argv[2]](Path(sys.argv[1]))
