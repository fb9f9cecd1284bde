"""Growth. `python -m benchmarks.growth --help` has the options."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks import command
from benchmarks.case import Case

QUICK_ROWS = 2_000


def load() -> Sequence[Case]:
    """Import the cases."""
    from benchmarks.growth.cases import CASES  # noqa: PLC0415 — the options should not wait for imports

    return CASES


def main(arguments: list[str] | None = None) -> None:
    """Run what was asked for."""
    description = "Measure time and memory as rows, keys, windows, aggregates and range grow."
    command.main("growth", description, load, QUICK_ROWS, arguments)


if __name__ == "__main__":
    main()
