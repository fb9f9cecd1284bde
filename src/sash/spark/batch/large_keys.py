"""Large keys: those with so many rows that one task should not have them all. A job over the key columns finds them.

    strategy="ranges"   counts all rows; a key with more than a task's share of them is large
    skew="auto"         counts a sample of the rows; a key with more than twice a task's share, and with a million rows, is large

The time axis of large keys is split (`ranges.py`). With skew="auto", a query without large keys runs as without the option.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 — the usual name

from sash.aggregates.sql import quote
from sash.plan.tree import and_between
from sash.workers.own_columns import HASH

if TYPE_CHECKING:
    from sash.spark.batch.batch_query import BatchQuery

NO_KEY = 0
"""The hash of rows without a key."""
SAMPLE = 0.01
"""The part of the rows that is counted: of a million rows, the error is about a hundredth."""
SEED = 27
MANY_ROWS = 1_000_000
"""With fewer, finding where to split takes longer than the rows of the key: Python evaluates about a million rows a second."""
SHARES = 2
"""A key with fewer shares of a task does not delay the other tasks much."""
NOT_WITH = {
    "native": "Spark alone does not split the rows of a key",
    "slices": "Spark combines the rows of a slice before it shuffles them, so that large keys do no harm",
    "ranges": 'strategy="ranges" looks for large keys anyway',
}
"""Why some strategies do not take skew="auto"."""


@dataclass(frozen=True)
class LargeKey:
    """A key with very many rows."""

    values: tuple[Any, ...]
    portion: float
    """Of all rows, about."""
    ranges: int
    """Into how many time ranges it is split."""


def looks_for_skew(batch: BatchQuery) -> bool:
    """Return whether a job should look for large keys. Raise ValueError if skew="auto" was given and they could not be split."""
    if batch.options["skew"] is None:
        return False
    reason = NOT_WITH.get(batch.options["strategy"], "")
    if not batch.query.by:
        reason = "the query has no key"
    elif not reason and is_harmed(batch) and isinstance(batch.reach, str):
        reason = batch.reach
    if reason:
        raise ValueError(f'run: skew="auto" does not fit: {reason}. Leave skew= out.')
    return is_harmed(batch)


def is_harmed(batch: BatchQuery) -> bool:
    """Return whether all rows of a large key would go to one task: whether Spark does not combine rows before it shuffles them."""
    if batch.strategy != "native" or batch.query.per_row:
        return batch.strategy != "slices"
    return any(
        window.cuts is None or window.cuts.cycle(batch.prepared.unit) is None for window in batch.query.windows.values()
    )


def find_large_keys(rows: DataFrame, batch: BatchQuery) -> dict[int, LargeKey]:
    """Return the large keys by their hashes, which rows have."""
    if not batch.query.by:
        return {NO_KEY: LargeKey((), 1.0, batch.ranges)}
    of_sample = batch.options["skew"] is not None
    least, fraction = (SHARES, SAMPLE) if of_sample else (1, 1.0)
    by = [F.col(HASH), *(F.col(quote(name)) for name in batch.query.by)]
    keys = rows.select(*by)
    keys = keys.sample(fraction=fraction, seed=SEED) if of_sample else keys
    # One job finds the largest keys and the number of all rows: the group without a key has the most rows.
    counts = keys.groupingSets([by, []], *by).agg(F.count(F.lit(1)).alias("count"))
    largest = counts.orderBy(F.desc("count")).limit(1 + batch.ranges).collect()
    large = {}
    for hashed, *values, count in largest[1:]:
        portion = count / largest[0]["count"]
        if portion * batch.ranges > least and (count >= MANY_ROWS * fraction or not of_sample):
            large[hashed] = LargeKey(tuple(values), portion, math.ceil(portion * batch.ranges))
    return large


def describe_skew(batch: BatchQuery) -> str:
    """Return what an explanation says of skew="auto"."""
    if not batch.looks_for_skew:
        return "not looked for: Spark combines the rows of a key before it shuffles them"
    found = [_describe_key(key, batch.query.by) for key in batch.large_keys.values()]
    looked = f"a job that counted a sample of {and_between(batch.query.by)} found"
    return f"{looked} {and_between(found) if found else 'no large key'}"


def _describe_key(key: LargeKey, names: Sequence[str]) -> str:
    values = ", ".join(f"{name}={value!r}" for name, value in zip(names, key.values, strict=True))
    return f"{values} with {key.portion:.0%} of the rows, which go to {key.ranges} time ranges"
