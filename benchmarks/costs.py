"""Measures the cost of each algorithm relative to two_stacks and writes src/sash/plan/costs.csv, which plan/choose.py reads.

python -m benchmarks.costs            everything: some minutes, most of them to compile
python -m benchmarks.costs --quick    few rows, to check that everything runs; writes nothing

The unit of a cost is one pass of two_stacks: the time of a call that answers q ranges, divided by the mean time that
two_stacks takes to answer one of them alone. So q ranges in q passes cost q, on every machine. A line of the table is the mean
over windows of several lengths, ranges that are spaced evenly or as powers, and sorted and unsorted data, so that an algorithm
that is fast in one case only is not chosen for all.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from statistics import mean, median
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from benchmarks.column_case import Ranges, Values
from benchmarks.columns import column
from benchmarks.results import ROOT
from benchmarks.sash_calls import AGGREGATES
from sash.aggregates.base import Aggregate
from sash.algorithms import ALGORITHMS, Algorithm, Recalculate, TwoStacks, find_algorithm
from sash.kernels import Kernel, loops
from sash.kernels.kernel_io import NO_BITS, ResultColumn
from sash.kernels.whole_column import column_kernel
from sash.plan.costs import USES, Cost, Use, law_class

Run: TypeAlias = Callable[[], ResultColumn]
Key: TypeAlias = tuple[str, str, str, int, str]
"""Laws, aggregate, use, number of ranges and algorithm."""

TABLE = ROOT / "src" / "sash" / "plan" / "costs.csv"
HEADING = (
    "# Written by benchmarks/costs.py (make costs). The unit of cost is one pass of two_stacks over one of the ranges: "
    "a ratio, whatever the machine. least and most: in the best and the worst of the situations that were measured."
)
MEASURED = {
    ("max", "float64"): ("float64", "rising", "falling"),  # the work of algorithms for max depends on the values
    ("sum", "int64"): ("int64",),
    ("sum", "float64"): ("float64",),
    ("stddev", "float64"): ("float64",),
    ("variance by sums", "float64"): ("float64",),
}
"""Aggregates (one small field, exactly invertible, not exactly, several fields, a user's own) and the columns they run over."""
NUMBERS_OF_RANGES = (1, 2, 5, 20)
LENGTHS_OF_ONE = (60, 1_440, 100_000)
LENGTHS_OF_SEVERAL = (60, 1_440)
ROWS, ROWS_OF_SEVERAL, ROWS_OF_SLOW, ROWS_OF_QUICK = 400_000, 150_000, 6_000, 500
REPEATS = 9
ROUNDING = 1e-9


@dataclass(frozen=True)
class Situation:
    """One case to measure."""

    aggregate: Aggregate[Any]
    values: Values
    ranges: Ranges
    use: Use

    @property
    def algorithms(self) -> dict[str, type[Algorithm[Any]]]:
        """The algorithms that compile for it, in the form that `find_algorithm` returns, without two_stacks."""
        several, longest = len(self.ranges) > 1, max(self.ranges)
        return {
            algorithm.about.name: find_algorithm(algorithm.about.name, self.aggregate)
            for algorithm in ALGORITHMS
            if (not algorithm.about.needs or algorithm.about.needs in self.aggregate.laws)
            and not algorithm.interpreted_only
            and not (several and algorithm.about.ranges == "one")
            and not (algorithm is Recalculate and longest > max(LENGTHS_OF_SEVERAL))  # would take minutes
            and algorithm is not TwoStacks
        }


def situations(rows: int | None = None) -> Iterator[tuple[str, Situation]]:
    """Yield the cases with the names of their aggregates, with at most `rows` rows."""
    for (name, dtype), columns in MEASURED.items():
        aggregate = AGGREGATES[name].of_kind("int" if dtype == "int64" else "float")
        for use in USES:
            for count in NUMBERS_OF_RANGES:
                for ranges in ranges_of(count):
                    wanted = rows or (ROWS if count == 1 else ROWS_OF_SEVERAL)
                    for data in columns:
                        yield name, Situation(aggregate, column(data, wanted), ranges, use)


def ranges_of(count: int) -> list[Ranges]:
    """Return the ranges to measure: several ranges are spaced evenly, and as powers from 2 rows on.

    >>> ranges_of(1)
    [(60,), (1440,), (100000,)]
    >>> ranges_of(5)[:2]
    [(12, 24, 36, 48, 60), (2, 5, 11, 26, 60)]
    """
    if count == 1:
        return [(length,) for length in LENGTHS_OF_ONE]
    spaced: list[Ranges] = []
    for length in LENGTHS_OF_SEVERAL:
        spaced.append(tuple(length * number // count for number in range(1, count + 1)))
        powers: list[int] = []
        for power in np.geomspace(2, length, count).round().astype(int).tolist():
            powers.append(max(power, powers[-1] + 1 if powers else power))
        spaced.append(tuple(powers))
    return spaced


def prepare(situation: Situation, algorithm: type[Algorithm[Any]], values: Values, ranges: Ranges) -> Run:
    """Return a call that answers the ranges with a compiled kernel."""
    aggregate, inputs = situation.aggregate, (values.dtype.name,)
    if situation.use == "kept":
        return keep(Kernel(algorithm, aggregate, inputs, loops.advance), values, ranges)
    if len(ranges) == 1:
        kernel = column_kernel(algorithm, [aggregate], inputs, loops.slide_rows, length=ranges[0])
        return lambda: kernel.slide_rows((values,), ranges[0])[0]
    kernel = Kernel(algorithm, aggregate, inputs, loops.slide_ranges)
    return lambda: kernel.slide_ranges((values,), ranges)[0]


def keep(kernel: Kernel, values: Values, ranges: Ranges) -> Run:
    """Return a call that continues a window over the column, as streams do."""
    state = kernel.new_state(ranges)
    lengths, numbers = np.array(ranges[::-1]), np.arange(len(ranges))[::-1].copy()
    return lambda: kernel.advance(state, (values,), NO_BITS, limit=max(ranges), lengths=lengths, numbers=numbers)[0]


def measure(situation: Situation, repeats: int = REPEATS) -> dict[str, float]:
    """Return the cost of each algorithm, checked against two_stacks before it is timed."""
    values, ranges = situation.values, situation.ranges
    separate = [prepare(situation, TwoStacks, values, (length,)) for length in ranges]
    expected = np.stack([plain(run()).reshape(-1) for run in reversed(separate)])
    runs: dict[str, tuple[Run, int]] = {}
    for name, algorithm in situation.algorithms.items():
        taken = values[:ROWS_OF_SLOW] if algorithm is Recalculate else values
        run = prepare(situation, algorithm, taken, ranges)
        check(name, plain(run()), expected[:, : len(taken)])
        runs[name] = run, len(taken)
    ratios: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(repeats):
        unit = sum(seconds(run) for run in separate) / len(ranges) / len(values)
        for name, (run, rows) in runs.items():
            ratios[name].append(seconds(run) / rows / unit)
    costs = {name: median(found) for name, found in ratios.items()}
    return {"two_stacks": 1.0, **costs} if len(ranges) == 1 else costs


def plain(result: ResultColumn) -> npt.NDArray[Any]:
    """Return results as one line per range, NaN for null."""
    values = np.atleast_2d(result.values)
    valid = np.atleast_2d(result.valid)
    return values if valid.all() else np.where(valid, values, np.nan)


def check(name: str, results: npt.NDArray[Any], expected: npt.NDArray[Any]) -> None:
    """Raise if the results of an algorithm differ from those of two_stacks, up to the rounding of floats."""
    rounding = ROUNDING if expected.dtype.kind == "f" else 0.0
    np.testing.assert_allclose(results, expected, rtol=rounding, err_msg=f"{name} and two_stacks differ")


def seconds(run: Run) -> float:
    """Return the processor time of this thread for a call, which other work on the machine does not change."""
    start = time.thread_time_ns()
    result = run()
    spent = time.thread_time_ns() - start
    del result  # after reading the clock
    return spent / 1e9


def summarise(found: list[tuple[Key, float]]) -> list[Cost]:
    """Return one line for each aggregate, use, number of ranges and algorithm, from the costs of all situations."""
    lines = []
    for key, group in groupby(sorted(found), key=lambda pair: pair[0]):
        costs = [cost for _, cost in group]
        laws, aggregate, use, ranges, algorithm = key
        lines.append(Cost(laws, aggregate, use, ranges, algorithm, *map(short, (mean(costs), min(costs), max(costs)))))
    return lines


def short(cost: float) -> float:
    """Round a cost to three digits: the rest is noise.

    >>> short(12.3456)
    12.3
    """
    return float(f"{cost:.3g}")


def write(lines: list[Cost], path: Path = TABLE) -> None:
    """Write the table."""
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(HEADING + "\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Cost._fields)
        writer.writerows(lines)


def main(arguments: list[str] | None = None) -> None:
    """Measure all situations and write the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.costs", description="Measure the algorithms.")
    parser.add_argument("--quick", action="store_true", help="few rows and one repeat, to check that everything runs")
    parser.add_argument("--csv", type=Path, help="another file for the table")
    options = parser.parse_args(arguments)
    found: list[tuple[Key, float]] = []
    start = time.perf_counter()
    for name, situation in situations(ROWS_OF_QUICK if options.quick else None):
        costs = measure(situation, 1 if options.quick else REPEATS)
        key = law_class(situation.aggregate), name, situation.use, len(situation.ranges)
        found += [((*key, algorithm), cost) for algorithm, cost in costs.items()]
        shown = ", ".join(
            f"{algorithm} {cost:.3g}" for algorithm, cost in sorted(costs.items(), key=lambda pair: pair[1])
        )
        spaced = "…".join(map(str, dict.fromkeys((situation.ranges[0], situation.ranges[-1]))))
        print(f"{time.perf_counter() - start:5.0f} s  {' '.join(map(str, key[1:]))} × {spaced}: {shown}", flush=True)  # noqa: T201
    path = options.csv or (None if options.quick else TABLE)
    if path:
        write(summarise(found), path)


if __name__ == "__main__":
    main()
