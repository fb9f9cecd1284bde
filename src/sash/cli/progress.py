"""The progress of a command on standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pyarrow as pa
from rich import progress
from rich.console import Console
from rich.text import Text


class RowRate(progress.ProgressColumn):
    """Rows per second."""

    def render(self, task: progress.Task) -> Text:
        """Return the rate; nothing until it is known."""
        return Text(f"{task.speed:,.0f}/s" if task.speed else "")


class RowProgress(progress.Progress):
    """Rows, rate and remaining time, if standard error is a terminal; otherwise nothing."""

    def __init__(self) -> None:
        super().__init__(
            progress.SpinnerColumn(),
            progress.TextColumn("{task.description}"),
            progress.BarColumn(),
            progress.TaskProgressColumn(),
            progress.TextColumn("{task.completed:,.0f} rows"),
            RowRate(),
            progress.TimeRemainingColumn(elapsed_when_finished=True),
            console=Console(stderr=True),
            transient=True,
            disable=not sys.stderr.isatty(),
        )

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
