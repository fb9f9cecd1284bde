import os
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from helpers.pairwise import FULL
from hypothesis import settings
from numba.core import compiler

from sash.engine.executors import execute

settings.register_profile("sash", derandomize=True, deadline=None, database=None, print_blob=True, max_examples=25)
settings.load_profile("sash")

# Compiled kernels are kept between runs. A kernel's name is the fingerprint of everything that it is generated from
# (kernels/test_cache.py proves it), so a change of a source never meets an old kernel.
IS_WORKER = "PYTEST_XDIST_WORKER" in os.environ
KERNELS = Path(os.environ.get("SASH_TESTS_CACHE") or Path(__file__).parents[1] / "build" / "kernels")
UNUSED_DAYS = 7
BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
DURATIONS = Path(__file__).parents[1] / "build" / "durations.txt"
SLOWEST = 200
if not IS_WORKER:
    os.environ["SASH_CACHE_DIR"] = str(KERNELS)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "session: it uses the Spark session that tests share (set by the fixture)")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what uses the shared Spark session, which a process of its own runs. Leave out what only `make test-full` runs."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker("session")
        if item.path.is_relative_to(BENCHMARKS):  # the examples in their docstrings
            item.add_marker("full")
    if not FULL:
        config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("full")])
        items[:] = [item for item in items if not item.get_closest_marker("full")]


_seconds: defaultdict[str, float] = defaultdict(float)
"""By test: set-up, call and tear-down together."""


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add up how long each test takes; with several processes, the first one sees all reports."""
    _seconds[report.nodeid] += report.duration


def _write_durations() -> None:
    """Append the slowest files and tests of this run to build/durations.txt, which `make test` empties first."""
    by_file: defaultdict[str, float] = defaultdict(float)
    for test, seconds in _seconds.items():
        by_file[test.partition("::")[0]] += seconds
    if not _seconds or not DURATIONS.parent.is_dir():
        return
    with DURATIONS.open("a", encoding="utf-8") as file:
        file.write(
            f"{sum(_seconds.values()):8.0f} s  {len(_seconds)} tests; the slowest files, then the slowest tests:\n"
        )
        for durations in (by_file, _seconds):
            slowest = sorted(durations.items(), key=lambda named: -named[1])[:SLOWEST]
            file.writelines(f"{seconds:8.2f} s  {name}\n" for name, seconds in slowest)
            file.write("\n")


def pytest_sessionfinish() -> None:
    """Write durations. Remove compiled kernels that no run has used for a week: those of sources that have changed since."""
    if IS_WORKER:
        return
    _write_durations()
    oldest = time.time() - UNUSED_DAYS * 24 * 60 * 60
    for path in KERNELS.rglob("*"):
        try:
            used = path.stat()
            if path.is_file() and max(used.st_atime, used.st_mtime) < oldest:
                path.unlink()
        except FileNotFoundError:  # another run removed it
            continue


@pytest.fixture(autouse=True)
def _first_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no test depend on the runs of the tests before it: a query compiles after some seconds in one process."""
    monkeypatch.setattr(execute, "_history", {})


_compile: Any = compiler.compile_extra


def _compile_untraced(*arguments: Any, **options: Any) -> Any:
    """Compile without coverage, which would trace every line of Numba and double the time."""
    tracer = sys.gettrace()
    sys.settrace(None)
    try:
        return _compile(*arguments, **options)
    finally:
        sys.settrace(tracer)
        _resume_tracing()


def _resume_tracing() -> None:
    """Do nothing. Coverage resumes with the next call, and then traces the callers of this function too."""


pytest.MonkeyPatch().setattr(compiler, "compile_extra", _compile_untraced)
