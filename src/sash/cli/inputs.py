"""The input of a command: files, a folder, a pattern or a pipe → record batches.

Pyarrow reads Parquet and Arrow, and keeps all types; DuckDB reads CSV and JSON, and finds types from many rows. A pipe is copied to a
temporary file first, unless its rows are processed while they arrive.
"""

from __future__ import annotations

import glob
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from sash.engine.query_sql import FileInput
from sash.engine.select_sql import PACKED, ending_of, first_line
from sash.engine.text_types import with_checked_types
from sash.hints import did_you_mean, list_names
from sash.language.source_text import quoted

NAMES = {"feather": "arrow", "ipc": "arrow", "jsonl": "ndjson"}
"""Other names of formats."""
ENDINGS = {
    f".{name}": NAMES.get(name, name)
    for name in ("csv", "tsv", "json", "jsonl", "ndjson", "parquet", "arrow", "arrows", "feather", "ipc")
}
"""Formats by the ending of a file: "arrow" is Arrow's file format, which is also Feather's, and "arrows" its stream format."""
FORMATS = tuple(dict.fromkeys(ENDINGS.values()))
CONTINUATION = b"\xff\xff\xff\xff"
"""The first bytes of Arrow's stream format."""


def named_format(name: str) -> str:
    """Return a format by its name. Raise ValueError for other names.

    >>> named_format("Feather"), named_format("csv")
    ('arrow', 'csv')
    """
    file_format = ENDINGS.get(f".{name.lower()}")
    if file_format is None:
        hint = did_you_mean(name, (*FORMATS, *NAMES))
        raise ValueError(f"There is no format {name!r}.{hint} The formats are {', '.join(FORMATS)}.")
    return file_format


def format_of(path: str) -> str | None:
    """Return the format of a file by its ending; None if the ending names none.

    >>> format_of("log.csv.gz"), format_of("data/*.parquet"), format_of("README.md")
    ('csv', 'parquet', None)
    """
    return ENDINGS.get(ending_of(path))


def sniff(head: bytes) -> str:
    """Return the format of data by its first bytes. The default is CSV.

    >>> sniff(b"PAR1..."), sniff(b'  [{"a": 1}]'), sniff(b'{"a": 1}'), sniff(b"a,b")
    ('parquet', 'json', 'ndjson', 'csv')
    """
    binary = {b"PAR1": "parquet", b"ARROW1": "arrow", CONTINUATION: "arrows"}
    formats = [file_format for begin, file_format in binary.items() if head.startswith(begin)]
    return formats[0] if formats else {b"[": "json", b"{": "ndjson"}.get(head.lstrip()[:1], "csv")


# -- files -------------------------------------------------------------------------------------------------------------

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


def _dataset(files: Sequence[str], file_format: Any) -> Any:
    """Return many files as one. Columns may also come from the names of folders, such as day=1."""
    from pyarrow import dataset  # noqa: PLC0415 — it imports pandas, if that is installed

    if file_format == "parquet":
        scan = dataset.ParquetFragmentScanOptions(pre_buffer=False)
        file_format = dataset.ParquetFileFormat(default_fragment_scan_options=scan)
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
        single = parquet.ParquetFile(files[0], pre_buffer=False)  # else what was read stays in memory until the end
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

    if not any(Path(file).stat().st_size for file in files):
        raise ValueError(f"Cannot read {name!r}: it is empty.")
    connection = connect_duckdb()
    listed = ", ".join(quoted(file, "'") for file in files)
    source = with_checked_types(connection, DUCKDB_READERS[file_format].format(files=f"[{listed}]"), files)

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
            # a value far below that does not fit its column
            except (duckdb.Error, pa.ArrowException, OSError) as error:
                raise _unreadable(name, file_format, error) from error

        return pa.RecordBatchReader.from_batches(reader.schema, batches())

    schema = query(f"SELECT * FROM {source} LIMIT 0").to_arrow_table().schema  # noqa: S608 — as above
    size = sum(Path(file).stat().st_size * (PACKED_GROWTH if file.endswith(PACKED) else TEXT_GROWTH) for file in files)
    return Input(name, schema, read, None, lambda _: size)


# -- the input of a command --------------------------------------------------------------------------------------------

STDIN = "-"
HEAD = 4096
"""The bytes of a pipe from which its format is found."""


def open_input(path: str, format_name: str | None, temporary: Path, *, at_once: bool = False) -> Input:
    """Return the input of a command. Raise FileNotFoundError or ValueError if it cannot be read.

    `path` is a file, a folder, a pattern or "-". `temporary` is a folder for a copy of a pipe; if `at_once`, the rows of a pipe are
    read while they arrive.
    """
    file_format = None if format_name is None else named_format(format_name)
    if path != STDIN:
        files = find_files(path, file_format)
        return from_files(path, files, file_format or _only_format(files), temporary)
    if sys.stdin.isatty():
        problem = "The input is this terminal."
        raise ValueError(f"{problem} Name a file with -i, or send rows: cat data.csv | sash run … -i -")
    pipe: Any = sys.stdin.buffer
    head = pipe.peek(HEAD)[:HEAD]
    if not head:
        raise ValueError("There is nothing on standard input.")
    file_format = file_format or sniff(head)
    if at_once and file_format in PIPES:
        return _piped(file_format)
    copy = temporary / f"input.{file_format}"
    with copy.open("wb") as file:
        shutil.copyfileobj(pipe, file)
    return from_files("standard input", [str(copy)], file_format, temporary)


def find_files(path: str, file_format: str | None) -> list[str]:
    """Return the files of a path, a folder or a pattern. Raise FileNotFoundError if there are none.

    Without a format, only files of a folder whose ending names one count.
    """
    if Path(path).is_file():
        return [path]
    if Path(path).is_dir():
        visible = (file for file in Path(path).rglob("*") if file.is_file() and not _is_hidden(file.relative_to(path)))
        files = sorted(str(file) for file in visible if file_format is not None or format_of(str(file)) is not None)
        problem = f"The folder {path!r} has no files that end in {', '.join(ENDINGS)}."
    else:
        files = sorted(file for file in glob.glob(path, recursive=True) if Path(file).is_file())  # noqa: PTH207 — the pattern may begin with /
        what = "no file matches the pattern" if glob.has_magic(path) else "there is no file or folder"
        problem = f"Cannot read the input: {what} {path!r}."
    if not files:
        raise FileNotFoundError(problem)
    return files


def _is_hidden(path: Path) -> bool:
    """Return whether a name begins with _ or a dot, as those of files without data that Spark writes."""
    return any(part.startswith((".", "_")) for part in path.parts)


def _only_format(files: Sequence[str]) -> str:
    formats = dict.fromkeys(map(format_of, files))
    if None in formats:
        raise ValueError(f"{files[0]!r} does not end in {', '.join(ENDINGS)}. Name its format with --input-format.")
    if len(formats) > 1:
        problem = f"The input has files of several formats: {list_names(filter(None, formats))}."
        raise ValueError(f"{problem} Name one with a pattern, such as 'folder/*.csv'.")
    return str(next(iter(formats)))


def file_input_of(path: str, format_name: str | None, temporary: Path) -> FileInput | pa.Table:
    """Return files as DuckDB reads them; a table for formats that it does not read, and for pipes."""
    if path == STDIN:
        source = open_input(path, format_name, temporary)
        return source.open(source.schema.names).read_all()
    file_format = None if format_name is None else named_format(format_name)
    files = find_files(path, file_format)
    file_format = file_format or _only_format(files)
    reader = {**DUCKDB_READERS, "parquet": "read_parquet({files}, union_by_name=true)"}.get(file_format)
    if reader is not None:
        return FileInput(path, [str(Path(file)) for file in files], reader)
    source = from_files(path, files, file_format, temporary)
    return source.open(source.schema.names).read_all()


# -- pipes -------------------------------------------------------------------------------------------------------------


DELIMITERS = {"csv": ",", "tsv": "\t"}
PIPES = (*DELIMITERS, "arrows")
"""Formats whose rows can be processed while they arrive."""


def _piped(file_format: str) -> Input:
    from pyarrow import csv  # noqa: PLC0415 — few commands need it

    if file_format in DELIMITERS:
        options = csv.ReadOptions(block_size=1 << 16)  # small, so that rows are processed soon
        reader = csv.open_csv(sys.stdin.buffer, options, csv.ParseOptions(delimiter=DELIMITERS[file_format]))
    else:
        reader = pa.ipc.open_stream(sys.stdin.buffer)

    def read(columns: Sequence[str]) -> pa.RecordBatchReader:
        return reader_of_columns(reader.schema, columns, (batch.select(list(columns)) for batch in reader))

    return Input("standard input", reader.schema, read, None, lambda _: float("inf"), once=True)
