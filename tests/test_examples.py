"""The examples run, and docs/images/examples has the pictures that they draw."""

from __future__ import annotations

import ast
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("[0-9]*.py"))
DRAWN = {
    "05_features": "fraud",
    "06_sensors": "sensors",
    "07_flights": "flights",
    "08_market": "market",
    "11_four_lives": "four_lives",
}
"""The examples on docs/examples.md, and their pictures."""
TOLD = {
    "05_features": "Best: share online of 1h.",
    "06_sensors": "mm/s a day: press 1 since",
    "07_flights": "The worst week of all ended on 01 July, in Newark",
    "08_market": "Volatility jumps in BEE",
    "11_four_lives": "train = lookup: 156 requests",
}
"""What the page tells of an example. All numbers on the page must be in its output, too."""
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


QUICK = ("01_first_window", "02_query")


@pytest.mark.parametrize(
    "example",
    [pytest.param(path, id=path.name, marks=[] if path.stem in QUICK else pytest.mark.full) for path in EXAMPLES],
)
def test_an_example_runs_and_its_picture_is_up_to_date(example: Path) -> None:
    environment = {**os.environ, "SASH_LIVE_WAIT": "2"}  # nobody opens the live page
    done = subprocess.run([sys.executable, str(example)], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert re.findall(r"build/demo/(\w+)\.svg", done.stdout) == [
        name for key, name in DRAWN.items() if key == example.stem
    ]
    if name := DRAWN.get(example.stem):
        assert TOLD[example.stem] in done.stdout
        told = re.findall(r"\b\d[\d,]*\d\d\b", prose_about(example.stem).replace(example.name, ""))
        assert told
        assert [number for number in told if not re.search(rf"\b{number}\b", done.stdout)] == []
        drawn = (ROOT / "build" / "demo" / f"{name}.svg").read_text("utf-8")
        shown = (ROOT / "docs" / "images" / "examples" / f"{name}.svg").read_text("utf-8")
        assert words_of(drawn) == words_of(shown), f"docs/images/examples/{name}.svg is out of date; run: make pictures"
        # Another processor may round another way: by far less than a point, of which 72 are an inch.
        np.testing.assert_allclose(numbers_of(drawn), numbers_of(shown), atol=0.2, err_msg="run: make pictures")


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_what_an_example_imports_is_there(example: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`make test-full` runs them all."""
    monkeypatch.syspath_prepend(example.parent)
    imports = [
        node for node in ast.parse(example.read_text("utf-8")).body if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    assert imports
    for node in imports:
        code = compile(ast.Module([node], []), str(example), "exec")
        exec(code, {"__name__": example.stem})  # noqa: S102 — the examples are ours


def prose_about(stem: str) -> str:
    """Return the paragraph of docs/examples.md that links an example."""
    page = (ROOT / "docs" / "examples.md").read_text("utf-8")
    return next(part for part in page.split("\n\n") if f"examples/{stem}.py" in part)


def words_of(svg: str) -> list[str]:
    """Return the texts of a picture, and the names of its elements."""
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg) + re.findall(r"<(\w+)", svg)


def numbers_of(svg: str) -> list[float]:
    """Return all coordinates of the lines."""
    return [float(number) for path in re.findall(r'\bd="([^"]*)"', svg) for number in NUMBER.findall(path)]


def test_the_page_of_examples_shows_every_picture_and_links_every_script() -> None:
    page = (ROOT / "docs" / "examples.md").read_text("utf-8")
    for script, name in DRAWN.items():
        assert f"](images/examples/{name}.svg)" in page
        assert f"examples/{script}.py" in page
    assert {path.stem for path in (ROOT / "docs" / "images" / "examples").iterdir()} == set(DRAWN.values())


def test_make_demo_runs_all_examples_in_order() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    assert re.findall(r"^\t@\$\(BIN\)/python examples/(\w+)\.py$", makefile, re.MULTILINE) == [
        path.stem for path in EXAMPLES
    ]
    assert f"DRAWN := {' '.join(DRAWN)} " in makefile


def test_labels_move_apart() -> None:
    apart = runpy.run_path(str(ROOT / "examples" / "drawing.py"))["apart"]
    assert apart([5.0, 1.0, 5.1], 1) == [5.0, 1.0, 6.0]
    assert apart([2.0, 2.0, 2.0], 0.5) == [2.0, 2.5, 3.0]
    assert apart([], 1) == []


def test_the_readings_of_the_examples_are_what_their_script_makes() -> None:
    script = ROOT / "examples" / "data" / "make_readings.py"
    made = runpy.run_path(str(script))["make_readings"]()
    kept = pq.read_table(script.with_name("readings.parquet"))
    exactly = [name for name in made.column_names if name not in {"load", "work"}]
    assert kept.select(exactly).equals(made.select(exactly))
    for name in ("load", "work"):  # another processor may round another way
        np.testing.assert_allclose(kept[name].to_numpy(), made[name].to_numpy(), atol=0.11)
    assert 0 < kept["load"].null_count < len(kept) / 100
