"""Nexmark's queries on Spark. `python -m benchmarks.nexmark --help` has the options."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks import command
from benchmarks.case import Case

QUICK_ROWS = 2_000


def load() -> Sequence[Case]:
    """Import the cases, and PySpark with them."""
    from benchmarks.nexmark.cases import CASES  # noqa: PLC0415 — the names of the options should not wait for PySpark

    return CASES


def main(arguments: list[str] | None = None) -> None:
    """Run what was asked for."""
    command.main("nexmark", "Time Nexmark's queries in Sash beside Spark's own ways.", load, QUICK_ROWS, arguments)


if __name__ == "__main__":
    main()
