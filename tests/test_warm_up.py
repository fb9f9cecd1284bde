"""After sash.warm, another process compiles nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.pairwise import some

import sash
from sash import agg, window

WARM = """
import pyarrow as pa, sash
from sash import agg, window
query = sash.Query({"peak": agg.max("x"), "n": agg.count()}, window.time(60, slide=10), by="k", time="t")
sash.warm(query, pa.schema({"k": pa.string(), "t": pa.int64(), "x": pa.float64()}))
"""
RUN = """
import pyarrow as pa, sash
from sash import agg, window
query = sash.Query({"peak": agg.max("x"), "n": agg.count()}, window.time(60, slide=10), by="k", time="t")
for value in (None, 1.0):
    table = pa.table({"k": ["a", "b"] * 100_000, "t": range(200_000), "x": pa.array([value, 2.0] * 100_000, pa.float64())})
    query.run(table, compiled=True)
    query.run(table.slice(0, 100), compiled=True)
"""


def files_after(code: str, folder: Path) -> set[str]:
    """The files of the kernel cache after a process."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "SASH_CACHE_DIR": str(folder)},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return {path.name for path in folder.rglob("*") if path.suffix in (".py", ".object")}


@pytest.mark.parametrize(
    "windows", some(["window.time(60)", "window.time(60, slide=10)", "window.time(60, slide=1)"], 3)
)
def test_another_process_compiles_nothing(tmp_path: Path, windows: str) -> None:
    warm, run = (code.replace("window.time(60, slide=10)", windows) for code in (WARM, RUN))
    assert files_after(warm, tmp_path) == files_after(run, tmp_path)


def test_data_that_does_not_fit_is_refused() -> None:
    with pytest.raises(TypeError, match=r"not on builtins\.int"):
        sash.warm(sash.Query(agg.max("x"), window.rows(3)), 3)
