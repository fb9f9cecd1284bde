"""Where compiled kernels are cached: read-only folders, full disks, users without a home, and users who share a machine."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import sash
from sash.kernels import cache, entry, machine_code
from sash.kernels.machine_code import MachineFunction

SOURCES = Path(sash.__file__).parents[1]
IS_ROOT = hasattr(os, "getuid") and os.getuid() == 0
OTHER_USER = 54_321
"""A user without a name and without a home."""
DOUBLE = "from sash.kernels.compile_entry import native\n@native\ndef double(x):\n    return x * 2\n"
QUERY = """
import os, sys
import pyarrow as pa, sash, sash.kernels.compile_entry, sash.kernels.machine_code
from sash import agg, window
rows = pa.table({"t": [0, 1, 2], "x": [1.0, 2.0, 4.0]})
def loaded():
    modules = sash.kernels.machine_code._modules.values()
    return sum(function.from_disk for module in modules for function in module._functions.values())
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
before = loaded()
result = run(agg.mean("x"))
print(loaded() - before, "from the disk:", result)
"""


def load(name: str) -> MachineFunction:
    """Load the function as a new process would."""
    machine_code._modules.pop(name, None)
    return machine_code.load_module(name, lambda: DOUBLE).function("double")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(cache.NAMED, str(tmp_path / "kernels"))
    return tmp_path / "kernels"


def test_machine_code_is_found_again_after_a_copy(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert load("copied")(4) == 8
    copy = folder.parent / "copy"
    shutil.copytree(folder, copy, copy_function=shutil.copyfile)  # without the time stamps of files
    monkeypatch.setenv(cache.NAMED, str(copy))
    again = load("copied")
    assert (again(4), again.from_disk) == (8, 1)


def test_folders_are_for_this_user_alone(folder: Path) -> None:
    before = os.umask(0)
    try:
        assert load("own")(4) == 8
    finally:
        os.umask(before)
    assert [stat.S_IMODE(path.stat().st_mode) for path in (folder, *folder.iterdir())] == [0o700, 0o700]


@pytest.mark.parametrize("inside", [False, True], ids=["folder", "folder of versions"])
def test_a_folder_that_others_can_write_is_not_used(folder: Path, *, inside: bool) -> None:
    load("unsafe")(4)
    (next(folder.iterdir()) if inside else folder).chmod(0o777)
    with pytest.warns(RuntimeWarning, match=f"other users can write to {folder}.*chmod -R go-w"):
        assert cache.cache_folders() == []


def test_a_file_that_others_can_write_is_not_used(folder: Path) -> None:
    assert load("file")(4) == 8
    [code] = folder.rglob("*.object")
    code.chmod(0o666)
    again = load("file")
    assert (again(4), again.from_disk) == (8, 0)
    [text] = folder.rglob("*.py")
    text.chmod(0o666)
    assert cache.find_module("file") is None


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="Windows has no user numbers")
def test_a_folder_of_another_user_is_not_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load("theirs")(4)
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
        assert load("full")(4) == 8  # the module is not written
        cache.set_mark("full")
    assert not [*folder.rglob("*.py"), *folder.rglob("*.mark")]


def shortened(data: bytes) -> bytes:
    return data[:-20]


def changed(data: bytes) -> bytes:
    return data[:-20] + b"\0" + data[-19:]


@pytest.mark.parametrize("damage", [shortened, changed, lambda _: b"", lambda data: data * 2])
@pytest.mark.parametrize("suffix", [".py", ".object"])
def test_damaged_files_are_written_again(folder: Path, suffix: str, damage: Callable[[bytes], bytes]) -> None:
    """LLVM would end the process if it was given damaged object code."""
    assert load("damaged")(4) == 8
    [path] = folder.rglob(f"*{suffix}")
    path.write_bytes(damage(path.read_bytes()))
    again = load("damaged")
    assert (again(4), again.from_disk) == (8, int(suffix == ".py"))
    repaired = load("damaged")
    assert (repaired(4), repaired.from_disk) == (8, 1)


def test_damaged_machine_code_in_a_folder_that_cannot_be_written(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read_only(*_: Any, **__: Any) -> Any:
        raise OSError(errno.EROFS, "Read-only file system")

    assert load("damaged_too")(4) == 8
    [path] = folder.rglob("*.object")
    path.write_bytes(path.read_bytes()[:-20])
    monkeypatch.setattr(tempfile, "NamedTemporaryFile", read_only)
    assert load("damaged_too")(4) == 8


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="permissions are not in the mode")
def test_machine_code_that_others_can_write_is_never_run(folder: Path) -> None:
    assert load("open_to_all")(4) == 8
    [path] = folder.rglob("*.object")
    path.chmod(0o666)
    again = load("open_to_all")
    assert (again(4), again.from_disk) == (8, 0)


@pytest.mark.parametrize("other", [{"NUMBA_CPU_NAME": "generic"}, {"NUMBA_OPT": "1"}], ids=str)
def test_machine_code_for_another_processor_or_with_other_options_is_not_used(
    folder: Path, other: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert load("elsewhere")(4) == 8
    entry.machine.cache_clear()
    for name, value in other.items():
        monkeypatch.setenv(name, value)
    try:
        again = load("elsewhere")
        assert (again(4), again.from_disk) == (8, 0)
    finally:
        entry.machine.cache_clear()
    assert len([*folder.rglob("*.object")]) == 2


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
    assert load("nowhere")(4) == 8
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
    environment = {**os.environ, "PYTHONPATH": str(SOURCES), "TMPDIR": variables["TMPDIR"]}
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
    assert done.stdout == "0 from the disk: [1.0, 1.5, 3.0]\n", done.stderr
    [own] = temporary.iterdir()
    assert (own.name, own.stat().st_uid, stat.S_IMODE(own.stat().st_mode)) == (f"sash-{OTHER_USER}", OTHER_USER, 0o700)
    assert [*own.rglob("*.object")]

    shutil.copytree(own, shared)  # of root now
    for path in [shared, *shared.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    before = written(place)
    done = run_as(OTHER_USER + 1, TMPDIR=str(temporary), SASH_CACHE_DIR=str(shared))
    assert done.stdout == "1 from the disk: [1.0, 1.5, 3.0]\n", done.stderr
    assert written(place) == before
