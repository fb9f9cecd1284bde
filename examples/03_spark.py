"""Three days of smart plugs on Spark: sliding windows that Spark's SQL slices, and an aggregate of our own for each row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.ticker import MultipleLocator
from pyspark.sql import functions as F  # noqa: N812 — as everyone calls it
from quiet import without_noise
from rich.console import Console
from rich.table import Table

import sash
from sash import agg, window

HERE = Path(__file__).parent
READINGS = HERE / "data" / "readings.parquet"
CHART = HERE.parent / "build" / "demo" / "spark.png"
EVERY = 150
"""Seconds from one reading of a plug to its next: a sum of loads, times this, is work."""
INK, FAINT, COLOURS = "#26323f", "#84919d", {1: "#1f7a8c", 2: "#c8553d", 3: "#5b5f97"}

LOADS = sash.Query(
    by=("house", "household"),
    time="ts",
    windows={"day": window.time("24h", slide="1h"), "hour": window.time("1h", slide="10m")},
    aggregates={
        "load": agg.sum("load"),
        "peak": agg.max("load"),
        "who": agg.arg_max("load", "plug"),
        "sd": agg.stddev("load"),
    },
)

# Our own: the steepest rise from one reading to the next. First load, last load, steepest rise between them.
steepest = sash.aggregate(
    "steepest",
    lift=lambda load: (load, load, 0.0),
    combine=lambda older, newer: (older[0], newer[1], max(older[2], newer[2], newer[0] - older[1])),
    lower=lambda rise: rise[2],
)
RISES = sash.Query({"rise": steepest("load")}, window.time("1h"), by=("house", "household", "plug"), time="ts")


def main() -> None:
    """Run both queries, and show what they found."""
    console = Console(width=None if Console().is_terminal else 120, highlight=False)
    with without_noise():
        spark = sash.spark.session("sash demo")
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    readings = spark.read.parquet(str(READINGS))

    console.rule("[bold]windows of an hour and a day, for each household")
    console.print(str(LOADS.explain(readings)), markup=False)
    windows = LOADS.run(readings)  # a DataFrame, lazily: Spark goes on with it
    seconds = F.unix_timestamp("window_end") - F.unix_timestamp("window_start")
    found = whole(windows.withColumn("load", F.col("load") * EVERY / seconds).orderBy("window_start").toPandas())
    console.print(table_of(busiest(found)))

    console.rule("[bold]an aggregate of our own, for each reading")
    console.print(str(RISES.explain(readings)), markup=False)
    first = F.max_by(F.struct("rise", "ts"), F.struct("rise", -F.unix_seconds("ts")))
    rises = RISES.run(readings).groupBy("plug").agg(first.alias("first")).select("plug", "first.*")
    for row in rises.orderBy(F.desc("rise")).limit(3).collect():
        console.print(
            f"  {row.plug:16} rose by {row.rise:6,.0f} W from one reading to the next, on {row.ts:%A at %H:%M}"
        )
    spark.stop()

    draw(found, CHART)
    console.print(f"\nThe chart is in [bold]{CHART.relative_to(HERE.parent)}[/bold].")


def whole(found: pd.DataFrame) -> pd.DataFrame:
    """Return the windows that lie within the days of the readings: at both ends windows hold fewer."""
    first, last = found["window_end"].min().floor("D"), found["window_start"].max().ceil("D")
    return found[(found["window_start"] >= first) & (found["window_end"] <= last)]


def busiest(found: pd.DataFrame) -> pd.DataFrame:
    """Return the hour with the greatest load, for each household and day."""
    hours = found[found["window"] == "hour"]
    best = hours.groupby(["house", "household", hours["window_start"].dt.date])["load"].idxmax()
    return hours.loc[best]


def table_of(hours: pd.DataFrame) -> Table:
    """Return the hours as a table."""
    table = Table(title="The busiest hour of each day", title_justify="left", caption_justify="left")
    for heading, side in {"household": "left", "hour": "left", "load": "right", "peak": "right"}.items():
        table.add_column(heading, justify=side)  # type: ignore[arg-type]
    table.add_column("by")
    table.add_column("sd", justify="right")
    for (house, household), days in hours.groupby(["house", "household"]):
        for number, row in enumerate(days.itertuples()):
            span = f"{row.window_start:%a %H:%M} – {row.window_end:%H:%M}"
            name = f"{house}.{household}" if number == 0 else ""
            table.add_row(name, span, f"{row.load:,.0f} W", f"{row.peak:,.0f} W", row.who, f"{row.sd:,.0f} W")
        table.add_section()
    return table


def draw(found: pd.DataFrame, path: Path) -> None:
    """Draw the load of each household, its level over a day, and who was on in the busiest hours."""
    mpl.use("Agg")
    plt.rcParams.update({"font.size": 9, "text.color": INK, "axes.edgecolor": "#d5dbe1"})
    figure, grid = plt.subplots(3, 2, figsize=(12, 8), dpi=130, sharex=True, sharey=True)
    for axes, (household, own) in zip(grid.flat, found.groupby(["house", "household"]), strict=True):
        panel(axes, own, COLOURS[household[0]])
        title = f"house {household[0]}, household {household[1]}"
        axes.set_title(title, loc="left", fontsize=10, color=COLOURS[household[0]], weight="bold", pad=2)
    grid[0, 0].set_ylim(0, found.loc[found["window"] == "hour", "load"].max() * 1.18)
    figure.suptitle(
        "Who is on when a household draws the most", x=0.047, y=0.978, ha="left", fontsize=16, weight="bold"
    )
    legend = "Mean load in watts over a sliding hour (filled) and a sliding day (dashed); the busiest hour of each day, and the plug of its peak"
    figure.text(0.047, 0.925, legend, ha="left", fontsize=10, color=FAINT)
    figure.tight_layout(rect=(0.03, 0.01, 0.99, 0.925), h_pad=1.8, w_pad=2)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, facecolor="white")
    plt.close(figure)


def panel(axes: Any, own: pd.DataFrame, colour: str) -> None:
    """Draw one household; what a window holds is drawn at its middle."""
    hours = own[own["window"] == "hour"].set_index("window_start")["load"].asfreq("10min")  # gaps stay gaps
    middle = hours.index + pd.Timedelta("30min")
    axes.fill_between(middle, hours, color=colour, alpha=0.2, linewidth=0)
    axes.plot(middle, hours, color=colour, linewidth=1.3)
    days = own[own["window"] == "day"]
    axes.plot(days["window_start"] + pd.Timedelta("12h"), days["load"], color=INK, linewidth=1, linestyle=(0, (4, 2)))
    for row in busiest(own).itertuples():
        at = row.window_start + pd.Timedelta("30min")
        axes.plot(at, row.load, "o", color=colour, markersize=5.5, markeredgecolor="white", markeredgewidth=1.2)
        axes.annotate(row.who, (at, row.load), (0, 7), textcoords="offset points", ha="center", fontsize=8.5)
    dark = middle[hours.isna()]
    if len(dark):
        axes.axvspan(dark[0], dark[-1], color="#f0f2f4", linewidth=0)
        height = axes.get_ylim()[1] * 0.3
        axes.text(dark[len(dark) // 2], height, "no readings", rotation=90, ha="center", fontsize=8, color=FAINT)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.grid(axis="y", color="#e9edf1", linewidth=0.8)
    axes.grid(axis="x", color="#d5dbe1", linewidth=0.8, linestyle=(0, (1, 3)))
    axes.set_axisbelow(True)
    axes.tick_params(which="both", colors=FAINT, length=0, labelsize=8.5)
    midnights = pd.date_range(hours.index[0].floor("D"), hours.index[-1].ceil("D"))
    noons = midnights[:-1] + pd.Timedelta("12h")
    axes.set_xticks(midnights, [""] * len(midnights))
    axes.set_xticks(noons, noons.day_name(), minor=True)
    axes.yaxis.set_major_locator(MultipleLocator(500))
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.margins(x=0.01)


if __name__ == "__main__":
    main()
