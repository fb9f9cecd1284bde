from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from sash import catalogue

ROOT = Path(__file__).parent.parent


def test_importing_sash_imports_nothing_heavy() -> None:
    heavy = [*("numba", "pyspark", "matplotlib", "datasketches", "_datasketches", "hypothesis", "pandas", "pyarrow")]
    heavy += ["bottleneck", "duckdb", "numbagg", "polars", "rich", "starlette", "uvicorn", "benchmarks"]
    code = f"import sash, sys; print(*[name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


WITHOUT_NUMBA = """
import sys
import pyarrow as pa
import sash
from sash import agg, window

rows = pa.table({"key": [1, 2, 1, 2], "t": [1, 2, 3, 4], "v": [1.0, 2, 3, 4], "mark": [True, False] * 2})
windows = [
    window.rows(2), window.rows(2, slide=2), window.time(3), window.time(4, slide=2), window.tumbling(2), window.cumulative(4, 2),
    window.session(2), window.delta("v", 2), window.delta("v", 2, slide=1), window.punctuated("mark"),
    window.custom(lambda row: (1, 1)),
]
for one in windows:
    query = sash.Query({"sum": agg.sum("v"), "max": agg.max("v")}, one, by="key", time="t")
    query.run(rows, compiled=False)
    query.run(rows.take([3, 0, 2, 1]), compiled=False)
    query.run(rows.to_reader(), compiled=False).read_all()
print(len(windows), *[name for name in ("numba", "llvmlite", "polars", "pyspark", "rich") if name in sys.modules])
"""


def test_a_query_that_compiles_nothing_does_not_import_numba() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT_NUMBA], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["11"]


def test_a_page_shows_the_catalogue() -> None:
    assert str(catalogue()) in (ROOT / "docs" / "algorithms.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("[0-9]*.py")), ids=lambda path: path.name)
def test_examples_run(example: Path) -> None:
    environment = {**os.environ, "SASH_LIVE_WAIT": "2"}  # nobody opens the live page
    done = subprocess.run([sys.executable, str(example)], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_the_readings_of_the_examples_are_what_their_script_makes() -> None:
    script = ROOT / "examples" / "data" / "make_readings.py"
    made = runpy.run_path(str(script))["make_readings"]()
    kept = pq.read_table(script.with_name("readings.parquet"))
    exactly = [name for name in made.column_names if name not in {"load", "work"}]
    assert kept.select(exactly).equals(made.select(exactly))
    for name in ("load", "work"):  # another processor may round another way
        np.testing.assert_allclose(kept[name].to_numpy(), made[name].to_numpy(), atol=0.11)
    assert 0 < kept["load"].null_count < len(kept) / 100
