"""The papers' experiments. `python -m benchmarks.papers --help` has the options."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from benchmarks import command
from benchmarks.case import Case
from benchmarks.results import Reading

if TYPE_CHECKING:
    from rich.console import Console

QUICK_ROWS = 1 << 12


def load() -> Sequence[Case]:
    """Import the cases."""
    from benchmarks.papers.cases import CASES  # noqa: PLC0415 — the options should not wait for imports

    return CASES


def show(cases: Sequence[Case], readings: list[Reading], console: Console) -> None:
    """Print the papers' claims with what was measured."""
    from benchmarks.papers.claims import CLAIMS  # noqa: PLC0415 — as above

    for one in CLAIMS:
        found = one.found(readings)
        if found:
            console.print(f"[bold]{one.figure}[/bold]: {one.paper} [dim]Here:[/dim] {found}")
    console.print(f"{len(cases)} cases. python -m benchmarks.papers.page draws the figures and writes docs/papers.md.")


def main(arguments: list[str] | None = None) -> None:
    """Run what was asked for."""
    description = (
        "Repeat the experiments of the papers. SASH_DEBS_2012 and SASH_DEBS_2014 in the environment name the real data; "
        "without them it is generated."
    )
    command.main("papers", description, load, QUICK_ROWS, arguments, show)


if __name__ == "__main__":
    main()
