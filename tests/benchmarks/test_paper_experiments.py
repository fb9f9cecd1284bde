from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from helpers.cases import SOAK

from benchmarks import command
from benchmarks.measure import measure
from benchmarks.papers import claims, data, debs, page, plot, references, slicing
from benchmarks.papers.case import PaperCase
from benchmarks.papers.cases import CASES, GRID, NAMES, random_ranges
from benchmarks.papers.counting import Counter, combines_per_row, filled, items_held
from benchmarks.papers.figures import PICTURES, Picture
from benchmarks.results import PAPERS, ROOT, Reading, read, reading
from sash import agg
from sash.algorithms import (
    BInt,
    FlatFAT,
    FlatFIT,
    Recalculate,
    SlickDequeInvertible,
    SlideSideInvertible,
    SubtractOnEvict,
    TwoStacks,
)

VALUES = np.random.default_rng(3).integers(0, 1_000, 5_000).tolist()
BY_NAME = {one.name: one for one in CASES}


# -- the data ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("separator", ["\t", ","])
def test_the_reader_of_2012_reads_what_the_generator_makes(tmp_path: Path, separator: str) -> None:
    made = debs.generate_2012(250)
    path = tmp_path / "allData.txt"
    path.write_bytes(debs.write_csv(made, separator))
    assert debs.read_2012(path).equals(made)
    assert debs.read_2012(path, rows=7).equals(made.slice(0, 7))


@pytest.mark.parametrize("time", ["2012-02-22T16:46:28.9670320+00:00", "1329929188967032000"])
@pytest.mark.parametrize("end", ["", "\t"])
def test_the_reader_of_2012_takes_both_forms_of_time_and_a_separator_at_the_end(
    tmp_path: Path, time: str, end: str
) -> None:
    path = tmp_path / "allData.txt"
    path.write_text("\t".join([time, "2556001", "13054", "14406", "8119", "0071", *["0"] * 60]) + end + "\n")
    table = debs.read_2012(path)
    assert table["ts"].to_pylist()[0].isoformat() == "2012-02-22T16:46:28.967032"
    assert [table[name][0].as_py() for name in (*debs.ENERGY, "pc13")] == [13054, 14406, 8119, 71]


def test_the_reader_of_2014_reads_what_the_generator_makes(tmp_path: Path) -> None:
    made = debs.generate_2014(300)
    path = tmp_path / "sorted.csv"
    path.write_bytes(debs.write_csv(made))
    assert debs.read_2014(path).equals(made)
    assert debs.read_2014(path, rows=3).num_rows == 3


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty. It must have lines of 7 fields: id, timestamp, value, property, plug_id"),
        ("1,2,3\n", "the first line has 3 fields, but needs 7"),
        ("1,2,3.5,1,0,0,0\n1,2,x,1,0,0,0\n", "is not as expected after row 0.*conversion error to double"),
        ("1,2,3.5,1,0,0,0\n1,2,3\n", "is not as expected after row 0.*Expected 7 columns, got 3"),
        ("1,2,3.5,1,0,0,0\n2,2,3.5,4,0,0,0\n", r"row 1: property is 4, but must be 0 \(work\) or 1 \(load\)"),
    ],
)
def test_bad_files_are_refused(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "sorted.csv"
    path.write_text(content)
    with pytest.raises(ValueError, match=message):
        debs.read_2014(path)


def test_a_bad_time_of_2012_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "allData.txt"
    path.write_text("\t".join(["yesterday", *["0"] * 65]) + "\n")
    with pytest.raises(ValueError, match="the first field must be an ISO time or nanoseconds since 1970"):
        debs.read_2012(path)
    with pytest.raises(FileNotFoundError):
        debs.read_2012(tmp_path / "none")


def test_the_generated_rows_of_2012_are_like_the_challenge_describes_them() -> None:
    table = debs.generate_2012(20_000)
    assert table.column_names == list(debs.FIELDS_2012)
    assert len(debs.FIELDS_2012) == 66
    assert set(np.diff(table["ts"].to_numpy()).astype("timedelta64[ms]").astype(int)) == {10}  # 100 Hz
    phases = [table[name].to_numpy() for name in debs.ENERGY]
    for level, phase in zip(debs.LEVELS, phases, strict=True):
        assert 0.3 * level < phase.min() < phase.max() < 1.2 * level
    assert np.corrcoef(phases)[0, 1] > 0.9
    for name in debs.STATES:
        states = table[name].to_numpy()
        assert set(states) <= {0, 1}
        assert np.count_nonzero(np.diff(states)) < 100
    assert all(np.array_equal(one, other) for one, other in zip(debs.phases_2012(20_000), phases, strict=True))


def test_the_generated_rows_of_2014_are_like_the_challenge_describes_them() -> None:
    table = debs.generate_2014(4 * debs.PLUGS)
    assert table.column_names == list(debs.FIELDS_2014)
    plugs = {tuple(row.values()) for row in table.select(["house_id", "household_id", "plug_id"]).to_pylist()}
    assert len(plugs) == debs.PLUGS == 2_125
    assert len({house for house, _, _ in plugs}) == debs.HOUSES == 40
    seconds = table["timestamp"].to_numpy()
    assert np.array_equal(
        np.unique(seconds, return_counts=True)[1], [2 * debs.PLUGS] * 2
    )  # load and work, once a second
    loads = table.filter(pa.compute.equal(table["property"], debs.LOAD))["value"].to_numpy()
    assert 0 <= loads.min() < loads.max() < 3_500
    assert 0.2 < np.mean(loads == 0) < 0.6
    assert np.median(loads) < loads.mean()  # few plugs draw most of the power


def test_a_real_file_is_used_if_the_environment_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "sorted.csv"
    path.write_text("1,2,3.5,1,0,0,0\n2,2,9.0,0,0,0,0\n3,3,0.25,1,0,0,0\n")
    data.column.cache_clear()
    assert data.label(data.LOAD) == "DEBS 2014 load, generated"
    monkeypatch.setenv("SASH_DEBS_2014", str(path))
    assert data.label(data.LOAD) == "DEBS 2014 load"
    assert data.column(data.LOAD, 5).tolist() == [3_500, 250, 3_500, 250, 3_500]
    path.write_text("2,2,9.0,0,0,0,0\n")
    data.column.cache_clear()
    with pytest.raises(ValueError, match=r"has no rows with property 1 \(load\)"):
        data.column(data.LOAD, 5)
    data.column.cache_clear()


# -- counting ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 8, 64, 256])
def test_counted_combines_are_those_of_the_papers(n: int) -> None:
    largest = agg.max().of_kind("int")
    total = agg.sum().of_kind("int")
    count = combines_per_row
    assert count(Recalculate, largest, [n], VALUES, 20) == n - 1
    assert count(SubtractOnEvict, total, [n], VALUES, 20) == 2
    assert count(SlickDequeInvertible, total, [n], VALUES, 20) == 2
    lap = 10 * (n + 1)
    assert count(FlatFIT, largest, [n], VALUES, lap) == pytest.approx(3 * (n - 1) / (n + 1))  # section 4.1
    assert count(TwoStacks, largest, [n], VALUES, 10 * n) <= 3
    for tree in (FlatFAT, BInt):
        assert count(tree, largest, [n], VALUES, 2 * n) == pytest.approx(math.log2(n), abs=0.1)


@pytest.mark.parametrize("n", [2, 5, 16, 33])
def test_counted_combines_of_all_ranges_are_those_of_flatfit_s_table_1(n: int) -> None:
    ranges = list(range(1, n + 1))
    assert combines_per_row(Recalculate, agg.max(), ranges, VALUES, 10) == n * (n - 1) / 2
    assert combines_per_row(FlatFIT, agg.max(), ranges, VALUES, 4 * n) == n - 1
    assert combines_per_row(SlideSideInvertible, agg.sum().of_kind("int"), ranges, VALUES, 10 * n) <= n + 2


def test_slides_of_m_rows_cost_m_plus_m_log_of_n_by_m() -> None:
    n = 1_024
    for m in (1, 4, 64, 256):
        counted = combines_per_row(FlatFAT, agg.max(), [n], VALUES, 4 * n, m)
        assert counted <= 1 + (2 * math.log2(n)) / m
        assert Counter(agg.max()).take() == 0


def test_a_wrong_answer_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Recalculate, "query_range", lambda *_: -1)
    with pytest.raises(AssertionError, match="recalculate gives -1 for 8 rows"):
        combines_per_row(Recalculate, agg.max(), [8], VALUES, 4)


@pytest.mark.parametrize("n", [1, 5, 64, 65, 100])
def test_held_items_are_those_of_flatfit_s_table_1(n: int) -> None:
    held = {one: items_held(filled(one, agg.max(), [n], VALUES)) for one in (Recalculate, FlatFIT, FlatFAT)}
    assert held == {Recalculate: n, FlatFIT: 2 * n, FlatFAT: 2 ** (math.ceil(math.log2(n)) + 1)}


@pytest.mark.parametrize(("length", "slide"), [(length, slide) for length, slides in GRID.items() for slide in slides])
def test_slices_are_those_of_the_formulas(length: int, slide: int) -> None:
    values = VALUES[: length + 3 * max(slide, 10)]
    for technique in slicing.SLICINGS:
        counted = slicing.count_windows(length, slide, technique, FlatFAT, values)
        assert counted.partials == slicing.partials_in_theory(length, slide, technique)
    if length <= 100:
        alone = slicing.count_windows(length, slide, slicing.NO_SLICES, Recalculate, values)
        assert alone.partials == length
        assert alone.combines == pytest.approx((length - 1) / slide)


# -- the cases ---------------------------------------------------------------------------------------------------------

SAMPLED = {
    "figure 13, one query, 8": ("FlatFIT",),
    "figure 3a, sum, 2": ("Subtract-on-Evict",),
    "figure 8, max, 8": ("recalculation",),
    "figure 9, max, 16": ("fixed", "oscillating"),
    "figure 9 combines, max, 16": ("fixed", "oscillating"),
    "figure 12, max, 8": ("recalculation",),
    "figure 16 items, one query, 64": ("FlatFIT", "FlatFAT"),
    "figure 3a combines, sum, 1": ("Subtract-on-Evict", "SlickDeque"),
    "table 3, collect, 16": ("recalculation", "Reactive Aggregator"),
    "slices combines, range 60, 7": ("panes", "cutty and FlatFAT"),
}
"""The others take long to compile: make soak runs them, and make bench."""
RUN = [one for one in CASES if one.name in SAMPLED or (SOAK and one.size <= 64)]


@pytest.mark.parametrize("case", RUN, ids=lambda case: case.name)
def test_a_case_runs_and_its_answers_are_checked(case: PaperCase) -> None:
    names = SAMPLED.get(case.name)
    if names and not SOAK:
        case = replace(case, contestants=[one for one in case.contestants if one.name in names])
    readings = measure(case.at_most(256), repeats=1)
    assert [one.contestant for one in readings] == [one.name for one in case.contestants]
    assert all(one.value >= 0 and one.range == str(case.size) for one in readings)
    if case.data in data.FILES:
        assert all(one.dtype.endswith("generated") for one in readings)


def test_wrong_answers_are_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    case = BY_NAME["figure 8, max, 8"].at_most(256)
    monkeypatch.setitem(references.REFERENCES, "max", lambda _: 7)
    with pytest.raises(AssertionError, match="figure 8, max, 8: 8 rows up to row 0"):
        measure(replace(case, contestants=case.contestants[:1]), repeats=1)


def test_every_listed_figure_and_table_has_cases_up_to_8_million_rows_where_the_papers_do() -> None:
    largest = {
        figure: max(one.size for one in CASES if one.figure == figure) for figure in {one.figure for one in CASES}
    }
    assert largest["figure 7"] == largest["figure 13"] == largest["figure 12"] == largest["table 4"] == 8 << 20
    listed = {f"figure {number}" for number in (8, 9, 10, 11, 14, 16, "3a", "3b", "3c", "3d", "3e")}
    assert listed | {"table 3", "slices", "slices combines"} <= largest.keys()
    assert len(BY_NAME) == len(CASES)
    assert largest["figure 3a"] == 65
    assert all(1 <= length <= 32_768 for length in random_ranges(65))


def test_a_quick_run_writes_its_cases(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "papers.csv"
    command.main(
        ["papers", "--quick", "--only", "slices, range 60, 7", "--only", "combines, one query, 64", "--csv", str(path)]
    )
    assert {one.case for one in read(path)} == {"slices, range 60, 7", "figure 13 combines, one query, 64"}
    assert "panes" in capsys.readouterr().out


# -- the page ----------------------------------------------------------------------------------------------------------


def readings(cases: tuple[PaperCase, ...] = CASES, longest: int = 1 << 30) -> list[Reading]:
    """A value for each contestant: the second one of each case takes twice as long as the first, and so on."""
    made = []
    for case in cases:
        for number, contestant in enumerate(case.contestants, 1):
            if case.size <= longest:
                made.append(reading(case, contestant, [number * (1 + math.log2(case.size))], case.rows, None))
    return made


@pytest.fixture(scope="module")
def found() -> list[Reading]:
    return readings()


def test_the_page_has_every_figure_and_table(tmp_path: Path, found: list[Reading]) -> None:
    path = tmp_path / "papers.md"
    names = [picture.file for picture in PICTURES]
    page.write(found, path, names)
    text = path.read_text(encoding="utf-8")
    assert text.count("![") == len(PICTURES)
    for part in ("### Table 1", "### Table 3", "### Table 4", "### Partials per window"):
        assert part in text
    for claim in claims.CLAIMS:
        assert f"| {claim.paper} |" in text, claim.figure
    assert "**Generated data**: DEBS 2012 energy, generated." in text
    assert "| Sum | 370 |" in text
    assert "1.02, 2.00" in text  # of B-Int, the second contestant
    assert "FlatFAT | log2 n = " in text


def test_the_claims_are_computed_from_the_csv(found: list[Reading]) -> None:
    said = {claim.paper: claim.found(found) for claim in claims.CLAIMS}
    one = next(text for paper, text in said.items() if paper.startswith("One query: FlatFIT has 1.8"))
    assert "against FlatFAT 2 × the throughput on average, at most 2 ×" in one  # FlatFAT is second, FlatFIT first
    fit = next(text for paper, text in said.items() if paper.startswith("Measured times match"))
    assert "max: 1 + 1.0 · log2 n ns, R² = 1.00, up to 8 M rows" in fit
    assert claims.break_even(found, "max", 1) == "not up to 64 K"


def test_a_csv_of_some_cases_gives_a_page_of_these(tmp_path: Path) -> None:
    few = readings(tuple(one for one in CASES if one.figure in ("table 4", "figure 14")), longest=8 << 10)
    drawn = plot.draw_all(few, tmp_path)
    assert drawn == ["figure_14", "figure_15"]  # figure 15 has the ratios of figure 14
    page.write(few, tmp_path / "papers.md", drawn)
    text = (tmp_path / "papers.md").read_text(encoding="utf-8")
    assert "### Figure 14" in text
    assert "1.36, –" in text
    assert "Table 3" not in text


DRAWN = [one for one in PICTURES if SOAK or one.file in ("figure_07", "figure_15", "figure_03e", "slices")]
"""Of each kind one: with dashed lines, with the paper's numbers, with percentiles, and with three columns."""


@pytest.mark.parametrize("picture", DRAWN, ids=lambda picture: picture.file)
def test_a_picture_is_drawn(tmp_path: Path, found: list[Reading], picture: Picture) -> None:
    assert plot.draw(picture, found, tmp_path)
    assert "not measured" not in (tmp_path / f"{picture.file}.svg").read_text(encoding="utf-8")


def test_a_picture_says_that_its_data_is_generated(tmp_path: Path, found: list[Reading]) -> None:
    picture = next(one for one in PICTURES if one.file == "figure_13")
    assert plot.draw(picture, found, tmp_path)
    text = (tmp_path / "figure_13.svg").read_text(encoding="utf-8")
    assert "GENERATED data: DEBS 2012 energy, generated" in text
    assert "FlatFIT" in text


def test_the_page_in_the_docs_is_that_of_the_csv() -> None:
    if not PAPERS.exists():
        pytest.skip("no results yet: run python -m benchmarks papers")
    drawn = [picture.file for picture in PICTURES if (plot.FOLDER / f"{picture.file}.svg").exists()]
    text = "\n".join(page.lines(read(PAPERS), drawn)) + "\n"
    assert (ROOT / "docs" / "papers.md").read_text(encoding="utf-8") == text, "run: python -m benchmarks.papers.page"


def test_reasons_belong_to_figures_or_tables() -> None:
    known = {one.figure for one in CASES} | {claim.figure for claim in claims.CLAIMS} | {"table 1"}
    assert set(page.read_reasons()) <= known
    assert len(set(NAMES.values())) == 10
