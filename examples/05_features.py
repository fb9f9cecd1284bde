"""Features for a model of card fraud: for each label, what the payments of its card looked like up to that moment.

The same query runs in this process and on Spark. Then it is shown that no feature knows a later payment.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib import dates
from matplotlib import pyplot as plt
from quiet import without_noise
from rich.console import Console
from rich.table import Table

import sash
from sash import agg, window

HERE = Path(__file__).parent
CHART = HERE.parent / "build" / "demo" / "features.png"
CARDS, DAYS, PAYMENTS, LABELS = 500, 60, 60_000, 4_000
FIRST = datetime(2026, 1, 1)  # noqa: DTZ001 — of no zone, so that a session of Spark in any zone shows the same
CATEGORIES = ("food", "fuel", "online", "travel")
INK, FAINT, COLOUR, FRAUD = "#26323f", "#84919d", "#1f7a8c", "#c8553d"

WINDOWS = ("1h", "24h", "7d", "30d")
SHOWN = {
    "payments": "payments",
    "spent": "spent",
    "merchants": "merchants",
    "recent": "recent amount",
    "online": "share online",
    "large": "over 200",
}
LEAST_DAYS = 31
"""The label of the chart has that many days of payments before it."""

FEATURES = sash.Query(
    by="card",
    time="ts",
    windows=[window.time(length) for length in WINDOWS],
    aggregates={
        "payments": agg.count(),
        "spent": agg.sum("amount"),
        "merchants": agg.count_distinct("merchant"),
        "recent": agg.ewm_mean("amount", half_life="6h"),
        "online": agg.mean(sash.expr("CAST(category = 'online' AS INT)")),
        "large": agg.count(where="amount > 200"),
    },
)


def main() -> None:
    """Make the training set twice, compare, and show it."""
    console = Console(width=None if Console().is_terminal else 120, highlight=False)
    payments, labels = make_payments()
    features = FEATURES.run(payments, at=labels, at_time="asked")

    console.rule("[bold]features as of the time of each label")
    console.print(
        f"{len(payments):,} payments, {len(labels):,} labels, {features.shape[1] - labels.shape[1]} features\n"
    )
    console.print(table_of(features))
    check_no_leak(payments, labels, features)
    console.print("No feature changes if all payments after its label are replaced: checked at five times.")

    with without_noise():
        spark = sash.spark.session("sash features")
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    found = FEATURES.run(spark.createDataFrame(payments), at=spark.createDataFrame(labels), at_time="asked").toPandas()
    spark.stop()
    check_equal(features, found)
    console.print(f"Spark has the same {len(found):,} rows.")

    draw(payments, features, CHART)
    console.print(f"\nThe chart is in [bold]{CHART.relative_to(HERE.parent)}[/bold].")


def make_payments() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Make up payments, some of stolen cards, and labels: moments at which a card was checked, and whether it was stolen then."""
    chance = np.random.default_rng(5)
    minutes = DAYS * 24 * 60
    payments = pd.DataFrame(
        {
            "card": chance.integers(0, CARDS, PAYMENTS),
            "minute": chance.uniform(0, minutes, PAYMENTS),
            "amount": chance.gamma(1.5, 25, PAYMENTS),
            "merchant": chance.integers(0, 400, PAYMENTS),
            "category": chance.choice(CATEGORIES, PAYMENTS, p=(0.5, 0.2, 0.2, 0.1)),
        }
    )
    stolen = pd.DataFrame(
        {"card": chance.choice(CARDS, 60, replace=False), "begin": chance.uniform(0, minutes - 120, 60)}
    )
    bursts = stolen.loc[stolen.index.repeat(chance.integers(4, 12, len(stolen)))]
    thefts = pd.DataFrame(
        {
            "card": bursts["card"],
            "minute": bursts["begin"] + chance.uniform(0, 90, len(bursts)),
            "amount": chance.gamma(4, 60, len(bursts)),
            "merchant": chance.integers(400, 500, len(bursts)),
            "category": "online",
        }
    )
    payments = pd.concat([payments, thefts], ignore_index=True)
    checks = pd.concat(
        [
            pd.DataFrame({"card": chance.integers(0, CARDS, LABELS), "minute": chance.uniform(0, minutes, LABELS)}),
            pd.DataFrame({"card": stolen["card"], "minute": stolen["begin"] + chance.uniform(60, 120, len(stolen))}),
        ],
        ignore_index=True,
    )
    begin = checks["card"].map(stolen.set_index("card")["begin"])
    checks["stolen"] = checks["minute"].between(begin, begin + 120)
    for table, name in ((payments, "ts"), (checks, "asked")):
        table.insert(1, name, pd.Timestamp(FIRST) + pd.to_timedelta(table.pop("minute"), unit="m").dt.round("1s"))
    payments["amount"] = payments["amount"].round(2)
    return payments, checks


def check_no_leak(payments: pd.DataFrame, labels: pd.DataFrame, features: pd.DataFrame) -> None:
    """Replace all payments after some moment, and raise AssertionError if a feature of an earlier label changes."""
    for moment in pd.date_range(payments["ts"].min(), payments["ts"].max(), periods=7)[1:-1]:
        later = payments["ts"] > moment
        other = payments.copy()
        other.loc[later, ["amount", "merchant", "category"]] = [1e6, -1, "online"]
        earlier = labels["asked"] <= moment
        again = FEATURES.run(other, at=labels[earlier], at_time="asked")
        pd.testing.assert_frame_equal(again, features[earlier])


def check_equal(one: pd.DataFrame, other: pd.DataFrame) -> None:
    """Raise AssertionError if the rows differ, in whatever order they are."""
    order = ["card", "asked", "payments_30d"]
    left, right = (frame.sort_values(order).reset_index(drop=True) for frame in (one, other))
    pd.testing.assert_frame_equal(left, right, check_dtype=False, rtol=1e-9)


def table_of(features: pd.DataFrame) -> Table:
    """Return the means of the features, of genuine and of stolen cards."""
    table = Table(title="Means of the features, of genuine cards → of stolen cards", title_justify="left")
    table.add_column("feature")
    for name in WINDOWS:
        table.add_column(name, justify="right")
    means = features.groupby("stolen").mean(numeric_only=True)
    for feature, text in SHOWN.items():
        genuine, stolen = (means.loc[kind, [f"{feature}_{name}" for name in WINDOWS]] for kind in (False, True))
        table.add_row(
            text, *(f"{one:,.2f} → [{FRAUD}]{other:8,.2f}[/]" for one, other in zip(genuine, stolen, strict=True))
        )
    return table


def draw(payments: pd.DataFrame, features: pd.DataFrame, path: Path) -> None:
    """Draw the payments of one stolen card, and what its label sees."""
    mpl.use("Agg")
    plt.rcParams.update({"font.size": 9, "text.color": INK, "axes.edgecolor": "#d5dbe1"})
    stolen = features[features["stolen"]]
    label = stolen.loc[(stolen["payments_1h"] * (stolen["asked"].dt.day_of_year > LEAST_DAYS)).idxmax()]
    own = payments[payments["card"] == label["card"]]
    figure, grid = plt.subplots(len(WINDOWS), 1, figsize=(12, 8), dpi=130)
    for axes, name in zip(grid, WINDOWS, strict=True):
        panel(axes, own, label, name)
    figure.suptitle("What a label knows about its card", x=0.047, y=0.978, ha="left", fontsize=16, weight="bold")
    legend = f"Payments of card {label['card']}. The window ends at the label; payments after it (grey) are not in its features"
    figure.text(0.047, 0.925, legend, ha="left", fontsize=10, color=FAINT)
    figure.tight_layout(rect=(0.03, 0.01, 0.99, 0.925), h_pad=1.4)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, facecolor="white")
    plt.close(figure)


def panel(axes: Any, own: pd.DataFrame, label: pd.Series, name: str) -> None:
    """Draw the payments around one window, and the features over it."""
    end, length = label["asked"], pd.Timedelta(name)
    near = own[own["ts"].between(end - 1.25 * length, end + 0.25 * length)]
    seen = near["ts"].between(end - length, end, inclusive="right")
    for part, colour in ((near[seen], COLOUR), (near[~seen], "#c3cad1")):
        axes.vlines(part["ts"], 0, part["amount"], color=colour, linewidth=1.6)
        axes.plot(part["ts"], part["amount"], "o", color=colour, markersize=4)
    axes.axvspan(end - length, end, color=COLOUR, alpha=0.08, linewidth=0)
    axes.axvline(end, color=FRAUD, linewidth=1.4)
    values = "   ".join(f"{text} {label[f'{feature}_{name}']:,.4g}" for feature, text in SHOWN.items())
    axes.set_title(f"{name}   ", loc="left", fontsize=10, weight="bold", color=COLOUR, pad=3)
    axes.set_title(values, loc="right", fontsize=9, color=INK, pad=3)
    axes.set_xlim(end - 1.25 * length, end + 0.25 * length)
    axes.set_ylim(0, own["amount"].max() * 1.1)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(colors=FAINT, length=0, labelsize=8.5)
    locator = dates.AutoDateLocator(minticks=4, maxticks=8)  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    main()
