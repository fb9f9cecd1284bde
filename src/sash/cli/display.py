"""Tables on standard output: the first rows of results, and listings. The progress of a command on standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

import pyarrow as pa
from rich import progress
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

LONGEST_CELL = 60
GUIDES_FROM = 10
"""Tables with more rows are striped."""


def console(width: int | None = None) -> Console:
    """Return the console of standard output. It has no colours if NO_COLOR is set."""
    return Console(highlight=False, width=width)


def is_number(dtype: pa.DataType) -> bool:
    """Return whether values of a type are numbers."""
    return bool(pa.types.is_integer(dtype) or pa.types.is_floating(dtype) or pa.types.is_decimal(dtype))


def nanoseconds_as_text(rows: Any) -> Any:
    """Return a table or batch with times in nanoseconds as text: Python has no such times.

    >>> nanoseconds_as_text(pa.table({"t": pa.array([1], pa.timestamp("ns"))})).to_pylist()
    [{'t': '1970-01-01 00:00:00.000000001'}]
    """
    for number, field in enumerate(rows.schema):
        if pa.types.is_timestamp(field.type) and field.type.unit == "ns":
            rows = rows.set_column(number, field.name, rows.column(number).cast(pa.string()))
    return rows


def print_rows(rows: pa.Table, total: int, *, complete: bool = True) -> None:
    """Print the first rows of results as a table, and the number of further rows, unless `total` is not `complete`."""
    table = Table(header_style="bold", row_styles=["", "dim"] if len(rows) > GUIDES_FROM else None)
    for field in rows.schema:
        justify: Any = "right" if is_number(field.type) else "left"
        table.add_column(field.name, justify=justify, no_wrap=True, overflow="ellipsis")
    for row in nanoseconds_as_text(rows).to_pylist():
        table.add_row(*map(cell, row.values()))
    out = console()
    out.print(table)
    more = total - len(rows)
    rest = f"{more:,} more rows" if complete else "more rows"
    out.print(f"… and {rest}: use -o, or --rows" if more else f"{total:,} row{'s' * (total != 1)}", style="dim")


def cell(value: Any) -> str:
    """Return a value as a table shows it.

    >>> cell(None), cell(1 / 3), cell(1e-9), cell(12345), cell([1, None])
    ('', '0.333333', '1e-09', '12345', '[1, None]')
    """
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, datetime):
        return str(value).removesuffix("+00:00")
    text = str(value)
    return escape(text if len(text) <= LONGEST_CELL else f"{text[: LONGEST_CELL - 1]}…")


def print_listing(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table of strings: drawn for a terminal, in Markdown for a pipe."""
    if not sys.stdout.isatty():
        lines = [headings, ["---"] * len(headings), *([value.replace("|", "\\|") for value in row] for row in rows)]
        print(*(f"| {' | '.join(line)} |" for line in lines), sep="\n")  # noqa: T201 — the output of the command
        return
    table = Table(header_style="bold", expand=True)
    for heading in headings:
        table.add_column(heading, overflow="fold", no_wrap=heading == headings[0])
    for row in rows:
        table.add_row(*map(escape, row))
    console().print(table)


class RowRate(progress.ProgressColumn):
    """Rows per second."""

    def render(self, task: progress.Task) -> Text:
        """Return the rate; nothing until it is known."""
        return Text(f"{task.speed:,.0f}/s" if task.speed else "")


class RowProgress(progress.Progress):
    """Rows, rate and remaining time, if standard error is a terminal; otherwise nothing."""

    def __init__(self) -> None:
        step = progress.SpinnerColumn(), progress.TextColumn("{task.description}"), progress.BarColumn()
        rows = progress.TaskProgressColumn(), progress.TextColumn("{task.completed:,.0f} rows"), RowRate()
        remaining = progress.TimeRemainingColumn(elapsed_when_finished=True)
        console, disable = Console(stderr=True), not sys.stderr.isatty()
        super().__init__(*step, *rows, remaining, console=console, transient=True, disable=disable)

    def count(self, what: str, rows: pa.RecordBatchReader, total: int | None) -> pa.RecordBatchReader:
        """Return a reader of the same batches that counts its rows."""
        task = self.add_task(what, total=total)

        def batches() -> Iterator[pa.RecordBatch]:
            for batch in rows:
                yield batch
                self.advance(task, len(batch))
            self.update(task, visible=False)

        return pa.RecordBatchReader.from_batches(rows.schema, batches())

    def step(self, what: str) -> None:
        """Show a step whose length is not known."""
        for task in self.task_ids:
            self.update(task, visible=False)
        self.add_task(what, total=None)
