"""The command: draws cases until the time is over, and prints each finding with a reproduction."""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections import Counter
from pathlib import Path

from fuzz.cases import random_case
from fuzz.worker import Checked, Worker

PROGRESS_SECONDS = 60
KERNELS = Path(__file__).parents[2] / "build" / "kernels"


class Statistics:
    """What became of all cases."""

    def __init__(self) -> None:
        self.kinds: Counter[str] = Counter()
        self.refusals: Counter[str] = Counter()
        self.dimensions: Counter[tuple[str, str, str]] = Counter()
        self.findings: Counter[str] = Counter()
        self.slowest = (0.0, 0)

    def add(self, seed: int, checked: Checked) -> None:
        """Count a case."""
        outcome = checked.outcome
        self.kinds[outcome.kind] += 1
        self.dimensions.update((name, value, outcome.kind) for name, value in checked.dimensions.items())
        self.slowest = max(self.slowest, (checked.seconds, seed))
        if outcome.kind == "refused":
            self.refusals[without_names(outcome.message)] += 1
        if outcome.kind == "finding":
            self.findings[outcome.signature] += 1

    def show(self) -> str:
        """Return the numbers of cases."""
        return f"{sum(self.kinds.values())} cases: " + ", ".join(
            f"{count} {kind}" for kind, count in self.kinds.items()
        )

    def show_refusals(self) -> str:
        """Return the messages of refusals, and the share of refusals of each dimension."""
        lines = [f"{count:6}  {message}" for message, count in self.refusals.most_common(60)]
        for name, value in sorted({(name, value) for name, value, _ in self.dimensions}):
            total = sum(self.dimensions[name, value, kind] for kind in ("passed", "refused", "finding"))
            share = self.dimensions[name, value, "refused"] / total
            lines.append(f"{share:5.0%} of {total:6} refused  {name} {value}".rstrip())
        return "\n".join(lines)


def main() -> int:
    """Run the command. Return 1 if there was a finding."""
    os.environ.setdefault("SASH_CACHE_DIR", str(KERNELS))
    options = read_options()
    worker, statistics = Worker(), Statistics()
    if options.seed is not None:
        checked = worker.check(options.seed)
        print(checked.report or random_case(options.seed).reproduction)
        print(f"seed {options.seed}: {checked.outcome.kind}. {checked.outcome.message}")
        return int(checked.outcome.kind == "finding")
    seed = options.first if options.first is not None else random.SystemRandom().randrange(10**9) * 1_000
    started = shown = time.monotonic()
    print(f"seeds from {seed}, for {options.seconds:g} s", flush=True)
    while time.monotonic() < started + options.seconds and len(statistics.findings) < options.most:
        checked = worker.check(seed)
        statistics.add(seed, checked)
        if checked.report:
            print(f"\n{checked.report}\n", flush=True)
        if time.monotonic() - shown > PROGRESS_SECONDS:
            shown = time.monotonic()
            print(f"{shown - started:.0f} s: {statistics.show()}", flush=True)
        seed += 1
    worker.close()
    if options.verbose:
        print(statistics.show_refusals())
    print(f"{statistics.show()}; the slowest took {statistics.slowest[0]:.1f} s (seed {statistics.slowest[1]})")
    for signature, count in statistics.findings.most_common():
        print(f"{count:6}  {signature}")
    return int(bool(statistics.findings))


def read_options() -> argparse.Namespace:
    """Return the options of the command."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description="Compare random queries with the naive oracle.")
    parser.add_argument("--seconds", type=float, default=300, help="how long to run (default: 300)")
    parser.add_argument("--seed", type=int, help="run one case again, and print it")
    parser.add_argument("--first", type=int, help="the first seed (default: random)")
    parser.add_argument("--most", type=int, default=20, help="stop after n different findings (default: 20)")
    parser.add_argument("--verbose", action="store_true", help="print which queries were refused")
    return parser.parse_args()


def without_names(message: str) -> str:
    """Return a message without what differs between queries, to count it.

    >>> without_names("The key 'k' is of type 3.")
    'The key … is of type 3.'
    """
    words = message.split()
    return " ".join("…" if any(sign in word for sign in "'\"()=") or word.isdigit() else word for word in words)[:150]


if __name__ == "__main__":
    sys.exit(main())
