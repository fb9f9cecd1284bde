"""Plants small faults in a copy of the package, one at a time, and shows which of them the tests find.

    python -m tools.mutations                 all faults, by the tests of the packages where they are
    python -m tools.mutations --only state    those whose file has this in its name
    python -m tools.mutations --root PATH     by the tests of another checkout

Run it by hand after a change of what `make test` runs: a change must not find fewer. A run that exceeds its time counts as found.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
COPIED = ("src", "tests", "benchmarks", "examples", "docs", "tools", "pyproject.toml", "README.md", "Makefile")


@dataclass(frozen=True)
class Mutation:
    """One fault: a text that occurs once in a file below src/sash, and what replaces it."""

    file: str
    right: str
    wrong: str
    tests: tuple[str, ...] = ()
    """The tests that should find it; by default those of the package."""

    @property
    def tested_by(self) -> tuple[str, ...]:
        """The folders of tests to run."""
        return self.tests or (f"tests/{self.file.split('/', maxsplit=1)[0]}",)


NUMPY_TESTS = ("tests/kernels/test_numpy_kernel.py", "tests/engine", "tests/windows")
MUTATIONS = (
    Mutation("slices/cuts.py", "block_times[1:] - block_times[:-1] > gap", "block_times[1:] - block_times[:-1] >= gap", ("tests/slices", "tests/state")),
    Mutation("slices/cuts.py", "records.closes[last] | (begins == ends)", "records.closes[last]"),
    Mutation("slices/edges.py", "return inner + 1", "return inner"),
    Mutation("slices/cuts.py", "times[1:] > last_times[:-1]", "times[1:] >= last_times[:-1]", ("tests/slices", "tests/state")),
    Mutation("windows/time_loops.py", "while end < last and times[end] <= until:", "while end < last and times[end] < until:"),
    Mutation("windows/time_loops.py", "np.minimum(times, np.repeat(now - step, sizes))", "np.minimum(times, np.repeat(now, sizes))"),
    Mutation("windows/time_loops.py", "after[key] < stop <= now[key]", "after[key] <= stop <= now[key]"),
    Mutation("windows/by_gap.py", "items.times[1:] > lasts[:-1] + gap", "items.times[1:] >= lasts[:-1] + gap"),
    Mutation("windows/row_frame.py", "(within(rows), within(rows + 1))", "(within(rows), within(rows))"),
    Mutation("windows/calendars.py", "np.minimum(days - first_days(months), length - 1)", "np.minimum(days - first_days(months), length)"),
    Mutation("state/watermark.py", "late = late_from <= marks[:-1]", "late = late_from < marks[:-1]"),
    Mutation("state/row_state.py", "block.times < np.repeat(closed, final)", "block.times <= np.repeat(closed, final)"),
    Mutation("state/slice_state.py", "stays = places >= np.repeat(", "stays = places > np.repeat("),
    Mutation("state/slice_state.py", "since[own] = np.minimum(since", "since[own] = np.maximum(since"),
    Mutation("state/row_state.py", "keep = np.maximum(block.firsts[:-1], keep - 1)", "keep = np.maximum(block.firsts[:-1], keep)"),
    Mutation("engine/partials.py", "present: Flags = self.values > 0", "present: Flags = self.values >= 0", ("tests/engine", "tests/state")),
    Mutation("engine/partials.py", "opens = np.where(of_open > 0, opens, -1)", "opens = np.where(of_open > 1, opens, -1)", ("tests/engine", "tests/slices")),
    Mutation("engine/window_bounds.py", "before[ends] > before[begins]", "before[ends] >= before[begins]", ("tests/engine", "tests/state")),
    Mutation("kernels/numpy_kernel.py", "max(1, output.at_least)", "1", NUMPY_TESTS),
    Mutation(
        "kernels/numpy_kernel.py",
        "self._combine(take(whole, both), take(records, both))",
        "self._combine(take(records, both), take(whole, both))",
        NUMPY_TESTS,
    ),
)  # fmt: skip


def try_mutation(mutation: Mutation, copy: Path, kernels: Path, seconds: float) -> str:
    """Run the tests with one fault, and return what happened."""
    path = copy / "src" / "sash" / mutation.file
    right = path.read_text(encoding="utf-8")
    if right.count(mutation.right) != 1:
        return "cannot be planted: its text has changed"
    path.write_text(right.replace(mutation.right, mutation.wrong), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--tb=no", "-m", "not session", *mutation.tested_by]
    environment = {**os.environ, "PYTHONPATH": str(copy / "src"), "SASH_TESTS_CACHE": str(kernels)}
    began = time.perf_counter()
    try:
        done = subprocess.run(  # noqa: S603 — Python itself
            command, cwd=copy, env=environment, capture_output=True, text=True, check=False, timeout=seconds
        )
    except subprocess.TimeoutExpired:
        return "found: the time is over"
    finally:
        path.write_text(right, encoding="utf-8")
    took = f"{time.perf_counter() - began:.0f} s"
    lines = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return (
        f"NOT FOUND, {took}" if done.returncode == 0 else f"found, {took}: {lines[0] if lines else done.stderr[-200:]}"
    )


def main() -> None:
    """Plant all faults, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="a part of the file's name")
    parser.add_argument("--root", type=Path, default=ROOT, help="the checkout whose package and tests are used")
    parser.add_argument("--seconds", type=float, default=600, help="the time for each fault")
    given = parser.parse_args()
    chosen = [mutation for mutation in MUTATIONS if given.only in mutation.file]
    found = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in COPIED:
            source, target = given.root / name, Path(folder) / name
            if source.is_dir():
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, target)
        for mutation in chosen:
            said = try_mutation(mutation, Path(folder), given.root / "build" / "kernels", given.seconds)
            found += said.startswith("found")
            print(f"{mutation.file}: {mutation.right} → {mutation.wrong}\n    {said}", flush=True)  # noqa: T201 — a command
    print(f"{found} of {len(chosen)} found")  # noqa: T201


if __name__ == "__main__":
    main()
