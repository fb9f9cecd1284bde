"""The input of a command: files, a folder, a pattern or a pipe → record batches.

Parquet and Arrow files are read by pyarrow, which keeps all types; CSV and JSON by DuckDB, which finds types from many rows.
A pipe is copied to a temporary file first, unless its rows are processed while they arrive.
"""

from __future__ import annotations

import glob
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from sash.cli.formats import CONTINUATION, ENDINGS, format_of, named_format, sniff
from sash.hints import list_names

STDIN = "-"
BATCH_ROWS = 1 << 17
HEAD = 4096
"""How many bytes of a pipe tell its format."""
DUCKDB_READERS = {
    "csv": "read_csv({files}, union_by_name=true)",
    "tsv": "read_csv({files}, delim='\\t', union_by_name=true)",
    "json": "read_json({files}, union_by_name=true)",
    "ndjson": "read_json({files}, format='newline_delimited', union_by_name=true)",
}
TEXT_GROWTH = 2
"""The memory of a table beside the size of its text, which may be packed."""
PACKED_GROWTH = 8
STRING_BYTES = 24
"""The estimated memory of a value of no fixed width."""


@dataclass(frozen=True)
class Input:
    """Rows that can be read several times, or once if they come from a pipe."""

    name: str
    """How messages call it."""
    schema: pa.Schema
    open: Callable[[Sequence[str]], pa.RecordBatchReader]
    """Returns some columns of all rows, in the order of the input."""
    rows: int | None
    """The number of rows, if it is known without reading them."""
    size: Callable[[Sequence[str]], float]
    """Returns the estimated memory that some columns take as a table, in bytes."""
    once: bool = False
    """Whether it is a pipe, which can be read once."""


def open_input(given: str, input_format: str | None, temporary: Path, *, at_once: bool = False) -> Input:
    """Return the input of a command. Raise FileNotFoundError or ValueError if it cannot be read.

    `given` is a path, a pattern or "-". `temporary` is a folder for a copy of a pipe; if `at_once`, the rows of a pipe are read
    while they arrive.
    """
    wanted = None if input_format is None else named_format(input_format)
    if given == STDIN:
        if sys.stdin.isatty():
            message = "The input is this terminal. Name a file with -i, or send rows: cat data.csv | sash run … -i -"
            raise ValueError(message)
        pipe: Any = sys.stdin.buffer
        head = pipe.peek(HEAD)[:HEAD]
        if not head:
            message = "There is nothing on standard input."
            raise ValueError(message)
        wanted = wanted or sniff(head)
        if at_once and wanted in PIPES:
            return _piped(wanted)
        return _from_files("standard input", [_copy_of_pipe(temporary, wanted)], wanted, temporary)
    files = find_files(given, wanted)
    return _from_files(given, files, wanted or _only_format(files), temporary)


def find_files(given: str, wanted: str | None) -> list[str]:
    """Return the files of a path, a folder or a pattern. Raise FileNotFoundError if there are none."""
    path = Path(given)
    if path.is_dir():
        inside = sorted(str(one) for one in path.rglob("*") if one.is_file() and not _is_hidden(one.relative_to(path)))
        files = [one for one in inside if format_of(one) is not None or wanted is not None]
        if not files:
            message = f"The folder {given!r} has no files that end in {', '.join(ENDINGS)}."
            raise FileNotFoundError(message)
        return files
    if path.is_file():
        return [given]
    files = sorted(one for one in glob.glob(given, recursive=True) if Path(one).is_file())  # noqa: PTH207 — the pattern may begin with /
    if not files:
        what = "no file matches the pattern" if glob.has_magic(given) else "there is no file or folder"
        message = f"Cannot read the input: {what} {given!r}."
        raise FileNotFoundError(message)
    return files


def _is_hidden(path: Path) -> bool:
    """Return whether a file is no data: those of Spark's writers begin with _ or a dot."""
    return any(part.startswith((".", "_")) for part in path.parts)


def _only_format(files: Sequence[str]) -> str:
    found = dict.fromkeys(format_of(one) for one in files)
    if None in found:
        message = f"{files[0]!r} does not end in {', '.join(ENDINGS)}. Name its format with --input-format."
        raise ValueError(message)
    if len(found) > 1:
        message = f"The input has files of several formats: {list_names(filter(None, found))}. Name one with a pattern, such as 'folder/*.csv'."
        raise ValueError(message)
    return str(next(iter(found)))


# -- files -------------------------------------------------------------------------------------------------------------


def _from_files(name: str, files: Sequence[str], form: str, temporary: Path) -> Input:
    if form in DUCKDB_READERS:
        return _text_files(name, files, form)
    if form == "parquet":
        return _parquet_files(name, files)
    return _arrow_files(name, [_as_arrow_file(one, number, temporary) for number, one in enumerate(files)])


def _dataset(files: Sequence[str], form: str) -> Any:
    """Return many files as one. Columns may also come from the names of folders, such as day=1."""
    from pyarrow import dataset  # noqa: PLC0415 — it imports pandas, if that is installed

    return dataset.dataset(list(files), format=form, partitioning="hive")


def _scan(data: Any, columns: Sequence[str]) -> pa.RecordBatchReader:
    # few batches in advance: the default reads 16 batches of 4 files ahead, which may not fit into memory
    return data.scanner(
        columns=list(columns), batch_size=BATCH_ROWS, batch_readahead=2, fragment_readahead=1
    ).to_reader()


def _parquet_files(name: str, files: Sequence[str]) -> Input:
    from pyarrow import parquet  # noqa: PLC0415 — other formats do not need it

    def read(columns: Sequence[str]) -> pa.RecordBatchReader:
        if data is not None:
            return _scan(data, columns)
        batches = single.iter_batches(batch_size=BATCH_ROWS, columns=list(columns))
        return pa.RecordBatchReader.from_batches(pa.schema([schema.field(one) for one in columns]), batches)

    def size(columns: Sequence[str]) -> float:
        stored = sum(
            group.column(place).total_uncompressed_size
            for one in metadata
            for group in map(one.row_group, range(one.num_row_groups))
            for place in range(group.num_columns)
            if group.column(place).path_in_schema.partition(".")[0] in columns
        )
        return float(max(stored, rows * _row_bytes(schema, columns)))

    try:
        single = parquet.ParquetFile(files[0])
        data = _dataset(files, "parquet") if len(files) > 1 else None
        metadata = [single.metadata] if data is None else [part.metadata for part in data.get_fragments()]
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(name, "Parquet", error) from error
    schema = single.schema_arrow if data is None else data.schema
    rows = sum(one.num_rows for one in metadata)
    return Input(name, schema, read, rows, size)


def _arrow_files(name: str, files: Sequence[str]) -> Input:
    def read(columns: Sequence[str]) -> pa.RecordBatchReader:
        if data is not None:
            return _scan(data, columns)
        batches = (single.get_batch(number).select(list(columns)) for number in range(single.num_record_batches))
        return pa.RecordBatchReader.from_batches(pa.schema([schema.field(one) for one in columns]), batches)

    try:
        single = pa.ipc.open_file(pa.memory_map(files[0]))
        data = _dataset(files, "ipc") if len(files) > 1 else None
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(name, "Arrow", error) from error
    schema = single.schema if data is None else data.schema
    counts = (single.get_batch(number).num_rows for number in range(single.num_record_batches))
    rows = sum(counts) if data is None else data.count_rows()
    total = sum(Path(one).stat().st_size for one in files)
    return Input(name, schema, read, rows, lambda _: TEXT_GROWTH * total)


def _unreadable(name: str, form: str, error: Exception) -> ValueError:
    return ValueError(f"Cannot read {name!r} as {form}: {_first_line(error)}")


def _row_bytes(schema: pa.Schema, columns: Sequence[str]) -> float:
    """Return the estimated memory of a row."""
    widths = 0.0
    for name in columns:
        try:
            widths += schema.field(name).type.bit_width / 8
        except ValueError:  # no fixed width
            widths += STRING_BYTES
    return widths


def _text_files(name: str, files: Sequence[str], form: str) -> Input:
    import duckdb  # noqa: PLC0415 — Parquet does not need it

    connection = duckdb.connect()
    connection.execute("SET GLOBAL TimeZone = 'UTC'")
    listed = ", ".join("'" + one.replace("'", "''") + "'" for one in files)
    source = DUCKDB_READERS[form].format(files=f"[{listed}]")

    def query(text: str) -> Any:
        try:
            cursor = connection.cursor()
            cursor.execute("SET enable_progress_bar = false")  # it goes to standard output
            return cursor.sql(text)
        except duckdb.Error as error:
            raise _unreadable(name, form, error) from error

    def read(columns: Sequence[str]) -> pa.RecordBatchReader:
        named = ", ".join('"' + one.replace('"', '""') + '"' for one in columns) or "NULL AS sash_nothing"
        reader = query(f"SELECT {named} FROM {source}").to_arrow_reader(BATCH_ROWS)  # noqa: S608 — quoted names

        def batches() -> Iterator[pa.RecordBatch]:
            try:
                yield from reader
            except (
                duckdb.Error,
                pa.ArrowException,
                OSError,
            ) as error:  # a value far below that does not fit its column
                raise _unreadable(name, form, error) from error

        return pa.RecordBatchReader.from_batches(reader.schema, batches())

    schema = query(f"SELECT * FROM {source} LIMIT 0").to_arrow_table().schema  # noqa: S608 — as above
    size = sum(
        Path(one).stat().st_size * (PACKED_GROWTH if one.endswith((".gz", ".zst")) else TEXT_GROWTH) for one in files
    )
    return Input(name, schema, read, None, lambda _: size)


# -- pipes -------------------------------------------------------------------------------------------------------------


def _copy_of_pipe(temporary: Path, form: str) -> str:
    path = temporary / f"input.{form}"
    with path.open("wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    return str(path)


def _as_arrow_file(path: str, number: int, temporary: Path) -> str:
    """Return a file in Arrow's file format: a copy, if this one is in the stream format, which cannot be read in parts."""
    with Path(path).open("rb") as file:
        if not file.peek(len(CONTINUATION)).startswith(CONTINUATION):
            return path
        copy = temporary / f"{number}.arrow"
        with pa.ipc.open_stream(file) as reader, pa.ipc.new_file(str(copy), reader.schema) as writer:
            for batch in reader:
                writer.write_batch(batch)
    return str(copy)


def _csv_pipe() -> pa.RecordBatchReader:
    from pyarrow import csv  # noqa: PLC0415 — few commands need it

    return csv.open_csv(sys.stdin.buffer, read_options=csv.ReadOptions(block_size=1 << 16))


def _tsv_pipe() -> pa.RecordBatchReader:
    from pyarrow import csv  # noqa: PLC0415 — as above

    return csv.open_csv(sys.stdin.buffer, parse_options=csv.ParseOptions(delimiter="\t"))


PIPES: dict[str, Callable[[], pa.RecordBatchReader]] = {
    "csv": _csv_pipe,
    "tsv": _tsv_pipe,
    "arrows": lambda: pa.ipc.open_stream(sys.stdin.buffer),
}
"""Formats whose rows can be processed while they arrive."""


def _piped(form: str) -> Input:
    reader = PIPES[form]()

    def read(columns: Sequence[str]) -> pa.RecordBatchReader:
        kept = [reader.schema.get_field_index(name) for name in columns]
        schema = pa.schema([reader.schema.field(place) for place in kept])
        return pa.RecordBatchReader.from_batches(schema, (batch.select(list(columns)) for batch in reader))

    return Input("standard input", reader.schema, read, None, lambda _: float("inf"), once=True)


def _first_line(error: Exception) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__


def read_size(text: str) -> float:
    """Return a number of bytes. Raise ValueError if the text is no size.

    >>> read_size("300MB"), read_size("2 gb")
    (300000000.0, 2000000000.0)
    """
    found = re.fullmatch(r"([\d.]+)\s*([kmgt]?)b?", text.strip().lower())
    if found is None:
        message = f"{text!r} is not a size. Use a number and a unit, as in 300MB or 2GB."
        raise ValueError(message)
    return float(found[1]) * float(1000 ** " kmgt".index(found[2] or " "))


def available_memory() -> float:
    """Return the bytes of memory that this process may still take: of the machine, of its container, and of its own limit."""
    limits = [float("inf")]
    with suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        limits.append(1024 * float(next(line for line in lines if line.startswith("MemAvailable")).split()[1]))
    with suppress(OSError, ValueError):
        group = Path("/sys/fs/cgroup")
        most, now = ((group / f"memory.{part}").read_text(encoding="ascii") for part in ("max", "current"))
        limits.append(float(most) - float(now))
    with suppress(ImportError, OSError):
        import resource  # noqa: PLC0415 — Windows has none

        for limit in (resource.RLIMIT_AS, resource.RLIMIT_DATA):
            most_bytes = resource.getrlimit(limit)[0]
            if most_bytes != resource.RLIM_INFINITY:
                limits.append(float(most_bytes) / 2)  # code and threads take address space too
    return max(min(limits), 0.0)
