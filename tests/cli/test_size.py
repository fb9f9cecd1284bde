"""`sash size`: the plan of a stream, as a table."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.shell import sash

from sash.state.size_plan import measured_coefficients

TEXT = "SELECT household, max(load) AS peak FROM t [RANGE 1 HOUR SLIDE 5 MINUTES ON ts] GROUP BY household"
LARGE = ("--rate", "1e6", "--keys", "1e8")


def lines_of(done: bytes) -> dict[str, list[str]]:
    cells = [line.strip("| ").split(" | ") for line in done.decode().splitlines() if line.startswith("|")]
    return {what: rest for what, *rest in cells}


def test_a_plan_has_a_line_for_each_resource(folder: Path) -> None:
    shown = lines_of(sash("size", TEXT, *LARGE, cwd=folder).stdout)
    assert [*shown] == ["what", "---", "rows", "state", "results", "cores", "memory", "checkpoint", "restart"]
    assert shown["rows"] == ["60 M a micro-batch", "given"]
    assert "extrapolated" in shown["cores"][1]
    few = lines_of(sash("size", TEXT, "--rate", "10", "--keys", "10", cwd=folder).stdout)
    assert few["cores"][0].startswith("1;")
    assert few["cores"][1] == "measured"


def test_types_come_from_the_input(folder: Path) -> None:
    text = TEXT.replace(" ON ts", "")
    of_file = lines_of(sash("size", text, "-i", "readings.parquet", *LARGE, cwd=folder).stdout)
    assert of_file["state"] == lines_of(sash("size", TEXT, *LARGE, cwd=folder).stdout)["state"]


def test_coefficients_and_interval_are_options(folder: Path) -> None:
    slower = [line.replace("row_seconds", "row_seconds") for line in measured_coefficients().lines()]
    slower = ["row_seconds,0.001" if line.startswith("row_seconds") else line for line in slower]
    (folder / "mine.csv").write_text("\n".join(slower), encoding="utf-8")
    options = ("--coefficients", "mine.csv", "--interval", "30s", "--busy", "1")
    shown = lines_of(sash("size", TEXT, *LARGE, *options, cwd=folder).stdout)
    assert int(shown["cores"][0].split(";")[0].replace(",", "")) >= 1_000
    assert shown["rows"][0] == "30 M a micro-batch"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--rate", "0", "--keys", "5"), "--rate is 0. It must be more than 0."),
        ((*LARGE, "--busy", "2"), "--busy is 2. It is a share of the time"),
        ((*LARGE, "--interval", "soon"), "--interval="),
        ((*LARGE, "--interval", "1ms"), "Use an interval of more than"),
        ((*LARGE, "--coefficients", "none.csv"), "none.csv"),
    ],
)
def test_wrong_numbers_are_errors(options: tuple[str, ...], words: str, folder: Path) -> None:
    done = sash("size", TEXT, *options, cwd=folder, code=1)
    assert words in done.stderr.decode()
