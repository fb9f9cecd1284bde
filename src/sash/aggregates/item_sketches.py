"""Sketches that answer questions about one item: frequency, may_contain, from Apache DataSketches.

    aggregate     sketch                        accuracy                                                   bytes
    frequency     Count-Min, 5 rows of 272      never too low; too high by at most 1 % of the window's     11 K
                                                values, at 99 % confidence
    may_contain   theta, 2¹² hashes             never False for a value that occurs; exact up to 4096      ≤ 32 K
                                                distinct values, then increasingly often True

The Python package has no Bloom filter, so may_contain uses a theta sketch, which stores the smallest hashes. It answers the
same question with the same guarantee, and the partial of one row has 16 bytes, where a Bloom filter has its full size.

Where Sash reads numbers or text itself, it need not hash them: the item is constant, so a counter and a flag are exact (`EqualTo`).

Both are commutative. Partials are serialized sketches, in the format that DataSketches has in every language.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any

from sash.aggregates.base import Aggregate, Functions, unchanged
from sash.aggregates.definition import Fields, define
from sash.aggregates.max_like import either
from sash.aggregates.parts import ResultRule
from sash.aggregates.sketches import SKETCH, datasketches, hashable
from sash.aggregates.sum_like import add, subtract
from sash.expressions import ColumnLike, Condition

COUNT_MIN_ROWS = 5
COUNT_MIN_BUCKETS = 272
LG_HASHES = 12


def frequency(
    x: ColumnLike | None = None, item: float | str | None = None, *, where: Condition | None = None
) -> Aggregate[bytes]:
    """Estimate the number of occurrences of one item (Count-Min).

    `x` is a column of numbers or strings, `item` the number or string to count.
    `where` is a condition in SQL, or a native expression: only rows where it is true count (see `sash.expr`).

    Nulls and NaN: nulls are skipped; NaN is a value.
    Result: int64, never too low, and at most 1 % of the values too high (99 % confidence); 0 if the window has no values. Queries are
    exact, unless they have `exclude=` or run with `compiled=False`; a `sash.Aggregator` estimates.
    Errors: TypeError if `item` is missing, or if a value is neither a number nor a string.

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"word": ["b", "a", None, "b"]})
    >>> sash.Query(agg.frequency("word", item="b"), window.rows(4)).run(rows)["frequency"].to_pylist()
    [1, 1, 1, 2]
    """
    wanted = _require_item("frequency", item)

    def occurrences(partial: bytes) -> int:
        return int(datasketches().count_min_sketch.deserialize(partial).get_estimate(wanted))

    functions = Functions(lift_frequencies, merge_frequencies, occurrences)
    fields: Fields = {"constants": (item,), "commutative": True, "result": ResultRule(gives="whole", empty=0)}
    reading: Fields = {**fields, "codes": ("any",), "reads": EqualTo(wanted)}
    counting = Functions(as_one, add, inverse=subtract, identity=0)
    fields["exact"] = define("frequency", None, functions=counting, invertible=True, **reading)
    error = "at most 1 % of the values too high (99 % confidence), never too low"
    fields["result"] = ResultRule(gives="whole", empty=0, error=error)
    return define("frequency", x, functions=functions, **fields, **SKETCH | {"fixed_size": True}, where=where)


def may_contain(
    x: ColumnLike | None = None, item: float | str | None = None, *, where: Condition | None = None
) -> Aggregate[bytes]:
    """Return whether one item may be among the values (theta sketch).

    `x` is a column of numbers or strings, `item` the number or string to look for.
    `where` is a condition in SQL, or a native expression: only rows where it is true count (see `sash.expr`).

    Nulls and NaN: nulls are skipped; NaN is a value.
    Result: bool; null if the window has no values. False is certain. True is certain up to 4,096 distinct values; in queries always,
    unless they have `exclude=` or run with `compiled=False`.
    Errors: TypeError if `item` is missing, or if a value is neither a number nor a string.

    >>> import pyarrow as pa
    >>> import sash
    >>> from sash import agg, window
    >>> rows = pa.table({"word": ["b", "a", None, "b"]})
    >>> sash.Query(agg.may_contain("word", item="a"), window.rows(2)).run(rows)["may_contain"].to_pylist()
    [False, True, True, False]
    """
    wanted = _require_item("may_contain", item)

    def is_possible(partial: bytes) -> bool:
        library = datasketches()
        stored = library.compact_theta_sketch.deserialize(partial)
        alone = library.update_theta_sketch(LG_HASHES)
        alone.update(wanted)
        (hashed,) = alone
        return hashed >= stored.theta64 or hashed in stored  # it does not store hashes from theta on

    functions = Functions(lift_hashes, unite_hashes, is_possible)
    fields: Fields = {"constants": (item,), "commutative": True, "gives": "number"}
    reading: Fields = {**fields, "codes": ("any",), "reads": EqualTo(wanted)}
    fields["exact"] = define("may_contain", None, functions=Functions(unchanged, either, identity=False), **reading)
    fields["error"] = "true is certain up to 4,096 different values, and false always"
    return define("may_contain", x, functions=functions, **fields, **SKETCH, where=where)


def as_one(is_item: bool) -> int:
    """Lift a value to 1 if it is the item."""
    return 1 if is_item else 0


def _require_item(aggregate: str, item: float | str | None) -> int | str:
    if item is None:
        raise TypeError(f'{aggregate} needs the item to look for, as in {aggregate}("column", item="bee").')
    return hashable(item)


@dataclass(frozen=True)
class EqualTo:
    """Tells which values of an Arrow column of numbers or text are one item, as sketches hash it.

    >>> import pyarrow as pa
    >>> EqualTo(2)(pa.array([2.0, 2.5, None])).to_pylist(), EqualTo("2.5")(pa.array([2.0, 2.5])).to_pylist()
    ([True, False, None], [False, True])
    """

    item: int | str
    """The item in the form that sketches hash."""

    def __call__(self, column: Any) -> Any:
        """Return whether each value is the item; null for nulls."""
        import pyarrow as pa  # noqa: PLC0415 — `import sash` does not import PyArrow
        import pyarrow.compute as pc  # noqa: PLC0415

        wanted: list[Any]
        if column.type in (pa.string(), pa.large_string()):
            wanted = [text for text in ("", self.item) if isinstance(text, str) and hashable(text) == self.item]
        elif pa.types.is_integer(column.type) or column.type == pa.bool_():
            column = column.cast(pa.int8()) if column.type == pa.bool_() else column
            wanted = [
                number for number in self._numbers if isinstance(number, int) and number in _range_of(column.type)
            ]
        else:
            column = column.cast(pa.float64())
            wanted = [float(number) for number in self._numbers if number != number or float(number) == number]
        never = pc.if_else(column.is_valid(), pa.scalar(False), pa.scalar(None, pa.bool_()))
        equal = [pc.is_nan(column) if one != one else pc.equal(column, pa.scalar(one, column.type)) for one in wanted]
        return reduce(pc.or_, equal, never)

    @property
    def _numbers(self) -> list[float]:
        """The numbers that are hashed as the item."""
        if isinstance(self.item, int):
            return [self.item]
        numbers: list[float] = []
        for read in (int, float):
            try:
                number = read(self.item)
                numbers += [number] if hashable(number) == self.item else []
            except (ValueError, OverflowError):  # other text, or too many digits
                continue
        return numbers


def _range_of(dtype: Any) -> range:
    """Return the numbers that an integer type holds."""
    signed = str(dtype).startswith("int")
    return range(-(1 << dtype.bit_width - 1), 1 << dtype.bit_width - 1) if signed else range(1 << dtype.bit_width)


def lift_frequencies(value: Any) -> bytes:
    """Return the Count-Min sketch of one value."""
    sketch = datasketches().count_min_sketch(COUNT_MIN_ROWS, COUNT_MIN_BUCKETS)
    sketch.update(hashable(value))
    return bytes(sketch.serialize())


def merge_frequencies(older: bytes, newer: bytes) -> bytes:
    """Merge two Count-Min sketches."""
    sketches = datasketches().count_min_sketch
    merged = sketches.deserialize(older)
    merged.merge(sketches.deserialize(newer))
    return bytes(merged.serialize())


def lift_hashes(value: Any) -> bytes:
    """Return the theta sketch of one value."""
    sketch = datasketches().update_theta_sketch(LG_HASHES)
    sketch.update(hashable(value))
    return bytes(sketch.compact().serialize())


def unite_hashes(older: bytes, newer: bytes) -> bytes:
    """Return the union of two theta sketches."""
    library = datasketches()
    union = library.theta_union(LG_HASHES)
    union.update(library.compact_theta_sketch.deserialize(older))
    union.update(library.compact_theta_sketch.deserialize(newer))
    return bytes(union.get_result().serialize())
