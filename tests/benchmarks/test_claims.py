"""README and docs claim no speed that a CSV or a test does not show; docs/benchmarks.md is written from the CSVs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchmarks.case import MEMORY
from benchmarks.cases import RANGES
from benchmarks.larger_than_memory.case import megabytes_of
from benchmarks.larger_than_memory.cases import QUESTIONS, ROWS
from benchmarks.pages import readme
from benchmarks.results import COMPILED, ROOT, read
from benchmarks.sash_calls import QUERY
from benchmarks.suites import SUITES
from sash.plan.choose import read_costs
from sash.workers.bucket_worker import MOST_BYTES

PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "algorithms").glob("*.md")),
]
WRITTEN = {"benchmarks.md", "papers.md", "sizing.md"}
"""Written as a whole from the CSVs. docs/decisions has numbers of the past, and says so."""
GENERATED = re.compile(
    r"<!-- \w+: python -m [\w.]+ writes them -->.*?<!-- end of \w+ -->|^```.*?^```", re.DOTALL | re.MULTILINE
)
"""What a program writes between marks, which has tests of its own; and code."""
SPEED = re.compile(
    r"\d ?(?:ns|µs|ms|MB|GB|KB)\b|\d ?× |\bfast|\bslow|\b(?:twice|half|third|tenth|times) (?:as|its|of the time)|\btimes (?:more|less)|\bquick",
    re.IGNORECASE,
)
"""Words that may claim a speed or a size."""


def bottleneck_is_faster() -> bool:
    """Whether bottleneck beats a query on sums and means of floats at every range."""
    found = {(one.case, one.contestant): one.value for one in read(COMPILED)}
    cases = [case for case, name in found if name == "bottleneck" and re.match("(sum|mean) float64", case)]
    return len(cases) == 2 * len(RANGES) and all(found[case, "bottleneck"] < found[case, QUERY] for case in cases)


def mean_cost(algorithm: str) -> float:
    """The mean of all costs of one range."""
    costs = [line.cost for line in read_costs() if line.algorithm == algorithm and line.ranges == 1]
    return sum(costs) / len(costs)


def sash_keeps_its_memory() -> bool:
    """Whether `sash run` takes no more than 300 MB and the memory that it may use."""
    found = [
        one.value for one in read(SUITES["larger_than_memory"].csv) if (one.contestant, one.measure) == ("Sash", MEMORY)
    ]
    return len(found) == len(QUESTIONS) and max(found) <= 300 + megabytes_of(ROWS)


SHOWN: dict[tuple[str, str], Callable[[], bool]] = {
    (
        "limits.md",
        "bottleneck adds and subtracts plain floats, and is faster than a query on them",
    ): bottleneck_is_faster,
    ("daba.md", "On average it is slower than Two-Stacks"): lambda: mean_cost("daba") > 1,
    ("command-line.md", "compiled code take about 300 MB beside that"): sash_keeps_its_memory,
    ("spark.md", "Up to 64 MB are sorted in memory"): lambda: MOST_BYTES == 64 << 20,
    ("features.md", "A bucket of more than 64 MB is sorted on disk"): lambda: MOST_BYTES == 64 << 20,
}
"""Claims, and what shows them."""
NO_CLAIM = {
    "Further laws allow faster algorithms",  # the table of choices below it
    "23 KB a key instead of 104 KB",  # tests/state/test_declared_size.py
    "Several ranges run separately, or together when that is faster",  # tests/plan/test_choose.py
    "something faster. It is the default for",
    "explains why this is fast",
    "## How fast",  # make soak checks what follows
    "A slow one gets fewer messages",
    "a slow task runs twice",
    "512 KB per bucket",  # advice
    "1 GB of memory and two million results",  # tests/live/test_query_process.py
    "about twice its share of rows",  # tests/spark/batch/test_ranges.py
    '"500ms"',
    'memory="2GB"',
    "Flat and Fast Index Traverser",
    "A Fast Incremental Stream Processing Algorithm",
}
"""Words that claim no speed of Sash, or that other tests check."""


def claims() -> Iterator[tuple[str, str]]:
    """Yield the lines of all pages that may claim a speed."""
    for page in PAGES:
        if page.name not in WRITTEN:
            for line in GENERATED.sub("", page.read_text(encoding="utf-8")).splitlines():
                if SPEED.search(line) and not any(words in line for words in NO_CLAIM):
                    yield page.name, line


def test_every_claim_is_shown_by_a_csv_or_a_test() -> None:
    unknown = [
        f"{page}: {line}"
        for page, line in claims()
        if not any(page == known and words in line for known, words in SHOWN)
    ]
    assert not unknown, "Add what shows these claims to SHOWN, or reword them."


@pytest.mark.parametrize("claim", SHOWN, ids=lambda claim: claim[0])
def test_what_is_claimed_is_true(claim: tuple[str, str]) -> None:
    assert any(claim[0] == page and claim[1] in line for page, line in claims()), "The claim is gone: remove it here."
    assert SHOWN[claim]()


def test_the_numbers_of_the_readme_come_from_the_csv(tmp_path: Path) -> None:
    text = readme.README.read_text(encoding="utf-8")
    assert readme.sentence(read(COMPILED)) in text, "Run python -m benchmarks.pages."
    copy = tmp_path / "README.md"
    copy.write_text(text.replace(" ns", " hours"), encoding="utf-8")
    readme.write(read(COMPILED), copy)
    assert copy.read_text(encoding="utf-8") == text
