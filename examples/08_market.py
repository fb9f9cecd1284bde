"""A market feed: VWAP and volatility of three shares, from trades that arrive out of order.

VWAP is the mean price, weighted by volume. The volatility here is an aggregate of our own: the standard deviation of prices,
weighted by volume too. The feed is a stream, and a window is final when the watermark passes its end. How much does it
matter how long the watermark waits?
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from drawing import BLUE, GREY, NOTE, ORANGE, PAPER, RED, apart, new_figure, save, style
from matplotlib import dates
from rich.console import Console
from rich.table import Table

import sash
from sash import agg, window

HERE = Path(__file__).parent
SHARES = {"ANT": 40.0, "BEE": 120.0, "CAT": 75.0}
OPEN, SECONDS, TRADES = pd.Timestamp("2026-03-02 09:30"), 6.5 * 3600, 60_000
WAITS = ("0s", "5s", "10s", "30s")

Partial = tuple[float, float, float]
"""The volume, the mean price, and the squared distances from it, weighted by volume."""


def merge(older: Partial, newer: Partial) -> Partial:
    """Combine two partials as Chan, Golub and LeVeque (1983) do: large numbers are never subtracted from each other."""
    volume = older[0] + newer[0]
    distance = newer[1] - older[1]
    mean = older[1] + distance * newer[0] / volume
    return volume, mean, older[2] + newer[2] + distance**2 * older[0] * newer[0] / volume


volatility = sash.aggregate(
    "volatility",
    lift=lambda price, size: (float(size), price, 0.0),
    combine=merge,
    lower=lambda part: 1e4 * math.sqrt(part[2] / part[0]) / part[1],  # in basis points, hundredths of a percent
    commutative=True,
)


def main() -> None:
    """Run the query over the whole day, then over the feed with shorter and longer waits, and compare."""
    console = Console(width=None if Console().is_terminal else 120, highlight=False)
    feed = make_feed()
    day = in_order(make_query("0s").run(feed))  # a table is sorted: no trade is late
    check(feed, day)

    console.rule("[bold]a market feed: VWAP, volatility, and trades out of order")
    disordered = pc.sum(pc.less(feed["ts"], pa.array(np.maximum.accumulate(feed["ts"].to_numpy())))).as_py()
    console.print(f"{len(feed):,} generated trades; {disordered:,} arrive after a newer one. ", end="")
    console.print(f"NumPy has the same VWAP and volatility for all {len(day):,} windows.\n")
    waits = {wait: compare(day, in_order(make_query(wait).run(feed.to_reader(1000)))) for wait in WAITS}
    console.print(table_of(waits))
    jump = largest_jump(day)
    console.print(
        f"Volatility jumps in [bold]{jump['share']}[/bold] in the five minutes up to {jump['window_end']:%H:%M}: to "
        f"{jump['volatility']:.0f} basis points, {jump['ratio']:.0f} times that of the five minutes before."
    )
    path = draw(feed, day, waits, jump)
    console.print(f"\nThe picture is in [bold]{path.relative_to(HERE.parent)}[/bold].")


def make_query(wait: str) -> sash.Query:
    """Return the query: five minutes, every minute. In a stream, a window is final `wait` after its end."""
    return sash.Query(
        by="share",
        time="ts",
        windows=window.time("5m", slide="1m"),
        aggregates={
            "trades": agg.count(),
            "vwap": agg.weighted_mean("price", "size"),
            "volatility": volatility("price", "size"),
        },
        lateness=wait,
    )


def make_feed() -> pa.Table:
    """Make up a day of trades in order of arrival. One share has news in the afternoon; large trades are reported late."""
    chance = np.random.default_rng(3)
    seconds = np.sort(chance.uniform(0, SECONDS, TRADES))
    share = chance.choice(len(SHARES), TRADES, p=(0.5, 0.3, 0.2))
    size = chance.lognormal(4.5, 1.0, TRADES)
    delay = chance.exponential(0.1, TRADES)
    large = chance.random(TRADES) < 0.02  # noqa: PLR2004
    size[large] *= 20
    delay[large] += chance.gamma(2, 3.0, large.sum())
    steps = np.full(TRADES, 0.6)  # in basis points, from trade to trade
    steps[(share == 1) & (seconds > 4.2 * 3600) & (seconds < 4.7 * 3600)] = 3.0  # the news
    price = np.empty(TRADES)
    for number, first in enumerate(SHARES.values()):
        own = share == number
        price[own] = first * np.exp(np.cumsum(chance.normal(0, steps[own])) / 1e4)
    feed = pd.DataFrame(
        {
            "share": np.array(list(SHARES))[share],
            "ts": OPEN + pd.to_timedelta(seconds.round(3), unit="s"),
            "price": price.round(3),
            "size": size.astype(int) + 1,
            "arrived": OPEN + pd.to_timedelta((seconds + delay).round(3), unit="s"),
        }
    )
    return pa.Table.from_pandas(feed.sort_values("arrived", kind="stable"), preserve_index=False)


def in_order(results: pa.Table | pa.RecordBatchReader) -> pd.DataFrame:
    """Return results by share and time."""
    table = results if isinstance(results, pa.Table) else results.read_all()
    return table.to_pandas().sort_values(["share", "window_start"], ignore_index=True)


def check(feed: pa.Table, day: pd.DataFrame) -> None:
    """Compute each window with NumPy from its trades. Raise AssertionError if a result differs."""
    trades = feed.to_pandas().sort_values("ts", kind="stable")
    for share, own in trades.groupby("share"):
        found = day[day["share"] == share]
        begins, ends = (own["ts"].searchsorted(found[name]) for name in ("window_start", "window_end"))
        for row, begin, end in zip(found.itertuples(), begins, ends, strict=True):
            price, size = (own[name].to_numpy()[begin:end] for name in ("price", "size"))
            vwap = np.average(price, weights=size)
            sd = math.sqrt(np.average((price - vwap) ** 2, weights=size))
            np.testing.assert_allclose((row.trades, row.vwap, row.volatility), (end - begin, vwap, 1e4 * sd / vwap), rtol=1e-9, atol=1e-9)  # fmt: skip


def compare(day: pd.DataFrame, streamed: pd.DataFrame) -> dict[str, float]:
    """Return what windows of the stream lack: how many lack trades, how many trades, and by how much VWAP is wrong."""
    lacking = day["trades"] - streamed["trades"]
    wrong = 1e4 * (streamed["vwap"] / day["vwap"] - 1).abs()
    return {"windows": int((lacking > 0).sum()), "trades": int(lacking.sum()), "wrong": float(wrong.max())}


def table_of(waits: dict[str, dict[str, float]]) -> Table:
    """Return what each wait costs."""
    table = Table(title="A window is final when the newest trade is so much later than its end", title_justify="left")
    for heading in ("wait", "windows that lack trades", "trades they lack", "VWAP is wrong by up to"):
        table.add_column(heading, justify="right")
    for wait, found in waits.items():
        table.add_row(wait, f"{found['windows']:,}", f"{found['trades']:,}", f"{found['wrong']:.2f} basis points")
    return table


def largest_jump(day: pd.DataFrame) -> pd.Series:
    """Return the window whose volatility is the largest multiple of that five minutes earlier, among windows of five full minutes."""
    full = day[day["window_start"] >= OPEN]
    ratio = full["volatility"] / full.groupby("share")["volatility"].shift(5)
    return full.assign(ratio=ratio).loc[ratio.idxmax()]


def draw(feed: pa.Table, day: pd.DataFrame, waits: dict[str, dict[str, float]], jump: pd.Series) -> Path:
    """Draw the share that jumps: VWAP, volatility, and how late its trades arrive."""
    share = jump["share"]
    own = day[(day["share"] == share) & (day["window_start"] >= OPEN)]
    figure = new_figure(
        6.6,
        f"The volatility of {share} jumps at {jump['window_end']:%H:%M}, {jump['ratio']:.0f}-fold within five minutes",
        f"{len(feed):,} trades of {len(SHARES)} shares, generated. Sliding windows of five minutes, drawn at their ends",
    )
    prices, spread, delays = figure.subplots(3, 1, sharex=True)
    ends, vwap = own["window_end"], own["vwap"]
    style(prices, "VWAP, and one standard deviation around it", "dollars")
    prices.fill_between(ends, vwap * (1 - own["volatility"] / 1e4), vwap * (1 + own["volatility"] / 1e4), color=BLUE, alpha=0.3, linewidth=0)  # fmt: skip
    prices.plot(ends, vwap, color=BLUE, linewidth=1.3)
    style(spread, "Volatility, weighted by volume", "basis points")
    spread.plot(ends, own["volatility"], color=BLUE, linewidth=1.3)
    at = (jump["window_end"], jump["volatility"])
    spread.plot(*at, "o", color=PAPER, markeredgecolor=RED, markeredgewidth=1.6, markersize=7)
    spread.annotate(f"{jump['window_end']:%H:%M}", at, (-8, 0), textcoords="offset points", ha="right", va="center", color=RED, weight="bold")  # fmt: skip
    style(delays, "How late reports of trades arrive, and how many windows lack trades after a wait", "seconds")
    late = feed.filter(pc.greater(pc.subtract(feed["arrived"], feed["ts"]), np.timedelta64(2, "s"))).to_pandas()
    delays.plot(late["ts"], (late["arrived"] - late["ts"]).dt.total_seconds(), ".", color=GREY, markersize=3.5, markeredgewidth=0)  # fmt: skip
    heights = [pd.Timedelta(wait).total_seconds() for wait in waits]
    for (wait, found), height, place in zip(waits.items(), heights, apart(heights, 5.5), strict=True):
        delays.axhline(height, color=ORANGE, linewidth=0.9)
        text = f"{wait}: {found['windows'] or 'no'} windows"
        delays.annotate(text, (1, place), (4, 0), xycoords=delays.get_yaxis_transform(), textcoords="offset points", va="center", color=ORANGE)  # fmt: skip
    delays.margins(x=0.005)
    delays.xaxis.set_major_formatter(dates.DateFormatter("%H:%M"))  # type: ignore[no-untyped-call]
    delays.set_xlabel("time of day", color=NOTE)
    return save(figure, "market")


if __name__ == "__main__":
    main()
