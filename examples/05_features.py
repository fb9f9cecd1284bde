"""Features for a model of card fraud: for each label, what the payments of its card looked like up to that moment.

A label is a payment that somebody has checked: it was a fraud, or not. Which feature tells them apart, and over which window? The
query runs in this process, pandas checks it, and no feature knows a later payment. With --spark, it also runs on Spark.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from drawing import BLUE, GREEN, GREY, INK, NOTE, ORANGE, PURPLE, RED, apart, new_figure, save, style
from matplotlib.axes import Axes
from quiet import without_noise
from rich.console import Console
from rich.table import Table

import sash
from sash import agg, window

HERE = Path(__file__).parent
CARDS, DAYS, TRIPS, LABELS = 500, 60, 30_000, 4_000
FIRST = pd.Timestamp("2026-01-01")  # of no zone, so that a session of Spark in any zone shows the same
BEFORE, AFTER = 3, 1
"""The hours that the picture shows around a label."""
CATEGORIES = ("food", "fuel", "online", "travel")

WINDOWS = ("1h", "24h", "7d", "30d")
SHOWN = {
    "payments": ("payments", RED),
    "spent": ("amount spent", ORANGE),
    "merchants": ("merchants", PURPLE),
    "recent": ("recent amount", GREEN),
    "online": ("share online", BLUE),
    "large": ("payments over 200", INK),
}

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
    """Make the training set twice, compare, and show which feature separates best."""
    console = Console(width=None if Console().is_terminal else 120, highlight=False)
    payments, labels = make_payments()
    features = FEATURES.run(payments, at=labels, at_time="checked")
    check_sample(payments, features)
    check_no_leak(payments, labels, features)

    console.rule("[bold]card fraud: features as of the time of each label")
    console.print(
        f"{len(payments):,} generated payments and {len(labels):,} labels, {labels['fraud'].sum():,} of them fraud. "
        "pandas has the same features for 200 labels,\nand no feature changes if all payments after its label are replaced: "
        "checked at three times.\n"
    )
    chances = separation(features)
    console.print(table_of(chances))
    feature = chances.max(axis=1).idxmax()
    length = chances.loc[feature].idxmax()
    slow = chances["30d"].idxmax()
    console.print(
        f"Best: [bold]{SHOWN[feature][0]} of {length}[/bold]. Of a fraud and a genuine payment, the fraud has the greater value in "
        f"{chances.loc[feature, length]:.0%} of all pairs.\n"
        f"Over 30d it is {chances.loc[feature, '30d']:.0%}; there, {SHOWN[slow][0]} separates best, with {chances.loc[slow, '30d']:.0%}."
    )

    if "--spark" in sys.argv:
        with without_noise():
            spark = sash.spark.session("sash features")
        spark.conf.set("spark.sql.session.timeZone", "UTC")
        check_on_spark(spark, payments, labels, features)
        spark.stop()
        console.print(f"Spark has the same {len(features):,} rows.")

    path = draw(payments, features, chances)
    console.print(f"\nThe picture is in [bold]{path.relative_to(HERE.parent)}[/bold].")


def make_payments() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Make up payments: trips to shops by the owners of cards, and thefts. Labels are payments, checked a minute later."""
    chance = np.random.default_rng(5)
    minutes = DAYS * 24 * 60
    trips = pd.DataFrame({"card": chance.integers(0, CARDS, TRIPS), "begin": chance.uniform(0, minutes, TRIPS)})
    thefts = pd.DataFrame(
        {"card": chance.choice(CARDS, 60, replace=False), "begin": chance.uniform(0, minutes - 120, 60)}
    )
    owners = trips.loc[trips.index.repeat(chance.integers(1, 5, TRIPS))].assign(fraud=False)
    thieves = thefts.loc[thefts.index.repeat(chance.integers(4, 12, len(thefts)))].assign(fraud=True)
    payments = pd.concat([owners, thieves], ignore_index=True)
    size, fraud = len(payments), payments["fraud"].to_numpy()
    level = chance.gamma(4, 10, CARDS)[payments["card"]]
    payments["amount"] = (level * chance.gamma(1.5, np.where(fraud, 2.0, 0.7), size)).round(2)
    payments["merchant"] = np.where(
        fraud, chance.integers(0, 400, size), payments["card"] * 7 % 400 + chance.integers(0, 12, size)
    )
    habits = chance.choice(CATEGORIES, size, p=(0.5, 0.2, 0.2, 0.1))
    payments["category"] = np.where(fraud & (chance.random(size) < 0.8), "online", habits)  # noqa: PLR2004
    begin = payments.pop("begin") + chance.uniform(0, np.where(fraud, 60, 90), size)
    payments.insert(1, "ts", FIRST + pd.to_timedelta(begin, unit="m").dt.round("1s"))
    chosen = np.concatenate([chance.choice(np.flatnonzero(~fraud), LABELS, replace=False), np.flatnonzero(fraud)])
    labels = payments.loc[chosen, ["card", "ts", "fraud"]].rename(columns={"ts": "checked"}).reset_index(drop=True)
    labels["checked"] += pd.Timedelta("1m")
    return payments.drop(columns="fraud"), labels


def separation(features: pd.DataFrame) -> pd.DataFrame:
    """Return for each feature and window how often a fraud has the greater value than a genuine payment; ties count half.

    This is the area under the ROC curve: 50 % is a coin, 100 % separates all.
    """
    fraud = features["fraud"]
    pairs = fraud.sum() * (~fraud).sum()
    least = fraud.sum() * (fraud.sum() + 1) / 2
    chances = {
        length: [(features[f"{name}_{length}"].rank()[fraud].sum() - least) / pairs for name in SHOWN]
        for length in WINDOWS
    }
    return pd.DataFrame(chances, index=list(SHOWN))


def check_sample(payments: pd.DataFrame, features: pd.DataFrame) -> None:
    """Compute the features of some labels with pandas alone. Raise AssertionError if one differs."""
    of_card = dict(list(payments.groupby("card")))
    for label in features.sample(200, random_state=1).to_dict("records"):
        own = of_card[label["card"]]
        for length in WINDOWS:
            age = label["checked"] - own["ts"]
            seen = own[(age >= pd.Timedelta(0)) & (age < pd.Timedelta(length))]
            weights = 0.5 ** (age[seen.index] / pd.Timedelta("6h"))
            expected = {
                "payments": len(seen),
                "spent": seen["amount"].sum(),
                "merchants": seen["merchant"].nunique(),
                "recent": np.average(seen["amount"], weights=weights),
                "online": (seen["category"] == "online").mean(),
                "large": (seen["amount"] > 200).sum(),  # noqa: PLR2004 — as in the query
            }
            found = [label[f"{name}_{length}"] for name in expected]
            np.testing.assert_allclose(found, list(expected.values()), rtol=1e-9)


def check_no_leak(payments: pd.DataFrame, labels: pd.DataFrame, features: pd.DataFrame) -> None:
    """Replace all payments after some moment, and raise AssertionError if a feature of an earlier label changes."""
    for moment in pd.date_range(payments["ts"].min(), payments["ts"].max(), periods=5)[1:-1]:
        later = payments["ts"] > moment
        other = payments.copy()
        other.loc[later, ["amount", "merchant", "category"]] = [1e6, -1, "online"]
        earlier = labels["checked"] <= moment
        again = FEATURES.run(other, at=labels[earlier], at_time="checked")
        pd.testing.assert_frame_equal(again, features[earlier])


def check_on_spark(spark: Any, payments: pd.DataFrame, labels: pd.DataFrame, features: pd.DataFrame) -> None:
    """Run the same query on Spark, which returns rows in any order. Raise AssertionError if they differ."""
    found = FEATURES.run(
        spark.createDataFrame(payments), at=spark.createDataFrame(labels), at_time="checked"
    ).toPandas()
    order = ["card", "checked", "payments_30d", "fraud"]
    left, right = (frame.sort_values(order).reset_index(drop=True) for frame in (features, found))
    pd.testing.assert_frame_equal(left, right, check_dtype=False, rtol=1e-9)


def table_of(chances: pd.DataFrame) -> Table:
    """Return how well each feature separates, the best of a window in bold."""
    table = Table(title="A fraud has the greater value than a genuine payment, in % of all pairs", title_justify="left")
    table.add_column("feature")
    for length in WINDOWS:
        table.add_column(length, justify="right")
    for name, row in chances.iterrows():
        shown = (f"{chance:.1%}" for chance in row)
        best = (f"[bold]{text}[/]" if chance == chances[length].max() else text for length, chance, text in zip(WINDOWS, row, shown, strict=True))  # fmt: skip
        table.add_row(SHOWN[str(name)][0], *best)
    return table


def draw(payments: pd.DataFrame, features: pd.DataFrame, chances: pd.DataFrame) -> Path:
    """Draw what one label sees, and how well each feature separates over each window."""
    feature = chances.max(axis=1).idxmax()
    length = chances.loc[feature].idxmax()
    figure = new_figure(
        6.0,
        f"What tells a fraud best: {SHOWN[feature][0]}, over {length}",
        f"{len(payments):,} payments of {CARDS} cards, generated; features as of the time of {len(features):,} labels",
    )
    top, bottom = figure.subplots(2, 1, height_ratios=(2, 3))
    draw_label(top, payments, features[features["fraud"]])
    draw_chances(bottom, chances)
    return save(figure, "fraud")


def draw_label(axes: Axes, payments: pd.DataFrame, frauds: pd.DataFrame) -> None:
    """Draw the payments around a label in the middle of the longest theft."""
    own_frauds = frauds[frauds["card"] == frauds["card"].mode()[0]].sort_values("checked")
    label = own_frauds.iloc[len(own_frauds) // 2]
    own = payments[payments["card"] == label["card"]]
    hours = (own["ts"] - label["checked"]) / pd.Timedelta("1h")
    title = f"Card {label['card']}: the label at 0 knows the payments before it, not the grey ones after it"
    style(axes, title, "dollars")
    axes.axvspan(-1, 0, color=BLUE, alpha=0.12, linewidth=0)
    axes.axvline(0, color=BLUE, linewidth=1.4)
    for near, colour in ((hours.between(-BEFORE, 0), INK), ((hours > 0) & (hours < AFTER), GREY)):
        axes.vlines(hours[near], 0, own["amount"][near], color=colour, linewidth=1.4)
        axes.plot(hours[near], own["amount"][near], "o", color=colour, markersize=3.5)
    axes.set_xlim(-BEFORE, AFTER)
    axes.set_ylim(0, own["amount"][hours.between(-BEFORE, AFTER)].max() * 1.15)
    axes.set_xlabel("hours from the label", color=NOTE)
    known = (f"{label['payments_1h']} payments", f"{label['spent_1h']:,.0f} spent", f"{label['online_1h']:.0%} online")
    axes.annotate("features of 1h:\n" + "\n".join(known), (-1, 0.96), (-8, 0), xycoords=axes.get_xaxis_transform(), textcoords="offset points", ha="right", va="top", color=BLUE, linespacing=1.4)  # fmt: skip


def draw_chances(axes: Axes, chances: pd.DataFrame) -> None:
    """Draw how well each feature separates, from the shortest window to the longest."""
    style(axes, "How often a fraud has the greater value than a genuine payment", "% of all pairs")
    places = apart([100 * chance for chance in chances["1h"]], 3.6)
    for (name, (text, colour)), place in zip(SHOWN.items(), places, strict=True):
        axes.plot(range(len(WINDOWS)), 100 * chances.loc[name], "o-", color=colour, linewidth=1.6, markersize=4)
        axes.annotate(text, (0, place), (-8, 0), textcoords="offset points", ha="right", va="center", color=colour, weight="bold")  # fmt: skip
    axes.set_ylim(40, 100)
    axes.set_xticks(range(len(WINDOWS)), WINDOWS)
    axes.set_xlim(-0.8, len(WINDOWS) - 0.9)
    axes.set_xlabel("window of the feature", color=NOTE)


if __name__ == "__main__":
    main()
