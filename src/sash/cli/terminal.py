"""What a person at a terminal sees: errors, warnings, progress and tables."""

from __future__ import annotations

import functools
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

import typer

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import Console

ERROR, PIPE_CLOSED, INTERRUPTED, TERMINATED = 1, 141, 130, 143
"""Exit codes: those of a shell for a process that a signal has ended are 128 and the number of the signal."""
EXPECTED = (
    "ValueError",
    "TypeError",
    "OverflowError",
    "FileNotFoundError",
    "ImportError",
    "ModuleNotFoundError",
    "RuntimeError",
    "SqlError",
)
"""Errors whose messages are sentences for users; others also show their kind."""
LONGEST_CELL = 60


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Return a command that reports errors in one message and ends with the exit code of its outcome.

    The parameter `debug` shows where an error comes from.
    """

    @functools.wraps(function)
    def run(*args: Any, debug: bool = False, **options: Any) -> None:
        warnings.showwarning = _show_warning
        previous = signal.signal(signal.SIGTERM, _on_sigterm)
        try:
            function(*args, **options)
            sys.stdout.flush()
        except (typer.Exit, typer.BadParameter):  # typer reports wrong usage
            raise
        except KeyboardInterrupt:
            _end(INTERRUPTED)
        except BrokenPipeError:  # the reader, such as head, has read enough
            _end(PIPE_CLOSED)
        except Exception as error:  # noqa: BLE001 — any error ends a command, and says why
            if debug:
                traceback.print_exc()
            else:
                say(message_of(error))
            _end(ERROR)
        finally:
            signal.signal(signal.SIGTERM, previous)

    return run


def message_of(error: BaseException) -> str:
    """Return the message of an error: its sentence and its notes.

    >>> message_of(ValueError("There is no column 'lod'.")), message_of(KeyError("x"))
    ("There is no column 'lod'.", "KeyError: 'x'. Run it again with --debug to see where.")
    """
    kind = type(error).__name__
    if isinstance(error, MemoryError) or kind == "OutOfMemoryException":
        text = "There is not enough memory. Run it again with --batches, or with a smaller --memory."
    elif kind in EXPECTED or (isinstance(error, OSError) and error.filename is None):
        text = str(error) or kind
    elif isinstance(error, OSError):
        text = f"{error.filename}: {error.strerror}."
    else:
        text = f"{kind}: {str(error).strip()}. Run it again with --debug to see where."
    return "\n".join([text, *getattr(error, "__notes__", ())])


def say(message: str) -> None:
    """Write a message to standard error."""
    try:
        sys.stderr.write(f"sash: {message}\n")
        sys.stderr.flush()
    except BrokenPipeError:
        pass


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    say(f"warning: {message}")


def _on_sigterm(*_: Any) -> NoReturn:
    sys.exit(TERMINATED)  # an exception, so that temporary files are removed


def _end(code: int) -> NoReturn:
    try:
        sys.stdout.flush()
    except OSError:
        # What is left in the buffer cannot be written, and Python would complain about it at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


# -- tables ------------------------------------------------------------------------------------------------------------


def console(width: int | None = None) -> Console:
    """Return the console of standard output. It has no colours if NO_COLOR is set."""
    from rich.console import Console  # noqa: PLC0415 — a pipe does not need it

    return Console(highlight=False, width=width)


def print_rows(rows: pa.Table, total: int, *, complete: bool = True) -> None:
    """Print the first rows of results as a table, and how many more there are, if all were counted."""
    import pyarrow as pa  # noqa: PLC0415 — it takes long to import
    from rich.table import Table  # noqa: PLC0415 — as above

    table = Table(header_style="bold", row_styles=["", "dim"] if len(rows) > 10 else None)  # noqa: PLR2004 — long ones need guides
    for field in rows.schema:
        number = pa.types.is_integer(field.type) or pa.types.is_floating(field.type) or pa.types.is_decimal(field.type)
        table.add_column(field.name, justify="right" if number else "left", no_wrap=True, overflow="ellipsis")
    for row in rows.to_pylist():
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
    from datetime import datetime  # noqa: PLC0415 — as above

    from rich.markup import escape  # noqa: PLC0415 — as above

    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, datetime):
        return str(value).removesuffix("+00:00")
    text = str(value)
    return escape(text if len(text) <= LONGEST_CELL else f"{text[: LONGEST_CELL - 1]}…")


def print_listing(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table of texts: drawn for a terminal, in Markdown for a pipe."""
    if not sys.stdout.isatty():
        lines = [list(headings), ["---"] * len(headings), *([one.replace("|", "\\|") for one in row] for row in rows)]
        print(*(f"| {' | '.join(line)} |" for line in lines), sep="\n")  # noqa: T201 — the output of the command
        return
    from rich.markup import escape  # noqa: PLC0415 — as above
    from rich.table import Table  # noqa: PLC0415 — as above

    table = Table(header_style="bold", show_lines=False, expand=True)
    for heading in headings:
        table.add_column(heading, overflow="fold", no_wrap=heading == headings[0])
    for row in rows:
        table.add_row(*map(escape, row))
    console().print(table)


# -- progress ----------------------------------------------------------------------------------------------------------


class Progress:
    """Rows, rate and remaining time on standard error, if it is a terminal; otherwise nothing."""

    def __init__(self) -> None:
        from rich.console import Console  # noqa: PLC0415 — as above
        from rich.progress import BarColumn, SpinnerColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn  # noqa: PLC0415
        from rich.progress import Progress as Bars  # noqa: PLC0415

        columns = [
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.completed:,.0f} rows"),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(elapsed_when_finished=True),
        ]
        self.bars = Bars(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty())

    @contextmanager
    def shown(self) -> Iterator[Progress]:
        """Show the progress while the block runs."""
        with self.bars:
            yield self

    def hide(self) -> None:
        """Remove the progress from the terminal."""
        self.bars.stop()

    def count(self, what: str, rows: pa.RecordBatchReader, total: int | None) -> pa.RecordBatchReader:
        """Return a reader of the same batches that counts its rows."""
        import pyarrow as pa  # noqa: PLC0415 — as above

        task = self.bars.add_task(what, total=total, rate="")

        def batches() -> Iterator[pa.RecordBatch]:
            for batch in rows:
                yield batch
                self.bars.advance(task, len(batch))
                speed = self.bars.tasks[self.bars.task_ids.index(task)].speed
                self.bars.update(task, rate=f"{speed:,.0f}/s" if speed else "")
            self.bars.update(task, visible=False)

        return pa.RecordBatchReader.from_batches(rows.schema, batches())

    def step(self, what: str) -> None:
        """Show a step whose length is not known."""
        for task in self.bars.task_ids:
            self.bars.update(task, visible=False)
        self.bars.add_task(what, total=None, rate="")
