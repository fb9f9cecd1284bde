"""Drivers of Spark that a test kills: every process of theirs ends, and nothing of them lives on."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

SECONDS = 900
"""How long to wait for anything: it only ends a test that would hang."""


def kill_session(process: subprocess.Popen[bytes]) -> None:
    """Kill a driver that leads a session, with its Python workers, which are not in its group."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(SECONDS)
    while left := list(in_session(process.pid)):
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        time.sleep(0.01)


def in_session(leader: int) -> Iterator[int]:
    """The processes that a process has started and that still run, on systems that tell."""
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, session = entry.read_text(encoding="utf-8", errors="replace").rsplit(")", 1)[1].split()[:4]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(session) == leader and state != "Z":
            yield int(entry.parent.name)
