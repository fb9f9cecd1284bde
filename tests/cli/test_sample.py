"""The first commands of the README: a sample that is a part of the package, and a picture of it."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.shell import on_terminal, sash
from pyarrow import csv

from sash.cli.sample import FOLDER, SAMPLES

ROOT = Path(__file__).parent.parent.parent


def test_the_first_commands_of_the_readme_run_anywhere(tmp_path: Path) -> None:
    block = re.search(r"```sh\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    assert block is not None
    _, sample, plot = block[1].strip().splitlines()
    assert sample.startswith("sash sample readings -o readings.parquet ")
    sash("sample", "readings", "-o", "readings.parquet", cwd=tmp_path)
    text = plot.split('"')[1]
    sash("plot", text, "-o", "loads.svg", cwd=tmp_path)
    assert "household" in (tmp_path / "loads.svg").read_text("utf-8")


def test_every_sample_is_small_and_is_written_in_any_format(tmp_path: Path) -> None:
    assert {path.stem for path in FOLDER.iterdir()} == set(SAMPLES)
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 200_000
    rows = pq.read_table(FOLDER / "readings.parquet")
    done = sash("sample", "readings", cwd=tmp_path)
    assert pq.read_table(pa.BufferReader(done.stdout)) == rows  # sash sample readings > readings.parquet
    sash("sample", "readings", "-o", "readings.csv", cwd=tmp_path)
    assert csv.read_csv(tmp_path / "readings.csv")["plug"].to_pylist() == rows["plug"].to_pylist()
    assert "readings" in sash("sample", cwd=tmp_path).stdout.decode()
    failed = sash("sample", "reading", cwd=tmp_path, code=1)
    assert "Did you mean 'readings'?" in failed.stderr.decode()


@pytest.mark.full
def test_a_terminal_shows_the_first_rows(tmp_path: Path) -> None:
    code, output = on_terminal("sample", "readings", cwd=tmp_path)
    assert code == 0
    assert "television" in output
