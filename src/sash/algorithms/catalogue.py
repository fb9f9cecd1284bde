"""The catalogue: the requirements and costs of every algorithm, as a table."""

from __future__ import annotations

from collections.abc import Callable

from sash.algorithms import ALGORITHMS
from sash.algorithms.base import About

HEADINGS: dict[str, Callable[[About], str]] = {
    "algorithm": lambda about: f"`{about.name}`",
    "form": lambda about: about.title,
    "order": lambda about: about.order,
    "laws needed": lambda about: about.needs or "—",
    "ranges": lambda about: about.ranges,
    "amortised": lambda about: str(about.amortised),
    "worst": lambda about: str(about.worst),
    "q ranges": lambda about: str(about.amortised_many or "—"),
    "space": lambda about: str(about.space),
    "paper": lambda about: about.paper,
}


class Catalogue(tuple[About, ...]):
    """All algorithms; printed, it is a Markdown table."""

    __slots__ = ()

    def __str__(self) -> str:
        rows = [list(HEADINGS), ["---"] * len(HEADINGS)]
        rows += [[show(about) for show in HEADINGS.values()] for about in self]
        return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def catalogue() -> Catalogue:
    """Return a row for each algorithm: the order and laws that it needs, its costs and its paper.

    Each row has `name`, `title`, `order`, `needs`, `ranges`, `amortised`, `worst`, `space` and `paper`. Costs are calls of `combine`
    per slide of a window of n rows. `print` shows a Markdown table.

    >>> import sash
    >>> [row.name for row in sash.catalogue() if row.needs == "selective"]
    ['slickdeque']
    >>> print(sash.catalogue())  # doctest: +ELLIPSIS
    | algorithm | form | order | laws needed | ranges | amortised | worst | q ranges | space | paper |
    ...
    """
    return Catalogue(algorithm.about for algorithm in ALGORITHMS)
