"""Reads the checkpoint of a stream: what its state holds, also while it runs, and the results of open windows.

A micro-batch that is committed never changes. So all state variables are read as of the same micro-batch, the newest that is committed
when the checkpoint is opened. Spark deletes micro-batches that are far behind the newest.
"""

from __future__ import annotations

import atexit
import json
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 — the usual name
from pyspark.sql.types import DataType, StructField, StructType

from sash.kernels.array_codec import Arrays
from sash.spark.arrow_types import arrow_schema
from sash.spark.streaming.shards import LOG, STATE, Head, decompressed, deltas_of, read_head
from sash.spark.streaming.stream_task import StreamTask
from sash.state.codec import read_state_header, read_table
from sash.state.fingerprint import Fingerprint
from sash.state.state_log import arrays_by_group, read_log, rows_and_slices
from sash.state.stream_state import StreamState
from sash.state.window_states import WINDOWS
from sash.windows.base import NEVER
from sash.workers.own_columns import GROUP
from sash.workers.packing import GUARD

if TYPE_CHECKING:
    from sash.spark.streaming.stream_query import StreamQuery

Batches = Iterator[pa.RecordBatch]
States = Iterator[tuple[StreamState, dict[str, Any]]]
"""The state of each shard, and the row that holds it."""
ATTEMPTS = 3
SHARD = "sash_shard"
"""The column with the number of a shard."""
DESCRIBED = "windows array<string>, bucket int, slices bigint, `rows` bigint, bytes bigint, oldest timestamp, newest timestamp, watermark timestamp"
"""What `inspect_state` says of a key."""
ESCAPED = re.compile(r"""[\s"#%<>?\[\]\\^`{|}\x00-\x1f\x7f]""")
"""The characters that are escaped in the URI of a path."""


def inspect_state(spark: SparkSession, checkpoint: str) -> DataFrame:
    """Return the keys in a checkpoint, with the size of their state."""
    for attempt in range(ATTEMPTS):
        stored = operators(spark, checkpoint)
        try:
            frames = [_inspect(spark, checkpoint, operator) for operator in stored]
        except PySparkException:
            # A stream that runs may have deleted the micro-batch since.
            if attempt == ATTEMPTS - 1 or operators(spark, checkpoint) == stored:
                raise
        else:
            break
    return reduce(lambda frame, other: frame.unionByName(other, allowMissingColumns=True), frames)


def finish(streaming: StreamQuery, checkpoint: str) -> DataFrame:
    """Return the results of the windows that are open in a checkpoint."""
    spark, task = streaming.frame.sparkSession, streaming.task

    def finish_shards(batches: Batches) -> Batches:
        for state, _ in decoded(batches, task, task.fingerprint):
            yield from task.worker.as_declared(state.finish())

    states = read_states(spark, checkpoint, only_operator(spark, checkpoint, "finish()"))
    return states.mapInArrow(finish_shards, streaming.results)


def readable_path(spark: SparkSession, checkpoint: str) -> str:
    """Return a path at which Spark can read the state of a checkpoint. Raise ValueError if there is none.

    Spark's reader of state stores looks for "a%20b" if the path has the folder "a b". So it gets a link to the checkpoint. The state
    is read when the DataFrame is used, so the link stays until this process ends.
    """
    local = re.sub(r"^file:(//)?(?=/)", "", checkpoint)
    path = local if ":" in local else str(Path(local).absolute())
    if not ESCAPED.search(path):
        return checkpoint
    if not (Path(path).is_dir() and str(spark.conf.get("spark.master", "")).startswith("local")):
        raise ValueError(
            f"Spark cannot read the state in {checkpoint!r}, because its path has a space or another character that URIs escape. Make a "
            "link to it that has none, on all machines, and pass the path of the link."
        )
    return _link_to(path)


@cache
def _link_to(path: str) -> str:
    folder = tempfile.mkdtemp(prefix="sash-checkpoint-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    link = Path(folder) / "checkpoint"
    link.symlink_to(path, target_is_directory=True)
    return str(link)


class Stored(NamedTuple):
    """The state of one operator after a micro-batch."""

    operator: int
    micro_batch: int


def operators(spark: SparkSession, checkpoint: str) -> list[Stored]:
    """Return the operators with state of Sash, after the newest micro-batch that is committed. Raise ValueError if there are none."""
    rows = spark.read.format("state-metadata").load(checkpoint).collect()
    stored = {Stored(row.operatorId, row.maxBatchId) for row in rows if STATE in _variables(row.operatorProperties)}
    if not stored:
        raise ValueError(
            f"There is no state of Sash in {checkpoint!r}. Pass the checkpointLocation of a stream that has run and that "
            "writes the results of a query."
        )
    return sorted(stored)


def only_operator(spark: SparkSession, checkpoint: str, what: str) -> Stored:
    """Return the only operator with state of Sash. Raise ValueError if there are others."""
    stored = operators(spark, checkpoint)
    if len(stored) > 1:
        raise ValueError(f"The stream of {checkpoint!r} runs {len(stored)} queries of Sash. {what} supports one.")
    return stored[0]


def _variables(properties: str | None) -> list[str]:
    return [variable["stateName"] for variable in json.loads(properties or "{}").get("stateVariables", [])]


def read_states(spark: SparkSession, checkpoint: str, stored: Stored) -> DataFrame:
    """Return the log of each shard, and what is known of its bucket."""
    heads, entries = (read_variable(spark, checkpoint, stored, name) for name in (STATE, LOG))
    known = heads.selectExpr(f"key.{GROUP}", f"value AS {STATE}").filter(f"{GROUP} <> {GUARD}")
    entry = f"struct(user_map_key.number, user_map_value) AS {LOG}"
    logs = entries.selectExpr(f"key.{GROUP}", f"user_map_key.shard AS {SHARD}", entry)
    logs = logs.groupBy(GROUP, SHARD).agg(F.array_sort(F.collect_list(LOG)).alias(LOG))
    return known.join(logs.filter(f"{LOG}[0].number = 0"), GROUP)  # of a shard that was removed, old deltas may be left


def read_heads(spark: SparkSession, checkpoint: str, stored: Stored) -> tuple[Fingerprint | None, list[Head]]:
    """Return the fingerprint of the query that wrote a checkpoint, None if no row has arrived yet; and the heads of all buckets."""
    values = {
        row[0][0]: decompressed(row[1])
        for row in read_variable(spark, checkpoint, stored, STATE).select("key", "value").collect()
    }
    guard = values.pop(GUARD, None)
    query = None if guard is None else read_state_header(guard)["query"]
    return query, [read_head(value) for value in values.values()]


def read_variable(spark: SparkSession, checkpoint: str, stored: Stored, name: str) -> DataFrame:
    """Return a state variable of all buckets."""
    reader = spark.read.format("statestore").option("operatorId", stored.operator).option("batchId", stored.micro_batch)
    return reader.option("stateVarName", name).load(readable_path(spark, checkpoint))


def _inspect(spark: SparkSession, checkpoint: str, stored: Stored) -> DataFrame:
    query = read_heads(spark, checkpoint, stored)[0] or {"by": []}
    keys = [StructField(name, DataType.fromDDL(query["columns"][name])) for name in query["by"]]
    described = DataType.fromDDL(DESCRIBED)
    assert isinstance(described, StructType)
    schema = StructType([*([StructField("key", StructType(keys))] if keys else []), *described])
    arrow = arrow_schema(schema, "UTC")

    def inspect(batches: Batches) -> Batches:
        for row in rows_of(batches):
            yield from describe_bucket(row[GROUP], *base_and_deltas(row), arrow)

    return read_states(spark, checkpoint, stored).mapInArrow(inspect, schema)


def decoded(batches: Batches, task: StreamTask, query: Fingerprint, newest: int = NEVER) -> States:
    """Yield the state of each shard, and the row that holds it. Raise ValueError if it belongs to a different query."""
    for row in rows_of(batches):
        state = task.new_state()
        base, deltas, token = base_and_deltas(row)
        state.decode_log(base, deltas, query, token, evolves=task.evolve, newest=newest)
        yield state, row


def base_and_deltas(row: dict[str, Any]) -> tuple[bytes, list[bytes], str | None]:
    """Return the base of a shard, the deltas after it, and the token that the head of its bucket names."""
    head = read_head(decompressed(tuple(row[STATE].values())))
    [shard] = [shard for shard in head.shards if shard.number == row[SHARD]]
    base, *entries = [tuple(entry["user_map_value"].values()) for entry in row[LOG] if entry["number"] <= shard.entries]
    return decompressed(base), deltas_of(shard, entries, head), shard.token


def rows_of(batches: Batches) -> Iterator[dict[str, Any]]:
    """Yield the rows of batches."""
    for batch in batches:
        yield from batch.to_pylist()


def describe_bucket(bucket: int, base: bytes, deltas: Sequence[bytes], token: str | None, schema: pa.Schema) -> Batches:
    """Yield the keys of a bucket, with the number of slices or rows of each, once for each group of windows.

    Raise ValueError if the log does not lead to the state with the token, because part of it is missing.
    """
    state, header = read_log(base, deltas, token)
    for _, arrays in arrays_by_group(state):
        for part in (part for part in rows_and_slices(arrays) if "sizes" in part):
            yield _describe_group(bucket, {**part, WINDOWS: arrays[WINDOWS]}, header, schema)


def _describe_group(bucket: int, arrays: Arrays, header: Mapping[str, Any], schema: pa.Schema) -> pa.RecordBatch:
    query, sizes, is_sliced = header["query"], arrays["sizes"], "rows" not in arrays
    by, firsts, nothing = query["by"], np.cumsum(sizes) - sizes, np.zeros(len(sizes), np.int64)
    if is_sliced:
        keys, times = read_table(arrays["keys"]), arrays["times"]
    else:
        rows = read_table(arrays["rows"])
        keys, times = rows.select(by).take(pa.array(firsts)), rows[query["time"]].cast(pa.int64()).to_numpy()
    share = sizes * sum(array.nbytes for array in arrays.values()) // max(1, int(sizes.sum()))
    windows = json.loads(arrays[WINDOWS].tobytes())
    watermark = pa.array(np.full(len(sizes), header["watermark"] // 1000 * 1000, np.int64))  # Spark's, in milliseconds
    columns: dict[str, Any] = {
        "key": pa.StructArray.from_arrays([keys[name].combine_chunks() for name in by], by) if by else None,
        "windows": [windows] * len(sizes),
        "bucket": np.full(len(sizes), bucket, np.int32),
        "slices": sizes if is_sliced else nothing,
        "rows": nothing if is_sliced else sizes,
        "bytes": share,
        "oldest": times[firsts],
        "newest": times[firsts + sizes - 1],
        "watermark": watermark,
    }
    return pa.record_batch([pa.array(columns[field.name]).cast(field.type) for field in schema], schema=schema)
