"""The choice of algorithms. `python -m benchmarks.choice --help` has the options."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from benchmarks import command
from benchmarks.case import Case
from benchmarks.results import Reading

if TYPE_CHECKING:
    from rich.console import Console

QUICK_ROWS = 1_000


def load() -> Sequence[Case]:
    """Import the cases."""
    from benchmarks.choice.cases import CASES, UNSEEN_CASES  # noqa: PLC0415 — the options should not wait for imports

    return (*CASES, *UNSEEN_CASES)


def show(cases: Sequence[Case], readings: list[Reading], console: Console) -> None:  # noqa: ARG001 — as others print
    """Print how much longer the chosen algorithms take than the best ones."""
    from benchmarks.choice.summary import page  # noqa: PLC0415 — as above

    console.print("\n".join(page(readings)))


def main(arguments: list[str] | None = None) -> None:
    """Run what was asked for."""
    description = "Time all algorithms that fit beside the one that Sash chooses."
    command.main("choice", description, load, QUICK_ROWS, arguments, show)


if __name__ == "__main__":
    main()
