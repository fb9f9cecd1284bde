"""Run the cases: check, time, write the CSV, print the targets. `python -m benchmarks.compiled --help` has the options."""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

QUICK_ROWS = 60_000


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compiled", description="Time Sash beside its peers.")
    parser.add_argument("--quick", action="store_true", help="few rows and one repeat: to see that it all runs")
    parser.add_argument("--only", metavar="TEXT", action="append", help="only the cases whose name contains the text")
    parser.add_argument("--rows", type=int, help="at most so many rows; writes nothing, unless --csv names a file")
    parser.add_argument("--csv", type=Path, help="another file for the results")
    parser.add_argument("--list", action="store_true", help="print the names of the cases and stop")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> None:
    """Run what was asked for."""
    options = parse(arguments)
    with tempfile.TemporaryDirectory(prefix="sash-benchmarks-") as empty:
        os.environ["SASH_CACHE_DIR"] = empty  # so that the time to compile is not the time to read the cache
        run(options)


def run(options: argparse.Namespace) -> None:
    """Run the cases and print them as they are done, then the targets."""
    from rich.console import Console  # noqa: PLC0415 — the names of the options should not wait for all peers

    from benchmarks import report, results  # noqa: PLC0415
    from benchmarks.cases import CASES  # noqa: PLC0415
    from benchmarks.measure import REPEATS, measure  # noqa: PLC0415

    screen = Console()
    console = screen if screen.is_terminal else Console(width=160)  # a file is as wide as the table
    cases = [case for case in CASES if not options.only or any(text in case.name for text in options.only)]
    if options.list:
        console.print("\n".join(case.name for case in cases))
        return
    rows = QUICK_ROWS if options.quick else options.rows
    path = options.csv or (None if rows else results.COMPILED)
    readings = []
    start = time.perf_counter()
    for number, case in enumerate(cases, 1):
        done = measure(case.at_most(rows) if rows else case, 1 if options.quick else REPEATS)
        readings += done
        if path:
            results.replace(done, path)  # at once: a run that is stopped leaves what it has measured
        found = ", ".join(f"{one.contestant} {report.quantity(one)}" for one in done)
        console.print(f"[dim]{number:3}/{len(cases)} {time.perf_counter() - start:5.0f} s[/dim] {case.name}: {found}")
    report.show(cases, readings, console)
    if rows:
        console.print(f"[yellow]At most {rows:,} rows: the answers are checked, the times say little.[/yellow]")
    elif path:
        console.print(f"Written to {path}.")


if __name__ == "__main__":
    main()
