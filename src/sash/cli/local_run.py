"""`sash run` in this process: input → a table, or batches in order if it is larger than memory → query → output."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from sash.cli.in_order import is_in_order, sort_columns, sorted_rows
from sash.cli.inputs import STDIN, Input, available_memory, open_input, read_size
from sash.cli.outputs import check_output, output_format, write_results
from sash.cli.terminal import Progress
from sash.cli.text_query import TextQuery
from sash.plan.declared import Declared

COPIES = 4
"""How many times the memory of its input a run over a table takes: the table, its rows in order, partials and results."""
SORT_SHARE = 0.25
"""The share of the memory that DuckDB may take for sorting."""


@dataclass(frozen=True)
class RunOptions:
    """The options of `sash run`."""

    text: str
    source: str | None
    target: str | None
    input_format: str | None = None
    output_format: str | None = None
    time: str | None = None
    at: str | None = None
    at_time: str | None = None
    lateness: str | None = None
    threads: int | None = None
    batches: bool | None = None
    """Whether to process batches; None to decide by the size of the input."""
    rows: int = 20
    memory: str | None = None
    """The memory to use; None for what is available."""

    @property
    def bytes(self) -> float:
        """The memory to use."""
        return available_memory() if self.memory is None else read_size(self.memory)


def run_local(options: RunOptions) -> None:
    """Run a query in this process."""
    form = output_format(options.target, options.output_format)
    check_output(options.target)
    query = TextQuery(options.text, options.time, options.lateness)
    if options.at_time is not None and options.at is None:
        message = "--at-time names the time column of labels. Name their file with --at."
        raise ValueError(message)
    if options.at is not None and (options.lateness is not None or options.batches):
        message = "--at needs all rows at once. Leave --lateness and --batches out."
        raise ValueError(message)
    if options.lateness is not None and options.batches is False:
        message = "--lateness is for rows that are processed in batches. Leave --no-batches out."
        raise ValueError(message)
    progress = Progress()
    with temporary_folder() as temporary, progress.shown():
        results, _, _ = results_of(query, options, progress, temporary)
        write_results(results, options.target, form, options.rows, progress.hide)


def results_of(
    query: TextQuery, options: RunOptions, progress: Progress, temporary: Path
) -> tuple[pa.Table | pa.RecordBatchReader, Declared, list[str]]:
    """Return the results, the parsed query and the columns of the input."""
    source = open_input(
        input_of(query, options.source),
        options.input_format,
        temporary,
        at_once=bool(options.batches) or options.lateness is not None,
    )
    declared = query.declared(source.schema)
    run_batches = options.batches
    if run_batches is None:
        large = COPIES * source.size(query.columns(source.schema)) > options.bytes
        run_batches = options.at is None and (large or options.lateness is not None)
    run = over_batches if run_batches else over_table
    return run(query, declared, source, options, progress, temporary), declared, source.schema.names


def input_of(query: TextQuery, given: str | None) -> str:
    """Return the input of a query: that of -i, or the files that FROM names. Raise ValueError if there is none, or both."""
    if given is not None and query.path is not None:
        message = f"FROM names the file {query.path!r}, and -i names {given!r}. Leave -i out, or name a table in FROM."
        raise ValueError(message)
    found = given if given is not None else query.path
    if found is None:
        message = "There is no input. Name it with -i data.parquet, or in the text: FROM 'data.parquet'. For a pipe, use -i -."
        raise ValueError(message)
    return found


def over_table(
    query: TextQuery, _: Declared, source: Input, options: RunOptions, progress: Progress, temporary: Path
) -> pa.Table:
    """Return the results over all rows at once."""
    columns = query.columns(source.schema)
    rows = progress.count("reading", source.open(columns), source.rows).read_all()
    progress.step("computing")
    if options.at is None:
        return query.run(rows, threads=options.threads)
    if options.at == STDIN and source.name == STDIN:
        message = "The input and the labels cannot both come from standard input."
        raise ValueError(message)
    labels = open_input(options.at, None, temporary)
    known = labels.open(labels.schema.names).read_all()
    return query.run(rows, at=known, at_time=options.at_time, threads=options.threads)


def over_batches(
    query: TextQuery, declared: Declared, source: Input, options: RunOptions, progress: Progress, temporary: Path
) -> pa.RecordBatchReader:
    """Return the results over rows in order of time: as they are, or sorted by DuckDB."""
    columns = query.columns(source.schema)
    total = source.rows
    order = "time"
    sorts = not source.once and options.lateness is None and bool(declared.time or declared.order_by)
    if sorts and declared.time is not None and not declared.order_by:
        progress.step("checking the order")
        in_order, checked = is_in_order(source, declared.time)
        sorts = not in_order
        total = total if sorts else checked
    rows = source.open(columns)
    if sorts:
        by, order = sort_columns(declared)
        rows = sorted_rows(progress.count("sorting", rows, total), by, SORT_SHARE * options.bytes, temporary)
    return query.run(progress.count("computing", rows, total), order=order, threads=options.threads)


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Make a folder for copies of pipes and for sorting. It is removed in the end."""
    path = Path(tempfile.mkdtemp(prefix="sash-"))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
