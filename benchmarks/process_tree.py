"""What this process and all that have come of it have used: processor time and memory. Only where there is /proc.

Spark runs Java, which runs a daemon of Python workers, so the cost of a stream is that of a tree of processes.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Self

PROC = Path("/proc")
TICKS = os.sysconf("SC_CLK_TCK")
PAUSE = 2.0
"""Seconds between two looks at memory."""
FIRST_TIME, TIMES = 11, 4
"""In what follows the name in /proc/PID/stat: the first of the four times, those of the process and of its children that have ended."""


def family() -> list[Path]:
    """Return this process, then all that have come of it and still run."""
    parents = {}
    for process in PROC.glob("[0-9]*"):
        try:
            parents[int(process.name)] = number_after("PPid:", (process / "status").read_text(encoding="utf-8"))
        except OSError:  # it has ended
            continue
    ours = {os.getpid()}
    while more := {number for number, parent in parents.items() if parent in ours} - ours:
        ours |= more
    return [PROC / str(number) for number in (os.getpid(), *sorted(ours - {os.getpid()}))]


def number_after(name: str, text: str) -> int:
    """Return the number that follows a name; 0 if it is none.

    >>> number_after("VmHWM:", "VmPeak: 7 kB; VmHWM: 12 kB"), number_after("Max", "Max unlimited")
    (12, 0)
    """
    found = text.partition(name)[2].split()
    return int(found[0]) if found and found[0].isdigit() else 0


def cpu_seconds(*, alone: bool = False) -> float:
    """Return the processor time of all that have come of this process, also of those that have ended; with `alone`, of this process.

    >>> before = cpu_seconds(alone=True)
    >>> cpu_seconds(alone=True) >= before > 0
    True
    """
    ticks = 0
    for process in [PROC / "self"] if alone else family()[1:]:
        try:
            text = (process / "stat").read_text(encoding="utf-8")
        except OSError:
            continue
        ticks += sum(map(int, text.rpartition(")")[2].split()[FIRST_TIME : FIRST_TIME + TIMES]))
    return ticks / TICKS


def resident_megabytes(program: bytes) -> float:
    """Return the memory of those of this process and all that have come of it that run a program. What forked processes share counts once.

    >>> resident_megabytes(b"no such program")
    0.0
    """
    kilobytes = 0
    for process in family():
        try:
            if program in (process / "cmdline").read_bytes():
                kilobytes += number_after("Pss:", (process / "smaps_rollup").read_text(encoding="ascii"))
        except OSError:
            continue
    return kilobytes / 1024


class MostMemory(threading.Thread):
    """Looks at the memory of programs from time to time, inside a `with`."""

    def __init__(self, *programs: bytes) -> None:
        super().__init__(daemon=True)
        self.megabytes = dict.fromkeys(programs, 0.0)
        """The most of each."""
        self._ended = threading.Event()

    def __enter__(self) -> Self:
        """Begin to look."""
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        """End."""
        self._ended.set()
        self.join()

    def run(self) -> None:
        """Look, time and again."""
        while not self._ended.is_set():
            for program, most in self.megabytes.items():
                self.megabytes[program] = max(most, resident_megabytes(program))
            self._ended.wait(PAUSE)
