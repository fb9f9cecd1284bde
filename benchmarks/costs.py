"""Measures the cost of each algorithm relative to two_stacks and writes src/sash/plan/costs.csv, which plan/choose.py reads.

python -m benchmarks.costs            everything: some minutes, most of them to compile
python -m benchmarks.costs --only max one aggregate; the lines of others stay
python -m benchmarks.costs --quick    few rows, to check that everything runs; writes nothing

The unit of a cost is one pass of two_stacks: the time of a call that answers q ranges, divided by the mean time that
two_stacks takes to answer one of them alone. So q ranges in q passes cost q, on every machine. A line of the table has one
aggregate and one set of ranges. Values come rising, falling and random where their order matters: an algorithm is chosen before the
values are known.

benchmarks/choice measures what choices are worth, over other ranges.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from benchmarks.column_case import Ranges, Values
from benchmarks.columns import column
from benchmarks.results import ROOT
from benchmarks.sash_calls import AGGREGATES
from sash.aggregates.base import Aggregate
from sash.algorithms import ALGORITHMS, Algorithm, Recalculate, TwoStacks, find_algorithm
from sash.columns.buffers import NO_BITS
from sash.kernels import Kernel, loops
from sash.kernels.kernel_arrays import ResultColumn
from sash.kernels.whole_column import column_kernel
from sash.plan.choose import USES, Cost, Use, law_class, read_costs

Run: TypeAlias = Callable[[], ResultColumn]
Timed: TypeAlias = Callable[[], float]
"""Runs something and returns the seconds that it took."""
TABLE = ROOT / "src" / "sash" / "plan" / "costs.csv"
HEADING = (
    "# Written by benchmarks/costs.py (make costs). The unit of cost is one pass of two_stacks over one of the ranges: "
    "a ratio, whatever the machine. ranges: how many; shortest and longest: in rows."
)
MEASURED = {
    ("max", "float64"): ("float64", "rising", "falling"),  # the work of algorithms for max depends on the values
    ("sum", "int64"): ("int64",),
    ("sum", "float64"): ("float64",),
    ("mean", "float64"): ("float64",),
    ("stddev", "float64"): ("float64",),
    ("variance by sums", "float64"): ("float64",),
}
"""Aggregates (one small field, exactly invertible, compensated, several fields, a user's own) and the columns they run over."""
LENGTHS_OF_ONE = (1, 2, 3, 5, 8, 16, 60, 1_440, 100_000)
NUMBERS_OF_SEVERAL = (2, 5, 20)
LENGTHS_OF_SEVERAL = (32, 200, 1_440, 20_000)
ROWS, ROWS_OF_SEVERAL, ROWS_OF_QUICK = 400_000, 100_000, 500
MOST_RECALCULATED = 60
"""The longest range that is recalculated: it would take minutes."""
REPEATS, SECONDS_OF_REPEATS = 9, 0.4
"""Slow algorithms are repeated less often."""
ROUNDING = 1e-9


@dataclass(frozen=True)
class Situation:
    """One case to measure: an aggregate, its columns and its ranges."""

    aggregate: Aggregate[Any]
    columns: tuple[Values, ...]
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
            and not (algorithm is Recalculate and (several or longest > MOST_RECALCULATED))
            and algorithm is not TwoStacks
        }


def situations(rows: int | None = None) -> Iterator[tuple[str, Situation]]:
    """Yield the cases with the names of their aggregates, with at most `rows` rows."""
    for (name, dtype), columns in MEASURED.items():
        aggregate = AGGREGATES[name].of_kind("int" if dtype == "int64" else "float")
        for use, ranges in product(USES, [*((length,) for length in LENGTHS_OF_ONE), *several_ranges()]):
            wanted = rows or (ROWS if len(ranges) == 1 else ROWS_OF_SEVERAL)
            yield name, Situation(aggregate, tuple(column(data, wanted) for data in columns), ranges, use)


def several_ranges() -> list[Ranges]:
    """Return the sets of ranges to measure: spaced evenly, as powers from 2 rows on, and as powers from the square root on.

    >>> several_ranges()[:3]
    [(16, 32), (2, 32), (6, 32)]
    """
    spaced: dict[tuple[int, int, int], Ranges] = {}  # by what tells lines of the table apart
    for count, longest in product(NUMBERS_OF_SEVERAL, LENGTHS_OF_SEVERAL):
        evenly = tuple(max(1, longest * part // count) for part in range(1, count + 1))
        for ranges in (evenly, powers(2, longest, count), powers(round(longest**0.5), longest, count)):
            if len(set(ranges)) == count:
                spaced.setdefault((count, min(ranges), max(ranges)), ranges)
    return list(spaced.values())


def powers(shortest: int, longest: int, count: int) -> Ranges:
    """Return lengths that grow by about the same factor, all different.

    >>> powers(2, 60, 5)
    (2, 5, 11, 26, 60)
    """
    found: list[int] = []
    for power in np.geomspace(shortest, longest, count).round().astype(int).tolist():
        found.append(max(power, found[-1] + 1 if found else power))
    return tuple(found)


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
    """Return the cost of each algorithm over all columns, checked against two_stacks before it is timed."""
    unit = TwoStacks.about.name
    runs = checked(situation, {unit: TwoStacks, **situation.algorithms})
    spent = {name: median(found) for name, found in time_all(runs, repeats).items()}
    one_pass = spent.pop(unit) / len(situation.ranges)
    costs = {name: one / one_pass for name, one in spent.items()}
    return {unit: 1.0, **costs} if len(situation.ranges) == 1 else costs


def checked(situation: Situation, algorithms: Mapping[str, type[Algorithm[Any]]]) -> dict[str, Timed]:
    """Return calls that measure each algorithm over all columns, in seconds; those for one range take a pass for each.

    Raise if an algorithm has other results than two_stacks.
    """
    ranges = situation.ranges
    runs: dict[str, list[Run]] = {name: [] for name in algorithms}
    for values in situation.columns:
        expected = results_of(passes(situation, TwoStacks, values))
        for name, algorithm in algorithms.items():
            at_once = len(ranges) == 1 or algorithm.about.ranges != "one"
            own = [prepare(situation, algorithm, values, ranges)] if at_once else passes(situation, algorithm, values)
            check(name, results_of(own), expected)
            runs[name] += own
    return {name: partial(all_seconds, own) for name, own in runs.items()}


def passes(situation: Situation, algorithm: type[Algorithm[Any]], values: Values) -> list[Run]:
    """Return a call for each range, the longest first, as calls for all ranges order their results."""
    return [prepare(situation, algorithm, values, (length,)) for length in reversed(situation.ranges)]


def results_of(runs: list[Run]) -> npt.NDArray[Any]:
    """Return the results of calls, one line per range."""
    return np.concatenate([np.atleast_2d(plain(run())) for run in runs])


def time_all(runs: Mapping[str, Timed], repeats: int) -> dict[str, list[float]]:
    """Return the seconds of each call, measured in turns; slow calls less often."""
    found: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(repeats):
        for name, timed in runs.items():
            if sum(found[name]) < SECONDS_OF_REPEATS:
                found[name].append(timed())
    return found


def all_seconds(runs: list[Run]) -> float:
    """Return the processor time of several calls, one after the other."""
    return sum(map(seconds, runs))


def plain(result: ResultColumn) -> npt.NDArray[Any]:
    """Return results as one line per range, NaN for null."""
    values = np.atleast_2d(result.values)
    valid = np.atleast_2d(result.valid)
    return values if valid.all() else np.where(valid, values, np.nan)


def check(name: str, results: npt.NDArray[Any], expected: npt.NDArray[Any]) -> None:
    """Raise if the results of an algorithm differ from those of two_stacks, up to the rounding of floats.

    Differences of large numbers, as in a variance by sums, round as the numbers do: so an error may also be small beside the
    largest result.
    """
    rounding = ROUNDING if expected.dtype.kind == "f" else 0.0
    small = rounding * float(np.nanmax(np.abs(expected), initial=0.0))
    np.testing.assert_allclose(results, expected, rtol=rounding, atol=small, err_msg=f"{name} and two_stacks differ")


def seconds(run: Run) -> float:
    """Return the processor time of this thread for a call, which other work on the machine does not change."""
    start = time.thread_time_ns()
    result = run()
    spent = time.thread_time_ns() - start
    del result  # after reading the clock
    return spent / 1e9


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
    parser.add_argument(
        "--only", metavar="NAME", action="append", help="only this aggregate; keeps the lines of others"
    )
    parser.add_argument("--csv", type=Path, help="another file for the table")
    options = parser.parse_args(arguments)
    lines = [line for line in read_costs() if options.only and line.aggregate not in options.only]
    start = time.perf_counter()
    for name, situation in situations(ROWS_OF_QUICK if options.quick else None):
        if options.only and name not in options.only:
            continue
        costs = measure(situation, 1 if options.quick else REPEATS)
        ranges = situation.ranges
        key = law_class(situation.aggregate), name, situation.use, len(ranges), min(ranges), max(ranges)
        lines += [Cost(*key, algorithm, short(cost)) for algorithm, cost in costs.items()]
        shown = ", ".join(
            f"{algorithm} {cost:.3g}" for algorithm, cost in sorted(costs.items(), key=lambda pair: pair[1])
        )
        print(f"{time.perf_counter() - start:5.0f} s  {' '.join(map(str, key[1:]))}: {shown}", flush=True)  # noqa: T201
    path = options.csv or (None if options.quick else TABLE)
    if path:
        write(sorted(lines), path)


if __name__ == "__main__":
    main()
