"""Appliances of a household, and what they draw through days: for readings that look like those of smart plugs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

STEP = 30
"""Seconds: how finely an appliance is followed."""
DAY = 86_400
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Use:
    """When an appliance is switched on, and what it draws from then on: minutes and watts in turn."""

    hour: float
    spread: float
    chance: float
    profile: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Appliance:
    """What is plugged in. A thermostat switches on and off all day: minutes of a cycle, share of it on, watts."""

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
    """Return what the appliance draws through some days, step by step.

    >>> drawn = watts(COMPUTER, np.random.default_rng(2014), days=2)
    >>> len(drawn) * STEP == 2 * DAY, bool(drawn.min() > 2), bool(drawn.max() < 100)
    (True, True, True)
    """
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
