"""Files → record batches. Pyarrow reads Parquet and Arrow, and keeps all types; DuckDB reads CSV and JSON, and finds types from many rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from sash.cli.formats import CONTINUATION
from sash.engine.select_sql import PACKED, first_line
from sash.language.source_text import quoted

BATCH_ROWS = 1 << 17
DUCKDB_READERS = {
    "csv": "read_csv({files}, union_by_name=true)",
    "tsv": "read_csv({files}, delim='\\t', union_by_name=true)",
    "json": "read_json({files}, union_by_name=true)",
    "ndjson": "read_json({files}, format='newline_delimited', union_by_name=true)",
}
TEXT_GROWTH = 2
"""The memory of a table, divided by the size of its text."""
PACKED_GROWTH = 8
"""The same for a text that is compressed."""
STRING_BYTES = 24
"""The estimated memory of a value without a fixed width."""


@dataclass(frozen=True)
class Input:
    """Rows that can be read several times, or once if they come from a pipe."""

    name: str
    """Its name in messages."""
    schema: pa.Schema
    open: Callable[[Sequence[str]], pa.RecordBatchReader]
    """Returns some columns of all rows, in the order of the input."""
    rows: int | None
    """The number of rows, if it is known without reading them."""
    size: Callable[[Sequence[str]], float]
    """Returns the estimated memory that some columns take as a table, in bytes."""
    once: bool = False
    """Whether it is a pipe, which can be read once."""


def from_files(name: str, files: Sequence[str], file_format: str, temporary: Path) -> Input:
    """Return files of a format as an input. `temporary` is a folder for copies."""
    if file_format in DUCKDB_READERS:
        return _text_files(name, files, file_format)
    if file_format == "parquet":
        return _parquet_files(name, files)
    return _arrow_files(name, [_as_arrow_file(file, number, temporary) for number, file in enumerate(files)])


def _dataset(files: Sequence[str], file_format: str) -> Any:
    """Return many files as one. Columns may also come from the names of folders, such as day=1."""
    from pyarrow import dataset  # noqa: PLC0415 — it imports pandas, if that is installed

    return dataset.dataset(list(files), format=file_format, partitioning="hive")


def _scan(data: Any, columns: Sequence[str]) -> pa.RecordBatchReader:
    # few batches in advance: the default reads 16 batches of 4 files ahead, which may not fit into memory
    options = {"batch_size": BATCH_ROWS, "batch_readahead": 2, "fragment_readahead": 1}
    return data.scanner(columns=list(columns), **options).to_reader()


def reader_of_columns(
    schema: pa.Schema, columns: Sequence[str], batches: Iterable[pa.RecordBatch]
) -> pa.RecordBatchReader:
    """Return a reader of batches that have some columns of a schema."""
    return pa.RecordBatchReader.from_batches(pa.schema([schema.field(name) for name in columns]), batches)


def _parquet_files(name: str, files: Sequence[str]) -> Input:
    from pyarrow import parquet  # noqa: PLC0415 — other formats do not need it

    def read(columns: Sequence[str]) -> pa.RecordBatchReader:
        if data is not None:
            return _scan(data, columns)
        return reader_of_columns(schema, columns, single.iter_batches(batch_size=BATCH_ROWS, columns=list(columns)))

    def size(columns: Sequence[str]) -> float:
        groups = [file.row_group(number) for file in metadata for number in range(file.num_row_groups)]
        chunks = [group.column(number) for group in groups for number in range(group.num_columns)]
        stored = sum(c.total_uncompressed_size for c in chunks if c.path_in_schema.partition(".")[0] in columns)
        return float(max(stored, rows * _row_bytes(schema, columns)))

    try:
        single = parquet.ParquetFile(files[0])
        data = _dataset(files, "parquet") if len(files) > 1 else None
        metadata = [single.metadata] if data is None else [fragment.metadata for fragment in data.get_fragments()]
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(name, "Parquet", error) from error
    schema = single.schema_arrow if data is None else data.schema
    rows = sum(file.num_rows for file in metadata)
    return Input(name, schema, read, rows, size)


def _arrow_files(name: str, files: Sequence[str]) -> Input:
    def read(columns: Sequence[str]) -> pa.RecordBatchReader:
        if data is not None:
            return _scan(data, columns)
        batches = (single.get_batch(number).select(list(columns)) for number in range(single.num_record_batches))
        return reader_of_columns(schema, columns, batches)

    try:
        single = pa.ipc.open_file(pa.memory_map(files[0]))
        data = _dataset(files, "ipc") if len(files) > 1 else None
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(name, "Arrow", error) from error
    schema = single.schema if data is None else data.schema
    counts = (single.get_batch(number).num_rows for number in range(single.num_record_batches))
    rows = sum(counts) if data is None else data.count_rows()
    total = sum(Path(file).stat().st_size for file in files)
    return Input(name, schema, read, rows, lambda _: TEXT_GROWTH * total)


def _as_arrow_file(path: str, number: int, temporary: Path) -> str:
    """Return a file in Arrow's file format: a copy if it is in the stream format, which cannot be read in parts."""
    with Path(path).open("rb") as file:
        if not file.peek(len(CONTINUATION)).startswith(CONTINUATION):
            return path
        copy = temporary / f"{number}.arrow"
        with pa.ipc.open_stream(file) as reader, pa.ipc.new_file(str(copy), reader.schema) as writer:
            for batch in reader:
                writer.write_batch(batch)
    return str(copy)


def _unreadable(name: str, file_format: str, error: Exception) -> ValueError:
    return ValueError(f"Cannot read {name!r} as {file_format}: {first_line(error)}")


def _row_bytes(schema: pa.Schema, columns: Sequence[str]) -> float:
    widths = 0.0
    for name in columns:
        try:
            widths += schema.field(name).type.bit_width / 8
        except ValueError:  # no fixed width
            widths += STRING_BYTES
    return widths


def connect_duckdb(**config: Any) -> Any:
    """Return a database in memory, whose times are in UTC. It shows no progress, which would go to standard output."""
    import duckdb  # noqa: PLC0415 — Parquet does not need it

    connection = duckdb.connect(config=config)
    connection.execute("SET GLOBAL TimeZone = 'UTC'")
    connection.execute("SET enable_progress_bar = false")
    return connection


def _text_files(name: str, files: Sequence[str], file_format: str) -> Input:
    import duckdb  # noqa: PLC0415 — as above

    connection = connect_duckdb()
    listed = ", ".join(quoted(file, "'") for file in files)
    source = DUCKDB_READERS[file_format].format(files=f"[{listed}]")

    def query(text: str) -> Any:
        try:
            cursor = connection.cursor()
            cursor.execute("SET enable_progress_bar = false")  # a setting of the cursor
            return cursor.sql(text)
        except duckdb.Error as error:
            raise _unreadable(name, file_format, error) from error

    def read(columns: Sequence[str]) -> pa.RecordBatchReader:
        selected = ", ".join(map(quoted, columns)) or "NULL AS sash_nothing"
        reader = query(f"SELECT {selected} FROM {source}").to_arrow_reader(BATCH_ROWS)  # noqa: S608 — quoted names

        def batches() -> Iterator[pa.RecordBatch]:
            try:
                yield from reader
            except (
                duckdb.Error,
                pa.ArrowException,
                OSError,
            ) as error:  # a value far below that does not fit its column
                raise _unreadable(name, file_format, error) from error

        return pa.RecordBatchReader.from_batches(reader.schema, batches())

    schema = query(f"SELECT * FROM {source} LIMIT 0").to_arrow_table().schema  # noqa: S608 — as above
    size = sum(Path(file).stat().st_size * (PACKED_GROWTH if file.endswith(PACKED) else TEXT_GROWTH) for file in files)
    return Input(name, schema, read, None, lambda _: size)
