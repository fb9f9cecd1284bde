"""`sash run` in this process: input → a table, or batches in order if it is larger than memory → query → output."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa

from sash.cli.in_order import is_in_order, sort_columns, sorted_rows
from sash.cli.inputs import STDIN, open_input
from sash.cli.memory import available_memory, read_size
from sash.cli.outputs import check_output, output_format, write_results
from sash.cli.progress import RowProgress
from sash.cli.text_query import TextQuery

COPIES = 4
"""How many times the memory of its input a run over a table takes: the table, its rows in order, partials and results."""
SORT_SHARE = 0.25
"""The share of the memory that DuckDB may take for sorting."""


@dataclass(frozen=True)
class RunOptions:
    """The options of `sash run`. `sash plot` has some of them."""

    text: str
    """The query, or a file that holds it."""
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
    file_format = output_format(options.target, options.output_format)
    check_output(options.target)
    query = TextQuery(options.text, options.time, options.lateness)
    if options.at_time is not None and options.at is None:
        raise ValueError("--at-time names the time column of labels. Name their file with --at.")
    if options.at is not None and (options.lateness is not None or options.batches):
        raise ValueError("--at needs all rows at once. Leave --lateness and --batches out.")
    if options.at == options.source == STDIN:
        raise ValueError("The input and the labels cannot both come from standard input.")
    if options.lateness is not None and options.batches is False:
        raise ValueError("--lateness is for rows that are processed in batches. Leave --no-batches out.")
    with temporary_folder() as folder, RowProgress() as progress:
        results = LocalRun(query, options, progress, Path(folder)).results()
        write_results(results, options.target, file_format, options.rows, progress.stop)


def temporary_folder() -> TemporaryDirectory[str]:
    """Return a new folder for copies of pipes and for sorting."""
    return TemporaryDirectory(prefix="sash-", ignore_cleanup_errors=True)


def input_of(query: TextQuery, source: str | None) -> str:
    """Return the input of a query: that of -i, or the files that FROM names. Raise ValueError if there is none, or both."""
    if source is not None and query.path is not None:
        raise ValueError(
            f"FROM names the file {query.path!r}, and -i names {source!r}. Leave -i out, or name a table in FROM."
        )
    path = source if source is not None else query.path
    if path is None:
        raise ValueError(
            "There is no input. Name it with -i data.parquet, or in the text: FROM 'data.parquet'. For a pipe, use -i -."
        )
    return path


def input_schema(query: TextQuery, source: str | None, input_format: str | None) -> pa.Schema:
    """Return the schema of the input of a query."""
    with temporary_folder() as folder:
        return open_input(input_of(query, source), input_format, Path(folder)).schema


class LocalRun:
    """A query over an input. The input is open, and the query is checked."""

    def __init__(self, query: TextQuery, options: RunOptions, progress: RowProgress, temporary: Path) -> None:
        self.query, self.options, self.progress, self.temporary = query, options, progress, temporary
        path = input_of(query, options.source)
        at_once = bool(options.batches) or options.lateness is not None
        self.source = open_input(path, options.input_format, temporary, at_once=at_once)
        self.declared = query.checked(self.source.schema)._declared  # noqa: SLF001 — a part of Query, which editors show apart
        self.columns = query.columns(self.source.schema)

    def results(self) -> pa.Table | pa.RecordBatchReader:
        """Return the results over all rows at once, or batch by batch."""
        options = self.options
        in_batches = options.batches
        if in_batches is None:
            is_large = COPIES * self.source.size(self.columns) > options.bytes
            in_batches = options.at is None and (is_large or options.lateness is not None)
        return self._over_batches() if in_batches else self._over_table()

    def _over_table(self) -> pa.Table:
        options, source = self.options, self.source
        rows = self.progress.count("reading", source.open(self.columns), source.rows).read_all()
        self.progress.step("computing")
        if options.at is None:
            return self.query.run(rows, threads=options.threads)
        labels = open_input(options.at, None, self.temporary)
        label_rows = labels.open(labels.schema.names).read_all()
        return self.query.run(rows, at=label_rows, at_time=options.at_time, threads=options.threads)

    def _over_batches(self) -> pa.RecordBatchReader:
        """Return the results over rows in order of time: as they are, or sorted by DuckDB."""
        options, source, declared = self.options, self.source, self.declared
        total = source.rows
        order = "time"
        sorts = not source.once and options.lateness is None and bool(declared.time or declared.order_by)
        if sorts and declared.time is not None and not declared.order_by:
            self.progress.step("checking the order")
            in_order, checked = is_in_order(source, declared.time)
            sorts = not in_order
            total = total if sorts else checked
        rows = source.open(self.columns)
        if sorts:
            by, order = sort_columns(declared)
            unsorted = self.progress.count("sorting", rows, total)
            rows = sorted_rows(unsorted, by, SORT_SHARE * options.bytes, self.temporary)
        return self.query.run(self.progress.count("computing", rows, total), order=order, threads=options.threads)
