"""The growth of streams. `python -m benchmarks.stream_growth --help` has the options."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks import command
from benchmarks.case import Case

QUICK_ROWS = 1_000


def load() -> Sequence[Case]:
    """Import the cases."""
    from benchmarks.stream_growth.cases import CASES  # noqa: PLC0415 — the options should not wait for imports

    return CASES


def main(arguments: list[str] | None = None) -> None:
    """Run what was asked for."""
    description = "Measure the time and the bytes of micro-batches as keys and slices grow."
    command.main("stream_growth", description, load, QUICK_ROWS, arguments)


if __name__ == "__main__":
    main()
