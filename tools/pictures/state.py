"""The partials that an algorithm stores, as bars over the rows that they hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from string import ascii_lowercase
from typing import Any

from sash.algorithms import Algorithm
from sash.plan.pictures.svg import MARGIN, Canvas, width_of
from tools.pictures.recorded import Recorder

WIDTH = 780
LEFT, RIGHT = 118, WIDTH - 24
BAR, NEXT_BAR = 19, 23
"""The height of a bar, and the distance to the next one."""
MOST_CELL = 92


@dataclass(frozen=True)
class Scene:
    """An algorithm, what is done to it, and what of its state is drawn."""

    algorithm: type[Algorithm[Any]]
    script: str
    """+ inserts the next letter, - evicts the oldest, ? queries the window, a digit the newest rows."""
    fields: Mapping[str, str]
    """The fields that hold partials, and the words beside them."""
    cursors: tuple[str, ...] = ()
    ranges: tuple[int, ...] = ()
    asked: tuple[int, ...] = ()
    """The ranges of the queries that the picture explains; none for the whole window."""
    note: str = ""
    words: Mapping[str, str] = field(default_factory=dict)


def play(scene: Scene) -> tuple[Any, Recorder]:
    """Run the script of a scene."""
    recorder = Recorder()
    window: Any = scene.algorithm(recorder.aggregate, scene.ranges)
    letters = iter(ascii_lowercase)
    for step in scene.script:
        if step == "+":
            window.insert(next(letters))
        elif step == "-":
            window.evict()
        elif step == "?":
            window.query()
        else:
            window.query_last(int(step))
    window._check()  # noqa: SLF001 — no picture of a state that breaks an invariant
    recorder.forget()
    return window, recorder


def stored(window: Any, name: str, held: str) -> list[str]:
    """Return the partials of a field, without those of an array that hold rows outside the window: they are never read."""
    value = getattr(window, name)
    if isinstance(value, dict):
        return [value[place] for place in sorted(value)]
    found = value if isinstance(value, list) else [value]
    return [partial for partial in found if partial and partial in held]


def ask(window: Any, recorder: Recorder, scene: Scene) -> list[str]:
    """Query the window and return what each query did, as a line of text; `reads` of the recorder are of all of them."""
    lines = []
    reads: set[str] = set()
    for asked in scene.asked or (0,):
        recorder.forget()
        answer = window.query_last(asked) if asked else window.query()
        reads |= recorder.reads or {answer}
        made = f"= {recorder.formula(answer)}" if recorder.calls else f"reads {answer}"
        calls = f"{recorder.calls or 'no'} combine{'s' * (recorder.calls != 1)}"
        lines.append(f"{f'query_last({asked})' if asked else 'query()'} {made}: {calls}")
    recorder.reads = reads
    return lines


def draw_state(canvas: Canvas, scene: Scene, top: float) -> float:
    """Draw rows, stored partials and a query; return where the picture ends."""
    window, recorder = play(scene)
    held = ascii_lowercase[window.begin : window.end]
    bars = {name: stored(window, name, held) for name in scene.fields}
    lines = ask(window, recorder, scene)
    first = min([window.begin, *(ascii_lowercase.index(bar[0]) for found in bars.values() for bar in found)])
    first = max(0, min(first, window.begin - 1))
    cell = min(MOST_CELL, (RIGHT - LEFT) / (window.end - first))

    def x(position: int) -> float:
        return float(LEFT + (position - first) * cell)

    places: dict[int, list[str]] = {}
    for name in scene.cursors:
        places.setdefault(getattr(window, name), []).append(scene.words.get(name, name))
    y = top + (16 if places else 0)
    canvas.text((MARGIN, y + 14), "rows")
    for position in range(first, window.end):
        inside = position >= window.begin
        canvas.text(
            (x(position) + cell / 2, y + 14), ascii_lowercase[position], "text" if inside else "note", 13, "middle"
        )
    canvas.box((x(window.begin) + 1, y), ((window.end - window.begin) * cell - 2, 20), "none", "rim", 4)
    bottom = y + 30
    # A partial may be in two fields: the later one is there to be read.
    last = {bar: name for name in scene.fields for bar in bars[name]}
    for name, words in scene.fields.items():
        canvas.text((MARGIN, bottom + 14), words)
        read = {bar for bar in recorder.reads if last.get(bar) == name}
        bottom = draw_bars(canvas, bars[name], read, bottom, x)
    for place, names in places.items():
        canvas.line((x(place), y - 4), (x(place), bottom - 4), "edge", "2 3")
        words = ", ".join(names)
        at_end = place == window.end
        canvas.text((x(place) + (4 if at_end else 0), y - 8), words, "edge", 11, "end" if at_end else "middle")
    for line in [*lines, *([scene.note] if scene.note else [])]:
        bottom += 18
        canvas.text((MARGIN, bottom - 4), line, "text" if line in lines else "note")
    return bottom


def draw_bars(canvas: Canvas, bars: list[str], reads: set[str], top: float, x: Any) -> float:
    """Draw partials, the shortest first, each in the first lane that has room for it; return where the next lane begins."""
    lanes: list[list[range]] = []
    for bar in sorted(bars, key=lambda bar: (len(bar), bar)):
        span = range(ascii_lowercase.index(bar[0]), ascii_lowercase.index(bar[-1]) + 1)
        lane = next((n for n, taken in enumerate(lanes) if not any(overlap(span, one) for one in taken)), len(lanes))
        if lane == len(lanes):
            lanes.append([])
        lanes[lane].append(span)
        y = top + lane * NEXT_BAR
        left, right = x(span.start) + 1.5, x(span.stop) - 1.5
        read = bar in reads
        canvas.box((left, y), (right - left, BAR), "window" if read else "slice", "rim" if read else "edge")
        label = "⊕".join(bar)
        label = label if width_of(label, 12) < right - left else bar
        canvas.text(((left + right) / 2, y + 14), label, "text", 12, "middle")
    return top + max(len(lanes), 1) * NEXT_BAR + 7


def overlap(one: range, other: range) -> bool:
    """Tell whether two ranges have a position in common."""
    return one.start < other.stop and other.start < one.stop
