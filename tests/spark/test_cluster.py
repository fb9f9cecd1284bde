"""Queries on executors in processes of their own."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.spark.cluster import run_script


@pytest.mark.full
@pytest.mark.usefixtures("classic")
def test_executors_in_processes_of_their_own_of_which_one_is_killed(tmp_path: Path) -> None:
    run_script("on_cluster", tmp_path)
