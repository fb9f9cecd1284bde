"""Spark's own WindowBenchmark. `python -m benchmarks.spark_windows --help` has the options."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks import command
from benchmarks.case import Case

QUICK_ROWS = 1_000


def load() -> Sequence[Case]:
    """Import the cases, and PySpark with them."""
    from benchmarks.spark_windows.cases import CASES  # noqa: PLC0415 — the options should not wait for PySpark

    return CASES


def main(arguments: list[str] | None = None) -> None:
    """Run what was asked for."""
    command.main("spark_windows", "Time Sash beside Spark's own WindowBenchmark.", load, QUICK_ROWS, arguments)


if __name__ == "__main__":
    main()
