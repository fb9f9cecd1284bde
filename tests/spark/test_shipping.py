"""Sash on executors whose Python does not have it, in every way that docs/spark.md names."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.cases import SOAK
from helpers.spark.cluster import run_script
from helpers.spark.shipped import WAYS


@pytest.mark.skipif(not SOAK, reason="a cluster each, and make soak has the time")
@pytest.mark.usefixtures("classic")
@pytest.mark.parametrize("way", WAYS)
def test_executors_get_sash(tmp_path: Path, way: str) -> None:
    run_script("shipped", tmp_path, way)
