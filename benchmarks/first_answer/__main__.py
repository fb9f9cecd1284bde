"""The time to the first result. `python -m benchmarks.first_answer --help` has the options."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks import command
from benchmarks.case import Case
from benchmarks.first_answer.summary import show

QUICK_ROWS = 1_000


def load() -> Sequence[Case]:
    """Import the cases."""
    from benchmarks.first_answer.cases import CASES  # noqa: PLC0415 — the names of the options should not wait for Sash

    return CASES


def main(arguments: list[str] | None = None) -> None:
    """Run what was asked for."""
    description = "Time the first result of Sash in fresh processes, beside pandas, Polars, DuckDB and Spark."
    command.main("first_answer", description, load, QUICK_ROWS, arguments, show)


if __name__ == "__main__":
    main()
