"""The table of questions and contestants, from the CSV."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.questions.case import PEERS, QuestionCase
from benchmarks.report import round_off, say_time
from benchmarks.results import Reading

NAMES = ("Sash", *PEERS)


def page(cases: Sequence[QuestionCase], readings: Sequence[Reading]) -> Iterator[str]:
    """Yield a row for each question with the time of each contestant, then who cannot answer what."""
    found = {(one.case, one.contestant): one for one in readings}
    measured = [case for case in cases if (case.name, "Sash") in found]
    wins = sum(_fastest(case, found) == "Sash" for case in measured)
    yield f"Nanoseconds per row; the fastest is bold. Sash is the fastest in {wins} of {len(measured)} questions."
    yield ""
    headings = ("question", "window", *NAMES, "Sash beside the fastest peer")
    for row in (headings, ["---"] * len(headings), *(_row(case, found) for case in measured)):
        yield f"| {' | '.join(row)} |"
    yield ""
    fewer: dict[tuple[str, int], list[str]] = {}
    for case in measured:
        for name in NAMES:
            one = found.get((case.name, name))
            if one and one.rows < found[case.name, "Sash"].rows:
                fewer.setdefault((name, one.rows), []).append(case.name)
    yield from (f"- \\* {name} on {rows:,} rows: {', '.join(names)}" for (name, rows), names in sorted(fewer.items()))
    for case in measured:
        yield from (f"- {name} cannot answer *{case.name}*: {why}" for name, why in case.question.cannot.items())
    yield ""


Found = dict[tuple[str, str], Reading]


def _times(case: QuestionCase, found: Found) -> dict[str, float]:
    return {name: found[case.name, name].value for name in NAMES if (case.name, name) in found}


def _fastest(case: QuestionCase, found: Found) -> str:
    times = _times(case, found)
    return min(times, key=lambda name: times[name])


def _row(case: QuestionCase, found: Found) -> list[str]:
    times = _times(case, found)
    fastest = _fastest(case, found)
    most = found[case.name, "Sash"].rows
    cells = []
    for name in NAMES:
        if name not in times:
            cells.append("cannot" if name in case.question.cannot else "")
            continue
        text = say_time(times[name]) + (" \\*" if found[case.name, name].rows < most else "")
        cells.append(f"**{text}**" if name == fastest else text)
    peers = [time for name, time in times.items() if name != "Sash"]
    ratio = f"{round_off(min(peers) / times['Sash'])} ×" if peers else ""
    return [case.name, case.question.window, *cells, ratio]
