"""The rows of a key come to one call of Python, whatever the number of partitions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from helpers.pairwise import some
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from sash.spark.groups import group_function, hash_of, run_keys

RESULTS = StructType().add("part", "string").add("b.c", "long")


class Labels:
    """A worker that gives the rows of a call the same label, made of its smallest and largest row."""

    title = "labels"

    def evaluate_group(self, _: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        table = pa.Table.from_batches(batches)
        rows = sorted(table["id"].to_pylist())
        label = pa.array([f"{rows[0]} to {rows[-1]}"] * len(table))
        yield pa.record_batch({"part": label, "b.c": table["b.c"].combine_chunks()})


LABELS: Any = Labels()


def batch(rows: int) -> pa.RecordBatch:
    return pa.record_batch({"x": pa.array(range(rows), pa.int64()), "y": pa.array(range(rows), pa.int64())})


def test_a_partition_without_rows_has_no_results() -> None:
    evaluate = group_function(LABELS, ["id", "b.c"])
    assert list(evaluate(iter([]))) == []
    assert list(evaluate(iter([batch(0)]))) == []


def test_the_batches_of_a_partition_are_one_group() -> None:
    evaluate = group_function(LABELS, ["id", "b.c"])
    (made,) = evaluate(iter([batch(0), batch(3), batch(2)]))
    assert made["part"].to_pylist() == ["0 to 2"] * 5
    assert made["b.c"].to_pylist() == [0, 1, 2, 0, 1]


@pytest.mark.oldest
@pytest.mark.parametrize("buckets", some([None, 1, 3, 50], 2))
def test_a_key_is_in_one_partition(spark: SparkSession, buckets: int | None) -> None:
    frame = spark.range(0, 400, 1, 5).selectExpr("id", "id % 20 AS `b.c`")
    rows = run_keys(frame, hash_of(("b.c",), frame.schema), buckets, LABELS, RESULTS).collect()
    assert Counter(row["b.c"] for row in rows) == dict.fromkeys(range(20), 20)
    assert len({tuple(row) for row in rows}) == 20  # a key has one label


def test_without_a_key_all_rows_are_in_one_partition(spark: SparkSession) -> None:
    frame = spark.range(0, 400, 1, 5).selectExpr("id", "id AS `b.c`")
    rows = run_keys(frame, None, None, LABELS, RESULTS).collect()
    assert {row["part"] for row in rows} == {"0 to 399"}
    assert run_keys(frame.limit(0), None, None, LABELS, RESULTS).collect() == []
