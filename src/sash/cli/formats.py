"""The formats of files: by name, by ending, and by the first bytes of a pipe."""

from __future__ import annotations

from sash.engine.select_sql import ending_of
from sash.hints import did_you_mean

ENDINGS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".json": "json",
    ".jsonl": "ndjson",
    ".ndjson": "ndjson",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".arrows": "arrows",
    ".feather": "arrow",
    ".ipc": "arrow",
}
"""Formats by the ending of a file: "arrow" is Arrow's file format, which is also Feather's, and "arrows" its stream format."""
FORMATS = tuple(dict.fromkeys(ENDINGS.values()))
NAMES = {"feather": "arrow", "ipc": "arrow", "jsonl": "ndjson"}
"""Other names of formats."""
CONTINUATION = b"\xff\xff\xff\xff"
"""The first bytes of Arrow's stream format."""


def named_format(name: str) -> str:
    """Return a format by its name. Raise ValueError for other names.

    >>> named_format("Feather"), named_format("csv")
    ('arrow', 'csv')
    """
    lower = name.lower()
    file_format = NAMES.get(lower, lower)
    if file_format not in FORMATS:
        raise ValueError(
            f"There is no format {name!r}.{did_you_mean(name, (*FORMATS, *NAMES))} The formats are {', '.join(FORMATS)}."
        )
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
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith(b"ARROW1"):
        return "arrow"
    if head.startswith(CONTINUATION):
        return "arrows"
    text = head.lstrip()
    return "json" if text.startswith(b"[") else "ndjson" if text.startswith(b"{") else "csv"
