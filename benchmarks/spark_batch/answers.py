"""Compares answers: one by one on few rows, and by what they add up to on many."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 — as everyone calls it

from benchmarks.references import relative_error
from benchmarks.spark_batch.case import Question

WEIGHTS = 1009
"""Each answer is weighted by what tells it from others, so that answers in each other's place don't add up to the same."""
LARGEST = 1 << 20
"""Strings are added up as hashes below this."""


def compare(question: Question, given: pa.Table, right: pa.Table, tolerance: float) -> None:
    """Raise if an answer is missing, is of nothing asked for, or is wrong."""
    order = [(name, "ascending") for name in question.identify]
    given, right = given.sort_by(order), right.sort_by(order)
    for name in question.identify:
        if given[name].cast(right[name].type).combine_chunks() != right[name].combine_chunks():
            message = f"{len(given)} answers where {len(right)} are right, or others: they differ in {name}."
            raise AssertionError(message)
    for name in question.values:
        for place, (answer, value) in enumerate(zip(given[name].to_pylist(), right[name].to_pylist(), strict=True)):
            if not _is_close(answer, value, tolerance):
                at = {key: right[key][place].as_py() for key in question.identify}
                message = f"{answer} is {name} at {at}, which is {value} (tolerance {tolerance:g})."
                raise AssertionError(message)


def _is_close(answer: float | None, value: float | None, tolerance: float) -> bool:
    if answer is None or value is None:
        return answer is value
    return relative_error(answer, value) <= tolerance


def sums_of(question: Question, given: DataFrame) -> Any:
    """Return how many answers there are, and the sums of their values, weighted: computing them is computing all."""
    keys = [F.col(name) for name in question.identify if name != "window"]
    weight = F.pmod(F.xxhash64(*keys), F.lit(WEIGHTS)) + 1
    strings = {name for name, kind in given.dtypes if kind == "string"}
    numbers = {
        name: F.pmod(F.xxhash64(name), F.lit(LARGEST)) if name in strings else F.col(name) for name in question.values
    }
    sums = [F.sum(number * weight) for number in numbers.values()]
    counts = [F.count(F.col(name)) for name in question.values]
    (found,) = given.agg(F.count(F.lit(1)), *counts, *sums).collect()
    return np.array([0.0 if one is None else float(one) for one in found])


def compare_sums(given: Any, other: Any, tolerance: float) -> None:
    """Raise if two ways to answer the same don't come to the same."""
    if not np.allclose(given, other, rtol=tolerance, atol=0):
        message = f"Its answers come to {given.tolist()}, those of another contestant to {other.tolist()}."
        raise AssertionError(message)
