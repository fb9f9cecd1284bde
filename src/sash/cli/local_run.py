"""`sash run` in this process: input → a table, or batches in order if it is larger than memory → query → output.

Batches come as they are if they are in order of time. Otherwise `order="any"` sorts them, on disk if they do not fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import pyarrow as pa

from sash.cli.display import RowProgress
from sash.cli.inputs import STDIN, Input, open_input
from sash.cli.outputs import check_not_input, check_output, output_format, write_results
from sash.cli.text_query import LastSelect, TextQuery, query_of_argument
from sash.cli.text_times import fits, with_times
from sash.memory_size import available_memory, read_size

COPIES = 4
"""How many times the memory of its input a run over a table takes: the table, its rows in order, partials and results."""
SORT_SHARE = 0.5
"""The share of the memory that sorting may take: reading, evaluating and writing take the rest."""


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
    future: bool = False
    """Whether windows may end after the labels."""
    lateness: str | None = None
    threads: int | None = None
    batches: bool | None = None
    """Whether to process batches; None to decide by the size of the input."""
    rows: int = 20
    memory: str | None = None
    """The memory to use; None for what is available."""
    on_bad_time: Literal["error", "drop"] = "error"
    time_format: str | None = None
    """The format of times that are text; None to find it."""

    @property
    def bytes(self) -> float:
        """The memory to use."""
        return available_memory() if self.memory is None else read_size(self.memory, "--memory")


def run_local(options: RunOptions) -> None:
    """Run a query in this process."""
    file_format = output_format(options.target, options.output_format)
    check_output(options.target)
    drop = options.on_bad_time == "drop"
    query = query_of_argument(options.text, options.time, options.lateness, options.time_format, drop_bad_times=drop)
    check_not_input(options.target, [options.source, options.at, *query.paths])
    if options.memory is not None:
        read_size(options.memory, "--memory")
    if options.at_time is not None and options.at is None:
        raise ValueError("--at-time names the time column of labels. Name their file with --at.")
    if options.future and options.at is None:
        raise ValueError("--future is for windows after labels. Name the file of labels with --at.")
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


def input_schema(query: TextQuery | LastSelect, source: str | None, input_format: str | None) -> pa.Schema:
    """Return the schema of the input of a query."""
    with temporary_folder() as folder:
        return query.open_rows(source, input_format, Path(folder)).schema


class LocalRun:
    """A query over an input. The input is open, and the query is checked."""

    def __init__(
        self, query: TextQuery | LastSelect, options: RunOptions, progress: RowProgress, temporary: Path
    ) -> None:
        self.query, self.options, self.progress, self.temporary = query, options, progress, temporary
        self.source = self.open_source()
        self.declared = query.checked(self.source.schema)._declared  # noqa: SLF001 — a part of Query, which editors show apart
        self.columns = query.columns(self.source.schema)

    def open_source(self) -> Input:
        """Return the input."""
        options = self.options
        at_once = bool(options.batches) or options.lateness is not None
        return self.query.open_rows(options.source, options.input_format, self.temporary, at_once=at_once)

    def results(self) -> pa.Table | pa.RecordBatchReader:
        """Return the results over all rows at once, or batch by batch."""
        options = self.options
        in_batches = options.batches
        if not self.query.is_one_query:
            if in_batches or options.lateness is not None:
                problem = "In batches, all windows with OVER have the same PARTITION BY and ORDER BY"
                raise ValueError(f"{problem}. Leave --batches and --lateness out.")
            in_batches = False
        if in_batches is None:
            is_large = COPIES * self.source.size(self.columns) > options.bytes
            in_batches = options.at is None and (is_large or options.lateness is not None)
        return self.query.finish(self._over_batches() if in_batches else self._over_table())

    def _over_table(self) -> pa.Table:
        options, source = self.options, self.source
        rows = self.progress.count("reading", source.open(self.columns), source.rows).read_all()
        self.progress.step("computing")
        if options.at is None:
            return self.query.run(rows, threads=options.threads, on_bad_time=options.on_bad_time)
        labels = self._labels(options.at)
        label_rows = labels.open(labels.schema.names).read_all()
        labelled = {"at": label_rows, "at_time": options.at_time, "future": options.future}
        return self.query.run(rows, threads=options.threads, on_bad_time=options.on_bad_time, **labelled)

    def _labels(self, path: str) -> Input:
        """Return the labels, whose times may be text in the format of the input, or in one of their own."""
        labels, time = open_input(path, None, self.temporary), self.options.at_time or self.declared.time
        if time is None:
            return labels
        given = self.options.time_format
        return with_times(labels, time, given if given is not None and fits(labels, time, given) else None)

    def _over_batches(self) -> pa.RecordBatchReader:
        """Return the results over rows in order of time as they are, or sorted by key and time."""
        options, source, declared = self.options, self.source, self.declared
        total = source.rows
        sorts = not source.once and options.lateness is None and bool(declared.time or declared.order_by)
        if sorts and declared.time is not None and not declared.order_by:
            self.progress.step("checking the order")
            in_order, checked = is_in_order(source, declared.time)
            sorts = not in_order
            total = total if sorts else checked
        rows = source.open(self.columns)
        common = {"threads": options.threads, "on_bad_time": options.on_bad_time}
        if not sorts:
            return self.query.run(self.progress.count("computing", rows, total), **common)
        unsorted = self.progress.count("sorting", rows, total)
        results = self.query.run(unsorted, order="any", memory=SORT_SHARE * options.bytes, **common)
        return self.progress.count("computing", results, None)


# -- rows in order -----------------------------------------------------------------------------------------------------

DAYS_BITS = 32
"""The width of dates in days."""


def is_in_order(source: Input, time: str) -> tuple[bool, int]:
    """Return whether the rows are in order of time, and how many rows were read to find out.

    Nulls count as in order: the query itself reports them.
    """
    newest, rows = None, 0
    for batch in source.open([time]):
        rows += len(batch)
        column = batch.column(0)
        if column.null_count or not len(column):
            continue
        if pa.types.is_temporal(column.type):
            column = column.cast(pa.int32() if column.type.bit_width == DAYS_BITS else pa.int64())
        times = column.to_numpy()
        if (newest is not None and times[0] < newest) or (times[1:] < times[:-1]).any():
            return False, rows
        newest = times[-1]
    return True, rows
