"""The pages about speed are those that the CSVs give, and the first one is short."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.pages import front
from benchmarks.pages.details import DETAILS, FOLDER, page_of
from benchmarks.plots.dots import draw_workloads
from benchmarks.results import Reading, read, reading
from benchmarks.suites import SUITES
from benchmarks.workloads.cases import MEMORIES, TIMES

MEASURED = [suite for suite in DETAILS if SUITES[suite].csv.exists()]
REWRITE = "run: python -m benchmarks.pages"
MOST_WORDS = 900


def readings() -> list[Reading]:
    """Sash takes 20 ns and 50 MB, others 100 ns and 80 MB."""
    return [
        reading(case, one, [value if one.name == "Sash" else other], one.rows or case.rows, None)
        for cases, value, other in ((TIMES, 20.0, 100.0), (MEMORIES, 50.0, 80.0))
        for case in cases
        for one in case.contestants
    ]


@pytest.mark.parametrize("suite", MEASURED)
def test_the_page_of_a_suite_is_that_of_its_csv(suite: str) -> None:
    assert (FOLDER / f"{suite}.md").read_text("utf-8") == page_of(suite, read(SUITES[suite].csv)), REWRITE


def test_every_page_of_a_suite_has_a_csv() -> None:
    assert {path.stem for path in FOLDER.glob("*.md")} == set(MEASURED)


def test_the_first_page_is_that_of_the_csvs_and_short() -> None:
    text = front.PAGE.read_text("utf-8")
    assert text == "\n".join(front.lines()) + "\n", REWRITE
    assert len(words_shown(text)) < MOST_WORDS


def words_shown(text: str) -> list[str]:
    """Return the words and numbers of a page: no bars between cells, no pictures, no list that the site hides."""
    shown = re.sub(r"```{toctree}.*?```|!\[.*?\]\(.*?\)", "", text, flags=re.DOTALL)
    return [word for word in shown.split() if re.search(r"\w", word)]


def test_workloads_are_shown_as_ratios_with_memory(tmp_path: Path) -> None:
    written = "\n".join(front.in_process(readings()))
    assert (
        "| rolling statistics of a column | 20 ns | **5 ×** | **5 ×** | **5 ×** | **5 ×** | 50 MB, 80 MB (DuckDB) |"
        in written
    )
    assert "| your own aggregate | 20 ns | cannot | **5 ×** | **5 ×** | cannot | 50 MB |" in written
    assert "## Memory" in page_of("workloads", readings())
    draw_workloads(readings(), tmp_path / "workloads.svg")
    assert "your own aggregate" in (tmp_path / "workloads.svg").read_text("utf-8")


@pytest.mark.parametrize(
    ("suite", "case"), [place for part in (front.FURTHER, *front.ON_SPARK.values()) for place in part.values()]
)
def test_what_the_first_page_shows_of_spark_exists(suite: str, case: str) -> None:
    assert case in {
        one.name if one.range in one.name else f"{one.name}, {one.range}" for one in SUITES[suite].cases
    } | {one.name for one in SUITES[suite].cases}
