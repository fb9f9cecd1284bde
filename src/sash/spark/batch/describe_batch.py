"""The part of an explanation that says what Spark does with a batch DataFrame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sash.plan.tree import Branch, and_between
from sash.windows.base import Reach
from sash.workers.time_ranges import no_partials

if TYPE_CHECKING:
    from sash.spark.batch.batch_query import BatchQuery

BATCH = "spark.sql.execution.arrow.maxRecordsPerBatch"
FEW_ROWS = 10_000
"""Spark's default number of rows in a batch."""


def describe_batch(batch: BatchQuery) -> Branch:
    """Return what Spark does with a batch DataFrame."""
    if batch.strategy.name == "native":
        return Branch("spark", (f"native: {batch.strategy.reason}",), _of_native(batch))
    say = {"slices": _of_slices, "buckets": _of_buckets, "ranges": _of_ranges}[batch.strategy.name]
    leaves = say(batch)
    rows = int(batch.frame.sparkSession.conf.get(BATCH) or 0)
    if 0 < rows <= FEW_ROWS:
        leaves["batches"] = f"{rows:,} rows go to Python at a time; {BATCH}=100000 is faster by about a third"
    return Branch("spark", (f"{batch.strategy.name}: {batch.strategy.reason.rstrip('.')}",), leaves)


def _of_native(batch: BatchQuery) -> dict[str, str]:
    keys, per_row = ", ".join(batch.query.by), batch.query.per_row
    grouped = f"groupBy({', '.join([*batch.query.by, 'window'])}), and the results of its aggregates"
    over = f"aggregates OVER ({f'PARTITION BY {keys} ' if keys else ''}ORDER BY {batch.query.time} …)"
    return {
        "in SQL": over if per_row else grouped,
        "shuffled": f"{_columns(batch)} of all rows, by the key"
        if per_row
        else "partials of windows, which Spark combines within a partition before the shuffle",
        "in Python": "nothing",
        "before": "no job runs before the result is used",
    }


def _of_slices(batch: BatchQuery) -> dict[str, str]:
    keys = and_between([*batch.query.by, "slice"])
    partials = [name for name in batch.sent.columns if name not in (*batch.query.by, batch.in_python.query.time)]
    return {
        "in SQL": f"groupBy({', '.join([*batch.query.by, 'slice'])}), with {len(partials)} column(s) of partials; slices "
        "are cut where windows begin and end, and combined within a partition before the shuffle",
        "shuffled": f"slices, by {keys}, and again {_buckets(batch)}",
        "in Python": "slices are combined into windows",
        "before": "no job runs before the result is used",
    }


def _of_buckets(batch: BatchQuery) -> dict[str, str]:
    declared = batch.query
    sorted_by = [*declared.by, *([declared.time] if declared.time else []), *declared.order_by]
    return {
        "in SQL": "the hash of the key" if batch.query.by else "nothing",
        "shuffled": f"{_columns(batch)} of all rows, {_buckets(batch)}",
        "in Python": f"rows are sorted by {and_between(sorted_by)}, and windows evaluated; a bucket of more than "
        f"{batch.worker.most_bytes >> 20} MB is sorted on disk",
        "before": "no job runs before the result is used",
    } | (
        {"one key": 'if one key has most of the rows, strategy="ranges" distributes them over several tasks'}
        if batch.query.by and isinstance(batch.reach, Reach)
        else {}
    )


def _of_ranges(batch: BatchQuery) -> dict[str, str]:
    reach = batch.reach
    assert isinstance(reach, Reach)
    time = batch.query.time
    jobs = [f"a sketch of the distribution of {time}"]
    if batch.query.by:
        jobs.insert(0, "which keys have more rows than a task's share")
    if reach.gap >= 0:
        jobs.append("where sessions begin")
    if reach.rows:
        jobs.append("how many rows lie between times")
    read = and_between([*batch.query.by, str(time)])
    before = f"run() starts jobs that read {read} alone: {and_between(jobs)}"
    copied = no_partials(batch.in_python)
    wide = f"; as {copied}, that may be most rows, if windows are wider than ranges" if copied else ""
    if not copied:
        before += "; and, if windows are wider than ranges, a job that makes slices"
        wide = "; rows where none of its windows begins or ends arrive as slices instead"
    cut = f"{batch.ranges} ranges of {time} with about equally many rows"
    if batch.query.by:
        cut += ", for keys with more than a task's share; the others into buckets"
    return {
        "in SQL": "the range of each row, and the later ones whose windows reach back to it",
        "shuffled": f"{_columns(batch)} of all rows, into {cut}; a row goes to each range that needs it{wide}",
        "in Python": "rows are sorted by time, and the windows evaluated that a range owns",
        "before": before,
    }


def _columns(batch: BatchQuery) -> str:
    return "all columns" if batch.query.per_row else and_between(batch.sent.columns)


def _buckets(batch: BatchQuery) -> str:
    return f"into {batch.buckets} buckets of keys" if batch.query.by else "to one task, as there is no key"
