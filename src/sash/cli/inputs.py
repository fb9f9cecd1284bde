"""The input of a command: files, a folder, a pattern or a pipe → record batches.

A pipe is copied to a temporary file first, unless its rows are processed while they arrive.
"""

from __future__ import annotations

import glob
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from sash.cli.file_readers import ENDINGS, Input, format_of, from_files, named_format, reader_of_columns, sniff
from sash.hints import list_names

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


# -- pipes -------------------------------------------------------------------------------------------------------------


def _delimited(delimiter: str) -> pa.RecordBatchReader:
    from pyarrow import csv  # noqa: PLC0415 — few commands need it

    options = csv.ReadOptions(block_size=1 << 16)  # small, so that rows are processed soon
    return csv.open_csv(sys.stdin.buffer, options, csv.ParseOptions(delimiter=delimiter))


PIPES: dict[str, Callable[[], pa.RecordBatchReader]] = {
    "csv": lambda: _delimited(","),
    "tsv": lambda: _delimited("\t"),
    "arrows": lambda: pa.ipc.open_stream(sys.stdin.buffer),
}
"""Formats whose rows can be processed while they arrive."""


def _piped(file_format: str) -> Input:
    reader = PIPES[file_format]()

    def read(columns: Sequence[str]) -> pa.RecordBatchReader:
        return reader_of_columns(reader.schema, columns, (batch.select(list(columns)) for batch in reader))

    return Input("standard input", reader.schema, read, None, lambda _: float("inf"), once=True)
