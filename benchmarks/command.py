"""What the benchmarks have in common on the command line: run cases, write the CSV, print the targets."""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from benchmarks.case import Case
from benchmarks.results import Reading, of_suite

if TYPE_CHECKING:
    from rich.console import Console

Show: TypeAlias = "Callable[[Sequence[Case], list[Reading], Console], None]"
"""Prints the targets with what was measured."""


def main(
    suite: str,
    description: str,
    load: Callable[[], Sequence[Case]],
    quick_rows: int,
    arguments: list[str] | None = None,
    show: Show | None = None,
) -> None:
    """Run what was asked for of the suite, which is the name of its module and of its CSV; `show` prints another table."""
    options = parse(suite, description, arguments)
    with tempfile.TemporaryDirectory(prefix="sash-benchmarks-") as empty:
        os.environ["SASH_CACHE_DIR"] = empty  # so that the time to compile is not the time to read the cache
        rows = quick_rows if options.quick else options.rows
        path = options.csv or (None if rows else of_suite(suite))
        run(load(), options, rows, path, show)


def parse(suite: str, description: str, arguments: list[str] | None = None) -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{suite}", description=description)
    parser.add_argument("--quick", action="store_true", help="few rows and one repeat: to see that it all runs")
    parser.add_argument("--only", metavar="TEXT", action="append", help="only the cases whose name contains the text")
    parser.add_argument("--rows", type=int, help="at most so many rows; writes nothing, unless --csv names a file")
    parser.add_argument("--csv", type=Path, help="another file for the results")
    parser.add_argument("--list", action="store_true", help="print the names of the cases and stop")
    return parser.parse_args(arguments)


def run(
    all_cases: Sequence[Case],
    options: argparse.Namespace,
    rows: int | None,
    path: Path | None,
    show: Show | None = None,
) -> None:
    """Run the cases and print them as they are done, then the targets."""
    from rich.console import Console  # noqa: PLC0415 — the names of the options should not wait for all peers

    from benchmarks import report, results  # noqa: PLC0415
    from benchmarks.measure import measure  # noqa: PLC0415

    screen = Console()
    console = screen if screen.is_terminal else Console(width=160)  # a file is as wide as the table
    cases = [case for case in all_cases if not options.only or any(text in case.name for text in options.only)]
    cases = [case for case in cases if not rows or case.runs_with(rows)]
    if options.list:
        console.print("\n".join(case.name for case in cases))
        return
    readings = []
    start = time.perf_counter()
    for number, case in enumerate(cases, 1):
        done = measure(case.at_most(rows) if rows else case, 1 if options.quick else None)
        readings += done
        if path:
            results.replace(done, path)  # at once: a run that is stopped leaves what it has measured
        most = max(one.rows for one in done)
        found = ", ".join(
            f"{one.contestant} {report.quantity(one)}" + (f" on {one.rows:,} rows" if one.rows < most else "")
            for one in done
        )
        console.print(f"[dim]{number:3}/{len(cases)} {time.perf_counter() - start:5.0f} s[/dim] {case.name}: {found}")
    (show or report.show)(cases, readings, console)
    if rows:
        console.print(f"[yellow]At most {rows:,} rows: the answers are checked, the times say little.[/yellow]")
    elif path:
        console.print(f"Written to {path}.")
