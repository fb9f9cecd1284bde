"""The rows of a key stay together under adaptive execution, which splits partitions of joins that come before."""

from __future__ import annotations

import contextlib
import io
from collections import Counter
from collections.abc import Iterator

import pytest
from helpers.pairwise import matrix, some
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 — the usual name

import sash
from sash import agg, window
from spark.conftest import CONNECT

SMALL = {
    "spark.sql.adaptive.advisoryPartitionSizeInBytes": "1KB",
    "spark.sql.adaptive.coalescePartitions.minPartitionSize": "1B",
}
BROADCAST = {
    **SMALL,
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.adaptive.autoBroadcastJoinThreshold": "20KB",
}
SKEW = {
    **SMALL,
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.adaptive.autoBroadcastJoinThreshold": "-1",
    "spark.sql.adaptive.skewJoin.skewedPartitionFactor": "1.2",
    "spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes": "1KB",
    "spark.sql.adaptive.forceOptimizeSkewedJoin": "true",
}
ROWS = 1200


@contextlib.contextmanager
def configured(spark: SparkSession, settings: dict[str, str]) -> Iterator[None]:
    """Have some settings for a while."""
    before = {name: spark.conf.get(name, None) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            spark.conf.unset(name) if old is None else spark.conf.set(name, old)


def joined(spark: SparkSession, *, skewed: bool, by: str = "k") -> DataFrame:
    """Rows that have gone through a join by key, or by an expression of it; with skew, most are of one key."""
    key = "IF(id % 10 < 8, 0, id % 20)" if skewed else "id % 20"
    rows = spark.range(0, ROWS, 1, 4).selectExpr("id", f"{key} AS k", "repeat('x', 20) AS wide")
    names = spark.range(20).selectExpr("id AS k", "concat('key ', id) AS name").filter("length(name) < 100")
    if by == "k":
        return rows.join(names, "k")
    return rows.join(names.select(F.expr(by).alias("hash"), "name"), F.expr(by) == F.col("hash")).drop("hash")


def final_plan(frame: DataFrame) -> str:
    """The plan as it was run, once it was."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        frame.explain()
    return text.getvalue()


PLANS: dict[str, tuple[dict[str, str], bool, str]] = {
    "broadcast": (BROADCAST, False, "BroadcastHashJoin"),
    "skew": (SKEW, True, "skew=true"),
}


@pytest.mark.parametrize(("plan_of", "buckets", "by"), matrix(PLANS, some([None, 4, 7], 2), ["k", "xxhash64(k)"]))
def test_keys_are_not_split(spark: SparkSession, plan_of: str, buckets: int | None, by: str) -> None:
    settings, skewed, sign = PLANS[plan_of]
    query = sash.Query({"n": agg.count(), "rank": agg.count("id")}, window.rows(ROWS), by="k", time="id")
    many = {} if buckets else {"spark.sql.shuffle.partitions": "70"}  # so many that adaptive execution may join them
    with configured(spark, settings | many):
        frame = joined(spark, skewed=skewed, by=by)
        result = query.run(frame, compiled=False, strategy="buckets", buckets=buckets)
        rows = result.collect()
        if not CONNECT:  # where the final plan is not shown
            plan = final_plan(result)
            assert "isFinalPlan=true" in plan
            assert sign in plan
            assert ("REPARTITION_BY_NUM" if buckets else "REPARTITION_BY_COL") in plan  # Spark did not leave it out
    sizes = Counter(row.k for row in rows)
    assert sizes.total() == ROWS
    assert sizes == {key: max(row.n for row in rows if row.k == key) for key in sizes}
