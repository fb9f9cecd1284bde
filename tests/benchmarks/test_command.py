"""The command that runs all suites, and their registry."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import command
from benchmarks.results import read
from benchmarks.suites import SUITES

FOLDER = Path(command.__file__).parent


def test_without_a_suite_all_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main([]) == 0
    listed = capsys.readouterr().out
    assert all(name in listed and suite.description in listed for name, suite in SUITES.items())


def test_every_folder_with_cases_is_a_suite() -> None:
    assert {path.parent.name for path in FOLDER.glob("*/cases.py")} <= SUITES.keys()


def test_every_csv_is_that_of_a_suite() -> None:
    assert {path.stem for path in (FOLDER / "results").glob("*.csv")} <= SUITES.keys()


def test_a_quick_run_of_a_case_prints_its_targets_and_writes_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "results.csv"
    assert command.main(["windows", "--rows", "500", "--only", "24h every 13m", "--csv", str(path)]) == 0
    assert "targets met" in capsys.readouterr().out
    assert read(path)


@pytest.mark.parametrize("arguments", [["no such suite"], ["all", "--rows", "5"]])
def test_a_wrong_call_ends_before_anything_runs(arguments: list[str]) -> None:
    with pytest.raises(SystemExit):
        command.main(arguments)
