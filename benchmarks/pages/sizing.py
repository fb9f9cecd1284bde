"""Write docs/sizing.md, and the coefficients of `sash size`, from the CSV and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa

import sash
from benchmarks.pages.tables import say_file, say_where, table, text_of
from benchmarks.report import quantity, round_off
from benchmarks.results import ROOT, Reading
from benchmarks.sizing.case import COEFFICIENTS, INTERVAL, MEASURED, PLAN, PLANNED, SLICES, SLIDE, WINDOW, Streams
from benchmarks.suites import SUITES
from sash import agg, window
from sash.engine.prepare import prepare
from sash.state.size_plan import Coefficients, SizePlan, say_number, size_of

PAGE = ROOT / "docs" / "sizing.md"
FILE = ROOT / "src" / "sash" / "state" / "coefficients.csv"
RATE, KEYS, EVERY = 1e6, 1e8, 60.0
"""The worked plan."""
SCHEMA = pa.schema({"household": pa.string(), "ts": pa.timestamp("us", "UTC"), "load": pa.float64()})


def coefficients_of(readings: Sequence[Reading]) -> Coefficients:
    """Return the coefficients that were measured."""
    return Coefficients(**{one.case: one.value for one in readings if one.case in COEFFICIENTS})


def worked_plan(readings: Sequence[Reading]) -> SizePlan:
    """Return the plan of the page."""
    aggregates = {"total": agg.sum("load"), "n": agg.count()}
    query = sash.Query(aggregates, window.time("1h", slide="1m"), by="household", time="ts")
    prepared = prepare(query._declared, SCHEMA)  # noqa: SLF001 — a part of Query
    size = size_of(prepared, SCHEMA, rate=RATE, keys=KEYS, interval=EVERY)
    return SizePlan.with_enough_cores(size, EVERY, coefficients_of(readings))


def checked(readings: Sequence[Reading]) -> Iterator[str]:
    """Yield the table of what was planned and measured."""
    found = {(one.case, one.contestant): one for one in readings}
    rows = []
    for name, (_, of) in PLANNED.items():
        planned, measured = (found[f"plan, {name}", one] for one in (PLAN, MEASURED))
        rows.append([of, quantity(planned), quantity(measured), f"{round_off(planned.value / measured.value)} ×"])
    yield from table(("", "planned", "measured", "planned beside measured"), rows)


def page_of(readings: Sequence[Reading]) -> str:
    """Return the page."""
    known, streams = coefficients_of(readings), Streams()
    by_case = {one.case: one for one in readings}
    measured = [[of, quantity(by_case[name])] for name, (_, of) in COEFFICIENTS.items()]
    largest = streams.largest
    by_plan = {one.contestant: one for one in readings if one.case == "plan, processor time"}
    parts = {
        "where": say_where(readings),
        "csv": say_file(SUITES["sizing"].csv, 1),
        "plan": "\n".join(table(("what", "how much", "how it is known"), worked_plan(readings).lines())).rstrip(),
        "file": f"[coefficients.csv](../{FILE.relative_to(ROOT)})",
        "window": f"{WINDOW} that begin every {SLIDE}",
        "coefficients": "\n".join(table(("of", "measured"), measured)).rstrip(),
        "rate": f"{float(f'{largest.rows / by_plan[MEASURED].value:.2g}'):,.0f}",
        "slices": str(SLICES[WINDOW]),
        "restart": f"{1e6 * SLICES[WINDOW] * known.restart_slice_seconds:.2g}",
        "keys": say_number(streams.many_keys.keys),
        "largest": f"{say_number(largest.keys)} keys, {say_number(largest.rows * largest.batches)} rows in micro-batches of "
        f"{say_number(largest.rows)}, one for every {INTERVAL:g} s of event time",
        "checked": "\n".join(checked(readings)).rstrip(),
    }
    text = text_of("sizing/page.md")
    for name, part in parts.items():
        text = text.replace(f"{{{{{name}}}}}", part)
    return text


def file_of(readings: Sequence[Reading]) -> str:
    """Return the file of coefficients."""
    heading = "# Written by python -m benchmarks.pages from benchmarks/results/sizing.csv"
    return "\n".join([heading, *coefficients_of(readings).lines()]) + "\n"


def write(readings: Sequence[Reading], page: Path = PAGE, file: Path = FILE) -> None:
    """Write both."""
    page.write_text(page_of(readings), encoding="utf-8")
    file.write_text(file_of(readings), encoding="utf-8")
