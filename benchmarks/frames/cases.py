"""The table of cases, with the targets of each."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Literal

from benchmarks.case import Target
from benchmarks.query_overhead.case import OverheadCase, OverheadContestant, RowWindow
from benchmarks.query_overhead.cases import KEYS, by_query
from sash import window

LENGTH = 1_000
TRAILING, CENTRED, AHEAD = "trailing", "centred", "look-ahead"
ROWS_AHEAD = {TRAILING: 0, CENTRED: LENGTH // 2, AHEAD: LENGTH - 1}
EXCLUDED: tuple[Literal["row", "ties", "group"], ...] = ("row", "ties", "group")
MOST_AHEAD, MOST_EXCLUDED = 1.3, 2
"""Times the last rows, and times the same frame with all its rows."""


def contestant(name: str, aggregate: str, options: Any, ahead: int, exclude: Any = None) -> OverheadContestant:
    """Return a frame of 1,000 rows, of which some are after the row."""
    frame = window.rows(before=LENGTH - 1 - ahead, after=ahead, exclude=exclude)
    return OverheadContestant(
        name=name,
        role="sash",
        algorithm="auto",
        prepare=partial(by_query, aggregate, frame, options, threads=1),
        window=RowWindow(rows=LENGTH, keyed=bool(options), ahead=ahead, exclude=exclude),
    )


def cases() -> Iterator[OverheadCase]:
    """Yield frames that look ahead, and frames that leave out rows, without a key and with 1,000."""
    for keys in ("no key", "sorted keys and time"):
        options = KEYS[keys]
        for aggregate in ("max", "sum", "mean", "stddev"):
            made = partial(contestant, aggregate=aggregate, options=options)
            yield OverheadCase(
                name=f"look-ahead, {aggregate}, {keys}",
                aggregate=aggregate,
                contestants=tuple(made(name, ahead=ahead) for name, ahead in ROWS_AHEAD.items()),
                targets=tuple(
                    Target(contestant=name, against=TRAILING, at_most=MOST_AHEAD) for name in (CENTRED, AHEAD)
                ),
            )
            for name in (TRAILING, CENTRED):
                ahead = ROWS_AHEAD[name]
                yield OverheadCase(
                    name=f"exclude, {name}, {aggregate}, {keys}",
                    aggregate=aggregate,
                    contestants=(
                        made(name, ahead=ahead),
                        *(made(exclude, ahead=ahead, exclude=exclude) for exclude in EXCLUDED),
                    ),
                    targets=tuple(
                        Target(contestant=exclude, against=name, at_most=MOST_EXCLUDED) for exclude in EXCLUDED
                    ),
                )


CASES: tuple[OverheadCase, ...] = tuple(cases())
