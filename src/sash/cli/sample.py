"""`sash sample`: data to try queries on, which is a part of the package."""

from __future__ import annotations

import sys
from pathlib import Path

from sash.cli.display import print_listing
from sash.cli.outputs import STDOUT, check_output, opened, output_format, write_results
from sash.hints import did_you_mean

FOLDER = Path(__file__).with_name("samples")
SAMPLES = {
    "readings": "three days of 36 smart plugs in six households: house, household, plug, ts, load (W) and work (kWh)",
}
"""The samples, and what they hold."""
ROWS = 5
"""Rows that a terminal shows."""


def write_sample(name: str | None, target: str | None, format_name: str | None) -> None:
    """Write a sample to a file or a pipe, as Parquet if no format is given, or list the samples. Raise ValueError if there is none of this name.

    A terminal shows the first rows.
    """
    if name is None:
        print_listing(("sample", "what it holds"), list(SAMPLES.items()))
        return
    if name not in SAMPLES:
        raise ValueError(
            f"There is no sample {name!r}.{did_you_mean(name, SAMPLES)} The samples are {', '.join(SAMPLES)}."
        )
    to_pipe = target == STDOUT or (target is None and not sys.stdout.isatty())
    file_format = "parquet" if to_pipe and format_name is None else output_format(target, format_name)
    check_output(target)
    path = FOLDER / f"{name}.parquet"
    if file_format == "parquet":
        with opened(target) as file:
            file.write(path.read_bytes())
        return
    from pyarrow import parquet  # noqa: PLC0415 — other formats do not need it

    write_results(parquet.read_table(path), target, file_format, ROWS)
