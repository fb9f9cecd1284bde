"""Sketches of all values: approx_count_distinct, approx_quantile, from Apache DataSketches.

They answer approximately from a partial of bounded size, for any number of values:

    aggregate               sketch                        accuracy                                          bytes
    approx_count_distinct   HyperLogLog, 2¹² registers    1.6 % standard error, near exact up to 384       ≤ 4 K
    approx_quantile         KLL, k = 200                  rank off by 1.33 % at 99 % confidence, and        ≤ 5 K
                                                          exact up to 200 values

Partials are serialized sketches, in the format that DataSketches has in every language: immutable, and ready to be stored.
Sketches that answer questions about one item are in `item_sketches`.

Where Sash reads the rows of a window, exact structures are faster than sketches of any size: `exact` is the aggregate that uses them.
"""

from __future__ import annotations

import math
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, TypeAlias

from sash.aggregates.base import Aggregate, Functions, pair
from sash.aggregates.collect_like import count_distinct
from sash.aggregates.definition import Fields, define, require_fraction
from sash.aggregates.median_like import nearest_rank
from sash.aggregates.parts import ResultRule
from sash.aggregates.sql import SqlForm, SqlInput
from sash.expressions import ColumnLike, Condition

LG_K = 12
KLL_K = 200

Quantiles: TypeAlias = tuple[bytes, int]
"""A serialized KLL sketch, which ignores NaN, and the number of NaNs."""

SKETCH: Fields = {
    "fixed_size": False,
    "interpreted_only": "its partials are sketches of Apache DataSketches, which Numba doesn't know.",
}


def datasketches() -> Any:
    """Return Apache DataSketches; the first value imports it, not `import sash`."""
    import datasketches as library  # noqa: PLC0415 — takes time, and most queries have no sketch

    return library


def hashable(value: Any) -> int | str:
    """Return a value in the form that all sketches hash; equal numbers have the same form.

    >>> hashable(True), hashable(2.0), hashable(2.5), hashable("ant")
    (1, 2, '2.5', 'ant')
    """
    if isinstance(value, str):
        return value or "\0"  # the library ignores empty strings
    if isinstance(value, Integral):
        return _in_64_bits(int(value))
    if isinstance(value, Real):
        number = float(value)
        return _in_64_bits(int(number)) if number.is_integer() else repr(number)
    raise TypeError(
        f"Sketches take numbers and strings, but {value!r} is a {type(value).__name__}. Cast the column to strings."
    )


def _in_64_bits(whole: int) -> int | str:
    return whole if -(1 << 63) <= whole < 1 << 63 else str(whole)


class Registers:
    """A serialized HyperLogLog sketch; equal to a sketch of the same values.

    Its bytes depend on the order of the values, its estimate does not.
    """

    __slots__ = ("data",)

    def __init__(self, data: bytes) -> None:
        """Store the bytes."""
        self.data = data

    def __eq__(self, other: object) -> bool:
        """Return whether the union has the same estimate as each of them."""
        if not isinstance(other, Registers):
            return NotImplemented
        return _estimate(self) == _estimate(other) == _estimate(unite_registers(self, other))

    __hash__ = None  # type: ignore[assignment]


# -- factories ------------------------------------------------------------------------------------------------------------


def approx_count_distinct(column: ColumnLike | None = None, *, where: Condition | None = None) -> Aggregate[Registers]:
    """Estimate the number of distinct values, with a standard error of 1.6 % (HyperLogLog).

    `column` holds numbers or strings.
    `where` is a condition in SQL, or a native expression: only rows where it is true count (see `sash.expr`).

    Nulls and NaN: nulls are skipped; all NaN are one value.
    Result: int64; 0 if the window has no values. Queries that Sash evaluates from rows are exact. Slices that Spark SQL aggregates,
    `exclude=`, `compiled=False` and a `sash.Aggregator` use sketches, which are near exact up to 384 different values.
    Errors: TypeError if a value is neither a number nor a string. Cast such columns to strings.

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"word": ["b", "a", None, "b"]})
    >>> sash.Query(agg.approx_count_distinct("word"), window.rows(2)).run(rows)["approx_count_distinct"].to_pylist()
    [1, 2, 1, 1]
    """
    functions = Functions(lift_registers, unite_registers, count_registers)
    error = "off by 1.6 % (standard error), and near exact up to 384 different values"
    rule = ResultRule(gives="whole", empty=0, error=error)
    fields: Fields = {"commutative": True, "result": rule, "sql": registers_sql}
    fields["exact"] = replace(count_distinct(), name="approx_count_distinct")
    return define("approx_count_distinct", column, functions=functions, **fields, **SKETCH, where=where)


def approx_quantile(
    x: ColumnLike | None = None, q: float = 0.5, *, where: Condition | None = None
) -> Aggregate[Quantiles]:
    """Estimate a quantile: the rank of the result is within 1.33 % of the ranks of the window (KLL).

    `x` is a column of numbers. `q` is the fraction: 0 for the smallest value, 1 for the largest.
    `where` is a condition in SQL, or a native expression: only rows where it is true count (see `sash.expr`).

    Nulls and NaN: nulls are skipped; NaN is larger than every number.
    Result: float64, one of the values; null if the window has no values. Queries that Sash evaluates from rows are exact. Slices that
    Spark SQL aggregates, `exclude=`, `compiled=False` and a `sash.Aggregator` use sketches, which are exact up to 200 values; from there
    on the result depends on chance, so two runs may differ.
    Errors: ValueError if `q` is not between 0 and 1. TypeError if a query reads a column that is not of numbers.

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"load": [3.0, 9.0, None, 4.0]})
    >>> sash.Query(agg.approx_quantile("load", q=0.5), window.rows(4)).run(rows)["approx_quantile"].to_pylist()
    [3.0, 3.0, 3.0, 4.0]
    """
    require_fraction("approx_quantile", q)

    def at_fraction(partial: Quantiles) -> float:
        sketch = datasketches().kll_doubles_sketch.deserialize(partial[0])
        rank = q * (sketch.n + partial[1])
        if rank > sketch.n or sketch.n == 0:
            return math.nan
        return float(sketch.get_quantile(rank / sketch.n, True))  # inclusive: a value counts in its own rank

    functions = Functions(lift_quantiles, merge_quantiles, at_fraction)
    fields: Fields = {"constants": (q,), "exact": nearest_rank("approx_quantile", q), "sql": quantiles_sql}
    fields["error"] = "its rank is off by at most 1.33 % (99 % confidence), and exact up to 200 values"
    return define("approx_quantile", x, functions=functions, **fields, **SKETCH, where=where)


# -- functions of partials ------------------------------------------------------------------------------------------------


def lift_registers(value: Any) -> Registers:
    """Return the HyperLogLog sketch of one value."""
    library = datasketches()
    sketch = library.hll_sketch(LG_K, library.HLL_8)
    sketch.update(hashable(value))
    return Registers(sketch.serialize_compact())


def unite_registers(older: Registers, newer: Registers) -> Registers:
    """Return the union of two HyperLogLog sketches."""
    return Registers(_union(older, newer).serialize_compact())


def count_registers(partial: Registers) -> int:
    """Return the estimated number of distinct values."""
    return round(_estimate(partial))


def lift_quantiles(value: Any) -> Quantiles:
    """Return the KLL sketch of one value."""
    sketch = datasketches().kll_doubles_sketch(KLL_K)
    number = float(value)
    if math.isnan(number):
        return sketch.serialize(), 1
    sketch.update(number)
    return sketch.serialize(), 0


def merge_quantiles(older: Quantiles, newer: Quantiles) -> Quantiles:
    """Merge two KLL sketches; while they store all values, the values are sorted, so that the bytes are unique."""
    sketches = datasketches().kll_doubles_sketch
    merged = sketches.deserialize(older[0])
    merged.merge(sketches.deserialize(newer[0]))
    if not merged.is_estimation_mode():
        values = sorted(value for value, _ in merged)
        merged = sketches(KLL_K)
        for value in values:
            merged.update(value)
    return merged.serialize(), older[1] + newer[1]


def _union(*partials: Registers) -> Any:
    library = datasketches()
    union = library.hll_union(LG_K)
    for partial in partials:
        union.update(library.hll_sketch.deserialize(partial.data))
    return union.get_result(library.HLL_8)


def _estimate(partial: Registers) -> float:
    """Estimate from the union with itself: only the estimate of a union is independent of the order of values."""
    return float(_union(partial, partial).get_estimate())


# -- SQL ------------------------------------------------------------------------------------------------------------------


def registers_sql(source: SqlInput) -> SqlForm | str:
    """Use Spark's HyperLogLog sketches, which come from the same library; it ignores empty strings, so they are replaced."""
    x = source.column
    if x.is_integer:
        hashed = x.as_bigint
    elif x.kind == "string":
        hashed = f"CASE WHEN {x.sql} = '' THEN chr(0) ELSE {x.sql} END"
    else:
        return source.refuse(", which it hashes differently")
    return source.form({"sketch of values": f"hll_sketch_agg({hashed}, {LG_K})"}, Registers, gives="whole")


def quantiles_sql(source: SqlInput) -> SqlForm | str:
    """Use Spark's KLL sketches, which come from the same library."""
    if not source.are_numbers:
        return source.refuse()
    x, counted = source.column.as_double, f"count({source.column.sql})"
    sketch = f"CASE WHEN {counted} > 0 THEN kll_sketch_agg_double({x}, {KLL_K}) END"
    return source.form({"sketch of ranks": sketch, "count of NaN": f"count_if(isnan({x}))"}, pair, gives="real")
