"""Times that are text: which format a column has, and the input with its times.

values ──► formats that fit a sample ──► those that fit all values ──► one: times
├─► several that differ: an error that names --time-format
└─► none: an error with the first value that does not fit
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import product
from typing import Any

import pyarrow as pa

from sash.backends.arrow import ArrowTable
from sash.cli.inputs import Input, connect_duckdb
from sash.columns.column_types import column_type
from sash.engine.select_sql import first_line
from sash.engine.text_types import IS_FINE
from sash.hints import list_names
from sash.language.source_text import quoted

ISO = "ISO 8601"
DATES = (
    *("%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%d.%m.%Y", "%Y/%m/%d", "%Y%m%d", "%d/%m/%y", "%m/%d/%y"),
    *("%d-%m-%y", "%m-%d-%y", "%y-%m-%d", "%d.%m.%y"),
    *("%b %d %Y", "%b %d, %Y", "%d %b %Y", "%d-%b-%Y", "%B %d %Y", "%B %d, %Y", "%d %B %Y", "%a, %d %b %Y", "%Y-%m-%d"),
)
CLOCKS = (
    *("", "%H:%M", "%H:%M:%S", "%H:%M:%S.%f", "%I:%M %p", "%I:%M:%S %p", "%I:%M%p", "%I:%M:%S%p"),
    *("%H:%M %z", "%H:%M:%S %z", "%H:%M:%S%z", "%H:%M:%S %Z"),
)
OF_LOGS = ("%Y-%m-%d %H:%M:%S,%g", "%d/%b/%Y:%H:%M:%S %z", "%Y%m%dT%H%M%S")
FORMATS = (ISO, *OF_LOGS, *(f"{date}{' ' if clock else ''}{clock}" for date, clock in product(DATES, CLOCKS)))
"""The formats that are tried, as in `strptime`; an hour may follow a date after a space."""
UNITS = {"epoch_s": "s", "epoch_ms": "ms", "epoch_us": "us", "epoch_ns": "ns"}
"""Formats of numbers: the time since 1970."""
SAMPLE = 500
MOSTLY = 0.5
"""The share of values that look like times, for a column that is taken for one of times."""
OFFSET = r"(?i)(Z|[+-]\d\d(:?\d\d)?)$"
"""The zone at the end of a time in ISO 8601."""
EXAMPLES = "such as '%d/%m/%Y %H:%M', '%m/%d/%Y %I:%M %p' or epoch_ms"


def with_times(source: Input, column: str, time_format: str | None, *, drop: bool = False) -> Input:
    """Return an input whose column holds times: as they are, in a format, or in the only format that fits.

    Raise ValueError if the format does not fit, or if several formats or none fit. If `drop`, values that do not fit are null.
    """
    if column not in source.schema.names:
        return source
    dtype = source.schema.field(column).type
    group = column_type(dtype).group
    if group in ("timestamp", "date") or (time_format is None and group != "string"):
        return source
    values = TextColumn(source, column)
    if source.once:
        if time_format is None:
            raise ValueError(f"Column {column!r} of a pipe is text. Name its format with --time-format, {EXAMPLES}.")
    elif time_format is None:
        time_format = values.only_format(drop=drop)
    elif (bad := values.first_bad(time_format)) is not None and not (drop and values.most_fit(time_format)):
        raise ValueError(
            f"--time-format {time_format!r} does not fit column {column!r} of {source.name!r}: row {bad[0]} has {bad[1]!r}. "
            f"Use a format of strptime, {EXAMPLES}, or --on-bad-time drop if most values fit."
        )
    return _converted(source, column, values.expression(time_format))


def fits(source: Input, column: str, time_format: str) -> bool:
    """Return whether a format fits a column of text or numbers."""
    return column in source.schema.names and TextColumn(source, column).first_bad(time_format) is None


def with_query_times(source: Input, statement: Any, time_format: str | None, *, drop: bool = False) -> Input:
    """Return an input whose time column holds times, if a query needs them. Raise ValueError if no column has them, or several columns of text."""
    if statement.time is not None:
        return with_times(source, statement.time, time_format, drop=drop)
    if not statement.needs_time or source.once or ArrowTable().time_columns(source.schema.empty_table()):
        return source
    texts = text_columns(source)
    if len(texts) > 1:
        problem = f"The columns {list_names(texts)} are text that looks like times"
        raise ValueError(f"{problem}, and the query does not name one. Name it with --time.")
    if not texts:
        problem = f"No column of {source.name!r} holds times: it has {list_names(source.schema.names)}. Name the column"
        raise ValueError(
            f"{problem}, as in [RANGE 1 HOUR ON ts] or with --time ts, and its format with --time-format, {EXAMPLES}."
        )
    return with_times(source, texts[0], time_format, drop=drop)


def text_columns(source: Input) -> list[str]:
    """Return the columns of text whose first values are mostly times in some format."""
    texts = [field.name for field in source.schema if column_type(field.type).group == "string"]
    return [name for name in texts if TextColumn(source, name).fits()[0] >= MOSTLY]


class TextColumn:
    """A column of text, or of numbers that stand for times."""

    def __init__(self, source: Input, column: str) -> None:
        self.source, self.column = source, column
        self.database = connect_duckdb()

    def expression(self, time_format: str) -> str:
        """Return SQL for the times; null where a value does not fit."""
        value = f"nullif(trim({quoted(self.column)}::VARCHAR), '')"
        if time_format in UNITS:
            unit = UNITS[time_format]
            ticks = {"s": 1_000_000, "ms": 1000}.get(unit, 1)
            count = (
                f"TRY_CAST(round(TRY_CAST({value} AS DECIMAL(38, 9)) * {ticks}) AS BIGINT)"  # 1.5 is no whole second
            )
            return f"make_timestamp{'_ns' * (unit == 'ns')}({count})"
        if time_format == ISO:
            has_offset = self._has_offset
            kind = "TIMESTAMPTZ" if has_offset else "TIMESTAMP_NS" if self._is_fine else "TIMESTAMP"
            matches = f"regexp_matches({value}, '^\\d{{4}}-\\d\\d')"
            if has_offset:
                matches += f" AND regexp_matches({value}, {quoted(OFFSET, chr(39))})"
            return f"CASE WHEN {matches} THEN TRY_CAST({value} AS {kind}) END"
        parsed = f"try_strptime({value}, {quoted(time_format, chr(39))})"
        if "%Y" not in time_format:
            return parsed
        return f"CASE WHEN regexp_matches({value}, '\\d{{4}}') THEN {parsed} END"  # DuckDB reads 25 as a year of the Romans

    @cached_property
    def _has_offset(self) -> bool:
        return self.first("contains(x, ':') AND regexp_matches(x, $1)", OFFSET) is not None

    @cached_property
    def _is_fine(self) -> bool:
        """Whether the times have nanoseconds."""
        return self.first("regexp_matches(x, $1)", IS_FINE) is not None

    def fits(self) -> tuple[float, list[str]]:
        """Return the share of the first values that the best formats fit, and these formats."""
        values = [str(value).strip() for value in self._rows(limit=SAMPLE).column(0).to_pylist() if value is not None]
        values = [value for value in values if value]
        formats = [each for each in FORMATS if any(_has_its_marks(each, value) for value in dict.fromkeys(values))]
        if not formats:
            return 0.0, []
        self.database.register("sample", pa.table({self.column: values}))
        counts = ", ".join(f"count({self.expression(each)})" for each in formats)
        (fitting,) = self.database.execute(f"SELECT {counts} FROM sample").fetchall()  # noqa: S608 — quoted names
        most = max(fitting)
        best = [each for each, count in zip(formats, fitting, strict=True) if count == most > 0]
        return most / len(values), best

    def most_fit(self, time_format: str) -> bool:
        """Return whether a format fits most values."""
        return self._counts([time_format])[0] > 0

    def _counts(self, formats: Sequence[str]) -> list[int]:
        """Return how many values fit formats, less those that do not."""
        self.database.register("every", self._reader())
        counts = ", ".join(
            f"2 * count({self.expression(each)}) - count(nullif(trim({quoted(self.column)}::VARCHAR), ''))"
            for each in formats
        )
        (counted,) = self.database.execute(f"SELECT {counts} FROM every").fetchall()  # noqa: S608 — quoted names
        return list(map(int, counted))

    def only_format(self, *, drop: bool = False) -> str:
        """Return the format that fits all values, or most if others are dropped. Raise ValueError if there is none, or if several fit and differ."""
        share, fitting = self.fits()
        if drop and fitting:
            counts = self._counts(fitting)
            left = [each for each, count in zip(fitting, counts, strict=True) if count == max(counts) > 0]
        else:
            left = [each for each in fitting if share == 1 and self.first_bad(each) is None]
        if not left:
            raise self._misfit(fitting)
        first, *others = left
        for other in others:
            differing = self.first(f"{self.expression(first)} IS DISTINCT FROM {self.expression(other)}")
            if differing is not None:
                problem = f"Column {self.column!r} of {self.source.name!r} can be read in two ways"
                raise ValueError(
                    f"{problem}: {differing[1]!r} fits {first!r} and {other!r}. Say which with --time-format {first!r}."
                )
        return first

    def first_bad(self, time_format: str) -> tuple[int, str] | None:
        """Return the row and the text of the first value that does not fit a format; None if all fit."""
        try:
            return self.first(f"{self.expression(time_format)} IS NULL")
        except Exception as error:
            if type(error).__module__.startswith(("duckdb", "_duckdb")):
                raise ValueError(f"--time-format {time_format!r} cannot be used: {first_line(error)}") from error
            raise

    def first(self, condition: str, *values: Any) -> tuple[int, str] | None:
        """Return the row, from 1, and the text of the first value that fulfils a condition; `x` is the value."""
        name = quoted(self.column)
        found = None
        self.database.register("every", self._reader())
        query = (
            f"SELECT row_number, x FROM (SELECT row_number() OVER () AS row_number, {name}, "  # noqa: S608 — quoted names
            f"nullif(trim({name}::VARCHAR), '') AS x FROM every) WHERE x IS NOT NULL AND ({condition}) ORDER BY 1 LIMIT 1"
        )
        found = self.database.execute(query, list(values)).fetchall()
        return None if not found else (int(found[0][0]), str(found[0][1]))

    def _misfit(self, fitting: Sequence[str]) -> ValueError:
        column = f"Column {self.column!r} of {self.source.name!r}"
        problem = f"{column} is text, and no format of a time fits all of it"
        if not fitting:
            found = self.first("true")
            if found is None:
                return ValueError(
                    f"{column} has no values, so its type is unknown. Name the format with --time-format, {EXAMPLES}."
                )
            return ValueError(
                f"{problem}: row {found[0]} has {found[1]!r}. Name the format with --time-format, {EXAMPLES}."
            )
        bad = self.first_bad(fitting[0])
        assert bad is not None
        return ValueError(
            f"{problem}: rows fit {fitting[0]!r}, but row {bad[0]} has {bad[1]!r}. Correct the value, name the format with --time-format, or "
            "drop such rows with --on-bad-time drop."
        )

    def _reader(self) -> pa.RecordBatchReader:
        return self.source.open([self.column])

    def _rows(self, limit: int) -> pa.Table:
        batches, rows = [], 0
        reader = self._reader()
        for batch in reader:
            batches.append(batch)
            rows += len(batch)
            if rows >= limit:
                break
        return pa.Table.from_batches(batches, reader.schema).slice(0, limit)


def _has_its_marks(time_format: str, value: str) -> bool:
    """Return whether a value has the slashes, dots, commas and colons of a format: others need not be tried.

    >>> _has_its_marks("%d/%m/%Y %H:%M", "13/02/2025 11:00"), _has_its_marks("%d/%m/%Y", "13.02.2025")
    (True, False)
    """
    if time_format == ISO:
        return value[:4].isdigit()
    named = any(word in time_format for word in ("%b", "%B", "%a"))
    has_letters = any(letter.isalpha() for letter in re.sub("AM|PM|Z|T", "", value.upper()))
    return (
        named == has_letters
        and all((mark in time_format) == (mark in value) for mark in "/,")
        and ((":" in time_format) == (":" in value))
    )


def _converted(source: Input, column: str, expression: str) -> Input:
    """Return an input in which SQL stands for a column."""
    database = connect_duckdb()
    replaced = f"SELECT * REPLACE ({expression} AS {quoted(column)}) FROM batch"  # noqa: S608 — quoted names

    def convert(table: pa.Table) -> pa.Table:
        cursor = database.cursor()
        cursor.register("batch", table.select([column]))
        converted = cursor.sql(replaced).to_arrow_table()
        place = table.schema.get_field_index(column)
        return table.set_column(place, converted.schema.field(0), converted.column(0))

    def read(columns: Sequence[str]) -> pa.RecordBatchReader:
        reader = source.open(columns)
        if column not in columns:
            return reader
        schema = convert(reader.schema.empty_table()).schema
        tables = (convert(pa.Table.from_batches([batch])) for batch in reader)
        return pa.RecordBatchReader.from_batches(schema, (batch for table in tables for batch in table.to_batches()))

    schema = convert(source.schema.empty_table()).schema
    return replace(source, schema=schema, open=read)
