"""`python -m benchmarks SUITE`: run the cases of a suite, write its CSV, print the targets."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.case import Case
from benchmarks.results import Reading
from benchmarks.suites import GROUPS, SUITES, Suite


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the arguments ask for. Return the exit code."""
    options = parse(arguments)
    if options.suite is None:
        width = max(map(len, SUITES))
        print("\n".join(f"{name:{width}}  {suite.description}" for name, suite in SUITES.items()))  # noqa: T201
        return 0
    if options.suite in GROUPS:
        return run_group(options)
    with tempfile.TemporaryDirectory(prefix="sash-benchmarks-") as empty:
        os.environ["SASH_CACHE_DIR"] = empty  # so that the time to compile is not the time to read the cache
        return run(SUITES[options.suite], options)


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Check and time a suite of cases. Without a suite, list all of them."
    )
    parser.add_argument(
        "suite",
        nargs="?",
        choices=(*SUITES, *GROUPS),
        metavar="SUITE",
        help=f"one of the list, or {' or '.join(GROUPS)}",
    )
    parser.add_argument("--quick", action="store_true", help="few rows and one repeat: to see that it all runs")
    parser.add_argument("--only", metavar="TEXT", action="append", help="only the cases whose name contains the text")
    parser.add_argument("--rows", type=int, help="at most so many rows; writes nothing, unless --csv names a file")
    parser.add_argument("--csv", type=Path, help="another file for the results")
    parser.add_argument("--list", action="store_true", help="print the names of the cases and stop")
    return parser.parse_args(arguments)


def run_group(options: argparse.Namespace) -> int:
    """Run the suites of a group, each in a process of its own: Spark and kernels stay in memory. Return the exit code.

    A suite that fails does not stop the others, which may take an hour.
    """
    if options.only or options.rows or options.csv or options.list:
        raise SystemExit(f"{options.suite} takes no option but --quick. Name a suite for the others.")
    failed, start = [], time.perf_counter()
    for name in (name for name, suite in SUITES.items() if suite.group == options.suite):
        print(f"{(time.perf_counter() - start) / 60:.0f} min: {name}", flush=True)  # noqa: T201
        done = subprocess.run([sys.executable, "-m", "benchmarks", name, *["--quick"] * options.quick], check=False)
        if done.returncode:
            failed.append(name)
    minutes = f"{(time.perf_counter() - start) / 60:.0f} minutes"
    print(f"{minutes}. " + (f"Failed: {', '.join(failed)}." if failed else "Every answer was right."), flush=True)  # noqa: T201
    return bool(failed)


def run(suite: Suite, options: argparse.Namespace) -> int:
    """Run the cases and print them as they are done, then the targets. Return the exit code.

    A case that fails is reported, and does not stop the others.
    """
    from rich.console import Console  # noqa: PLC0415 — the names of the options should not wait for all peers

    from benchmarks import report, results  # noqa: PLC0415
    from benchmarks.measure import measure  # noqa: PLC0415

    rows = suite.quick_rows if options.quick else options.rows
    path = options.csv or (None if rows else suite.csv)
    screen = Console()
    console = screen if screen.is_terminal else Console(width=160)  # a file is as wide as the table
    cases = [case for case in suite.cases if not options.only or any(text in case.name for text in options.only)]
    cases = [case for case in cases if not rows or case.runs_with(rows)]
    if options.list:
        console.print("\n".join(case.name for case in cases))
        return 0
    readings: list[Reading] = []
    failed: list[Case] = []
    start = time.perf_counter()
    if path == suite.csv and not options.only:
        results.drop_others([case.name for case in cases], path)
    for number, case in enumerate(cases, 1):
        try:
            done = measure(case.at_most(rows) if rows else case, 1 if options.quick else None)
        except Exception:  # noqa: BLE001 — whatever a contestant raises
            console.print_exception()
            console.print(f"[red]Failed: {case.name}[/red]")
            failed.append(case)
            continue
        readings += done
        if path:
            results.replace(done, path)  # at once: a run that is stopped leaves what it has measured
        most = max(one.rows for one in done)
        found = ", ".join(
            f"{one.contestant} {report.quantity(one)}" + (f" on {one.rows:,} rows" if one.rows < most else "")
            for one in done
        )
        console.print(f"[dim]{number:3}/{len(cases)} {time.perf_counter() - start:5.0f} s[/dim] {case.name}: {found}")
    suite.show([case for case in cases if case not in failed], readings, console)
    if rows:
        console.print(f"[yellow]At most {rows:,} rows: the answers are checked, the times say little.[/yellow]")
    elif path:
        console.print(f"Written to {path}.")
    return bool(failed)
