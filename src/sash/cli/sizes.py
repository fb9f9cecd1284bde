"""`sash size`: how large a stream on Spark gets."""

from __future__ import annotations

from pathlib import Path

import typer

from sash.backends.registry import prepare_for
from sash.cli.display import print_listing
from sash.cli.local_run import input_schema
from sash.cli.text_query import LastSelect, TextQuery
from sash.durations import UNITS, read_duration
from sash.state.size_plan import Coefficients, SizePlan, measured_coefficients, size_of


def show_size(
    query: TextQuery | LastSelect,
    source: str | None,
    input_format: str | None,
    *,
    rate: float,
    keys: float,
    interval: str,
    busy: float,
    coefficients: str | None,
) -> None:
    """Print the cores, the memory and the checkpoint of a stream. Raise ValueError if they are not known ahead."""
    for option, value in {"--rate": rate, "--keys": keys}.items():
        if not value > 0:
            raise ValueError(f"{option} is {value:g}. It must be more than 0.")
    if not 0 < busy <= 1:
        raise ValueError(f"--busy is {busy:g}. It is a share of the time: more than 0, and at most 1.")
    seconds = seconds_of(interval)
    known = measured_coefficients() if coefficients is None else read_coefficients(coefficients)
    if source is None and query.path is None:
        prepared, schema = prepare_for(query.explain().declared, None)
    else:
        rows = input_schema(query, source, input_format).empty_table()
        prepared, schema = prepare_for(query.over_windows(rows).explain(rows).declared, rows)
    size = size_of(prepared, schema, rate=rate, keys=keys, interval=seconds)
    plan = SizePlan.with_enough_cores(size, seconds, known, busy)
    print_listing(("what", "how much", "how it is known"), [*plan.lines()])
    typer.echo(
        "\nReading the source and writing the results come on top. docs/sizing.md says how all this was measured."
    )


def seconds_of(interval: str) -> float:
    """Return the seconds of a duration. Raise ValueError if it is none.

    >>> seconds_of("1m"), seconds_of("250ms")
    (60.0, 0.25)
    """
    return read_duration(interval, "--interval").amount / UNITS["s"]


def read_coefficients(path: str) -> Coefficients:
    """Return the coefficients of a file. Raise ValueError if it has others."""
    return Coefficients.from_lines(Path(path).read_text(encoding="utf-8").splitlines())
