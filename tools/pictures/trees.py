"""Trees: over the slots of a circular buffer, search trees, and B-trees."""

from __future__ import annotations

from collections.abc import Callable
from string import ascii_lowercase
from typing import Any

from sash.algorithms.fiba import FiBA
from sash.algorithms.finger_tree import INNER, ROOT
from sash.algorithms.finger_tree import LEFT as LEFT_SPINE
from sash.algorithms.finger_tree import RIGHT as RIGHT_SPINE
from sash.algorithms.occurrence_tournament import OccurrenceTournament
from sash.algorithms.order_statistics_tree import OrderStatisticsTree
from sash.plan.pictures.svg import MARGIN, Canvas, width_of
from tools.pictures.recorded import Recorder
from tools.pictures.state import LEFT, RIGHT, Scene, ask, play

LEVEL = 31
NODE = 21


def draw_slots(canvas: Canvas, capacity: int, top: float, draw_node: Callable[[int, range], tuple[str, str]]) -> float:
    """Draw a complete binary tree, the root on top; `draw_node` returns the label and the fill of a node over some slots."""
    cell = (RIGHT - LEFT) / capacity
    for level in range(capacity.bit_length()):
        slots = capacity >> level
        y = top + level * LEVEL
        canvas.text((MARGIN, y + 15), "root" if level == 0 else "leaves" if slots == 1 else "")
        for number in range(1 << level):
            node = (1 << level) + number
            label, fill = draw_node(node, range(number * slots, (number + 1) * slots))
            x = LEFT + number * slots * cell
            middle = x + slots * cell / 2
            if level < capacity.bit_length() - 1:
                for side in (-1, 1):
                    canvas.line((middle, y + NODE), (middle + side * slots * cell / 4, y + LEVEL), "frame")
            width = min(slots * cell - 6, 150)
            stroke = {"window": "rim", "slice": "edge"}.get(fill, "frame")
            canvas.box((middle - width / 2, y), (width, NODE), fill, stroke)
            canvas.text((middle, y + 15), label, "text", 12, "middle")
    return top + capacity.bit_length() * LEVEL


def draw_flat_tree(canvas: Canvas, scene: Scene, top: float, evict_at: int | None = None) -> float:
    """Draw the tree of FlatFAT or of a Reactive Aggregator, the nodes that the query reads highlighted."""
    window, recorder = play(scene)
    if evict_at is not None:
        window.evict_at(evict_at)
        window.query()
        recorder.forget()
    lines = ask(window, recorder, scene)
    capacity = window.capacity
    letters = [""] * capacity
    for position in range(window.begin, window.end):
        if position != evict_at:
            letters[position % capacity] = ascii_lowercase[position]

    def draw_node(node: int, slots: range) -> tuple[str, str]:
        expected = "".join(letters[slot] for slot in slots)
        if not expected or window.tree[node] != expected:
            return "", "paper"
        return "⊕".join(expected), "window" if expected in recorder.reads else "slice"

    bottom = draw_slots(canvas, capacity, top, draw_node)
    cell = (RIGHT - LEFT) / capacity
    canvas.text((MARGIN, bottom + 6), "slot")
    marks = {window.begin % capacity: "oldest", (window.end - 1) % capacity: "newest"}
    for slot in range(capacity):
        words = f"{slot} {marks.get(slot, '')}".strip()
        canvas.text((LEFT + (slot + 0.5) * cell, bottom + 6), words, "rim" if slot in marks else "note", 11, "middle")
    bottom += 14
    for line in [*lines, *([scene.note] if scene.note else [])]:
        bottom += 18
        canvas.text((MARGIN, bottom - 2), line, "text" if line in lines else "note")
    return bottom


def draw_tournament(canvas: Canvas, window: OccurrenceTournament[Any], top: float) -> float:
    """Draw the tree of counts, the path of the winner highlighted."""
    leaves = window.leaves
    best = leaves + window.best % leaves
    path = {best >> level for level in range(best.bit_length())}

    def draw_node(node: int, _: range) -> tuple[str, str]:
        count = window.tree[node]
        return str(count), "window" if node in path else "slice" if count else "paper"

    bottom = draw_slots(canvas, leaves, top, draw_node)
    cell = (RIGHT - LEFT) / leaves
    canvas.text((MARGIN, bottom + 8), "value")
    for position in range(window.begin, window.end):
        x = LEFT + (position % leaves + 0.5) * cell
        canvas.text((x, bottom + 8), str(window.values[position]), "text", 13, "middle")
        canvas.text((x, bottom + 24), f"row {position}", "note", 11, "middle")
    return bottom + 26


def draw_search_tree(canvas: Canvas, window: OrderStatisticsTree[Any], rank: int, top: float) -> float:
    """Draw a search tree by the order of its keys, and the path to the value of a rank."""
    in_order: list[int] = []
    depths: dict[int, int] = {}

    def visit(node: int, depth: int) -> None:
        if node:
            visit(window.left[node], depth + 1)
            in_order.append(node)
            depths[node] = depth
            visit(window.right[node], depth + 1)

    visit(window.root, 0)
    target = window.select(rank)
    path, node = set(), window.root
    while node:
        path.add(node)
        key = window.keys[node]
        node = 0 if key == target else window.left[node] if target < key else window.right[node]
    cell = (RIGHT - LEFT) / len(in_order)
    places = {node: (LEFT + (number + 0.5) * cell, top + depths[node] * 46.0) for number, node in enumerate(in_order)}
    for node in in_order:
        if window.parent[node]:
            (x, y), (above_x, above_y) = places[node], places[window.parent[node]]
            canvas.line((above_x, above_y + 30), (x, y), "note")
    for node, (x, y) in places.items():
        words = f"{window.keys[node]} × {window.multiplicity[node]}" * (window.multiplicity[node] > 1)
        fill, stroke = ("window", "rim") if node in path else ("slice", "edge")
        canvas.box((x - 31, y), (62, 30), fill, stroke, 6)
        canvas.text((x, y + 13), words or str(window.keys[node]), "text", 12, "middle")
        canvas.text((x, y + 26), f"size {window.size[node]}", "note", 10, "middle")
    return top + (max(depths.values()) + 1) * 46.0


def draw_b_tree(canvas: Canvas, window: FiBA[str], recorder: Recorder, top: float) -> float:
    """Draw a finger B-tree: the elements of each node, and below them what its total holds."""
    recorder.forget()
    answer = window.query()
    line = (
        f"query() = {recorder.formula(answer)}: {recorder.calls} combines, of the totals of both fingers and the root"
    )
    order = sorted(answer)
    left, right = MARGIN + 30, RIGHT - 36
    cell = (right - left) / len(order)
    words = {ROOT: "root", LEFT_SPINE: "left spine", RIGHT_SPINE: "right spine", INNER: ""}

    def draw(node: int, depth: int) -> tuple[float, float]:
        letters, children, total = (
            [letter for _, letter in window.elements_of(node)],
            window.children_of(node),
            window.totals[node],
        )
        word = words[window.roles[node]]
        places = [left + (order.index(letter) + 0.5) * cell for letter in letters]
        x, y = sum(places) / len(places), top + depth * 78.0
        for child in children:
            canvas.line((x, y + 50), draw(child, depth + 1), "note")
        if children:
            canvas.line((x, y + 22), (x, y + 50), "note")
        read = total in recorder.reads
        width = 16.0 + 17 * len(letters)
        canvas.box((x - width / 2, y), (width, 22), "window" if read else "slice", "rim" if read else "edge", 5)
        canvas.text((x, y + 15), " ".join(letters), "text", 13, "middle")
        room = width_of(max(total, word, key=len), 11) + 6
        canvas.box((x - room / 2, y + 24), (room, 26 if word else 14), "paper", radius=0)
        canvas.text((x, y + 35), total, "rim" if read else "edge", 11, "middle")
        if word:
            canvas.text((x, y + 47), word, "note", 10, "middle")
        return x, y

    draw(window.root, 0)
    depth, node = 1, window.root
    while children := window.children_of(node):
        depth, node = depth + 1, children[0]
    bottom = top + depth * 78.0
    canvas.text((MARGIN, bottom + 4), line, "text")
    canvas.text((MARGIN, bottom + 22), "Below each node: the rows that its total holds. Orange: what the query reads.")
    return bottom + 22
