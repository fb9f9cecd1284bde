"""All pictures that the code draws, by the name of their file in docs/images."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import sash
from sash import agg, window
from sash.algorithms import (
    DABA,
    BInt,
    FiBA,
    FlatFAT,
    FlatFIT,
    OccurrenceTournament,
    OrderStatisticsTree,
    ReactiveAggregator,
    Recalculate,
    SlickDequeInvertible,
    SlickDequeSelective,
    SlideSideInvertible,
    SlideSideNonInvertible,
    SubtractOnEvict,
    TwoStacks,
)
from sash.plan.pictures.svg import Canvas, Picture
from tools.pictures.cheat_sheet import draw_cheat_sheet
from tools.pictures.cost_chart import count_slides, draw_costs
from tools.pictures.recorded import Recorder
from tools.pictures.state import WIDTH, Scene, draw_state
from tools.pictures.trees import draw_b_tree, draw_flat_tree, draw_search_tree, draw_tournament
from tools.pictures.values import draw_deque, draw_sorted_block, draw_table

TOP = 44

SCENES = {
    "recalculate": Scene(Recalculate, "+++++++-", {"values": "values"}),
    "subtract_on_evict": Scene(
        SubtractOnEvict,
        "+++++++-",
        {"values": "values", "total": "total"},
        note="insert(h): total ⊕ h.   evict(): total ⊖ b.",
    ),
    "two_stacks": Scene(
        TwoStacks, "++++-+++", {"values": "values", "suffixes": "front: suffixes", "back": "back"}, ("flip",)
    ),
    "daba": Scene(
        DABA,
        "++++++----++++++-+",
        {"partials": "partials", "middle": "middle", "newest": "newest"},
        ("left", "right", "accum", "back"),
    ),
    "flatfit": Scene(
        FlatFIT,
        "++++++?-+?-+",
        {"partials": "partials"},
        note="A partial reaches to where the pointer of its first row points.",
    ),
    "b_int": Scene(BInt, "+++++++++--", {"tree": "base intervals"}, asked=(7, 4)),
    "slickdeque_invertible": Scene(
        SlickDequeInvertible,
        "+++++++-",
        {"values": "values", "answers": "answers"},
        ranges=(2, 4, 6),
        asked=(4,),
        note="The next row h: each answer ⊕ h, then ⊖ the row that leaves its range.",
    ),
    "slideside_invertible": Scene(
        SlideSideInvertible,
        "++++++-+-+-+",
        {"values": "values", "suffixes": "suffixes", "prefixes": "prefixes"},
        ("lap",),
        ranges=(2, 6),
        asked=(5, 2),
    ),
    "slideside": Scene(
        SlideSideNonInvertible,
        "++++3++",
        {"partials": "partials", "back": "back"},
        ("flip",),
        ranges=(3, 6),
        asked=(5, 4),
    ),
}
MAX, SUM = agg.max(), agg.sum().of_kind("int")
COUNTED = {
    "recalculate": (Recalculate, MAX),
    "subtract_on_evict": (SubtractOnEvict, SUM),
    "two_stacks": (TwoStacks, MAX),
    "daba": (DABA, MAX),
    "flatfat": (FlatFAT, MAX),
    "reactive_aggregator": (ReactiveAggregator, MAX),
    "b_int": (BInt, MAX),
    "flatfit": (FlatFIT, MAX),
    "slickdeque_invertible": (SlickDequeInvertible, SUM),
    "slickdeque": (SlickDequeSelective, MAX),
    "slideside_invertible": (SlideSideInvertible, SUM),
    "slideside": (SlideSideNonInvertible, MAX),
    "fiba": (FiBA, MAX),
}
"""The algorithms whose combines are counted, with an aggregate that fits."""


def draw_flatfat(canvas: Canvas, top: float) -> float:
    """Draw six rows in a tree of eight slots, whose buffer is inverted."""
    scene = Scene(
        FlatFAT, "++++++---+++", {}, note="White: nodes that no query reads, because they hold rows outside the window."
    )
    return draw_flat_tree(canvas, scene, top)


def draw_reactive(canvas: Canvas, top: float) -> float:
    """Draw the same rows after one in the middle was evicted."""
    scene = Scene(ReactiveAggregator, "++++++--+++", {}, note="Row e was evicted out of order and left a hole.")
    return draw_flat_tree(canvas, scene, top, evict_at=4)


def draw_tree_of_values(canvas: Canvas, top: float) -> float:
    """Draw an order statistics tree and the way to a rank."""
    median = agg.median()
    values = (5, 3, 8, 3, 9, 7, 2, 6, 4)
    tree: OrderStatisticsTree[Any] = OrderStatisticsTree(median)
    for value in values:
        tree.insert(median.lift(value))
    tree._check()  # noqa: SLF001
    rank = 6
    canvas.text((18, top + 8), f"values, the oldest first: {' '.join(map(str, values))}")
    bottom = draw_search_tree(canvas, tree, rank, top + 24)
    words = (
        f"Orange: the way to the value of rank {rank}: {tree.select(rank)}. Sizes tell whether it lies left or right."
    )
    canvas.text((18, bottom + 4), words, "text")
    return bottom + 4


def draw_modes(canvas: Canvas, top: float) -> float:
    """Draw an occurrence tournament."""
    mode = agg.mode()
    tournament: OccurrenceTournament[Any] = OccurrenceTournament(mode, (6,))
    for value in (1, 1, 2, 7, 5, 5, 3, 5, 3):
        tournament.insert(mode.lift(value))
    for _ in range(3):
        tournament.evict()
    tournament._check()  # noqa: SLF001
    bottom = draw_tournament(canvas, tournament, top)
    winner = tournament.values[tournament.best]
    canvas.text(
        (18, bottom + 16),
        f"Orange: row {tournament.best}, the first {winner}, wins with its count: mode = {winner}.",
        "text",
    )
    return bottom + 16


def draw_fingers(canvas: Canvas, top: float) -> float:
    """Draw a finger B-tree of rows that came out of order."""
    recorder = Recorder()
    tree: FiBA[str] = FiBA(recorder.aggregate)
    for letter in "adbcgefjhiknlmpoqsr":
        tree.insert(letter, ord(letter))
    tree.evict()
    tree._check()  # noqa: SLF001
    canvas.text((18, top + 8), "Rows came in the order a d b c g e f j h i k n l m p o q s r; a was evicted.")
    return draw_b_tree(canvas, tree, recorder, top + 22)


STRUCTURES: dict[str, tuple[str, Callable[[Canvas, float], float]]] = {
    **{name: (scene.algorithm.about.title, partial(draw_state, scene=scene)) for name, scene in SCENES.items()},
    "flatfat": (FlatFAT.about.title, draw_flatfat),
    "reactive_aggregator": (ReactiveAggregator.about.title, draw_reactive),
    "order_statistics_tree": (OrderStatisticsTree.about.title, draw_tree_of_values),
    "occurrence_table": (
        "Occurrence table",
        lambda canvas, top: draw_table(canvas, (5, 3, 8, 3, 14, 5, 21, 8), 1, top + 8),
    ),
    "occurrence_tournament": ("Occurrence tournament", draw_modes),
    "sorted_block": (
        "Sorted block",
        lambda canvas, top: draw_sorted_block(canvas, (5, 3, 8, 3, 9, 7, 1, 6), 6, 1, top),
    ),
    "slickdeque": (
        SlickDequeSelective.about.title,
        lambda canvas, top: draw_deque(canvas, (3, 9, 4, 7, 2, 5, 5), (3, 5, 7), top),
    ),
    "fiba": (FiBA.about.title, draw_fingers),
}


def draw_algorithm(name: str) -> Picture:
    """Return the state of an algorithm and, below it, the counted combines of its slides."""
    title, draw = STRUCTURES[name]
    canvas = Canvas(WIDTH, title)
    bottom = draw(canvas, top=TOP)  # type: ignore[call-arg]  # by name: a partial has its scene before it
    if name in COUNTED:
        bottom = draw_costs(canvas, count_slides(*COUNTED[name]), bottom + 18)
    return canvas.picture(bottom + 16)


WINDOWS = {
    "rows": window.rows(3),
    "rows_centred": window.rows(before=1, after=1),
    "rows_slide": window.rows(4, slide=2),
    "time_per_row": window.time("10m"),
    "tumbling": window.tumbling("10m"),
    "time_slide": window.time("10m", slide="5m"),
    "cumulative": window.cumulative("15m", "5m"),
    "session": window.session("5m"),
    "expanding": window.expanding(),
    "delta": window.delta("odometer", 5),
    "punctuated": window.punctuated("is_last"),
}


def draw_plan() -> Picture:
    """Return the plan of the query in docs/start.md."""
    query = sash.Query(
        by="plug",
        time="ts",
        windows={"hop": window.time("30m", slide="15m"), "on": window.session("20m")},
        aggregates={"peak": agg.max("load"), "mean": agg.mean("load"), "n": agg.count("load")},
    )
    return Picture(query.explain()._repr_svg_())


def pictures() -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each picture."""
    for name in STRUCTURES:
        yield f"algorithms/{name}.svg", draw_algorithm(name)
    for name, one in WINDOWS.items():
        yield f"windows/{name}.svg", one.draw()
    for technique in ("panes", "pairs", "cutty"):
        yield f"slicing/{technique}.svg", window.time("10m", slide="3m").draw(slicing=technique)
    yield "plan.svg", draw_plan()
    yield "cheat_sheet.svg", draw_cheat_sheet()
