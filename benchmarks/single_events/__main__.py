"""What one event costs. `python -m benchmarks.single_events --help` has the options."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks import command
from benchmarks.case import Case

QUICK_ROWS = 2_000


def load() -> Sequence[Case]:
    """Import the cases, and all peers with them."""
    from benchmarks.single_events.cases import CASES  # noqa: PLC0415 — the names of the options should not wait for all peers

    return CASES


def main(arguments: list[str] | None = None) -> None:
    """Run what was asked for."""
    description = "Time windows that are moved on row by row, beside deques, NumPy, pandas and river."
    command.main("single_events", description, load, QUICK_ROWS, arguments)


if __name__ == "__main__":
    main()
