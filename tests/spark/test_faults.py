"""Faults on a cluster: executors that are killed, lost shuffle files, full disks, speculative tasks, a limit of memory."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.cases import SOAK
from helpers.spark.cluster import run_script


@pytest.mark.skipif(not SOAK, reason="a cluster each, and make soak has the time")
@pytest.mark.usefixtures("classic")
@pytest.mark.parametrize("faults", ["losses", "speculation", "memory"])
def test_results_are_the_same_or_there_is_one_clear_error(tmp_path: Path, faults: str) -> None:
    run_script("faulty", tmp_path, faults)
