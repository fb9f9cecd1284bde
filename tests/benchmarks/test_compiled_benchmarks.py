from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers.cases import SOAK
from helpers.pairwise import some
from rich.console import Console

from benchmarks import costs, report, results
from benchmarks.case import FASTEST_PEER, Target
from benchmarks.cases import CASES
from benchmarks.column_case import ColumnCase, ColumnContestant
from benchmarks.columns import column
from benchmarks.measure import measure
from benchmarks.pages.details import page_of
from benchmarks.plots.lines import draw_columns, lines_of_column
from sash import agg
from sash.algorithms import FlatFIT, TwoStacks
from sash.plan.choose import USES, Cost, Use, read_costs

ROWS = 400
GROUPS: dict[str, list[ColumnCase]] = {}
for known in CASES:
    GROUPS.setdefault(f"{known.aggregate} of {known.column}, {known.measure}", []).append(known)
"""Cases that differ in their ranges only share what is compiled."""
SAMPLED = {(cases[0].aggregate, cases[0].measure): group for group, cases in reversed(GROUPS.items())}
"""Of each aggregate and measure the first: its columns of other types are compiled by make soak, and by make bench."""


@pytest.mark.full
@pytest.mark.parametrize("group", GROUPS if SOAK else SAMPLED.values())
def test_every_case_runs_and_its_answers_are_checked(group: str) -> None:
    for case in GROUPS[group]:
        readings = measure(case.at_most(ROWS), repeats=1)
        assert [one.contestant for one in readings] == [contestant.name for contestant in case.contestants]
        assert all(one.repeats >= 1 and 0 < one.rows <= ROWS for one in readings)
        assert len(report.judge([case], readings)) == len(case.targets)


def test_no_case_is_left_out() -> None:
    assert sum(map(len, GROUPS.values())) == len(CASES) == len({case.name for case in CASES})


def _case(answers: object, role: str = "sash") -> ColumnCase:
    contestant = ColumnContestant(name="Sash", prepare=lambda *_: lambda: answers, answers="max", role=role)  # type: ignore[arg-type]
    return ColumnCase(
        name="max 2", aggregate="max", column="int64", ranges=(2,), contestants=(contestant,), tolerance=0.0, rows=5
    )


@pytest.mark.parametrize("role", ["sash", "peer"])
def test_a_wrong_answer_is_never_timed(role: str) -> None:
    with pytest.raises(AssertionError, match=r"max 2: Sash answers 0 for the 2 rows up to row 0, which is \d+"):
        measure(_case(np.zeros(5, np.int64), role))


def test_an_answer_that_is_not_there_is_never_timed() -> None:
    with pytest.raises(AssertionError, match="gave 4 answers for 5 rows"):
        measure(_case(np.zeros(4)))
    with pytest.raises(AssertionError, match=r"answered the ranges \[3\], not \(2,\)"):
        measure(_case({3: np.zeros(5)}))


def reading(case: str, contestant: str, value: float, **others: object) -> results.Reading:
    facts = {
        "aggregate": "max",
        "dtype": "float64",
        "range": "16",
        "role": "peer",
        "algorithm": "",
        "measure": "ns a row",
    }
    facts |= {"version": "", "date": "", "commit": "abc", "machine": "a processor", "python": "3"}
    numbers = {"value": value, "least": value, "repeats": 5, "rows": 10, "compile_seconds": None, "cores": 2}
    return results.Reading(case=case, contestant=contestant, **{**facts, **numbers, **others})  # type: ignore[arg-type]


def test_the_csv_keeps_the_cases_that_were_not_run_again(tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    first, second = reading("one", "Sash", 2.5, compile_seconds=0.5), reading("two", "Sash", 3.0)
    results.replace([first, second], path)
    assert results.read(path) == [first, second]
    again = replace(second, value=4.0)
    results.replace([again], path)
    assert results.read(path) == [first, again]


def test_targets_are_judged_against_the_fastest_peer() -> None:
    targets = Target(against=FASTEST_PEER, at_least=4), Target(at_most=2), Target(against="apply", at_least=50)
    case = replace(_case(None), name="max float64 16", ranges=(16,), targets=targets)
    readings = [reading(case.name, "Sash", 3.0, role="sash"), reading(case.name, "slow", 90.0)]
    readings += [reading(case.name, "fast", 12.0), reading(case.name, "apply", 1.0, role="beside")]
    verdicts = report.judge([case], readings)
    assert [(one.ratio, one.is_met) for one in verdicts] == [(4.0, True), (1.0, False), (1 / 3, False)]
    console = Console(record=True, width=160, quiet=True)
    report.show([case], readings, console)
    assert report.judge([case], []) == []


def test_a_limit_is_judged_by_how_many_times_the_other_it_takes() -> None:
    case = replace(_case(None), targets=(Target(contestant="many", against="one", at_most=3),))
    for many, is_met in ((30.0, True), (31.0, False)):
        (verdict,) = report.judge([case], [reading(case.name, "many", many), reading(case.name, "one", 10.0)])
        assert (verdict.ratio, verdict.is_met, report.say_target(verdict)) == (many / 10, is_met, "≤ 3 × one")


def test_the_table_shows_target_ratio_and_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    case = replace(
        _case(None), name="max float64 16", ranges=(16,), targets=(Target(against=FASTEST_PEER, at_least=4),)
    )
    readings = [reading(case.name, "Sash", 2.0, role="sash"), reading(case.name, "fast", 12.0)]
    report.show([case], readings, Console(width=160))
    printed = capsys.readouterr().out
    for text in ("max float64", "≥ 4 × fastest peer", "6 × ✓", "2.0 ns, fast 12 ns", "1 of 1 targets met"):
        assert text in printed


def test_the_picture_is_drawn_from_the_csv_alone(tmp_path: Path) -> None:
    readings = [
        reading(
            f"max float64 {length}",
            name,
            value,
            range=length,
            role="sash" if name in ("Sash", "Sash Query") else "peer",
        )
        for name, value in (("Sash", 3.0), ("Sash Query", 12.0), ("Polars", 30.0), ("pandas", 31.0))
        for length in ("16", "1 K", "64 K", "1 M")
    ]
    assert lines_of_column(readings, "max")["Sash"] == [(16, 3.0), (1024, 3.0), (65536, 3.0), (1 << 20, 3.0)]
    path = tmp_path / "images" / "picture.svg"
    draw_columns(readings, path)
    drawn = path.read_text(encoding="utf-8")
    assert "Sash: Query" in drawn
    assert "Sash: Aggregator.slide" in drawn
    draw_columns(readings, path)
    assert path.read_text(encoding="utf-8") == drawn
    with pytest.raises(SystemExit, match="none of the cases"):
        draw_columns([], path)


def test_the_page_shows_all_numbers_and_no_targets() -> None:
    case = CASES[0]
    written = page_of("compiled", [reading(case.name, "Sash", 2.0, role="sash"), reading(case.name, "fast", 7.0)])
    assert f"| {case.name} | fast | 7.0 ns |" in written
    assert "✗" not in written


@pytest.mark.parametrize("use", some(USES, 2))
def test_costs_are_checked_and_measured(use: Use, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "ALGORITHMS", (TwoStacks, FlatFIT))
    columns = column("float64", 200), column("rising", 200)
    situation = costs.Situation(agg.max().of_kind("float"), columns, (2, 5), use)
    assert list(costs.measure(situation, repeats=1)) == ["flatfit"]
    alone = replace(situation, ranges=(5,))
    assert costs.measure(alone, repeats=1)["two_stacks"] == 1
    with pytest.raises(AssertionError, match="flatfit and two_stacks differ"):
        costs.check("flatfit", np.zeros((1, 3), np.int64), np.ones((1, 3), np.int64))


def test_the_table_of_costs_has_a_line_for_each_situation_and_algorithm(tmp_path: Path) -> None:
    path = tmp_path / "costs.csv"
    costs.write([Cost("selective", "max", "kept", 2, 10, 60, "slickdeque", 2.5)], path)
    heading, names, *lines = path.read_text(encoding="utf-8").splitlines()
    assert heading.startswith("# Written by benchmarks/costs.py")
    assert names == "laws,aggregate,use,ranges,shortest,longest,algorithm,cost"
    assert lines == ["selective,max,kept,2,10,60,slickdeque,2.5"]
    wanted = [
        (one.aggregate, one.use, len(one.ranges), min(one.ranges), max(one.ranges)) for _, one in costs.situations(10)
    ]
    assert len(wanted) == len(set(wanted))
    measured = {(line.use, line.ranges, line.shortest, line.longest) for line in read_costs()}
    assert measured == {one[1:] for one in wanted}
