from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

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
    query.run(rows)
    query.run(rows.take([3, 0, 2, 1]))
    query.run(rows.to_reader()).read_all()
print(len(windows), *[name for name in ("numba", "llvmlite", "polars", "pyspark", "rich") if name in sys.modules])
"""


def test_a_query_that_compiles_nothing_does_not_import_numba() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT_NUMBA], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["11"]


EVENTS = """
import sys
import sash
from sash import agg

window = sash.Aggregator(agg.mean("x"))
for value in range(500):
    window.insert(value)
    window.query()
print(len(window), *[name for name in ("numba", "pyarrow", "pandas") if name in sys.modules])
"""


def test_rows_one_by_one_import_nothing_heavy() -> None:
    done = subprocess.run([sys.executable, "-c", EVENTS], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["500"], done.stderr


def test_a_page_shows_the_catalogue() -> None:
    assert str(catalogue()) in (ROOT / "docs" / "algorithms.md").read_text(encoding="utf-8")


def test_the_page_on_releases_names_the_versions_that_the_package_asks_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    rows = re.findall(
        r"^\| (\w+)[^|]* \| (.*) \|$", (ROOT / "docs" / "releases.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    shown = {name.lower(): re.findall(r"\d+(?:\.\d+)?", versions) for name, versions in rows}
    named = [name.rpartition(":: ")[2] for name in project["classifiers"]]
    assert shown["python"] == [name for name in named if name.startswith("3.")]
    extras = project["optional-dependencies"]
    needed = {re.split(r"\W", text)[0]: text for text in [*project["dependencies"], *extras["spark"], *extras["bench"]]}
    for name in ("pandas", "polars", "numpy", "pyarrow", "duckdb"):
        assert shown[name] == re.findall(r"\d+(?:\.\d+)?", needed[name])
    assert shown["spark"][0] in needed["pyspark"]
