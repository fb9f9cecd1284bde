from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.growth import field
from benchmarks.growth.asked import ASK, answers, columns_of
from benchmarks.growth.case import LIBRARIES, SweepPoint
from benchmarks.growth.cases import CASES, POINTS
from benchmarks.growth.data import rows_of, written
from benchmarks.growth.field import PointRun, check
from benchmarks.growth.one_point import digest_of, measure
from benchmarks.measure import field_of
from benchmarks.pages.details import page_of
from benchmarks.plots.lines import SWEEPS, draw_sweep
from benchmarks.results import Reading, read, reading, replace
from sash import agg, window
from sash.testing import recompute_query

POINT = SweepPoint(rows=200, keys=3, windows=2, aggregates=6, range=10)


@pytest.mark.full
@pytest.mark.parametrize("library", ASK)
def test_every_way_gives_the_answers_that_plain_python_gives(library: str) -> None:
    table = rows_of(POINT.rows, POINT.keys)
    given = ASK[library](POINT, table.select(columns_of(POINT)))()
    for length in POINT.lengths:
        aggregates = {name: getattr(agg, how)(column) for name, how, column, of in answers(POINT) if of == length}
        right = recompute_query(table.to_pylist(), aggregates, window.rows(length), by=["key"], time="ts")
        order = np.argsort(np.asarray(given["ts"]))
        for name in aggregates:
            found = np.asarray(given[name], float)[order]
            expected = [np.nan if row[name] is None else row[name] for row in right]
            np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_the_first_aggregate_is_chosen() -> None:
    point = SweepPoint(aggregates=2, first="mean")
    assert [name for name, *_ in answers(point)] == ["mean_a_1000", "stddev_a_1000"]


@pytest.mark.full
def test_a_point_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.growth.one_point.SHORT", 0.0)
    path = str(written(POINT.rows, POINT.keys))
    told = {library: measure(library, POINT, path, 2) for library in ASK}
    for library, one in told.items():
        assert len(one["seconds"]) == 2
        assert 0 <= one["megabytes"] < 1_000
        check(library, one["digest"], "Sash", told["Sash"]["digest"])


def test_short_runs_are_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.growth.one_point.SHORT", 0.02)
    seconds = measure("Polars", POINT, str(written(POINT.rows, POINT.keys)), 2)["seconds"]
    assert len(seconds) >= 2
    assert sum(seconds) >= 0.02


def test_answers_in_each_others_place_have_another_digest() -> None:
    given = ASK["Polars"](SweepPoint(rows=50, keys=2), rows_of(50, 2))()
    point = SweepPoint(rows=50, keys=2)
    turned = given.with_columns(given["max_a_1000"].reverse())
    with pytest.raises(AssertionError, match="sum of max_a_1000"):
        check("turned", digest_of(point, turned), "Polars", digest_of(point, given))


def test_a_quick_run_has_the_first_point_of_each_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(_: str, __: str, library: str, *___: str) -> dict[str, object]:
        return {"seconds": [1.0], "megabytes": 2.0, "digest": {"rows": 7 if library == "Polars" else 8}}

    quick = [case.at_most(100) for case in CASES]
    for case in quick:
        assert [one.library for one in case.contestants] in (list(LIBRARIES), ["Sash", "Polars"])
        assert {one.point.rows for one in case.contestants} == {100}
    field.run.cache_clear()
    monkeypatch.setattr(field, "start", start)
    with pytest.raises(AssertionError, match="Polars, 10 K has 7 rows, Sash, 10 K has 8"):
        field_of(quick[0]).measure(1)
    field.run.cache_clear()


def readings() -> list[Reading]:
    made = []
    for case in CASES:
        for one in case.contestants:
            grown = getattr(one.point, case.sweep) ** 0.5 * len(one.library)
            done = PointRun([grown / 1e3], grown, {})
            made.append(reading(case, one, done.shown(case.shown), one.point.rows, None))
    return made


def test_pictures_and_page_are_made_from_the_csv(tmp_path: Path) -> None:
    csv = tmp_path / "growth.csv"
    replace(readings(), csv)
    for sweep in POINTS:
        draw_sweep(read(csv), sweep, tmp_path / f"{sweep}.svg")
        assert SWEEPS[sweep] in (tmp_path / f"{sweep}.svg").read_text(encoding="utf-8")
    text = page_of("growth", readings())
    for sweep in POINTS:
        assert f"](../images/growth/{sweep}.svg)" in text
        assert f"| {sweep}, memory | Sash, " in text


def test_without_a_csv_the_plot_says_what_to_run(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"run python -m benchmarks growth first"):
        draw_sweep([], "rows", tmp_path / "rows.svg")
