"""Every aggregate beside max and DuckDB. `python -m benchmarks.aggregates --help` has the options."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks import command
from benchmarks.case import Case

QUICK_ROWS = 3_000


def load() -> Sequence[Case]:
    """Import the cases, and all peers with them."""
    from benchmarks.aggregates.cases import CASES  # noqa: PLC0415 — the names of the options should not wait for all peers

    return CASES


def main(arguments: list[str] | None = None) -> None:
    """Run what was asked for."""
    description = "Time every aggregate beside max, and beside DuckDB where it has it."
    command.main("aggregates", description, load, QUICK_ROWS, arguments)


if __name__ == "__main__":
    main()
