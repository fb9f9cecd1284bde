from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from benchmarks import report
from benchmarks.measure import field_of
from benchmarks.pages.details import page_of
from benchmarks.plots.lines import draw_streams
from benchmarks.results import Reading, reading
from benchmarks.stream_growth import case, data, digest, field
from benchmarks.stream_growth.cases import CASES
from benchmarks.stream_growth.field import StreamRun, check
from sash import agg, window
from sash.testing import recompute_query


@pytest.mark.parametrize("slide", [1, 3])
def test_the_digest_is_that_of_all_windows_that_the_watermark_has_passed(slide: int) -> None:
    keys, rows, batches, slices = 7, 20, 14, 3
    parts = [data.rows_of(keys, rows, batch) for batch in range(batches)]
    key, times, x = (np.concatenate(column) for column in zip(*parts, strict=True))
    table = pa.table({"key": key, "ts": times, "x": x})
    size, step = slices * data.MINUTE, slide * data.MINUTE
    windows = recompute_query(
        table.to_pylist(),
        {"total": agg.sum("x"), "n": agg.count()},
        window.time(size, slide=step),
        by=["key"],
        time="ts",
    )
    closed = int(times.max()) - digest.LATE_SECONDS * 1_000_000
    emitted = [one for one in windows if one["window_end"] <= closed]
    found = digest.expected(keys, rows, batches, slices, slide)
    check(
        "the oracle",
        {
            "windows": len(emitted),
            "n": sum(one["n"] for one in emitted),
            "total": sum(one["total"] * (one["key"] % digest.PRIME) for one in emitted),
        },
        found,
    )
    assert found["windows"] > 0


def test_a_stream_with_wrong_results_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    quick = CASES[0].at_most(10)
    told = {"seconds": [1.0] * 4, "bytes": 1, "digest": {"windows": 0, "n": 7, "total": 0.0}}
    monkeypatch.setattr(field, "start", lambda *_: told)
    with pytest.raises(AssertionError, match="Sash, 10 K keys, 10 slices has 0 of windows, the raw rows come to"):
        field_of(quick).measure(1)


def readings() -> list[Reading]:
    made = []
    for one in CASES:
        for contestant in one.contestants:
            spent = StreamRun([9.0, 3.0, 2.0, 4.0, *[1.0] * (contestant.batches - 4)], contestant.keys / 1e6)
            made.append(reading(one, contestant, spent.shown(one.shown), one.rows, None))
    return made


def test_all_targets_are_judged_and_shown(tmp_path: Path) -> None:
    found = readings()
    verdicts = report.judge(CASES, found)
    assert len(verdicts) == sum(len(one.targets) for one in CASES) == 27
    assert all(one.is_met for one in verdicts)
    assert f"| {CASES[0].name} | " in page_of("stream_growth", found)
    draw_streams(found, tmp_path / "growth.svg")
    assert "1d every 1m" in (tmp_path / "growth.svg").read_text(encoding="utf-8")


def test_a_quick_run_has_one_window_and_one_number_of_keys() -> None:
    quick = [one.at_most(1_000) for one in CASES if one.runs_with(1_000)]
    assert {one.slices for one in quick} == {10}
    assert {contestant.keys for one in quick for contestant in one.contestants} == {10_000}
    assert {one.shown for one in quick} == set(case.MEASURES)
