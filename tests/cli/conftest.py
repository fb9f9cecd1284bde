from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

START = datetime(2026, 3, 2, tzinfo=UTC)


@pytest.fixture(scope="session")
def rows() -> pa.Table:
    """Readings of two households, in no order, with times that occur twice and a null."""
    random = np.random.default_rng(17)
    minutes = random.integers(0, 600, 400)
    loads = [None if number == 7 else float(load) for number, load in enumerate(random.integers(0, 1000, 400))]
    columns = {
        "ts": pa.array([START + timedelta(minutes=int(one)) for one in minutes], pa.timestamp("us", "UTC")),
        "household": pa.array(random.integers(1, 3, 400)),
        "plug": pa.array(random.choice(["oven", "lamp", 'a, "b"'], 400)),
        "load": pa.array(loads, pa.float64()),
    }
    return pa.table(columns)


@pytest.fixture
def folder(tmp_path: Path, rows: pa.Table) -> Path:
    """A folder with the readings in readings.parquet."""
    pq.write_table(rows, tmp_path / "readings.parquet")
    return tmp_path
