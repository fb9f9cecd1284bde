"""Where compiled kernels are cached: read-only folders, full disks, users without a home, and users who share a machine."""

from __future__ import annotations

import errno
import os
import pickle
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import sash
from sash.kernels import cache
from sash.kernels.machine_code import MachineCodeCache

SOURCES = Path(sash.__file__).parents[1]
IS_ROOT = hasattr(os, "getuid") and os.getuid() == 0
OTHER_USER = 54_321
"""A user without a name and without a home."""
DOUBLE = "from sash.kernels.machine_code import compiled\n@compiled\ndef double(x):\n    return x * 2\n"
QUERY = """
import os, sys
import pyarrow as pa, sash
from sash import agg, window
rows = pa.table({"t": [0, 1, 2], "x": [1.0, 2.0, 4.0]})
def run(aggregate):
    return sash.Query({"y": aggregate}, window.rows(2), time="t").run(rows, compiled=True)["y"].to_pylist()
run(agg.min("x"))  # imports all modules: perhaps only this user can read Python's
user, *given = sys.argv[1:]
os.setgroups([])
os.setgid(int(user))
os.setuid(int(user))
for name in ("SASH_CACHE_DIR", "HOME", "XDG_CACHE_HOME"):
    os.environ.pop(name, None)
os.environ.update(one.split("=") for one in given)
print(run(agg.mean("x")))
"""


def load(name: str) -> ModuleType:
    """Load the module as a new process would."""
    sys.modules.pop(cache.PREFIX + name, None)
    return cache.load_module(name, DOUBLE, {})


def hits(module: ModuleType) -> int:
    """Return how many signatures were found in the cache."""
    return sum(module.double.stats.cache_hits.values())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(cache.NAMED, str(tmp_path / "kernels"))
    return tmp_path / "kernels"


def test_machine_code_is_found_again_after_a_copy(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert load("copied").double(4) == 8
    copy = folder.parent / "copy"
    shutil.copytree(folder, copy, copy_function=shutil.copyfile)  # without the time stamps of files
    monkeypatch.setenv(cache.NAMED, str(copy))
    again = load("copied")
    assert (again.double(4), hits(again)) == (8, 1)


def test_folders_are_for_this_user_alone(folder: Path) -> None:
    before = os.umask(0)
    try:
        assert load("own").double(4) == 8
    finally:
        os.umask(before)
    assert [stat.S_IMODE(path.stat().st_mode) for path in (folder, *folder.iterdir())] == [0o700, 0o700]


@pytest.mark.parametrize("inside", [False, True], ids=["folder", "folder of versions"])
def test_a_folder_that_others_can_write_is_not_used(folder: Path, *, inside: bool) -> None:
    load("unsafe")
    (next(folder.iterdir()) if inside else folder).chmod(0o777)
    with pytest.warns(RuntimeWarning, match=f"other users can write to {folder}.*chmod -R go-w"):
        assert cache.cache_folders() == []


def test_a_file_that_others_can_write_is_not_used(folder: Path) -> None:
    assert load("file").double(4) == 8
    [code] = folder.rglob("*.nbc")
    code.chmod(0o666)
    again = load("file")
    assert (again.double(4), hits(again)) == (8, 0)
    [text] = folder.rglob("*.py")
    text.chmod(0o666)
    assert cache.find_module("file") is None


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="Windows has no user numbers")
def test_a_folder_of_another_user_is_not_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load("theirs")
    monkeypatch.setattr(os, "getuid", lambda: OTHER_USER)
    if IS_ROOT:  # whom everybody has to trust
        assert len(cache.cache_folders()) == 1
        for path in (folder, *folder.iterdir()):
            os.chown(path, OTHER_USER + 1, OTHER_USER + 1)
    with pytest.warns(RuntimeWarning, match="other users can write"):
        assert cache.cache_folders() == []


def test_a_link_of_another_user_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "mine")
    assert cache.is_safe(tmp_path / "link")
    if IS_ROOT:
        os.chown(tmp_path / "link", OTHER_USER, OTHER_USER, follow_symlinks=False)
        assert not cache.is_safe(tmp_path / "link")


def test_a_full_disk_costs_time_only(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(tempfile, "NamedTemporaryFile", full)
        patch.setattr(Path, "touch", full)
        assert load("full").double(4) == 8  # the module is not written
        cache.set_mark("full")
    assert not [*folder.rglob("*.py"), *folder.rglob("*.mark")]
    with monkeypatch.context() as patch:
        patch.setattr(MachineCodeCache, "_save_overload", full)
        assert load("full").double(4) == 8
    assert [*folder.rglob("*.py")]
    assert not [*folder.rglob("*.nb?")]


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
def test_damaged_machine_code_is_compiled_again(folder: Path, suffix: str) -> None:
    assert load("damaged").double(4) == 8
    [path] = folder.rglob(f"*{suffix}")
    path.write_bytes(path.read_bytes()[:-20])
    again = load("damaged")
    assert (again.double(4), hits(again)) == (8, 0)
    repaired = load("damaged")
    assert (repaired.double(4), hits(repaired)) == (8, 1)


def test_damaged_machine_code_in_a_folder_that_cannot_be_written(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read_only(*_: Any) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    assert load("damaged_too").double(4) == 8
    [path] = folder.rglob("*.nbi")
    path.write_bytes(path.read_bytes()[:-20])
    monkeypatch.setattr(MachineCodeCache, "flush", read_only)
    assert load("damaged_too").double(4) == 8


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="permissions are not in the mode")
def test_machine_code_that_others_can_write_is_never_unpickled(folder: Path, tmp_path: Path) -> None:
    """Neither to use it nor to add to it."""

    class Attack:
        def __reduce__(self) -> Any:
            return Path.touch, (tmp_path / "attacked",)

    assert load("open_to_all").double(4) == 8
    [path] = folder.rglob("*.nbi")
    path.write_bytes(pickle.dumps(Attack()))
    path.chmod(0o666)
    assert load("open_to_all").double(4) == 8
    assert not (tmp_path / "attacked").exists()


def test_without_a_folder_nothing_is_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home(_: Path) -> Path:
        raise RuntimeError("Could not determine home directory.")

    def no_folder() -> str:
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found")

    monkeypatch.delenv(cache.NAMED, raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "expanduser", no_home)
    monkeypatch.setattr(tempfile, "gettempdir", no_folder)
    assert cache.cache_folder() is None
    assert load("nowhere").double(4) == 8
    cache.set_mark("nowhere")
    assert not cache.has_mark("nowhere")


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that every user can reach; pytest's own are for one user."""
    made = Path(tempfile.mkdtemp(prefix="sash-test-"))
    made.chmod(0o755)
    yield made
    for path in [made, *made.rglob("*")]:
        if path.is_dir():
            path.chmod(0o755)
    shutil.rmtree(made)


def run_as(user: int, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a compiled query in a process of a user who has no home."""
    given = [f"{name}={value}" for name, value in variables.items()]
    environment = {**os.environ, "PYTHONPATH": str(SOURCES), "TMPDIR": variables["TMPDIR"], "NUMBA_DEBUG_CACHE": "1"}
    return subprocess.run(
        [sys.executable, "-c", QUERY, str(user), *given], capture_output=True, text=True, check=False, env=environment
    )


def written(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*")}


@pytest.mark.skipif(not IS_ROOT, reason="only root can start a process of another user")
@pytest.mark.full
def test_users_on_one_machine(place: Path) -> None:
    """A user without a home, in the temporary folder; a cache of root's, which the user can only read."""
    shared, temporary = place / "kernels", place / "tmp"
    temporary.mkdir()
    temporary.chmod(0o1777)
    done = run_as(OTHER_USER, TMPDIR=str(temporary))
    assert done.stdout.strip().endswith("[1.0, 1.5, 3.0]"), done.stderr
    [own] = temporary.iterdir()
    assert (own.name, own.stat().st_uid, stat.S_IMODE(own.stat().st_mode)) == (f"sash-{OTHER_USER}", OTHER_USER, 0o700)
    assert [*own.rglob("*.nbc")]

    shutil.copytree(own, shared)  # of root now
    for path in [shared, *shared.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    before = written(place)
    done = run_as(OTHER_USER + 1, TMPDIR=str(temporary), SASH_CACHE_DIR=str(shared))
    assert done.stdout.strip().endswith("[1.0, 1.5, 3.0]"), done.stderr
    assert f"data loaded from '{shared}" in done.stdout
    assert f"saved to '{place}" not in done.stdout
    assert written(place) == before
