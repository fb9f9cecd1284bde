"""Order, laws and costs of an algorithm as a table: from the catalogue, and from the costs that make costs measured."""

from __future__ import annotations

import re
from typing import Any

from sash.algorithms import ALGORITHMS, Algorithm
from sash.algorithms.base import About
from sash.algorithms.sorted_block import SortedBlock
from sash.plan.choose import read_costs

PAGES = {
    **{algorithm.about.name: (algorithm.about.name,) for algorithm in ALGORITHMS},
    "reactive_aggregator": ("reactive_aggregator", "reactive_aggregator_fifo"),
    "sorted_block": ("sorted_block",),
}
"""The algorithms of each page in docs/algorithms; two forms of one idea share a page."""
del PAGES["reactive_aggregator_fifo"]
BLOCK = re.compile(r"<!-- facts.*?<!-- end of facts -->", re.DOTALL)
MEASURED = (
    "Measured time, where 1 is a pass of `two_stacks` over one of the ranges "
    "(from [costs.csv](../../src/sash/plan/costs.csv)):"
)
LAWS = ("associative", "invertible", "selective")


def abouts(page: str) -> list[About]:
    """Return the rows of the catalogue that a page describes."""
    known: list[type[Algorithm[Any]]] = [*ALGORITHMS, SortedBlock]
    return [algorithm.about for algorithm in known if algorithm.about.name in PAGES[page]]


def measured(name: str, laws: str, ranges: int) -> str:
    """Return the measured costs of an algorithm over all uses, aggregates and lengths: the least and the largest."""
    found = [line.cost for line in read_costs() if (line.algorithm, line.laws, line.ranges) == (name, laws, ranges)]
    low, high = (f"{end(found):.3g}" for end in (min, max)) if found else ("", "")
    return low if low == high else f"{low} to {high}"


def facts(page: str) -> str:
    """Return the tables of a page, between comments."""
    rows = abouts(page)
    lines = [
        "<!-- facts: python -m tools.pictures writes them -->",
        "",
        f"| | {' | '.join(about.title for about in rows)} |",
        f"|---{'|---' * len(rows)}|",
    ]
    for words, values in (
        ("order of rows", [about.order for about in rows]),
        ("laws needed", [about.needs or "associative" for about in rows]),
        ("ranges", [about.ranges for about in rows]),
        ("cost per slide, amortised", [str(about.amortised) for about in rows]),
        ("cost per slide, worst", [str(about.worst) for about in rows]),
        ("cost per slide, q ranges", [str(about.amortised_many or "—") for about in rows]),
        ("partials stored", [str(about.space) for about in rows]),
    ):
        lines.append(f"| {words} | {' | '.join(values)} |")
    costs = [
        (name, laws, [measured(name, laws, ranges) for ranges in (1, 2, 5, 20)])
        for name in PAGES[page]
        for laws in LAWS
    ]
    costs = [row for row in costs if any(row[2])]
    if costs:
        lines += [
            "",
            MEASURED,
            "",
            "| algorithm | aggregates | 1 range | 2 ranges | 5 ranges | 20 ranges |",
            "|---|---|---|---|---|---|",
            *(f"| `{name}` | {laws} | {' | '.join(each or '—' for each in found)} |" for name, laws, found in costs),
        ]
    return "\n".join([*lines, "", "<!-- end of facts -->"])


def with_facts(page: str, text: str) -> str:
    """Return the text of a page with its facts up to date."""
    assert BLOCK.search(text), f"docs/algorithms/{page}.md has no block of facts"
    return BLOCK.sub(lambda _: facts(page), text)
