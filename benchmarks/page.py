"""Write docs/benchmarks.md: every target with what was measured, from the CSV, and what stands in the way of those missed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.case import ERROR, TIME
from benchmarks.cases import CASES
from benchmarks.report import Verdict, judge, label, quantity, round_off, say_target
from benchmarks.results import COMPILED, ROOT, Reading, read

PAGE = ROOT / "docs" / "benchmarks.md"
REASONS = Path(__file__).parent / "reasons.md"


def write(readings: Sequence[Reading], path: Path) -> None:
    """Write the page."""
    facts = next(one for one in readings if one.contestant == "Sash" and one.measure == TIME)
    verdicts = judge(CASES, readings)
    met = sum(one.is_met for one in verdicts)
    copy = min((one.value for one in readings if one.contestant == "copy of the column"), default=float("nan"))
    lines = [
        "# Benchmarks",
        "",
        f"`make bench` on {facts.machine}, {facts.cores} cores, Python {facts.python}, {facts.date}, commit {facts.commit}:",
        "medians, all contestants in turns in one run, each answer checked before it is timed. Everything measured is in",
        "[compiled.csv](../benchmarks/results/compiled.csv).",
        f"A copy of the column into a fresh array, which reads and writes as much, takes {copy:.1f} ns a row.",
        "",
        f"{met} of {len(verdicts)} targets are met.",
        "",
        "| case | range | to reach | measured | Sash | beside |",
        "| --- | --- | --- | --- | --- | --- |",
        *(f"| {' | '.join(_cells(one))} |" for one in verdicts),
        "",
        REASONS.read_text(encoding="utf-8").strip(),
        "",
    ]
    path.write_text("\n".join(lines), encoding="utf-8")


def _cells(one: Verdict) -> list[str]:
    is_ratio = one.other is not None and one.own.measure != ERROR
    measured = f"{round_off(one.ratio)} ×" if is_ratio else quantity(one.own)
    beside = f"{one.other.contestant} {quantity(one.other)}" if one.other is not None else ""
    mark = "✓" if one.is_met else "✗"
    return [label(one), one.case.range, say_target(one), f"{measured} {mark}", quantity(one.own), beside]


if __name__ == "__main__":
    write(read(COMPILED), PAGE)
