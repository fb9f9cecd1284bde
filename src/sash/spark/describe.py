"""How a query would run on a Spark DataFrame, in words."""

from __future__ import annotations

from datetime import timedelta

from sash.plan.tree import Branch, and_between
from sash.spark.batch.batch_query import Batch
from sash.spark.batch.split import Reach
from sash.spark.batch.wide import why_copied
from sash.spark.streaming.stream_query import Streaming

BATCH = "spark.sql.execution.arrow.maxRecordsPerBatch"
FEW_ROWS = 10_000
"""Spark's own number of rows of a batch."""


def describe(prepared: Batch | Streaming) -> Branch:
    """Return the branch of an explanation that tells what Spark does."""
    return describe_stream(prepared) if isinstance(prepared, Streaming) else describe_batch(prepared)


def describe_stream(streaming: Streaming) -> Branch:
    """Return what Spark does with a stream."""
    declared, options = streaming.declared, streaming.options
    keys = f"{streaming.buckets} buckets of keys" if declared.by else "one bucket, as there is no key"
    given = "once, when the watermark has passed it" if options.mode == "append" else "whenever rows change it"
    bad = "stop the stream" if options.on_bad_time == "error" else "are dropped and counted"
    kept = (
        "slices: those that open windows of a key need"
        if streaming.keeps_slices
        else ("rows: those that open windows need, or later ones reach back to")
    )
    leaves = {
        "watermark": f"{declared.time}, {timedelta(milliseconds=streaming.delay)} behind the newest; older rows are late: dropped and counted",
        "shuffled": f"{'all columns' if declared.per_row else and_between(streaming.needed.columns)} of all rows, packed "
        f"into {keys}",
        "state": f"{kept}; one value for a bucket, in RocksDB, with the number of buckets for as long as the checkpoint lives",
        "results": f"{options.mode}: {'the result of a row' if declared.per_row else 'a window'} {given}",
        "times": f"rows without one that can be used {bad}",
        "counts": f'rows, late and bad_times of each micro-batch: progress.observedMetrics["{options.metrics}"]',
    }
    return Branch("spark", ("a stream: packed buckets of keys over transformWithState",), leaves)


def describe_batch(batch: Batch) -> Branch:
    """Return what Spark does with a frame that is whole."""
    say = {"slices": _of_slices, "buckets": _of_buckets, "ranges": _of_ranges}[batch.strategy.name]
    leaves = say(batch)
    rows = int(batch.frame.sparkSession.conf.get(BATCH) or 0)
    if 0 < rows <= FEW_ROWS:
        leaves["batches"] = f"{rows:,} rows go to Python at once: {BATCH}=100000 makes it faster by about a third"
    return Branch("spark", (f"{batch.strategy.name}: {batch.strategy.reason.rstrip('.')}",), leaves)


def _of_slices(batch: Batch) -> dict[str, str]:
    keys = and_between([*batch.declared.by, "slice"])
    partials = [name for name in batch.needed.columns if name not in (*batch.declared.by, batch.answered.declared.time)]
    return {
        "in SQL": f"groupBy({', '.join([*batch.declared.by, 'slice'])}), with {len(partials)} column(s) of partials; slices "
        "are cut where windows begin and where they end, and those of one partition are combined before they are shuffled",
        "shuffled": f"slices, by {keys}, and again {_buckets(batch)}",
        "in Python": "windows are combined of slices",
        "before": "no job runs before the result is asked for",
    }


def _of_buckets(batch: Batch) -> dict[str, str]:
    declared = batch.declared
    sorted_by = [*declared.by, *([declared.time] if declared.time else []), *declared.order_by]
    return {
        "in SQL": "the hash of the key" if batch.declared.by else "nothing",
        "shuffled": f"{_columns(batch)} of all rows, {_buckets(batch)}",
        "in Python": f"rows are sorted by {and_between(sorted_by)}, and windows answered; a bucket of more than "
        f"{batch.worker.most_bytes >> 20} MB is sorted on disk",
        "before": "no job runs before the result is asked for",
    } | (
        {"one key": 'if one has most of the rows, strategy="ranges" spreads them over many tasks'}
        if batch.declared.by and isinstance(batch.reach, Reach)
        else {}
    )


def _of_ranges(batch: Batch) -> dict[str, str]:
    reach = batch.reach
    assert isinstance(reach, Reach)
    time = batch.declared.time
    jobs = [f"a sketch of how {time} is spread"]
    if batch.declared.by:
        jobs.insert(0, "which keys have more rows than a task should")
    if reach.gap >= 0:
        jobs.append("where sessions begin")
    if reach.rows:
        jobs.append("how many rows lie between times")
    read = and_between([*batch.declared.by, str(time)])
    before = f"run() starts jobs that read {read} alone: {and_between(jobs)}"
    copied = why_copied(batch.answered)
    wide = f"; as {copied}, that may be most rows, where windows are wider than ranges" if copied else ""
    if not copied:
        before += "; and, where windows are wider than ranges, one that makes partials"
        wide = "; of those in which none of its windows begins or ends, it gets partials instead"
    cut = f"{batch.ranges} ranges of {time}, of about equally many rows"
    if batch.declared.by:
        cut += ", for keys with more than a task's share; the others into buckets"
    return {
        "in SQL": "the range of each row, and the later ones whose windows reach back to it",
        "shuffled": f"{_columns(batch)} of all rows, into {cut}; a row goes to each range that needs it{wide}",
        "in Python": "rows are sorted by time, and the windows answered that belong to a range",
        "before": before,
    }


def _columns(batch: Batch) -> str:
    return "all columns" if batch.declared.per_row else and_between(batch.needed.columns)


def _buckets(batch: Batch) -> str:
    return f"into {batch.buckets} buckets of keys" if batch.declared.by else "to one task, as there is no key"
