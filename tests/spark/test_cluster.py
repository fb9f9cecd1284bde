"""Queries on executors in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.spark import on_cluster

TESTS = Path(__file__).parents[1]


@pytest.mark.usefixtures("classic")
def test_executors_in_processes_of_their_own(tmp_path: Path) -> None:
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if Path(path) != TESTS]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(
        [sys.executable, on_cluster.__file__, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
