"""Runs the command `sash` in a process of its own: with pipes, or on a pseudo-terminal."""

from __future__ import annotations

import fcntl
import multiprocessing
import os
import pty
import select
import struct
import subprocess
import sys
import tempfile
import termios
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import coverage

from sash.cli import main

ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-m", "sash")
LONGEST = 60
"""Seconds that a command may take."""
WRITE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
SERVER = multiprocessing.get_context("forkserver")
"""Forks a process for each command after it has imported what takes long: most tests wait for nothing else."""
SERVER.set_forkserver_preload(
    ["helpers.shell", "sash.cli.app", "sash.cli.local_run", "sash.cli.listings", "duckdb", "rich.progress"]
)


@dataclass(frozen=True)
class Done:
    """What a command has written."""

    stdout: bytes
    stderr: bytes


def environment(**more: str) -> dict[str, str]:
    """Return the environment of a command: that of the tests, with the sources of this tree; `more` comes before what coverage needs."""
    paths = [str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    given = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)), "PYTHONWARNINGS": "error", **more}
    if coverage.Coverage.current() is not None:
        given = {
            "COVERAGE_PROCESS_START": str(ROOT / "pyproject.toml"),
            "COVERAGE_FILE": str(ROOT / ".coverage"),
        } | given
    return given


def sash(
    *arguments: str, cwd: Path, stdin: bytes | None = None, code: int = 0, env: Mapping[str, str] | None = None
) -> Done:
    """Run a command with its input and outputs in files, and check its exit code."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / name for name in ("stdin", "stdout", "stderr")]
        paths[0].write_bytes(stdin or b"")
        process = SERVER.Process(target=run_command, args=(arguments, cwd, environment(**(env or {})), paths))
        process.start()
        process.join(LONGEST)
        if process.is_alive():
            process.kill()
        done = Done(*(path.read_bytes() for path in paths[1:]))
        assert process.exitcode == code, (process.exitcode, done.stdout.decode()[-2000:], done.stderr.decode()[-4000:])
    return done


def run_command(arguments: Sequence[str], cwd: Path, env: Mapping[str, str], paths: Sequence[Path]) -> None:
    """Run a command in a process that has been forked for it."""
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    warnings.simplefilter(env["PYTHONWARNINGS"])  # type: ignore[arg-type]
    for number, (path, flags) in enumerate(zip(paths, (os.O_RDONLY, WRITE, WRITE), strict=True)):
        os.dup2(os.open(path, flags), number)
    sys.stdin, sys.stdout, sys.stderr = (open(number, mode) for number, mode in enumerate("rww"))  # noqa: PTH123, SIM115
    sys.argv = ["sash", *arguments]
    measured = coverage.process_startup()
    try:
        main()
    finally:
        if measured is not None:  # a forked process does not run what has been registered for its exit
            measured.stop()
            measured.save()


def on_terminal(
    *arguments: str, cwd: Path, env: Mapping[str, str] | None = None, columns: int = 100
) -> tuple[int, str]:
    """Run a command whose input, output and errors are a terminal. Return its exit code and what the terminal got."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    given = environment(TERM="xterm-256color", **(env or {}))
    for name in ("COLUMNS", "LINES"):
        given.pop(name, None)
    process = subprocess.Popen([*COMMAND, *arguments], cwd=cwd, stdin=theirs, stdout=theirs, stderr=theirs, env=given)
    os.close(theirs)
    output = b""
    while True:
        ready, _, _ = select.select([ours], [], [], LONGEST)
        assert ready, "the command hangs"
        try:
            part = os.read(ours, 1 << 16)
        except OSError:  # Linux reports the end of the other side like this
            break
        if not part:
            break
        output += part
    os.close(ours)
    return process.wait(LONGEST), output.decode()
