"""Starts a worker for each engine when it is first asked, and stops it when this process ends."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

from benchmarks.engines.case import AnyJob
from benchmarks.results import ROOT

ENVIRONMENTS = {"in_flink": "flink", "paced_flink": "flink", "in_pathway": "pathway", "in_bytewax": "bytewax"}
"""Of the workers that do not run in .venv."""
TOLD = 30_000
"""Characters of an error."""


def python_of(worker: str) -> Path:
    """Return the interpreter of a worker."""
    if worker in ENVIRONMENTS:
        return ROOT / f".venv-{ENVIRONMENTS[worker]}" / "bin" / "python"
    return Path(sys.executable)


def missing(worker: str) -> str:
    """Return what to do if the environment of a worker is missing; nothing if it is there.

    >>> missing("in_sash")
    ''
    """
    if worker not in ENVIRONMENTS or (ROOT / f".venv-{ENVIRONMENTS[worker]}" / "ready").exists():
        return ""
    return f"there is no .venv-{ENVIRONMENTS[worker]}. Run: make .venv-{ENVIRONMENTS[worker]}/ready"


class Worker:
    """A process that runs jobs, one after the other."""

    def __init__(self, module: str, *arguments: str) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="sash-engine-")
        self._errors = Path(self._folder.name) / "errors.txt"
        paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
        with self._errors.open("w", encoding="utf-8") as errors:
            self._process = subprocess.Popen(
                [str(python_of(module)), "-m", f"{__package__}.{module}", *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                cwd=ROOT,
                env={
                    **os.environ,
                    "PYTHONPATH": os.pathsep.join(filter(None, paths)),
                    "TMPDIR": self._folder.name,
                    "SASH_CACHE_DIR": self._folder.name,
                },
            )
        self._name = " ".join([module, *arguments])
        atexit.register(self.stop)

    def ask(self, line: str) -> dict[str, float]:
        """Return the answer to a line. Raise RuntimeError if the worker fails."""
        assert self._process.stdin
        assert self._process.stdout
        try:
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            self._process.wait()
            message = f"{self._name} failed at {line}:\n{self._errors.read_text(encoding='utf-8')[-TOLD:]}"
            self.stop()
            raise RuntimeError(message)
        found: dict[str, float] = json.loads(answer)
        return found

    def run(self, job: AnyJob) -> float:
        """Return the seconds of a job."""
        return self.ask(job.to_json())["seconds"]

    def stop(self) -> None:
        """End the process: its input ends."""
        if self._process.stdin and not self._process.stdin.closed:
            self._process.stdin.close()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._folder.cleanup()


@cache
def worker(module: str, *arguments: str) -> Worker:
    """Return the worker of an engine, which is started when it is first asked for."""
    return Worker(module, *arguments)
