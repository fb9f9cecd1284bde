"""The table of cases: the figures and tables of the papers, each a series of cases along its x-axis."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from benchmarks.case import COMBINES, HELD, ITEMS, PARTIALS, STEP
from benchmarks.papers import slicing
from benchmarks.papers.case import PaperCase, PaperContestant, PaperRun, Prepare, case
from benchmarks.papers.data import ENERGY, LOAD, RANDOM_FLOATS, RANDOM_INTEGERS, column
from benchmarks.papers.runs import Kind, combines, fire, held_bytes, held_items, interpret, keep, oscillate, steps
from sash import agg
from sash.aggregates.base import Aggregate
from sash.algorithms import (
    DABA,
    BInt,
    FifoReactiveAggregator,
    FlatFAT,
    FlatFIT,
    Recalculate,
    SlickDequeInvertible,
    SlickDequeSelective,
    SlideSideInvertible,
    SlideSideNonInvertible,
    SubtractOnEvict,
    TwoStacks,
)

NAMES: dict[Kind, str] = {
    Recalculate: "recalculation",
    FifoReactiveAggregator: "Reactive Aggregator",
    FlatFAT: "FlatFAT",
    BInt: "B-Int",
    FlatFIT: "FlatFIT",
    SubtractOnEvict: "Subtract-on-Evict",
    TwoStacks: "Two-Stacks",
    DABA: "DABA",
    SlickDequeInvertible: "SlickDeque",
    SlickDequeSelective: "SlickDeque",
    SlideSideInvertible: "SlideSide",
    SlideSideNonInvertible: "SlideSide",
}
RECALCULATION, REACTIVE = NAMES[Recalculate], NAMES[FifoReactiveAggregator]
FIXED, OSCILLATING = "fixed", "oscillating"
LONGEST_RECALCULATED = 1 << 16
LONGEST_COUNTED = 1 << 12
LONGEST_OF_ALL_RANGES = 1 << 10
"""Recalculating all ranges of a window takes n²/2 combines for each row."""


def powers(first: int, last: int, step: int = 1) -> list[int]:
    """Return powers of two.

    >>> powers(3, 9, 2)
    [8, 32, 128, 512]
    """
    return [1 << power for power in range(first, last + 1, step)]


def whole(aggregate: Aggregate[Any]) -> Aggregate[Any]:
    """Return the variant of an aggregate for integers."""
    return aggregate.of_kind("int")


def of(kind: Kind, prepare: Prepare, longest: int | None = None, name: str = "") -> PaperContestant:
    """Return an algorithm as a contestant."""
    return PaperContestant(name=name or NAMES[kind], prepare=prepare, algorithm=kind.about.name, longest=longest)


def each(how: Callable[[Kind], Prepare], *kinds: Kind) -> list[PaperContestant]:
    """Return several algorithms that run in the same way; recalculation only while it takes less than minutes."""
    return [of(kind, how(kind), LONGEST_RECALCULATED if kind is Recalculate else None) for kind in kinds]


# -- General incremental sliding-window aggregation (PVLDB 2015) -------------------------------------------------------

TABLE_3: dict[str, tuple[Aggregate[Any], str]] = {
    "count": (whole(agg.count()), RANDOM_INTEGERS),
    "sum": (whole(agg.sum()), RANDOM_INTEGERS),
    "sum<double>": (agg.sum().of_kind("float"), RANDOM_FLOATS),
    "max": (whole(agg.max()), RANDOM_INTEGERS),
    "max<double>": (agg.max().of_kind("float"), RANDOM_FLOATS),
    "mean": (whole(agg.mean()), RANDOM_INTEGERS),
    "min_count": (whole(agg.min_count()), RANDOM_INTEGERS),
    "stddev": (whole(agg.stddev()), RANDOM_INTEGERS),
    "stddev_pop": (whole(agg.stddev_pop()), RANDOM_INTEGERS),
    "arg_max": (whole(agg.arg_max()), RANDOM_INTEGERS),
    "arg_max<double>": (agg.arg_max().of_kind("float"), RANDOM_FLOATS),
    "collect": (agg.collect(), RANDOM_INTEGERS),
}
"""The aggregates of table 3 by name, each with its data."""
TABLE_4 = ("sum", "max", "mean", "min_count", "stddev_pop")
SIZES_OF_TABLE_4 = (8, 8 << 10, 8 << 20)
STEPS: dict[str, Callable[[int], int]] = {
    "m = 1": lambda _: 1,
    "m = 4": lambda _: 4,
    "m = 64": lambda _: 64,
    "m = n/16": lambda n: n // 16,
    "m = n/4": lambda n: n // 4,
    "m = n": lambda n: n,
}
"""The rows of a slide in figure 10, from the length of the window."""
TREES = (FifoReactiveAggregator, BInt, FlatFAT)
DRAWN = ("max", "stddev")
"""The aggregates of the figures."""


def integers(name: str) -> dict[str, Any]:
    """Return an aggregate over random integers, as the arguments of a case."""
    return {"aggregate": name, "chosen": TABLE_3[name][0], "data": RANDOM_INTEGERS}


def of_tables() -> Iterator[PaperCase]:
    """Yield tables 3 and 4. Figure 6 shows two lines of table 3."""
    for name, (chosen, data) in TABLE_3.items():
        how = interpret if name == "collect" else keep
        compared = each(how, Recalculate, FifoReactiveAggregator)
        for size in powers(3, 10) if name == "collect" else powers(3, 16):
            yield case("table 3", name, compared, size=size, aggregate=name, chosen=chosen, data=data)
    for name in TABLE_4:
        for size in SIZES_OF_TABLE_4:
            yield case("table 4", name, each(keep, *TREES), size=size, **integers(name))


def of_figures_7_and_8() -> Iterator[PaperCase]:
    """Yield windows of up to 8 million rows, and tumbling windows."""
    for size in powers(3, 23, 2):
        yield case("figure 7", "max", each(keep, *TREES), size=size, **integers("max"))
        yield case("figure 7", "stddev", each(keep, FifoReactiveAggregator), size=size, **integers("stddev"))
    for size in powers(3, 11, 2):
        counted = each(combines, *TREES, Recalculate)
        yield case("figure 7 combines", "max", counted, size=size, measure=COMBINES, **integers("max"))
    for name in DRAWN:
        for size in powers(3, 15, 2):
            tumbling = each(partial(fire, step=STEPS["m = n"]), Recalculate, FifoReactiveAggregator)
            yield case("figure 8", name, tumbling, size=size, **integers(name))


def of_figure_9() -> Iterator[PaperCase]:
    """Yield windows whose capacity stays, and those whose capacity oscillates: interpreted, since kernels never resize."""
    kind = FifoReactiveAggregator
    for name in DRAWN:
        for size in powers(4, 10):
            moving = [of(kind, oscillate(kind, way == OSCILLATING), name=way) for way in (FIXED, OSCILLATING)]
            yield case("figure 9", name, moving, size=size, **integers(name))
    for size in powers(4, 10):
        moving = [of(kind, oscillate(kind, way == OSCILLATING, counted=True), name=way) for way in (FIXED, OSCILLATING)]
        yield case("figure 9 combines", "max", moving, size=size, measure=COMBINES, **integers("max"))


def of_figures_10_to_12() -> Iterator[PaperCase]:
    """Yield slides of many rows, against B-Int, too, and memory."""
    kind = FifoReactiveAggregator
    for size in powers(5, 20, 3):
        sliding = [of(kind, fire(kind, step), name=m) for m, step in STEPS.items()]
        yield case("figure 10", "stddev", sliding, size=size, same_windows=False, **integers("stddev"))
        if size <= LONGEST_COUNTED:
            counted = [of(kind, combines(kind, step=step), name=m) for m, step in STEPS.items()]
            yield case("figure 10 combines", "stddev", counted, size=size, measure=COMBINES, **integers("stddev"))
    for size in powers(8, 20, 3):
        coarse = each(partial(fire, step=STEPS["m = 64"]), kind, BInt)
        yield case("figure 11", "max, m = 64", coarse, size=size, **integers("max"))
    for name in DRAWN:
        for size in powers(3, 23, 2):
            held = [of(one, held_bytes(one)) for one in (Recalculate, kind)]
            yield case("figure 12", name, held, size=size, measure=HELD, **integers(name))


# -- FlatFIT (SSDBM 2017) ----------------------------------------------------------------------------------------------

FLATFIT_FIELD = (FlatFIT, FlatFAT, BInt, Recalculate)
ODD_SIZES = sorted(
    {size * parts // 4 for size in powers(6, 22, 2) for parts in (4, 5, 6, 7)} | {size + 1 for size in powers(6, 22, 2)}
)
"""Powers of two, and lengths between them: trees round them up."""


def of_flatfit() -> Iterator[PaperCase]:
    """Yield figures 13 to 16. Figure 15 shows the ratios of figures 13 and 14."""
    energy = {"aggregate": "max", "chosen": whole(agg.max()), "data": ENERGY}
    one = each(keep, *FLATFIT_FIELD, FifoReactiveAggregator)
    for size in powers(0, 23):
        yield case("figure 13", "one query", one, size=size, **energy)
    for size in powers(0, 12, 2):
        counted = each(combines, *FLATFIT_FIELD, FifoReactiveAggregator)
        yield case("figure 13 combines", "one query", counted, size=size, measure=COMBINES, **energy)
    for size in powers(0, 12):
        ranges = tuple(range(1, size + 1))
        several = [
            of(kind, keep(kind), LONGEST_OF_ALL_RANGES if kind is Recalculate else None) for kind in FLATFIT_FIELD
        ]
        yield case("figure 14", "all queries", several, size=size, ranges=ranges, **energy)
        if size <= 1 << 8:
            counted = each(combines, *FLATFIT_FIELD)
            yield case(
                "figure 14 combines", "all queries", counted, size=size, ranges=ranges, measure=COMBINES, **energy
            )
    for size in ODD_SIZES:
        held = [of(kind, held_bytes(kind)) for kind in FLATFIT_FIELD]
        yield case("figure 16", "one query", held, size=size, measure=HELD, **energy)
        if size <= LONGEST_COUNTED << 1:
            items = [of(kind, held_items(kind)) for kind in FLATFIT_FIELD]
            yield case("figure 16 items", "one query", items, size=size, measure=ITEMS, **energy)


# -- SlideSide (EDBT 2020) ---------------------------------------------------------------------------------------------

LOADS: dict[str, Aggregate[Any]] = {"sum": whole(agg.sum()), "min": whole(agg.min())}
SLIDESIDE_FIELD: dict[str, tuple[Kind, ...]] = {
    "sum": (SlideSideInvertible, SlickDequeInvertible, TwoStacks, SubtractOnEvict, FlatFAT),
    "min": (SlideSideNonInvertible, SlickDequeSelective, TwoStacks, FlatFAT),
}
ALONE = (TwoStacks, SubtractOnEvict)
"""Those that answer one range only: a copy for each query."""
QUERIES = (1, 2, 5, 9, 17, 33, 65)
WIDEST_QUERY = 32_768
PERCENTILES = (50, 99, 99.9, 100)
OTHERS_STEPPED: dict[str, tuple[Kind, ...]] = {"sum": (), "min": (DABA, FlatFIT, BInt, FifoReactiveAggregator)}
MOST_STEPS = 1 << 17


def random_ranges(queries: int) -> tuple[int, ...]:
    """Return different window sizes, uniform within 1 to 32,768, ascending; the widest is among them, so that q = 1 has it.

    >>> random_ranges(2)[-1], len(random_ranges(65))
    (32768, 65)
    """
    drawn = np.random.default_rng(2020).permutation(WIDEST_QUERY - 1)[: queries - 1] + 1
    return (*sorted(drawn.tolist()), WIDEST_QUERY)


def of_slideside() -> Iterator[PaperCase]:
    """Yield figure 3: many queries (a, b), one query (c, d) and latencies (e)."""
    for (name, chosen), many, one in zip(LOADS.items(), "ab", "cd", strict=True):
        load = {"aggregate": name, "chosen": chosen, "data": LOAD}
        field = SLIDESIDE_FIELD[name]
        several = [of(kind, keep(kind, copies=kind in ALONE)) for kind in field]
        counted = [of(kind, combines(kind, copies=kind in ALONE)) for kind in field]
        for queries in QUERIES:
            more = {"size": queries, "ranges": random_ranges(queries), **load}
            yield case(f"figure 3{many}", name, several, **more)
            if queries in (1, 5, 17):
                yield case(f"figure 3{many} combines", name, counted, measure=COMBINES, **more)
        for size in powers(0, 20, 2):
            yield case(f"figure 3{one}", name, each(keep, *field), size=size, **load)
        stepped = (*field, *OTHERS_STEPPED[name])
        for percentile in PERCENTILES:
            timed = [of(kind, steps(kind, percentile)) for kind in stepped]
            about = f"{name}, percentile {percentile:g}"
            yield case("figure 3e", about, timed, size=WIDEST_QUERY, measure=STEP, rows=MOST_STEPS, **load)


# -- Stream window aggregation semantics and optimisation --------------------------------------------------------------

GRID = {60: (1, 6, 7, 10, 25, 40, 60), 100: (1, 3, 7, 10, 25, 64, 100), 1000: (3, 7, 10, 60, 125, 300, 999)}
"""Slides by range, in rows."""
WITH_FLATFAT = "cutty and FlatFAT"


def count_slices(technique: str, over: Kind, what: str) -> Prepare:
    """Return a run whose value is counted over windows that are cut into slices."""

    def prepare(one: PaperCase) -> PaperRun:
        length = one.lengths[0]
        values = column(one.data, length + max(500, 6 * one.size)).tolist()
        counts = slicing.count_windows(length, one.size, technique, over, values)
        found = counts.partials if what == PARTIALS else counts.combines
        return PaperRun(len(values), lambda: found)

    return prepare


def of_slicing() -> Iterator[PaperCase]:
    """Yield the partials of a window and the combines of a row, over a grid of ranges and slides."""
    more: dict[str, Any] = {"aggregate": "max", "chosen": whole(agg.max()), "data": RANDOM_INTEGERS}
    for length, slides in GRID.items():
        for slide in slides:
            own = {"size": slide, "ranges": (length,), **more}
            cut = [of(FlatFAT, count_slices(one, FlatFAT, PARTIALS), name=one) for one in slicing.SLICINGS]
            yield case("slices", f"range {length}", cut, measure=PARTIALS, **own)
            ways: list[tuple[str, str, Kind]] = [(one, one, Recalculate) for one in slicing.SLICINGS]
            ways += [
                (WITH_FLATFAT, slicing.CUTTY, FlatFAT),
                ("no slices, FlatFAT", slicing.NO_SLICES, FlatFAT),
                ("no slices, recalculation", slicing.NO_SLICES, Recalculate),
            ]
            all_ways = [of(over, count_slices(one, over, COMBINES), name=name) for name, one, over in ways]
            yield case("slices combines", f"range {length}", all_ways, measure=COMBINES, **own)


CASES: tuple[PaperCase, ...] = (
    *of_tables(),
    *of_figures_7_and_8(),
    *of_figure_9(),
    *of_figures_10_to_12(),
    *of_flatfit(),
    *of_slideside(),
    *of_slicing(),
)


def of_figure(figure: str, cases: Sequence[PaperCase] = CASES) -> list[PaperCase]:
    """Return the cases of a figure."""
    return [one for one in cases if one.figure == figure]
