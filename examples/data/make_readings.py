"""Make readings.parquet: three days of smart plugs, in the form of the DEBS 2014 challenge. Each run makes the same rows.

Six households in three houses have six appliances each. A plug reports its load (W) and its cumulative work (kWh) every 150
seconds. Some loads are missing, one household lost its loads for a while, and one house had no power.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

FILE = Path(__file__).with_name("readings.parquet").resolve()
"""A link to the copy that `sash sample` ships."""
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
STEP = 30
"""Seconds from one value of the model to the next."""
DAY = 86_400
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Use:
    """When an appliance is switched on, and its load from then on: pairs of minutes and watts."""

    hour: float
    spread: float
    chance: float
    profile: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Appliance:
    """An appliance. A thermostat switches on and off all day: minutes of a cycle, share of it on, watts."""

    name: str
    standby: float
    uses: tuple[Use, ...] = ()
    thermostat: tuple[float, float, float] | None = None


KETTLE = ((3.0, 2150.0),)
OVEN = ((9.0, 2400.0), (4.0, 30.0), (3.0, 2400.0), (5.0, 30.0), (3.0, 2400.0), (6.0, 30.0), (2.0, 2400.0))
WASHING = ((6.0, 120.0), (18.0, 2050.0), (40.0, 190.0), (4.0, 420.0), (20.0, 170.0), (9.0, 510.0))
DISHES = ((5.0, 60.0), (20.0, 1850.0), (35.0, 65.0), (17.0, 1850.0), (25.0, 15.0))
FRIDGE = Appliance("fridge", 1.2, thermostat=(47, 0.36, 92))
FREEZER = Appliance("freezer", 1.6, thermostat=(71, 0.48, 118))
TEAPOT = Appliance(
    "kettle", 0.4, (Use(6.8, 0.3, 0.95, KETTLE), Use(10.4, 1.2, 0.5, KETTLE), Use(16.3, 0.6, 0.8, KETTLE))
)
COOKER = Appliance("oven", 1.1, (Use(12.2, 0.4, 0.25, OVEN), Use(18.1, 0.5, 0.85, OVEN)))
WASHER = Appliance("washing machine", 0.6, (Use(9.5, 1.5, 0.45, WASHING), Use(15.0, 1.5, 0.3, WASHING)))
DISHWASHER = Appliance("dishwasher", 0.7, (Use(20.4, 0.5, 0.75, DISHES),))
SCREEN = Appliance("television", 0.5, (Use(7.1, 0.3, 0.3, ((35, 96),)), Use(19.4, 0.5, 0.95, ((165, 104),))))
COMPUTER = Appliance("computer", 2.3, (Use(8.6, 0.4, 0.8, ((195, 84), (50, 14), (230, 90))),))
LAMPS = Appliance("lamps", 0.0, (Use(6.3, 0.3, 1.0, ((70, 58),)), Use(18.2, 0.3, 1.0, ((280, 74),))))
TOWELS = Appliance("towel heater", 0.3, (Use(6.2, 0.2, 1.0, ((22, 600), (8, 0), (9, 600), (8, 0), (9, 600))),))
HOUSEHOLDS = {
    (1, 1): (FRIDGE, TEAPOT, COOKER, SCREEN, LAMPS, WASHER),
    (1, 2): (FRIDGE, TEAPOT, COMPUTER, LAMPS, TOWELS, DISHWASHER),
    (2, 1): (FRIDGE, FREEZER, TEAPOT, COOKER, SCREEN, WASHER),
    (2, 2): (FRIDGE, TEAPOT, COMPUTER, SCREEN, LAMPS, COOKER),
    (3, 1): (FRIDGE, FREEZER, COOKER, DISHWASHER, WASHER, TOWELS),
    (3, 2): (FRIDGE, TEAPOT, SCREEN, COMPUTER, LAMPS, DISHWASHER),
}


def watts(appliance: Appliance, random: np.random.Generator, days: int) -> Floats:
    """Return the load of an appliance over some days, step by step."""
    minutes = np.arange(0, days * DAY, STEP) / 60
    drawn = np.full(len(minutes), appliance.standby)
    if appliance.thermostat:
        cycle, share, load = appliance.thermostat
        pace = 1 + 0.08 * np.sin(2 * np.pi * (minutes / 1440 - 0.6))  # warmer in the afternoon: on more often
        phase = (np.cumsum(pace * STEP / 60) / cycle + random.random()) % 1
        drawn[phase < share] = load * (1 + 0.5 * np.exp(-phase[phase < share] * 60))  # a motor starts with more
    for day in range(days):
        for use in appliance.uses:
            start = (day * 24 + random.normal(use.hour, use.spread)) * 60
            if random.random() >= use.chance:
                continue
            for length, load in use.profile:
                drawn[(minutes >= start) & (minutes < start + length)] = load
                start += length
    return np.asarray(drawn * random.normal(1, 0.015, len(drawn)))


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
