"""Write the sentence with numbers in README.md, below its picture, from the CSV and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.case import say
from benchmarks.plots.lines import AGGREGATES
from benchmarks.report import quantity
from benchmarks.results import ROOT, Reading
from benchmarks.sash_calls import QUERY

README = ROOT / "README.md"
BEGIN, END = "<!-- numbers: python -m benchmarks.pages writes them -->", "<!-- end of numbers -->"
LENGTH = 1 << 10


def sentence(readings: Sequence[Reading]) -> str:
    """Return the numbers of the picture at one range: a query beside the fastest peer."""
    pairs: list[str] = []
    for aggregate in AGGREGATES:
        case = [one for one in readings if one.case == f"{aggregate} float64 {say(LENGTH)}"]
        own = next(one for one in case if one.contestant == QUERY)
        peer = min((one for one in case if one.role == "peer"), key=lambda one: one.value)
        unit = "" if pairs else " a row"
        pairs.append(f"{quantity(own)}{unit} for {aggregate} ({peer.contestant}: {quantity(peer)})")
    return (
        f"Windows of {LENGTH:,} rows take {', '.join(pairs[:-1])},\n"
        f"and {pairs[-1]}; in brackets, the fastest peer. [Benchmarks](docs/benchmarks.md) has all that was measured."
    )


def write(readings: Sequence[Reading], path: Path = README) -> None:
    """Replace the sentence between its marks."""
    text = path.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    path.write_text(f"{before}{BEGIN}\n{sentence(readings)}\n{END}{after}", encoding="utf-8")
