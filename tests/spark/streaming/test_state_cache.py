"""Copies of states: whatever happens to them, a stream goes on."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from pathlib import Path
from typing import Any

import pytest
from pyspark import SparkFiles

from sash.spark.streaming import state_cache

TOKEN = state_cache.new_token()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that Spark would make for files."""
    monkeypatch.setattr(SparkFiles, "_root_directory", str(tmp_path))
    monkeypatch.setattr(SparkFiles, "_is_running_on_worker", True)
    return tmp_path / state_cache.FOLDER


def found(token: str) -> bytes | None:
    copy = state_cache.read("place", token)
    return None if copy is None else bytes(copy)


def test_a_copy_is_for_this_user_alone(folder: Path) -> None:
    before = os.umask(0)
    try:
        state_cache.write("place", TOKEN, b"state")
    finally:
        os.umask(before)
    assert [stat.S_IMODE(path.stat().st_mode) for path in (folder, folder / "place")] == [0o700, 0o600]
    assert found(TOKEN) == b"state"
    assert found(state_cache.new_token()) is None


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
def test_a_full_disk_leaves_no_copy_that_is_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state_cache.write("place", TOKEN, b"older")
    newer = state_cache.new_token()
    make = tempfile.mkstemp

    def on_a_full_disk(**options: Any) -> tuple[int, str]:
        handle, name = make(**options)
        os.close(handle)
        return os.open("/dev/full", os.O_WRONLY), name

    monkeypatch.setattr(tempfile, "mkstemp", on_a_full_disk)
    state_cache.write("place", newer, b"newer" * 100_000)
    assert (found(newer), found(TOKEN)) == (None, b"older")
    assert [path.name for path in folder.iterdir()] == ["place"]


def test_a_disk_that_becomes_read_only(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise OSError(errno.EROFS, "Read-only file system")

    state_cache.write("place", TOKEN, b"older")
    newer = state_cache.new_token()
    monkeypatch.setattr(Path, "replace", refuse)
    monkeypatch.setattr(Path, "unlink", refuse)
    state_cache.write("place", newer, b"newer")
    state_cache.remove("place")
    assert (found(newer), found(TOKEN)) == (None, b"older")
