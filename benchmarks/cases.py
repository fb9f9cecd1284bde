"""The table of cases: every line of the targets, for every type and range that it names."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.case import ERROR, FASTEST_PEER, WORST_STEP, Target, say
from benchmarks.column_case import ColumnCase, ColumnContestant
from benchmarks.peers import apply_in_pandas, peers_of
from benchmarks.references import TwoPasses
from benchmarks.sash_calls import by_query, by_sash, by_sash_in_one_pass, sash_contestant, slide
from benchmarks.steps import time_steps

RANGES = (16, 1 << 10, 1 << 16, 1 << 20)
DTYPES = ("float64", "int64")
EXACT = 0.0
ROUNDING = 1e-12

TIMES_FASTER = {"max": 4, "min": 4, "sum": 1.5, "mean": 1.5, "stddev": 3, "median": 2, "quantile": 2}
"""Than the fastest peer."""
NANOSECONDS = {  # of max, at 1 K and at 1 M
    "two_stacks": (5, 5),
    "daba": (12, 12),
    "flatfit": (12, 12),
    "flatfat": (20, 45),
    "b_int": (20, 45),
}


COPY = ColumnContestant(
    name="copy of the column",
    prepare=lambda values, _: values.copy,
    answers="copy",
    role="beside",
    package="numpy",
)
"""The memory roofline: reads every row and writes as many into a fresh array, as any window must."""


def single_ranges() -> Iterator[ColumnCase]:
    """Yield built-in aggregates of one range, beside all peers that have them."""
    for aggregate, times in TIMES_FASTER.items():
        for dtype in DTYPES:
            for length in RANGES:
                yield ColumnCase(
                    name=f"{aggregate} {dtype} {say(length)}",
                    aggregate=aggregate,
                    column=dtype,
                    ranges=(length,),
                    contestants=(
                        by_sash(aggregate),
                        *([by_query(aggregate)] if dtype == "float64" else []),
                        *peers_of(aggregate, length),
                        *([COPY] if aggregate == "sum" else []),
                    ),
                    tolerance=EXACT
                    if aggregate in ("max", "min") or (aggregate, dtype) == ("sum", "int64")
                    else ROUNDING,
                    targets=_targets_of(aggregate, dtype, length, times),
                )


def _targets_of(aggregate: str, dtype: str, length: int, times: float) -> tuple[Target, ...]:
    if aggregate in ("sum", "mean") and dtype == "int64":  # the choice for integers is subtract_on_evict
        return (Target(at_most=1.5),) if aggregate == "sum" else ()
    if aggregate in ("median", "quantile") and length < 1 << 10:
        return ()
    return (Target(against=FASTEST_PEER, at_least=times),)


def user_written() -> Iterator[ColumnCase]:
    """Yield an aggregate of three fields that no peer has, beside their built-in stddev and pandas' way to write one."""
    for length in RANGES:
        yield ColumnCase(
            name=f"user-written float64 {say(length)}",
            aggregate="variance by sums",
            column="float64",
            ranges=(length,),
            contestants=(
                by_sash("variance by sums"),
                *peers_of("stddev", length),
                apply_in_pandas(lambda window: float(window.var()), "variance by sums", length),
            ),
            tolerance=1e-9,  # it subtracts squares, as users do
            targets=(
                Target(against=FASTEST_PEER, at_least=1.5),
                Target(against="pandas rolling.apply", at_least=500),
            ),
        )


TWO_PASS = ColumnContestant(
    name="two passes",
    prepare=lambda values, ranges: lambda: TwoPasses(values, ranges[0]),
    answers="stddev",
    role="beside",
    package="numpy",
)


def accuracy() -> Iterator[ColumnCase]:
    """Yield how far from the truth the answers are where a formula can go wrong."""
    for length in RANGES:
        yield ColumnCase(
            name=f"error of stddev at 1e9 ± 1, {say(length)}",
            aggregate="stddev",
            column="far_away",
            ranges=(length,),
            rows=4_000_000,
            contestants=(by_sash("stddev"), *peers_of("stddev", length), TWO_PASS),
            tolerance=1e-9,
            targets=(Target(against="two passes", at_least=1),),
            measure=ERROR,
        )
        yield ColumnCase(
            name=f"error of sum after one 1e90, {say(length)}",
            aggregate="sum",
            column="spike",
            ranges=(length,),
            rows=4_000_000,
            contestants=(by_sash("sum"), *peers_of("sum", length)),
            tolerance=ROUNDING,
            targets=(Target(at_most=ROUNDING),),
            measure=ERROR,
        )


def by_steps(aggregate: str, algorithm: str) -> ColumnContestant:
    """Return Sash's window moved on row by row, each row timed."""
    return sash_contestant(
        algorithm, aggregate, algorithm, lambda values, ranges: time_steps(aggregate, algorithm, values, ranges[0])
    )


def algorithms() -> Iterator[ColumnCase]:
    """Yield the papers' algorithms on max, and the worst single step of two of them."""
    for number, length in enumerate((1 << 10, 1 << 20)):
        yield ColumnCase(
            name=f"algorithms on max {say(length)}",
            aggregate="max",
            column="float64",
            ranges=(length,),
            contestants=tuple(by_sash("max", name, name) for name in NANOSECONDS),
            tolerance=EXACT,
            targets=tuple(Target(contestant=name, at_most=most[number]) for name, most in NANOSECONDS.items()),
        )
    yield ColumnCase(
        name="worst step 1 M",
        aggregate="max",
        column="float64",
        ranges=(1 << 20,),
        rows=3_500_000,  # the window fills, then two_stacks flips twice
        contestants=(by_steps("max", "daba"), by_steps("max", "two_stacks")),
        tolerance=EXACT,
        targets=(Target(contestant="daba", against="two_stacks", at_least=1000),),
        measure=WORST_STEP,
    )


def many_ranges() -> Iterator[ColumnCase]:
    """Yield several ranges in one pass: each row answers all of them."""
    separate = sash_contestant(
        "64 × two_stacks",
        "max",
        "two_stacks",
        lambda values, ranges: {length: slide("max", "two_stacks", values, length) for length in ranges},
    )
    random = np.random.default_rng(64).choice(np.arange(1, (32 << 10) + 1), 64, replace=False)
    yield ColumnCase(
        name="64 ranges at once",
        aggregate="max",
        column="float64",
        ranges=tuple(sorted(random.tolist())),
        rows=1_000_000,  # 64 M answers
        contestants=(by_sash_in_one_pass("max", "slideside"), by_sash_in_one_pass("max", "slickdeque"), separate),
        tolerance=EXACT,
        targets=(
            Target(contestant="slideside", against="slickdeque", at_least=1.5),
            Target(contestant="slickdeque", against="64 × two_stacks", at_least=1),
        ),
    )
    yield ColumnCase(
        name="all ranges 1 … 1 K",
        aggregate="max",
        column="float64",
        ranges=tuple(range(1, (1 << 10) + 1)),
        rows=20_000,  # 20 M answers
        contestants=(by_sash_in_one_pass("max", "flatfit"), by_sash_in_one_pass("max", "flatfat")),
        tolerance=EXACT,
        targets=(Target(contestant="flatfit", against="flatfat", at_least=10),),
    )


CASES: tuple[ColumnCase, ...] = (*single_ranges(), *user_written(), *accuracy(), *algorithms(), *many_ranges())
