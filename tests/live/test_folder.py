"""A growing folder whose later files do not fit: the page goes on, counts what it leaves out, and tells the terminal."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pytest

from sash.live.local_source import FolderRows
from sash.live.source import Folder, fitting_rows


def add(folder: Path, name: str, text: str, second: int) -> None:
    (folder / name).write_text(text, "utf-8")
    os.utime(folder / name, (second, second))


def test_wider_types_are_left_out_and_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    add(tmp_path, "a.csv", "t,x\n2026-03-02 10:00:00,1\n2026-03-02 10:01:00,2\n", 1)
    rows = FolderRows(Folder(tmp_path), "t")
    assert len(rows.poll()) == 0  # a file is read when it no longer grows
    assert rows.poll()["x"].to_pylist() == [1, 2]
    add(tmp_path, "b.csv", "t,x\n2026-03-02 10:02:00,3\n2026-03-02 10:03:00,2.5\n,9\n2026-03-02 10:04:00,4.0\n", 2)
    add(tmp_path, "c.csv", "t,y\n2026-03-02 10:05:00,3\n", 3)
    add(tmp_path, "d.csv", "t,x\n2026-03-02 10:06:00,5\n", 4)
    rows.poll()
    assert rows.poll()["x"].to_pylist() == [3, 4, 5]
    assert rows.status.left_out == 3
    assert rows.status.late == 0
    told = capsys.readouterr().err
    assert "sash: b.csv: 1 of 4 rows were left out: Float value 2.500000 was truncated converting to int64" in told
    assert "sash: c.csv was left out" in told
    assert "sash: 1 rows have no t, and were left out" in told
    assert rows.status.message


def test_rows_that_fit_are_kept_in_order() -> None:
    schema = pa.schema({"x": pa.int64()})
    texts = [str(number) if number % 7 else "n/a" for number in range(100)]
    found, reason = fitting_rows(pa.table({"x": texts}), schema)
    assert found["x"].to_pylist() == [number for number in range(100) if number % 7]
    assert "n/a" in reason
    assert fitting_rows(pa.table({"x": pa.array([], pa.string())}), schema)[0].schema == schema
