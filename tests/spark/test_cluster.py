"""Queries on executors in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.usefixtures("classic")
def test_executors_in_processes_of_their_own(tmp_path: Path) -> None:
    script = Path(__file__).with_name("on_cluster.py")
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if Path(path) != script.parent.parent]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path)], capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
