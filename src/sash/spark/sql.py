"""Pieces of Spark SQL: names in quotes, values as doubles, rows in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

EPOCH = "TIMESTAMP_NTZ'1970-01-01 00:00:00'"


def quote(name: str) -> str:
    """Return a column's name as SQL takes it, whatever is in it.

    >>> quote("a.b"), quote("a`b")
    ('`a.b`', '`a``b`')
    """
    return "`" + name.replace("`", "``") + "`"


@dataclass(frozen=True)
class Value:
    """A column that an expression reads."""

    name: str
    type: pa.DataType

    @property
    def sql(self) -> str:
        """The column itself."""
        return quote(self.name)

    @property
    def as_double(self) -> str:
        """The column as float64; Spark turns true into 1 as Python does."""
        return self.sql if self.type == pa.float64() else f"CAST({self.sql} AS DOUBLE)"

    @property
    def as_bigint(self) -> str:
        """The column of integers or booleans as int64."""
        return self.sql if self.type == pa.int64() else f"CAST({self.sql} AS BIGINT)"

    @property
    def is_whole(self) -> bool:
        """Whether it holds integers, or booleans, which are summed as integers."""
        return bool(pa.types.is_integer(self.type) or pa.types.is_boolean(self.type))

    @property
    def is_small(self) -> bool:
        """Whether it holds integers of at most 32 bits, of which 2³¹ add up to no more than 64."""
        return self.is_whole and self.type != pa.int64()

    @property
    def is_real(self) -> bool:
        """Whether it holds floats."""
        return bool(pa.types.is_floating(self.type))

    @property
    def is_decimal(self) -> bool:
        """Whether it holds decimals."""
        return bool(pa.types.is_decimal(self.type))

    @property
    def is_time(self) -> bool:
        """Whether it holds points or lengths of time."""
        return bool(
            pa.types.is_date32(self.type) or pa.types.is_timestamp(self.type) or pa.types.is_duration(self.type)
        )

    @property
    def is_text(self) -> bool:
        """Whether it holds strings or bytes."""
        return bool(pa.types.is_string(self.type) or pa.types.is_binary(self.type))

    @property
    def is_number(self) -> bool:
        """Whether it can be computed with."""
        return self.is_whole or self.is_real or self.is_decimal

    @property
    def has_order(self) -> bool:
        """Whether Spark and Python agree which of its values is larger."""
        return self.is_number or self.is_time or self.is_text

    @property
    def falling(self) -> str:
        """What falls where the column rises, so that the largest value comes first; empty if there is no such thing.

        The negative of an integer may need one bit more, and that of NaN is no smaller than any other.

        >>> Value("x", pa.int32()).falling, Value("who", pa.string()).falling
        ('~`x`', '')
        """
        if pa.types.is_boolean(self.type):
            return f"NOT {self.sql}"
        if self.is_whole:
            return f"~{self.sql}"
        if self.is_real:
            return f"NOT isnan({self.sql}), -{self.sql}"
        if pa.types.is_date32(self.type):
            return f"~unix_date({self.sql})"
        if pa.types.is_timestamp(self.type):  # with a zone there are differences only in that of the session
            return f"{EPOCH} - {self.sql}" if self.type.tz is None else f"~unix_micros({self.sql})"
        return "" if self.is_text else f"-{self.sql}"


def filtered(expression: str, values: Sequence[Value]) -> str:
    """Return an aggregate of the rows that have all the values.

    >>> filtered("max(`x`)", [Value("x", pa.int64()), Value("y", pa.int64())])
    'max(`x`) FILTER (WHERE `x` IS NOT NULL AND `y` IS NOT NULL)'
    """
    return f"{expression} FILTER (WHERE {' AND '.join(f'{value.sql} IS NOT NULL' for value in values)})"


@dataclass(frozen=True)
class Order:
    """The order of rows: by time, then by further columns, of which nulls come last as in Arrow's order."""

    ticks: str
    """The time as a bigint."""
    ties: tuple[Value, ...]

    @property
    def rising(self) -> str:
        """What is smallest in the first row; one bigint if time is all, so that Spark can aggregate it without sorting."""
        return f"struct({', '.join([self.ticks, *self._pieces])})" if self.ties else self.ticks

    @property
    def _pieces(self) -> list[str]:
        return [piece for tie in self.ties for piece in (f"{tie.sql} IS NULL", tie.sql)]

    def after(self, value: str) -> str:
        """Return what is smallest where a value is, and of those in the first row."""
        return f"struct({', '.join([value, self.ticks, *self._pieces])})"

    def before_largest(self, value: str) -> str:
        """Return what is largest where a value is, and of those in the first row; empty if there is no such thing."""
        falling = [f"~({self.ticks})"]
        for tie in self.ties:
            if not tie.falling:
                return ""
            falling += [f"{tie.sql} IS NOT NULL", tie.falling]
        return f"struct({', '.join([value, *falling])})"
