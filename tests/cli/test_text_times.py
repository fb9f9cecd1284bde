"""Times that are text: formats that only fit in one way are found, others are errors that name --time-format."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.shell import sash

import sash as library
from sash.cli.inputs import Input, open_input
from sash.cli.text_times import with_times


def at(*parts: int) -> datetime:
    return datetime(*parts)  # type: ignore[arg-type]  # noqa: DTZ001 — as in files


def in_utc(*parts: int) -> datetime:
    return at(*parts).replace(tzinfo=UTC)


def csv(folder: Path, *values: str, name: str = "m.csv") -> Input:
    """Return a CSV file with a column of values."""
    lines = ['"' + value + '",1' for value in values]
    (folder / name).write_text("ts,x\n" + "\n".join(lines) + "\n")
    return open_input(str(folder / name), None, folder)


def times(source: Input, time_format: str | None = None) -> list[Any]:
    values: list[Any] = with_times(source, "ts", time_format).open(["ts"]).read_all()["ts"].to_pylist()
    return values


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["13/02/2025 11:00", "01/03/2025 09:30"], [at(2025, 2, 13, 11), at(2025, 3, 1, 9, 30)]),
        (["2/13/2025 11:00 AM", "12/1/2025 1:05 PM"], [at(2025, 2, 13, 11), at(2025, 12, 1, 13, 5)]),
        (["13/02/2025", "01/03/2025"], [date(2025, 2, 13), date(2025, 3, 1)]),
        (["13.02.2025 11:00"], [at(2025, 2, 13, 11)]),
        (["03.04.2025 11:00"], [at(2025, 4, 3, 11)]),
        (["13-02-2025 11:00:05"], [at(2025, 2, 13, 11, 0, 5)]),
        (["2025-02-13T11:00:00Z"], [in_utc(2025, 2, 13, 11)]),
        (["2025-02-13T11:00:00+01:00"], [in_utc(2025, 2, 13, 10)]),
        (["2025-02-13 11:00:00 +0100"], [in_utc(2025, 2, 13, 10)]),
        (["2025-02-13 11:00"], [at(2025, 2, 13, 11)]),
        (["2025/02/13 11:00:00"], [at(2025, 2, 13, 11)]),
        (["Feb 13 2025", "May 3 2025"], [at(2025, 2, 13), at(2025, 5, 3)]),
        (["13 February 2025 11:00"], [at(2025, 2, 13, 11)]),
        (["13/02/2025 11:00", "", "14/02/2025 11:00"], [at(2025, 2, 13, 11), None, at(2025, 2, 14, 11)]),
        (["07/07/2025 11:00"], [at(2025, 7, 7, 11)]),  # the same day both ways
        (["13/02/25", "14/02/25"], [at(2025, 2, 13), at(2025, 2, 14)]),  # DuckDB would read 2013 and 2014
        (["13.02.25 11:00:00"], [at(2025, 2, 13, 11)]),
        (["Feb 13 2025 1:30PM"], [at(2025, 2, 13, 13, 30)]),
        (["Thu, 13 Feb 2025 11:00:00 GMT"], [in_utc(2025, 2, 13, 11)]),
        (["13/Feb/2025:11:00:00 +0100"], [in_utc(2025, 2, 13, 10)]),
        (["2025-02-13 11:00:00,250"], [datetime(2025, 2, 13, 11, 0, 0, 250_000)]),  # noqa: DTZ001 — as in files
        (["20250213T110000"], [at(2025, 2, 13, 11)]),
    ],
)
def test_formats_that_fit_in_one_way(values: list[str], expected: list[Any], tmp_path: Path) -> None:
    assert times(csv(tmp_path, *values)) == expected


@pytest.mark.parametrize(
    ("values", "part"),
    [
        (["03/04/2025 11:00", "05/06/2025 11:00"], "'03/04/2025 11:00' fits '%d/%m/%Y %H:%M' and '%m/%d/%Y %H:%M'. Say which with --time-format"),
        (["07/07/2025", "03/04/2025"], "'03/04/2025' fits '%d/%m/%Y' and '%m/%d/%Y'"),
        (["03-04-2025 11:00:05"], "can be read in two ways"),
        (["13/02/2025 11:00", "n/a", "14/02/2025 11:00"], "row 2 has 'n/a'"),
        (["13/02/2025 11:00", "14/02/2025 11:00", "02/15/2025 11:00"], "row 3 has '02/15/2025 11:00'"),
        (["2025-02-13T11:00:00Z", "13/02/2025 11:00"], "row 2 has '13/02/2025 11:00'"),
        (["2025-02-13T11:00:00+01:00", "2025-02-13T11:00:00"], "row 2 has '2025-02-13T11:00:00'"),
        (["03/04/25"], "'03/04/25' fits '%d/%m/%y' and '%m/%d/%y'"),
        (["yesterday"], "row 1 has 'yesterday'. Name the format with --time-format"),
    ],
)  # fmt: skip
def test_other_columns_are_errors(values: list[str], part: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Column 'ts'") as caught:
        times(csv(tmp_path, *values))
    assert part in str(caught.value)


def test_a_value_after_the_sample_counts(tmp_path: Path) -> None:
    ambiguous = ["03/04/2025 11:00"] * 1000
    assert times(csv(tmp_path, *ambiguous, "13/04/2025 11:00"))[0] == at(2025, 4, 3, 11)
    assert times(csv(tmp_path, *ambiguous, "04/13/2025 11:00"))[0] == at(2025, 3, 4, 11)
    with pytest.raises(ValueError, match="row 1001 has"):
        times(csv(tmp_path, *ambiguous, "13/04/2025 11:00", "04/13/2025 11:00"), "%m/%d/%Y %H:%M")


@pytest.mark.parametrize(
    ("value", "time_format", "expected"),
    [
        ("03/04/2025 11:00", "%d/%m/%Y %H:%M", at(2025, 4, 3, 11)),
        ("03/04/2025 11:00", "%m/%d/%Y %H:%M", at(2025, 3, 4, 11)),
        ("1739444400", "epoch_s", at(2025, 2, 13, 11)),
        ("1739444400000", "epoch_ms", at(2025, 2, 13, 11)),
        ("1739444400000000", "epoch_us", at(2025, 2, 13, 11)),
        ("1739444400.25", "epoch_s", datetime(2025, 2, 13, 11, 0, 0, 250_000)),  # noqa: DTZ001 — as in files
        ("20250213", "%Y%m%d", at(2025, 2, 13)),
    ],
)
def test_formats_by_name(value: str, time_format: str, expected: datetime, tmp_path: Path) -> None:
    assert times(csv(tmp_path, value), time_format) == [expected]
    with pytest.raises(ValueError, match="row 1 has"):
        times(csv(tmp_path, value), "%H o'clock")


def test_rows_with_other_texts_are_dropped_if_asked_for(tmp_path: Path) -> None:
    csv(tmp_path, "13/02/2025 11:00", "n/a", "", "14/02/2025 11:00", name="gaps.csv")
    text = "SELECT sum(x) AS n FROM 'gaps.csv' [TUMBLE 1 DAY ON ts]"
    failed = sash("run", text, cwd=tmp_path, code=1).stderr
    assert b"row 2 has 'n/a'" in failed
    assert b"--on-bad-time drop" in failed
    for options in ([], ["--time-format", "%d/%m/%Y %H:%M"]):
        done = sash("run", text, "--on-bad-time", "drop", *options, cwd=tmp_path, env={"PYTHONWARNINGS": "default"})
        assert done.stdout.split() == [
            b'"window_start","window_end","n"',
            b"2025-02-13T00:00:00,2025-02-14T00:00:00,1",
            b"2025-02-14T00:00:00,2025-02-15T00:00:00,1",
        ]
        assert b"2 row(s) had no usable time" in done.stderr
    wrong = sash("run", text, "--on-bad-time", "drop", "--time-format", "%Y", cwd=tmp_path, code=1).stderr
    assert b"does not fit" in wrong


def test_labels_with_times_that_are_text(tmp_path: Path) -> None:
    csv(tmp_path, "13/02/2025 11:00", "13/02/2025 12:30", "14/02/2025 13:00", name="events.csv")
    text = "SELECT sum(x) AS s FROM t [RANGE 1 DAY ON ts]"
    expected = b'"seen","s"\n2025-02-13T14:00:00,2\n2025-02-14T13:00:00,1\n'
    for first, last in (("13/02/2025 14:00", "14/02/2025 13:00"), ("2025-02-13 14:00", "2025-02-14 13:00")):
        (tmp_path / "labels.csv").write_text(f"seen\n{first}\n{last}\n")
        for options in ([], ["--time-format", "%d/%m/%Y %H:%M"]):
            done = sash(
                "run", text, "-i", "events.csv", "--at", "labels.csv", "--at-time", "seen", *options, cwd=tmp_path
            )
            assert done.stdout == expected


def test_messages_for_numbers_name_the_option(tmp_path: Path) -> None:
    csv(tmp_path, "1739444400", name="epoch.csv")
    for on in ("", " ON ts"):
        failed = sash("run", f"SELECT sum(x) AS n FROM 'epoch.csv' [TUMBLE 1 DAY{on}]", cwd=tmp_path, code=1).stderr
        assert b"--time-format" in failed
        assert b"epoch_ms" in failed
        assert b"pd." not in failed


def test_json_and_parquet(tmp_path: Path) -> None:
    (tmp_path / "m.json").write_text(json.dumps([{"ts": "13/02/2025 11:00"}, {"ts": None}]))
    assert times(open_input(str(tmp_path / "m.json"), None, tmp_path)) == [at(2025, 2, 13, 11), None]
    pq.write_table(pa.table({"ts": ["2025-02-13T11:00:00Z"]}), tmp_path / "m.parquet")
    assert times(open_input(str(tmp_path / "m.parquet"), None, tmp_path)) == [in_utc(2025, 2, 13, 11)]


def test_the_command(tmp_path: Path) -> None:
    csv(tmp_path, "13/02/2025 11:00", "13/02/2025 23:00", "14/02/2025 01:00", name="eu.csv")
    csv(tmp_path, "03/04/2025", "05/06/2025", name="unclear.csv")
    text = "SELECT sum(x) AS n FROM '{}' [TUMBLE 1 DAY{}]"
    expected = b'"window_start","window_end","n"\n2025-02-13T00:00:00,2025-02-14T00:00:00,2\n'
    for on, options in ((" ON ts", []), ("", ["--batches"])):
        assert sash("run", text.format("eu.csv", on), *options, cwd=tmp_path).stdout.startswith(expected)
    failed = sash("run", text.format("unclear.csv", " ON ts"), cwd=tmp_path, code=1).stderr
    assert b"Say which with --time-format '%d/%m/%Y'" in failed
    done = sash("run", text.format("unclear.csv", " ON ts"), "--time-format", "%m/%d/%Y", cwd=tmp_path)
    assert b"2025-03-04" in done.stdout
    inner = "SELECT sum(x) AS n FROM (SELECT * FROM 'unclear.csv' WHERE x > 0) [TUMBLE 1 DAY ON ts]"
    assert b"two ways" in sash("run", inner, cwd=tmp_path, code=1).stderr


def test_dates_that_duckdb_guesses_stay_text_in_the_library_too(tmp_path: Path) -> None:
    csv(tmp_path, "03/04/2025", "05/06/2025", name="unclear.csv")
    text = f"SELECT sum(x) AS n FROM '{tmp_path}/unclear.csv' [TUMBLE 1 DAY ON ts]"
    with pytest.raises(TypeError, match=r"holds text.*pd\.to_datetime.*str\.to_datetime.*--time-format"):
        library.sql(text).run()
    with pytest.raises(ValueError, match="No column of the data holds times"):
        library.sql("SELECT sum(x) AS n FROM t [TUMBLE 1 DAY]").run(pa.table({"ts": ["03/04/2025"], "x": [1]}))
