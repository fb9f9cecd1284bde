"""A stream on Spark at a constant rate whose keys come and go: its state and its checkpoint level off."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import mean

import pytest
from helpers.cases import SOAK
from helpers.spark import growing


@pytest.mark.skipif(not SOAK, reason="more than a hundred micro-batches, and make soak has the time")
def test_state_and_checkpoint_of_a_stream_on_spark_level_off(tmp_path: Path) -> None:
    """In a process of its own: there Spark removes what it doesn't retain every second, not every minute."""
    batches = 120
    command = [sys.executable, growing.__file__, str(batches), str(tmp_path)]
    paths = os.pathsep.join(path for path in sys.path if path)
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=tmp_path, env={**os.environ, "PYTHONPATH": paths}
    )
    assert done.returncode == 0, done.stderr[-4000:]
    for measured in json.loads((tmp_path / "measured.json").read_text(encoding="ascii")).values():
        # A bucket has a base and a log, so its rows go up and down; their mean does not grow.
        for name, tolerated, level in (("state rows", 1.25, mean), ("bytes", 1.5, max)):
            each = measured[name]
            assert len(each) >= batches
            assert level(each[batches // 2 :]) <= tolerated * level(each[batches // 4 : batches // 2]), name
        assert len(measured["hours"]) <= 2, "keys of hours ago have state"
