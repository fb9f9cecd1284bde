"""The output of a command: results → a file, a pipe or a terminal.

A file is written under another name beside its place and renamed at the end, so that nobody ever sees half of it.
"""

from __future__ import annotations

import glob
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from sash.atomic_file import replacing
from sash.cli.display import print_rows
from sash.cli.inputs import ENDINGS, format_of, named_format
from sash.cli.iso_times import iso_times, with_iso_times
from sash.columns.json_values import plain
from sash.engine.select_sql import PACKED

STDOUT = "-"


class TextWriter:
    """CSV. Times are in ISO 8601, lists, maps and structs are written as JSON, binary values in base64."""

    def __init__(self, file: BinaryIO, schema: pa.Schema, delimiter: str = ",") -> None:
        self.file, self.delimiter = file, delimiter
        quoted_names = ['"' + name.replace('"', '""') + '"' for name in schema.names]
        file.write((delimiter.join(quoted_names) + "\n").encode())

    def write(self, batch: pa.RecordBatch) -> None:
        """Write a batch, so that a reader of the pipe gets it now. Pyarrow's own writer would put quotes around times."""
        import pyarrow.compute as pc  # noqa: PLC0415 — few commands need it

        columns = [_csv_column(column) for column in batch.columns]
        nothing, delimiter, end = (pa.scalar(text, pa.large_string()) for text in ("", self.delimiter, "\n"))
        joined = pc.binary_join_element_wise(*columns, delimiter, null_handling="replace", null_replacement="")
        lines = pc.binary_join_element_wise(joined, nothing, end)
        if len(lines):
            self.file.write(lines.buffers()[2])  # the lines stand one behind the other
        self.file.flush()

    def close(self) -> None:
        """Do nothing: all lines are written."""


def _csv_column(column: pa.Array) -> pa.Array:
    """Return a column as the text of CSV, with quotes around strings."""
    import pyarrow.compute as pc  # noqa: PLC0415 — as above

    written = iso_times(column)
    is_string = not pa.types.is_timestamp(column.type)
    if _needs_json(written.type):
        written = _as_json(written)
    elif pa.types.is_dictionary(written.type):
        written = written.dictionary_decode()
    if pa.types.is_duration(written.type):  # in seconds, as in JSON: the text of a number has no unit
        ticks = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[written.type.unit]
        written = pc.divide(written.cast(pa.int64()).cast(pa.float64(), safe=False), float(ticks))
    texts = written.cast(pa.large_string())
    if not (is_string and (pa.types.is_string(written.type) or pa.types.is_large_string(written.type))):
        return texts
    mark = pa.scalar('"', pa.large_string())
    doubled = pc.replace_substring(texts, '"', '""')
    return pc.binary_join_element_wise(mark, doubled, mark, pa.scalar("", pa.large_string()))


class JsonWriter:
    """JSON: one array of objects, or one object per line. Times are in ISO 8601. NaN and infinities are null, because JSON has no such numbers."""

    def __init__(self, file: BinaryIO, *, lines: bool) -> None:
        self.file, self.lines, self.count = file, lines, 0

    def write(self, batch: pa.RecordBatch) -> None:
        """Write a batch."""
        for row in with_iso_times(batch).to_pylist():
            before = b"" if self.lines else b",\n " if self.count else b"[\n "
            self.file.write(before + json.dumps(plain(row), ensure_ascii=False).encode() + b"\n" * self.lines)
            self.count += 1
        self.file.flush()

    def close(self) -> None:
        """End the array."""
        if not self.lines:
            self.file.write(b"\n]\n" if self.count else b"[]\n")


def _parquet(file: BinaryIO, schema: pa.Schema) -> Any:
    from pyarrow import parquet  # noqa: PLC0415 — few commands need it

    return parquet.ParquetWriter(file, schema)


WRITERS: dict[str, Callable[[BinaryIO, pa.Schema], Any]] = {
    "csv": TextWriter,
    "tsv": lambda file, schema: TextWriter(file, schema, "\t"),
    "json": lambda file, _: JsonWriter(file, lines=False),
    "ndjson": lambda file, _: JsonWriter(file, lines=True),
    "parquet": _parquet,
    "arrow": pa.ipc.new_file,
    "arrows": pa.ipc.new_stream,
}
"""By format: what writes batches of a schema to a file, with `write` and `close`."""


def output_format(target: str | None, name: str | None) -> str | None:
    """Return the format of an output; None for a table on the terminal. Raise ValueError if it is not known.

    `target` is a path, or None or "-" for standard output, which gets Arrow's stream format for "arrow". `name` is that of
    --output-format.
    """
    if target is None or target == STDOUT:
        if name is None:
            return None if target is None and sys.stdout.isatty() else "csv"
        named = named_format(name)
        return "arrows" if named == "arrow" else named
    file_format = named_format(name) if name is not None else format_of(target)
    if file_format is None or (name is None and target.lower().endswith(PACKED)):
        raise ValueError(f"{target!r} does not end in {', '.join(ENDINGS)}. Name its format with --output-format.")
    return file_format


def check_output(target: str | None) -> None:
    """Raise ValueError if a file cannot be written there: before a long run, not after it."""
    if target is None or target == STDOUT:
        return
    path = Path(target)
    if path.is_dir():
        raise ValueError(f"The output {target!r} is a folder. Name a file in it.")
    if not path.absolute().parent.is_dir():
        problem = f"The output {target!r} is in a folder that does not exist."
        raise FileNotFoundError(f"{problem} Make it first: mkdir -p {path.parent}")


def check_not_input(target: str | None, sources: Sequence[str | None]) -> None:
    """Raise ValueError if the output would replace an input: a file, one in a folder, or one that matches a pattern."""
    if target is None or target == STDOUT or not Path(target).exists():
        return
    place = Path(target).resolve()
    for source in filter(None, sources):
        files = [source] if Path(source).exists() else glob.glob(source, recursive=True)  # noqa: PTH207 — it may begin with /
        if any(place.is_relative_to(Path(file).resolve()) for file in files):
            raise ValueError(f"The output {target!r} is also an input, which it would replace. Name another file.")


def write_results(
    results: pa.Table | pa.RecordBatchReader,
    target: str | None,
    file_format: str | None,
    most_rows: int,
    before_table: Callable[[], None] = lambda: None,
) -> None:
    """Write results. Without a format, show at most `most_rows` of them on the terminal, after `before_table`."""
    reader = results.to_reader() if isinstance(results, pa.Table) else results
    if file_format is not None:
        with opened(target) as file:
            writer = WRITERS[file_format](file, reader.schema)
            for batch in reader:
                writer.write(batch)
            writer.close()
        return
    shown, total = [], 0
    for batch in reader:
        if total < most_rows:
            shown.append(batch.slice(0, most_rows - total))
        total += len(batch)
    before_table()
    print_rows(pa.Table.from_batches(shown, reader.schema), total)


@contextmanager
def opened(target: str | None) -> Iterator[BinaryIO]:
    """Open an output for writing. A file gets its name when the block has ended without an error."""
    if target is None or target == STDOUT:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    path = Path(target)
    if path.exists() and not path.is_file():  # a named pipe or a device
        with path.open("wb") as file:
            yield file
        return
    with replacing(path) as file:
        yield file


def _needs_json(dtype: pa.DataType) -> bool:
    tests = (pa.types.is_nested, pa.types.is_binary, pa.types.is_large_binary, pa.types.is_null)
    return any(test(dtype) for test in tests)


def _as_json(column: pa.Array) -> pa.Array:
    values = map(plain, column.to_pylist())
    texts = [v if v is None or isinstance(v, str) else json.dumps(v, ensure_ascii=False) for v in values]
    return pa.array(texts, pa.string())
