"""One query, four lives: card fraud from the training set to the answer at the moment of a payment.

The same features are computed as of labels, in a table of the past, on a stream that starts with this past, and for requests, from a store in
SQLite. A small model is trained on the first and asked with the last. At the end, the numbers of all four are compared: they are equal.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from drawing import BLUE, GREEN, INK, NOTE, RED, new_figure, save, style
from matplotlib.axes import Axes
from rich.console import Console
from rich.table import Table

import sash
from sash import agg, serve, window

HERE = Path(__file__).parent
CARDS, DAYS, OWN, THEFTS, LABELS = 300, 62, 30_000, 60, 3_000
FIRST = pd.Timestamp("2026-01-01", tz="UTC")
UNTIL = FIRST + pd.Timedelta(days=DAYS - 2)
"""The stream takes over here. What is older is the past."""
CHECKED_AFTER = pd.Timedelta("1m")
STEP = "5min"

FEATURES = sash.Query(
    by="card",
    time="ts",
    windows={"1h": window.time("1h"), "24h": window.time("24h"), "30d": window.time("30d", tail="1h")},
    aggregates={
        "payments": agg.count(),
        "spent": agg.sum("amount"),
        "most": agg.max("amount"),
        "mean": agg.mean("amount"),
    },
    lateness="10m",
)
NAMES = [
    f"{aggregate}_{length}" for aggregate in ("payments", "spent", "most", "mean") for length in ("1h", "24h", "30d")
]
console = Console(width=None if Console().is_terminal else 120, highlight=False)


def main() -> None:
    """Live all four lives, and compare."""
    payments, labels = make_payments()
    past, today = payments[payments["ts"] < UNTIL], payments[payments["ts"] >= UNTIL]
    requests = labels[labels["checked"] >= UNTIL]

    console.rule("[bold]1. train: features as of the time of each label")
    training = FEATURES.run(payments, at=labels, at_time="checked")
    known = training["checked"] < UNTIL
    model = train(training[known])
    console.print(
        f"  {known.sum():,} labels before {UNTIL:%d %B}, {training[known]['fraud'].sum()} of them fraud, train a model of {len(NAMES)} features."
    )

    console.rule("[bold]2. backfill: a table of the past")
    table = FEATURES.run(payments)
    console.print(f"  {len(table):,} rows: one for each payment, with the features at its time.")

    console.rule("[bold]3. stream: it starts with the past")
    arrivals = pa.Table.from_pandas(today, preserve_index=False).to_reader(max_chunksize=50)
    streamed = FEATURES.run(arrivals, history=past, until=UNTIL).read_all().to_pandas()
    console.print(
        f"  {len(streamed):,} payments from {UNTIL:%d %B} on. The windows of 30 days are complete from the first one on."
    )

    console.rule("[bold]4. serve: features at the moment of a request")
    card = requests[requests["fraud"]]["card"].mode()[0]
    with tempfile.TemporaryDirectory() as folder, serve.open_store(f"sqlite:///{folder}/features.db") as store:
        answers, curve = serve_requests(store, past, today, requests, card)
    asked = training[~known].merge(answers, on=["card", "checked"], suffixes=("", "_served"))
    scores = model(answers[NAMES])
    stopped = (scores > 0) & answers["fraud"]
    console.print(
        f"  {len(answers):,} requests, {answers['fraud'].sum()} of them for a fraud. The model stops {stopped.sum()} of these, and "
        f"{((scores > 0) & ~answers['fraud']).sum()} genuine payments."
    )

    console.rule("[bold]the same numbers")
    compare(payments, table, streamed, asked)
    moment = asked[(asked["card"] == card) & asked["fraud"]].iloc[-1]
    console.print(four_lives(moment, table, streamed))
    path = draw(card, payments, table, streamed, training, curve)
    console.print(f"\nThe picture is in [bold]{path.relative_to(HERE.parent)}[/bold].")


def make_payments() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Make up payments of owners and of thieves, in whole dollars. Labels are payments, checked a minute later."""
    chance = np.random.default_rng(8)
    seconds = DAYS * 86_400
    owners = pd.DataFrame(
        {"card": chance.integers(0, CARDS, OWN), "begin": chance.integers(0, seconds, OWN), "fraud": False}
    )
    begins = np.concatenate(
        [chance.integers(0, seconds - 7_200, THEFTS - 6), seconds - chance.integers(20_000, 160_000, 6)]
    )
    thefts = pd.DataFrame({"card": chance.choice(CARDS, THEFTS, replace=False), "begin": begins, "fraud": True})
    thieves = thefts.loc[thefts.index.repeat(chance.integers(4, 12, THEFTS))]
    thieves = thieves.assign(begin=thieves["begin"] + chance.integers(0, 5_400, len(thieves)))
    payments = pd.concat([owners, thieves]).drop_duplicates(["card", "begin"]).sort_values("begin", ignore_index=True)
    fraud = payments["fraud"].to_numpy()
    payments["ts"] = FIRST + pd.to_timedelta(payments.pop("begin"), unit="s")
    payments["amount"] = np.ceil(chance.gamma(1.5, np.where(fraud, 90.0, 28.0), len(payments)))
    chosen = np.sort(
        np.concatenate([chance.choice(np.flatnonzero(~fraud), LABELS, replace=False), np.flatnonzero(fraud)])
    )
    labels = payments.loc[chosen, ["card", "ts", "fraud"]].rename(columns={"ts": "checked"}).reset_index(drop=True)
    labels["checked"] += CHECKED_AFTER
    return payments.drop(columns="fraud"), labels


def train(training: pd.DataFrame) -> Any:
    """Return a linear model: a function whose value is above 0 for a fraud."""

    def inputs(features: pd.DataFrame) -> Any:
        return np.log1p(features[NAMES].fillna(0).to_numpy(float))

    fraud, genuine = (inputs(training[training["fraud"] == flag]) for flag in (True, False))
    spread = np.cov(fraud, rowvar=False) + np.cov(genuine, rowvar=False) + 1e-3 * np.eye(len(NAMES))
    weights = np.linalg.solve(spread, fraud.mean(axis=0) - genuine.mean(axis=0))
    limit = np.quantile(genuine @ weights, 0.995)  # it may stop one of 200 genuine payments
    return lambda features: inputs(features) @ weights - limit


def serve_requests(
    store: Any, past: pd.DataFrame, today: pd.DataFrame, requests: pd.DataFrame, card: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Write the states of a stream to a store. Between its micro-batches, answer the requests that come, and ask for one card again and again."""
    often = pd.date_range(UNTIL, today["ts"].max().ceil(STEP), freq=STEP)
    moments = often.union(requests["checked"]).unique().sort_values()
    places = moments.searchsorted(today["ts"])  # a payment arrives with the first moment that is not before it
    arrived = np.unique(places)

    def micro_batches() -> Iterator[pa.RecordBatch]:
        for place in arrived:
            yield from pa.Table.from_pandas(today[places == place], preserve_index=False).to_batches()

    schema = pa.Schema.from_pandas(today, preserve_index=False)
    states = FEATURES.run(
        pa.RecordBatchReader.from_batches(schema, micro_batches()), history=past, until=UNTIL, emit="state"
    )
    answers, curve = [], []
    for number, batch in enumerate(states):
        store.write(batch, "cards", run="today", number=number)
        header = store.get("cards").layout.header
        following = arrived[number + 1] if number + 1 < len(arrived) else len(moments)
        for now in moments[arrived[number] : following]:
            for request in requests[requests["checked"] == now].to_dict("records"):
                state = store.state("cards", {"card": request["card"]})
                answers.append(request | FEATURES.lookup(state, now=now, header=header))
            curve.append({"now": now, **FEATURES.lookup(store.state("cards", {"card": card}), now=now, header=header)})
    return pd.DataFrame(answers), pd.DataFrame(curve)


def compare(payments: pd.DataFrame, table: pd.DataFrame, streamed: pd.DataFrame, asked: pd.DataFrame) -> None:
    """Raise AssertionError unless all lives have the same numbers: not nearly, but exactly."""
    exactly: Any = {"check_exact": True, "check_dtype": False}
    order = ["card", "ts"]
    labels = FEATURES.run(payments, at=payments[order])
    pd.testing.assert_frame_equal(labels[NAMES], table[NAMES], **exactly)
    console.print(f"  train = table: {len(table):,} labels at the times of payments, {len(NAMES)} features each")
    newer = table[table["ts"] >= UNTIL].sort_values(order, ignore_index=True)
    pd.testing.assert_frame_equal(streamed.sort_values(order, ignore_index=True)[NAMES], newer[NAMES], **exactly)
    console.print(f"  table = stream: {len(newer):,} payments")
    served = asked[[f"{name}_served" for name in NAMES]].set_axis(NAMES, axis=1)
    pd.testing.assert_frame_equal(asked[NAMES], served, **exactly)
    console.print(f"  train = lookup: {len(served):,} requests\n")


def four_lives(moment: pd.Series, table: pd.DataFrame, streamed: pd.DataFrame) -> Table:
    """Return some features of a stolen card, in each of the four lives."""
    shown = ["payments_1h", "spent_1h", "most_24h", "spent_30d"]
    paid = moment["checked"] - CHECKED_AFTER
    result = Table(title=f"Card {moment['card']} on {paid:%d %B}", title_justify="left")
    for name in ("life", "time", *shown):
        result.add_column(name, justify="left" if name == "life" else "right")
    for name, rows in (("table", table), ("stream", streamed)):
        row = rows[(rows["card"] == moment["card"]) & (rows["ts"] == paid)].iloc[0]
        result.add_row(name, f"{paid:%H:%M:%S}", *(f"{row[feature]:,.0f}" for feature in shown))
    for name, suffix in (("label", ""), ("lookup", "_served")):
        result.add_row(
            name, f"{moment['checked']:%H:%M:%S}", *(f"{moment[feature + suffix]:,.0f}" for feature in shown)
        )
    return result


def draw(
    card: int,
    payments: pd.DataFrame,
    table: pd.DataFrame,
    streamed: pd.DataFrame,
    training: pd.DataFrame,
    curve: pd.DataFrame,
) -> Path:
    """Draw what each life knows of a stolen card around the theft."""
    labels = training[(training["card"] == card) & training["fraud"]]
    middle = labels["checked"].median().floor("1h")
    figure = new_figure(
        5.6,
        "One query, four lives: a stolen card",
        f"{len(payments):,} payments of {CARDS} cards, generated. Between payments, only a lookup knows that they leave the window",
    )
    for axes, (name, title, unit) in zip(
        figure.subplots(2, 1, sharex=True), [("payments_1h", "Payments in the last hour", "payments"), ("spent_24h", "Spent in the last 24 hours", "dollars")], strict=True
    ):  # fmt: skip
        style(axes, f"Card {card}: {title.lower()}", unit)
        draw_lives(axes, name, middle, [rows[rows["card"] == card] for rows in (table, streamed)], labels, curve)
    axes.set_xlabel(f"hours around {middle:%d %B %H:%M}", color=NOTE)
    return save(figure, "four_lives")


def draw_lives(
    axes: Axes, name: str, middle: pd.Timestamp, rows: list[pd.DataFrame], labels: pd.DataFrame, curve: pd.DataFrame
) -> None:
    """Draw lookups as a line, and what the other lives have at their times as points."""

    def hours(times: pd.Series) -> Any:
        return (times - middle) / pd.Timedelta("1h")

    axes.plot(
        hours(curve["now"]),
        curve[name],
        color=BLUE,
        linewidth=1.4,
        drawstyle="steps-post",
        label="lookup, every 5 minutes",
    )
    table, streamed = rows
    axes.plot(hours(streamed["ts"]), streamed[name], "o", color=GREEN, markersize=9, fillstyle="none", label="stream")
    axes.plot(hours(table["ts"]), table[name], "o", color=INK, markersize=3.5, label="table")
    axes.plot(hours(labels["checked"]), labels[name], "x", color=RED, markersize=6, label="label, a minute later")
    axes.set_xlim(-3, 5)
    near = curve[hours(curve["now"]).between(-3, 5)][name]
    axes.set_ylim(0, near.max() * 1.25)
    if name == "payments_1h":
        axes.legend(loc="upper right", frameon=False, labelcolor=NOTE, ncols=2)


if __name__ == "__main__":
    main()
