"""Make readings.parquet: three days of smart plugs, in the form of the DEBS 2014 challenge; the same whenever it is run.

Six households in three houses have six appliances each. A plug tells its load (W) and its work so far (kWh) every 150
seconds. Some loads are missing, one household lost its loads for a while, and one house had no power.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sash.testing.appliances import HOUSEHOLDS, STEP, watts

FILE = Path(__file__).with_name("readings.parquet")
FIRST = np.datetime64("2026-03-02T00:00:00", "s").astype(np.int64)
DAYS = 3
EVERY = 150
"""Seconds from one reading of a plug to its next."""
SECONDS = DAYS * 86_400
MISSING = 0.004
NO_POWER = (2, 86_400 + 47_400, 10_200)
"""A house, the second from which on it has no readings at all, and for how many seconds."""
NO_LOADS = ((3, 1), 2 * 86_400 + 25_500, 2_700)
"""A household whose meter restarts: readings come, without loads."""


def make_readings(seed: int = 2014) -> pa.Table:
    """Return the readings of all plugs, in order of time."""
    random = np.random.default_rng(seed)
    tables = []
    for (house, household), appliances in HOUSEHOLDS.items():
        for appliance in appliances:
            drawn = watts(appliance, random, DAYS)
            work = np.cumsum(drawn) * STEP / 3_600_000 + random.uniform(20, 400)
            second = np.arange(random.integers(EVERY), SECONDS, EVERY)
            missing = random.random(len(second)) < MISSING
            (restarted, begin, length) = NO_LOADS
            if restarted == (house, household):
                missing |= (second >= begin) & (second < begin + length)
            (dark, begin, length) = NO_POWER
            here = np.full(len(second), True) if dark != house else (second < begin) | (second >= begin + length)
            readings = {
                "house": pa.array(np.full(len(second), house, np.int32)),
                "household": pa.array(np.full(len(second), household, np.int32)),
                "plug": pa.array([appliance.name] * len(second)),
                "ts": pa.array((FIRST + second) * 1_000_000, pa.timestamp("us", "UTC")),
                "load": pa.array(drawn[second // STEP].round(1), mask=missing),
                "work": pa.array(work[second // STEP].round(3)),
            }
            tables.append(pa.table(readings).filter(pa.array(here)))
    return pa.concat_tables(tables).sort_by([("ts", "ascending"), ("house", "ascending"), ("household", "ascending")])


def main() -> None:
    """Write the file."""
    dictionaries = ["house", "household", "plug", "load"]
    encodings = {"ts": "DELTA_BINARY_PACKED", "work": "BYTE_STREAM_SPLIT"}
    readings = make_readings()
    pq.write_table(
        readings, FILE, compression="zstd", compression_level=9, use_dictionary=dictionaries, column_encoding=encodings
    )
    print(f"{readings.num_rows:,} readings in {FILE.stat().st_size / 1024:.0f} KB: {FILE.name}")


if __name__ == "__main__":
    main()
