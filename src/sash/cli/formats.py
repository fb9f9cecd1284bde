"""The formats of files: by name, by ending, and by the first bytes of a pipe."""

from __future__ import annotations

from pathlib import Path

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
PACKED = (".gz", ".zst")
"""Endings of compressed files, after that of the format."""
NAMES = {"feather": "arrow", "ipc": "arrow", "jsonl": "ndjson"}
"""Other names of formats."""
CONTINUATION = b"\xff\xff\xff\xff"
"""The first bytes of Arrow's stream format."""


def named_format(name: str) -> str:
    """Return a format by its name. Raise ValueError if there is none.

    >>> named_format("Feather"), named_format("csv")
    ('arrow', 'csv')
    """
    lower = name.lower()
    found = NAMES.get(lower, lower)
    if found not in FORMATS:
        message = f"There is no format {name!r}.{did_you_mean(name, (*FORMATS, *NAMES))} The formats are {', '.join(FORMATS)}."
        raise ValueError(message)
    return found


def format_of(path: str) -> str | None:
    """Return the format of a file by its ending; None if the ending names none.

    >>> format_of("log.csv.gz"), format_of("data/*.parquet"), format_of("README.md")
    ('csv', 'parquet', None)
    """
    name = Path(path).name.lower()
    for packed in PACKED:
        name = name.removesuffix(packed)
    return ENDINGS.get(Path(name).suffix)


def sniff(head: bytes) -> str:
    """Return the format of data by its first bytes. What is nothing else is CSV.

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
