"""What a lookup over HTTP takes. `python -m benchmarks.serving --help` has the options."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks import command
from benchmarks.case import Case

QUICK_ROWS = 500


def load() -> Sequence[Case]:
    """Import the cases."""
    from benchmarks.serving.cases import CASES  # noqa: PLC0415 — the names of the options should not wait for Sash

    return CASES


def main(arguments: list[str] | None = None) -> None:
    """Run what was asked for."""
    description = "Time lookups over HTTP at a fixed rate of requests, from stores in SQLite and Redis."
    command.main("serving", description, load, QUICK_ROWS, arguments)


if __name__ == "__main__":
    main()
