"""The newest results as a table in a terminal, for those without a browser."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
from rich.table import Table

from sash.live.feed import Feed
from sash.live.result_layout import Layout

MOST_ROWS = 12


def newest_table(feed: Feed, layout: Layout) -> Table:
    """Return the newest complete window of each key and zoom, as a table."""
    title = f"The newest of {feed.results:,} results; {feed.corrections:,} corrected a window of the past"
    table = Table("key", "window", "end", title=title, title_justify="left")
    for name in layout.values:
        table.add_column(name, justify="right")
    with feed.lock:
        filled = [(key, feed.zooms.index(zoom), series) for (zoom, key), series in feed.series.items() if series.count]
        for key, zoom, series in sorted(filled, key=lambda item: item[:2])[:MOST_ROWS]:
            # the newest window that has ended, or else the oldest one
            row = max(int(np.searchsorted(series.ends, feed.newest or 0, side="right")) - 1, 0)
            end = float(layout.seconds(series.ends[row]))
            shown = f"{datetime.fromtimestamp(end, UTC):%Y-%m-%d %H:%M}" if layout.unit > 0 else f"{end:,.6g}"
            table.add_row(key, feed.zooms[zoom], shown, *(f"{value:,.6g}" for value in series.values[row].tolist()))
    return table
