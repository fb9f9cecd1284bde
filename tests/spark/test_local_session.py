from __future__ import annotations

import os
import runpy
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pyspark
import pytest

import sash
from sash import agg, window
from sash.options import SparkTableOptions, read_options
from sash.spark import local_session as local

ROOT = Path(__file__).parents[2]
START = """
import os, sash
spark = sash.spark.session(cores=1, memory="700m", **{"spark.sql.session.timeZone": "Asia/Tokyo"})
assert sash.spark.session(cores=2) is spark, "the active session is returned"
for key in ("spark.master", "spark.driver.memory", "spark.sql.shuffle.partitions", "spark.sql.session.timeZone"):
    print(spark.conf.get(key))
spark.range(3).write.saveAsTable("numbers")  # to the warehouse
def imported(batches):
    import os, pyspark, pyarrow
    assert os.environ["PYTHON_UNIX_DOMAIN_ENABLED"].lower() == "true"
    yield from (pyarrow.record_batch({"path": pyarrow.array([pyspark.__file__] * len(batch))}) for batch in batches)
paths = spark.table("numbers").mapInArrow(imported, "path string").collect()
assert not [path for path, in paths if ".zip" in path], paths
print(len(paths))
spark.stop()
again = sash.spark.session(cores=1)
print(again.range(4).count())
again.sql("SELECT raise_error('on purpose')").show()
"""


@pytest.mark.full
def test_a_session_starts_with_its_settings_and_logs_nothing(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", START], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.stdout.split() == ["local[1]", "700m", "4", "Asia/Tokyo", "3", "4"], done.stderr
    assert list(tmp_path.iterdir()) == []
    lines = [line for line in done.stderr.splitlines() if not line.startswith("WARNING: Using incubator modules:")]
    assert (
        lines[0] == "Traceback (most recent call last):"
    )  # Python's, after the line that Java prints for each session
    assert not [line for line in lines if "WARN" in line]
    assert "ERROR" not in done.stderr


def test_settings_given_win_and_options_for_java_are_added() -> None:
    given = {"spark.ui.enabled": True, "spark.driver.extraJavaOptions": "-Dmine=1"}
    settings = local.settings(None, None, "/tables", given)
    assert settings["spark.ui.enabled"] is True
    assert settings["spark.python.unix.domain.socket.enabled"] is True
    assert settings["spark.driver.extraJavaOptions"].endswith('log4j2.properties" -Dmine=1')
    assert settings["spark.master"] == "local[*]"
    assert settings["spark.driver.memory"] in {f"{size}g" for size in range(1, 9)}
    assert settings["spark.sql.warehouse.dir"] == "/tables"


def test_the_memory_of_a_system_that_does_not_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sysconf")
    assert 1 <= local.driver_memory() <= 4


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (None, r"there is none on the PATH\. Install one \(Debian: apt-get install openjdk-17-jre-headless\)"),
        ('openjdk version "11.0.22" 2024-01-16', "the one on the PATH is Java 11. Install one"),
        ("The operation couldn't be completed. Unable to locate a Java Runtime.", "there is none on the PATH"),
    ],
)
def test_a_java_that_is_missing_or_too_old(
    said: str | None, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    _make_java(tmp_path, said)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RuntimeError, match=message):
        local.check_java()


def test_a_java_home_without_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(RuntimeError, match=f"there is none in JAVA_HOME .{tmp_path}.\\. Install"):
        local.check_java()


def test_a_java_that_is_new_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    _make_java(tmp_path / "bin", 'openjdk version "21" 2023-09-19')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    local.check_java()


def _make_java(folder: Path, said: str | None) -> None:
    if said is not None:
        path = folder / "java"
        path.write_text(f"#!/bin/sh\necho '{said.replace(chr(39), '')}' >&2\n", encoding="utf-8")
        path.chmod(0o755)


def test_pyspark_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    for name in [name for name in sys.modules if name.startswith(("pyspark.", "sash.spark."))]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(ModuleNotFoundError, match=r'pip install "sash\[spark\]"'):
        sash.spark.session()


def test_a_module_of_our_own_that_is_missing_is_not_called_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sash.spark.local_session", None)
    with pytest.raises(ModuleNotFoundError, match=r"sash\.spark\.local_session"):
        sash.spark.session()


def test_pyspark_that_is_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pyspark, "__version__", "4.0.2")
    message = r'Sash needs Spark 4\.1 or later, but the installed PySpark is Spark 4\.0\.2\. Run pip install "pyspark\[connect\]>=4\.1,<5"'
    for call in (sash.spark.session, lambda: sash.spark.inspect_state(""), lambda: sash.spark.readings(None)):  # type: ignore[arg-type]
        with pytest.raises(RuntimeError, match=message):
            call()


def test_a_session_that_is_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    old = SimpleNamespace(version="4.0.2", isStreaming=False)
    old.sparkSession = old
    query = sash.Query({"n": agg.count()}, window.rows(3), time="t")
    message = r"Sash needs Spark 4\.1 or later, but this session is Spark 4\.0\.2"
    with pytest.raises(RuntimeError, match=message):
        sash.spark.query_on_spark(query._declared, old, read_options(SparkTableOptions, {}))  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match=message):
        sash.spark.finish(query, old, "checkpoint")  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match=message):
        sash.spark.readings(old)  # type: ignore[arg-type]
    monkeypatch.setattr(local, "start", lambda *_: old)
    with pytest.raises(RuntimeError, match=message):
        sash.spark.session()


def test_only_noise_is_kept_from_the_error_stream(capfd: pytest.CaptureFixture[str]) -> None:
    quiet = runpy.run_path(str(ROOT / "examples" / "quiet.py"))
    said = [
        "WARNING: Using incubator modules: jdk.incubator.vector\n",
        "[Stage 1:>  ",
        "\r[Stage 2:>\r",
        "WARNING: hot\nWARN",
    ]
    code = f"import sys, time\nfor text in {said!r}:\n    sys.stderr.write(text); sys.stderr.flush(); time.sleep(0.05)"
    with quiet["without_noise"]():
        subprocess.run([sys.executable, "-c", code], check=True)
        os.write(quiet["STDERR"], b"!\n")
    for thread in [thread for thread in threading.enumerate() if "error stream of Spark" in thread.name]:
        thread.join(timeout=5)
    assert capfd.readouterr().err == "[Stage 1:>  \r[Stage 2:>\rWARNING: hot\nWARN!\n"
