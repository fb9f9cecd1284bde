"""Which machine wears out? Runs of eight machines as sessions, and order statistics that a faulty sensor does not fool.

A run of a machine is a session: readings with at most ten minutes between them. The median and the 95th percentile of a run
tell how the machine shakes; its mean also tells how often the sensor fails. A second query over the results of the first finds
the trend of each machine.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from drawing import GREY, HALO, ORANGE, PAPER, RED, new_figure, save, style
from matplotlib import dates
from rich.console import Console
from rich.table import Table

import sash
from sash import agg, window

HERE = Path(__file__).parent
MACHINES = ("lathe 1", "lathe 2", "mill 1", "mill 2", "mill 3", "press 1", "press 2", "saw 1")
DAYS = 14
FIRST = pd.Timestamp("2026-03-02")  # a Monday
LIMIT = 0.05
"""A machine that shakes so much more each day, in mm/s, is to be looked at."""

RUNS = sash.Query(
    by="machine",
    time="ts",
    windows=window.session("10m"),
    aggregates={
        "readings": agg.count(),
        "mean": agg.mean("vibration"),
        "median": agg.median("vibration"),
        "p95": agg.quantile("vibration", 0.95),
    },
)
# The results of a query are rows of another one: the trend of a machine over its runs of the last four days.
TRENDS = sash.Query(
    by="machine",
    time="window_start",
    windows=window.time("4d", min_rows=20),
    aggregates={name: agg.slope(column) for name, column in {"by_mean": "mean", "by_median": "median"}.items()},
)


def main() -> None:
    """Find the runs, check them, and tell which machine drifts."""
    console = Console(width=None if Console().is_terminal else 120, highlight=False)
    readings = make_readings()
    runs = RUNS.run(readings)
    check(readings, runs)
    trends = TRENDS.run(runs)
    trends[["by_mean", "by_median"]] *= pd.Timedelta("1d").total_seconds()

    console.rule("[bold]machine sensors: sessions and order statistics")
    console.print(f"{len(readings):,} generated readings of {len(MACHINES)} machines are {len(runs):,} runs. ", end="")
    console.print("pandas finds the same runs, means, medians and percentiles.\n")
    console.print(table_of(trends))
    for name in ("by_median", "by_mean"):
        alarms = trends[trends[name] > LIMIT]
        words = f"By the {name.removeprefix('by_')} of runs, a rise of more than {LIMIT} mm/s a day:"
        firsts = alarms.groupby("machine")["window_start"].min()
        found = ", ".join(f"[bold]{machine}[/bold] since {time:%A, %d %B, %H:%M}" for machine, time in firsts.items())
        console.print(f"{words} {found or 'none'}.")
    path = draw(trends)
    console.print(f"\nThe picture is in [bold]{path.relative_to(HERE.parent)}[/bold].")


def make_readings() -> pd.DataFrame:
    """Make up two weeks of readings, every 20 seconds while a machine runs. One machine wears out; the sensor of another fails."""
    chance = np.random.default_rng(11)
    parts = []
    for number, machine in enumerate(MACHINES):
        level = 1.4 + 0.2 * (5 * number % len(MACHINES))
        for day in range(DAYS):
            minute = 6 * 60 + chance.uniform(0, 30)
            while minute < 21 * 60:
                length = chance.uniform(30, 120)
                seconds = np.arange(minute * 60, (minute + length) * 60, 20) + chance.uniform(-4, 4)
                wear = 0.09 * max(0, day + minute / 1440 - 6) if machine == "press 1" else 0.0
                size = len(seconds)
                values = (level + wear) * (1 + chance.normal(0, 0.02)) + chance.gamma(2, 0.12, size)
                fails = chance.random(size) < (0.0005 * day if machine == "mill 2" else 0)
                values[fails] += chance.uniform(40, 90, fails.sum())
                parts.append((number, day, seconds, values))
                minute += length + chance.uniform(15, 60)
    return pd.DataFrame(
        {
            "machine": np.concatenate([np.full(len(values), MACHINES[number]) for number, _, _, values in parts]),
            "ts": np.concatenate(
                [
                    (FIRST + pd.to_timedelta(day, unit="d") + pd.to_timedelta(seconds.round(), unit="s")).to_numpy()
                    for _, day, seconds, _ in parts
                ]
            ),
            "vibration": np.concatenate([values for *_, values in parts]).round(3),
        }
    )


def check(readings: pd.DataFrame, runs: pd.DataFrame) -> None:
    """Find the runs with pandas alone. Raise AssertionError if a result differs."""
    rows = readings.sort_values(["machine", "ts"])
    begins = rows.groupby("machine")["ts"].diff().gt(pd.Timedelta("10m")).cumsum()
    values = rows.groupby(["machine", begins.rename("run")])["vibration"]
    expected = pd.DataFrame(
        {"readings": values.size(), "mean": values.mean(), "median": values.median(), "p95": values.quantile(0.95)}
    )
    found = runs.sort_values(["machine", "window_start"])[expected.columns]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def table_of(trends: pd.DataFrame) -> Table:
    """Return how each machine shakes in its last run, and its steepest trends."""
    table = Table(title="Vibration in mm/s, and its steepest rise over four days", title_justify="left")
    for heading in ("machine", "median of last run", "95th percentile", "rise a day, by medians", "by means"):
        table.add_column(heading, justify="left" if heading == "machine" else "right")
    for machine, own in trends.groupby("machine"):
        last, steepest = own.iloc[-1], own[["by_median", "by_mean"]].max()
        shown = (f"[{RED}]{rise:+.3f}[/]" if rise > LIMIT else f"{rise:+.3f}" for rise in steepest)
        table.add_row(str(machine), f"{last['median']:.2f}", f"{last['p95']:.2f}", *shown)
    return table


def draw(trends: pd.DataFrame) -> Path:
    """Draw the mean and the median of each run, and the first alarm of a machine. Red: by medians; orange: by means only."""
    alarms = {name: trends[trends[f"by_{name}"] > LIMIT].groupby("machine").head(1) for name in ("mean", "median")}
    worn = set(alarms["median"]["machine"])
    suspected = set(alarms["mean"]["machine"]) - worn
    drifts, also = (" and ".join(sorted(machines)) or "none" for machines in (worn, suspected))
    title = f"Medians find what wears out: {drifts}. Means also suspect {also}"
    note = f"The runs of {len(MACHINES)} machines (generated). A circle: from here on, the last four days rise by more than {LIMIT} mm/s a day"
    figure = new_figure(5.4, title, note)
    for axes, (name, firsts) in zip(figure.subplots(2, 1, sharex=True), alarms.items(), strict=True):
        style(axes, f"{name.capitalize()} of each run", "vibration, mm/s")
        for machine, own in trends.groupby("machine"):
            colour = RED if machine in worn else ORANGE if machine in suspected else GREY
            axes.plot(own["window_start"], own[name], color=colour, linewidth=0.9, zorder=2 + (colour != GREY))
        for first in firsts.to_dict("records"):
            at, colour = (first["window_start"], first[name]), RED if first["machine"] in worn else ORANGE
            axes.plot(*at, "o", color=PAPER, markeredgecolor=colour, markeredgewidth=1.6, markersize=7, zorder=4)
            text = f"{first['machine']}, {first['window_start']:%a %H:%M}"
            axes.annotate(text, at, (0, 22), textcoords="offset points", ha="center", color=colour, weight="bold", arrowprops={"arrowstyle": "-", "color": colour}, bbox=HALO, zorder=5)  # fmt: skip
        axes.margins(x=0.01)
        axes.xaxis.set_major_locator(dates.DayLocator(interval=2))  # type: ignore[no-untyped-call]
        axes.xaxis.set_major_formatter(dates.DateFormatter("%a %d %b"))  # type: ignore[no-untyped-call]
    return save(figure, "sensors")


if __name__ == "__main__":
    main()
