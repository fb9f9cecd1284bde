"""The columns that the cases read: random numbers, and the data of the DEBS Grand Challenges, real if a path is given."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from benchmarks.papers import debs

Values = npt.NDArray[Any]
RANDOM_INTEGERS, RANDOM_FLOATS, ENERGY, LOAD = "random integers", "random floats", "DEBS 2012 energy", "DEBS 2014 load"
FILES = {ENERGY: "SASH_DEBS_2012", LOAD: "SASH_DEBS_2014"}
"""The environment variables that name the real files."""
GENERATED = "generated"
MILLI = 1_000


def label(name: str) -> str:
    """Return the name of the data for tables and plots: it says whether the data was generated.

    >>> label("random integers")
    'random integers'
    """
    if name in FILES:
        return name if os.environ.get(FILES[name]) else f"{name}, {GENERATED}"
    return name


@cache
def column(name: str, rows: int) -> Values:
    """Return a column of exactly `rows` rows; a real file that has fewer is repeated, as FlatFIT's authors did."""
    if name == RANDOM_FLOATS:
        return np.random.default_rng(20).normal(100.0, 15.0, rows)
    if name == RANDOM_INTEGERS:
        return np.random.default_rng(20).integers(0, 1_000_000_000, rows)
    path = os.environ.get(FILES[name])
    found = _energy(path, rows) if name == ENERGY else _load(path, rows)
    return np.resize(found, rows)


def _energy(path: str | None, rows: int) -> Values:
    """Return the power of the first main phase."""
    if path:
        return np.asarray(debs.read_2012(Path(path), rows)["mf01"].to_numpy())
    return debs.phases_2012(rows)[0]


def _load(path: str | None, rows: int) -> Values:
    """Return loads in mW, so that sums are exact and every algorithm may subtract."""
    if path:
        table = debs.read_2014(Path(path), 3 * rows)  # about half of the rows are work
        loads = table.filter(pc.equal(table["property"], debs.LOAD))["value"].to_numpy()
        if not len(loads):
            message = f"{path} has no rows with property 1 (load) among its first {3 * rows:,} rows."
            raise ValueError(message)
    else:
        number = np.arange(rows, dtype=np.int64)
        loads = debs.load_of_plugs(number % debs.PLUGS, number // debs.PLUGS, np.random.default_rng(14))
    return np.asarray(np.round(loads * MILLI), np.int64)
