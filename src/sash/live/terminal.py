"""The newest results as a table in a terminal, for those without a browser."""

from __future__ import annotations

from datetime import UTC, datetime

from rich.table import Table

from sash.live.feed import Feed


def newest_table(feed: Feed) -> Table:
    """Return the newest complete window of each key and zoom, as a table."""
    layout = feed.layout
    rows = feed.newest_results()
    title = f"The newest of {feed.results:,} results; {feed.corrections:,} corrected a window of the past"
    values = () if layout is None else layout.values
    table = Table("key", "window", "end", title=title, title_justify="left")
    for name in values:
        table.add_column(name, justify="right")
    for row in rows:
        is_time = layout is not None and layout.unit > 0
        end = f"{datetime.fromtimestamp(row['end'], UTC):%Y-%m-%d %H:%M}" if is_time else f"{row['end']:,.6g}"
        table.add_row(row["key"], row["zoom"], end, *(f"{row[name]:,.6g}" for name in values))
    return table
