"""Write docs/papers.md and its pictures from the CSV: each figure beside the paper's claim, each table with the paper's value and ours."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Iterator, Sequence
from math import log2
from pathlib import Path

from benchmarks.case import say
from benchmarks.papers.analysis import crossing, ratios, series
from benchmarks.papers.cases import GRID, REACTIVE, RECALCULATION, SIZES_OF_TABLE_4, TABLE_4
from benchmarks.papers.claims import CLAIMS, break_even
from benchmarks.papers.data import GENERATED
from benchmarks.papers.figures import PICTURES, Picture
from benchmarks.papers.plot import FOLDER, draw_all, readings_of
from benchmarks.papers.slicing import SLICINGS, partials_in_theory
from benchmarks.report import round_off
from benchmarks.results import PAPERS, ROOT, Reading, read

PAGE = ROOT / "docs" / "papers.md"
HERE = Path(__file__).parent
Readings = Sequence[Reading]

PAPERS_OF: dict[str, tuple[str, ...]] = {
    "General incremental sliding-window aggregation (PVLDB 2015)": (
        "table 3", "figure_06", "figure_07", "figure_08", "figure_09", "figure_10", "figure_11", "table 4", "figure_12",
    ),
    "FlatFIT (SSDBM 2017)": ("table 1", "figure_13", "figure_14", "figure_15", "figure_16"),
    "SlideSide (EDBT 2020)": ("figure_03", "figure_03_combines", "figure_03e"),
    "Stream window aggregation semantics and optimisation": ("slices", "table of slices"),
}  # fmt: skip
"""The parts of the page: tables by their name, pictures by their file."""
PAPERS_TABLE_3 = {
    "count": ("Count", "never", "never"),
    "sum": ("Sum", "370", "5,200"),
    "sum<double>": ("Sum&lt;Double&gt;", "290", "5,200"),
    "max": ("Max", "260", "5,200"),
    "max<double>": ("Max&lt;Double&gt;", "130", "3,600"),
    "mean": ("ArithmeticMean", "10", "900"),
    "min_count": ("MinCount", "200", "4,480"),
    "stddev": ("SampleStdDev", "10", "700"),
    "stddev_pop": ("PopulationStdDev", "10", "700"),
    "arg_max": ("ArgMax", "130", "2,770"),
    "arg_max<double>": ("ArgMax&lt;Double&gt;", "250", "5,810"),
    "collect": ("Collect", "never", "never"),
}
PAPERS_TABLE_4 = {
    "sum": (1.02, 1.20, 1.36),
    "max": (1.02, 1.25, 1.37),
    "mean": (1.05, 1.24, 1.39),
    "min_count": (1.04, 1.23, 1.35),
    "stddev_pop": (1.06, 1.26, 1.37),
}
TEN = 10


def write(readings: Readings, path: Path = PAGE, pictures: Sequence[str] = ()) -> None:
    """Write the page with the pictures that were drawn."""
    path.write_text("\n".join(lines(readings, pictures)) + "\n", encoding="utf-8")


def lines(readings: Readings, pictures: Sequence[str]) -> Iterator[str]:
    """Yield the lines of the page."""
    yield "# The papers' experiments"
    yield ""
    yield (HERE / "about.md").read_text(encoding="utf-8").strip()
    yield ""
    facts = max(readings, key=lambda one: one.date)
    yield (
        f"On {facts.machine}, {facts.cores} cores, Python {facts.python}, {facts.date} (commit {facts.commit}). "
        f"Everything measured is in [{PAPERS.name}](../{PAPERS.relative_to(ROOT)}); `python -m benchmarks papers` and "
        "`python -m benchmarks.papers.page` make this page."
    )
    yield ""
    reasons = read_reasons()
    for paper, parts in PAPERS_OF.items():
        body = [line for part in parts for line in of_part(part, readings, pictures, reasons)]
        if body:
            yield f"## {paper}"
            yield ""
            yield from body


def of_part(part: str, readings: Readings, pictures: Sequence[str], reasons: dict[str, str]) -> Iterator[str]:
    """Yield a table or a picture, and why its results differ."""
    if part in TABLES:
        found = list(TABLES[part](readings))
        yield from found
        if found and part in reasons:
            yield reasons[part]
            yield ""
    elif part in pictures:
        yield from of_picture(next(one for one in PICTURES if one.file == part), readings, reasons)


def read_reasons() -> dict[str, str]:
    """Return the paragraphs of reasons.md by their headings."""
    parts = re.split(r"^## (.+)$", (HERE / "reasons.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {name: text.strip() for name, text in zip(parts[1::2], parts[2::2], strict=True)}


def of_picture(picture: Picture, readings: Readings, reasons: dict[str, str]) -> Iterator[str]:
    """Yield a picture, the claims beside it, and why results differ."""
    label = picture.file.replace("figure_0", "figure_").replace("_", " ").capitalize()
    yield f"### {label}. {picture.title}"
    yield ""
    data = ", ".join(dict.fromkeys(one.dtype for one in readings_of(picture, readings)))
    yield f"![{label}: {picture.title}](images/papers/{picture.file}.svg)"
    yield ""
    yield f"Data: {data}." if GENERATED not in data else f"**Generated data**: {data}."
    yield ""
    found = [(one.paper, text) for one in CLAIMS if one.figure in picture.figures and (text := one.found(readings))]
    if found:
        yield from table(("the paper", "here"), [[paper, text[0].upper() + text[1:]] for paper, text in found])
    for figure in picture.figures:
        if figure in reasons:
            yield reasons[figure]
            yield ""


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield a table."""
    for row in (headings, ["---"] * len(headings), *rows):
        yield f"| {' | '.join(row)} |"
    yield ""


def table_3(readings: Readings) -> Iterator[str]:
    """Yield the break-even points."""
    rows = [
        [name, once, break_even(readings, own, 1), tenfold, break_even(readings, own, TEN)]
        for own, (name, once, tenfold) in PAPERS_TABLE_3.items()
        if series(readings, "table 3", own)
    ]
    if rows:
        yield "### Table 3: from which window size on the Reactive Aggregator is faster than recalculation"
        yield ""
        headings = ("aggregate", "faster from: paper", "here", "10 × as fast from: paper", "here")
        yield from table(headings, rows)
        yield "Data: random integers, and random floats for Double. Sizes between those measured are interpolated."
        yield say_earlier(readings)
        yield ""


def say_earlier(readings: Readings) -> str:
    """Count the aggregates whose break-even point is earlier here than in the paper, or later."""
    earlier = later = 0
    for own, (_, once, _) in PAPERS_TABLE_3.items():
        lines_of = series(readings, "table 3", own)
        if lines_of and once.isdigit():
            found = crossing(ratios(lines_of[RECALCULATION], lines_of[REACTIVE]))
            here = math.inf if found is None else round(found, -1)  # as the paper rounds
            earlier += here < int(once)
            later += here > int(once)
    return f"Of the aggregates that break even in the paper, {earlier} do so at shorter windows here, {later} at longer ones."


def table_4(readings: Readings) -> Iterator[str]:
    """Yield the ratios of B-Int to the Reactive Aggregator, in time and in combines."""
    rows = []
    counted = series(readings, "figure 7 combines", "max")
    for name in TABLE_4:
        found = series(readings, "table 4", name)
        if found:
            here = ratios(found["B-Int"], found[REACTIVE])
            pairs = zip(SIZES_OF_TABLE_4, PAPERS_TABLE_4[name], strict=True)
            cells = [f"{paper:.2f}, {here[size]:.2f}" if size in here else f"{paper:.2f}, –" for size, paper in pairs]
            rows.append([name, *cells])
    if rows:
        yield "### Table 4: time of B-Int divided by that of the Reactive Aggregator (the paper's, ours)"
        yield ""
        yield from table(("aggregate", "n = 8", "n = 8 K", "n = 8 M"), rows)
        if counted:
            combined = ratios(counted["B-Int"], counted[REACTIVE])
            listed = ", ".join(f"{ratio:.2f} at {say(size)}" for size, ratio in combined.items())
            yield f"Combines of B-Int divided by those of the Reactive Aggregator, counted: {listed}. Data: random integers."
            yield ""


def table_1(readings: Readings) -> Iterator[str]:
    """Yield FlatFIT's complexities with the counted combines."""
    one = series(readings, "figure 13 combines", "one query")
    several = series(readings, "figure 14 combines", "all queries")
    if not one or not several:
        return
    single, many = max(one["FlatFIT"]), max(several["FlatFIT"])
    theory = {
        "recalculation": ("n - 1", single - 1, "n²/2 - n/2", many * (many - 1) / 2),
        "FlatFAT": ("log2 n", log2(single), "n log2 n", many * log2(many)),
        "B-Int": ("log2 n", log2(single), "n log2 n", many * log2(many)),
        "FlatFIT": ("3", 3, "n - 1", many - 1),
    }
    yield "### Table 1: combines of a slide"
    yield ""
    rows = []
    for who, (formula, value, formulas, values) in theory.items():
        counted, all_counted = (line.get(who, {}) for line in (one, several))
        rows.append(
            [
                who,
                f"{formula} = {round_off(value)}",
                round_off(counted[single]) if single in counted else "–",
                f"{formulas} = {round_off(values)}",
                round_off(all_counted[many]) if many in all_counted else "–",
            ]
        )
    headings = (
        "algorithm",
        f"one query, {say(single)} rows: paper",
        "counted",
        f"all queries, {say(many)} rows: paper",
        "counted",
    )
    yield from table(headings, rows)
    yield (
        "FlatFAT's log2 n is that of an update. A query of a window that is inverted in its buffer combines both ends, too, as "
        "the Reactive Aggregator's authors describe; the counts include it. Over all queries, most ranges are shorter than n, and need fewer combines than log2 n each."
    )
    yield ""


def table_of_slices(readings: Readings) -> Iterator[str]:
    """Yield the grid of ranges and slides."""
    rows = []
    for length, slides in GRID.items():
        partials = series(readings, "slices", f"range {length}")
        combined = series(readings, "slices combines", f"range {length}")
        for slide in slides if partials and combined else ():
            cells = [
                f"{partials_in_theory(length, slide, one)}, {partials[one][slide]:g}"
                for one in SLICINGS
                if slide in partials[one]
            ]
            ways = (*SLICINGS, "cutty and FlatFAT", "no slices, recalculation")
            rows.append([f"{length}", f"{slide}", *cells, *(f"{combined[one][slide]:.3g}" for one in ways)])
    if rows:
        yield "### Partials per window (formula, counted) and combines per row (counted)"
        yield ""
        headings = (
            "range",
            "slide",
            *SLICINGS,
            *(f"combines: {one}" for one in (*SLICINGS, "cutty and FlatFAT", "no slices")),
        )
        yield from table(headings, rows)


TABLES = {"table 1": table_1, "table 3": table_3, "table 4": table_4, "table of slices": table_of_slices}


def main(arguments: list[str] | None = None) -> None:
    """Draw the pictures and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.papers.page", description="Write docs/papers.md.")
    parser.add_argument("--csv", type=Path, default=PAPERS)
    parser.add_argument("--to", type=Path, default=PAGE)
    options = parser.parse_args(arguments)
    readings = read(options.csv)
    if not readings:
        message = f"{options.csv} has no results: run python -m benchmarks papers first."
        raise SystemExit(message)
    folder = FOLDER if options.to == PAGE else options.to.parent / "images" / "papers"
    write(readings, options.to, draw_all(readings, folder))


if __name__ == "__main__":
    main()
