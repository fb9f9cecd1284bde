"""A plan in words and as a picture: windows → slices → for each pass the algorithm, why it was chosen, and its cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from textwrap import wrap

from sash.plan.expected import Expected
from sash.plan.pictures.svg import BOLD, LETTER, MARGIN, Canvas, Picture, Point
from sash.plan.query_spec import QuerySpec
from sash.plan.sharing import Pass, Plan
from sash.plan.slicing import describe_slices, reads_open_slices
from sash.plan.tree import Branch, and_between, to_text

WIDTHS = (190, 200, 400)
"""The widths of the columns."""
BETWEEN = 44
"""The distance between two columns."""
TOP = 66
SIZE, LINE = 12, 16
PAD, APART = 11, 14
"""The space around the text of a box, and between two boxes."""


@dataclass(frozen=True, eq=False)
class TextBox:
    """A bold title, and lines below it."""

    title: str
    lines: Sequence[str]
    fill: str = "paper"
    stroke: str = "note"
    reads: Sequence[TextBox] = ()
    """The boxes of earlier columns that a line connects it with."""


def draw_flowchart(title: str, columns: Mapping[str, Sequence[TextBox]]) -> Picture:
    """Return the picture of three columns, by their headings."""
    canvas = Canvas(2 * MARGIN + sum(WIDTHS) + BETWEEN * (len(WIDTHS) - 1), title)
    texts = [[_wrapped(box, width) for box in boxes] for boxes, width in zip(columns.values(), WIDTHS, strict=True)]
    heights = [sum(map(_height, column)) + APART * (len(column) - 1) for column in texts]
    outlets: dict[TextBox, Point] = {}
    left = float(MARGIN)
    for (heading, boxes), column, height, width in zip(columns.items(), texts, heights, WIDTHS, strict=True):
        canvas.text((left + width / 2, 52), heading, anchor="middle")
        top = TOP + (max(heights) - height) / 2
        for box, lines in zip(boxes, column, strict=True):
            middle = top + _height(lines) / 2
            for other in box.reads:
                canvas.curve(outlets[other], (left, middle), "note")
            canvas.box((left, top), (width, _height(lines)), box.fill, box.stroke, 6)
            for number, (line, weight) in enumerate(lines):
                canvas.text((left + PAD, top + PAD + SIZE - 3 + LINE * number), line, "text", SIZE, weight=weight)
            outlets[box] = (left + width, middle)
            top += _height(lines) + APART
        left += width + BETWEEN
    return canvas.picture(TOP + max(heights) + MARGIN)


def _wrapped(box: TextBox, width: float) -> list[tuple[str, str]]:
    """Return the lines of a box with their weights."""
    letters = (width - 2 * PAD) / (SIZE * LETTER)
    title = [(line, "bold") for line in wrap(box.title, int(letters / BOLD))]
    return title + [(part, "") for line in box.lines for part in wrap(line, int(letters))]


def _height(lines: Sequence[object]) -> float:
    return LINE * len(lines) + 2 * PAD - 4


@dataclass(frozen=True, repr=False, eq=False)
class Explanation:
    """How a query is evaluated: `print` shows a tree, a notebook also a picture."""

    declared: QuerySpec
    plan: Plan
    kinds: Mapping[str, str]
    """The kinds of the numeric columns."""
    types: str
    """The types of the columns, in words."""
    executors: Sequence[str]
    """How each pass is executed, in words."""
    state_kinds: Mapping[str, Sequence[str]]
    """What a stream stores, "slices", "prefixes", "tails" or "rows", and for which windows."""
    compiling: str = ""
    """When the query compiles, in words."""
    engine: tuple[Branch, ...] = ()
    """What Spark does, if the query runs on Spark."""
    following: tuple[Explanation, ...] = ()
    """The plans of queries that run after this one, over its results."""

    def __str__(self) -> str:
        """Return the tree, and those of the queries that follow."""
        return "\n\n".join([self._tree(), *map(str, self.following)])

    def _tree(self) -> str:
        windows = {name: repr(window) for name, window in self.plan.windows.items()}
        named = [text if name == self.plan.windows[name].kind else f"{name}: {text}" for name, text in windows.items()]
        first = [Branch("types", (self.types,)), Branch("windows", tuple(named))]
        if self._evaluated_by_engine:
            return to_text(self._title(), [*first, *self.engine, Branch("aggregates", (self._labels(),))])
        branches = [
            *first,
            Branch("slices", ("; ".join(self._slices()),)),
            *self.engine,
            *([Branch("lateness", (self._lateness(),))] if self.declared.lateness is not None else []),
            *([Branch("compiled", (self.compiling,))] if self.compiling else []),
            *map(self._branch, self.plan.passes),
        ]
        return to_text(self._title(), branches)

    __repr__ = __str__

    def _repr_svg_(self) -> str:
        windows = [TextBox(name, [repr(window)], "window", "rim") for name, window in self.plan.windows.items()]
        if self._evaluated_by_engine:
            engines = [TextBox(branch.label, branch.lines, "slice", "edge", windows) for branch in self.engine]
            results = [TextBox(self._labels(), [], reads=engines)]
            return draw_flowchart(self._title(), {"windows": windows, "engine": engines, "aggregates": results})
        sliced = {plan_pass.over_slices for plan_pass in self.plan.passes}
        slices = TextBox("slices", self._slices(), "slice", "edge", windows)
        rows = TextBox("rows", [] if True in sliced else [f"slices: {self._slices()[0]}"], reads=windows)
        read = {over_slices: box for over_slices, box in ((True, slices), (False, rows)) if over_slices in sliced}
        of_slices_first = sorted(self.plan.passes, key=lambda plan_pass: not plan_pass.over_slices)
        passes = [self._box(plan_pass, read[plan_pass.over_slices]) for plan_pass in of_slices_first]
        heading = " and ".join(box.title for box in read.values())
        return draw_flowchart(self._title(), {"windows": windows, heading: [*read.values()], "aggregates": passes})

    def _repr_html_(self) -> str:
        return f"{self._repr_svg_()}\n<pre>{escape(str(self))}</pre>"

    @property
    def _evaluated_by_engine(self) -> bool:
        return any(branch.evaluates_all for branch in self.engine)

    def _labels(self) -> str:
        return ", ".join(f"{name}: {aggregate.label}" for name, aggregate in self.declared.aggregates.items())

    def _title(self) -> str:
        query = self.declared
        order = [*([query.time] if query.time else []), *query.order_by]
        keys = f"by {and_between(query.by)}" if query.by else "over all rows"
        return f"Query {keys}, ordered by {and_between(order)}" if order else f"Query {keys}, in the order of the data"

    def _slices(self) -> list[str]:
        if self.plan.technique and not any(plan_pass.over_slices for plan_pass in self.plan.passes):
            return ["none, because no aggregate benefits from slices"]
        texts = describe_slices(self.plan.windows, self.plan.technique)
        in_chunks = self.declared.by and all(each.over_slices and not each.over_objects for each in self.plan.passes)
        if in_chunks and reads_open_slices(self.plan.windows, self.plan.technique):
            texts.append("a large table in order of time is also cut where windows end (pairs)")
        return texts

    def _lateness(self) -> str:
        emitted = "the result of a row" if self.declared.per_row else "a window"
        after = "its end"
        if self.declared.per_row:
            frames = [window.frame for window in self.plan.windows.values()]
            after = "its window" if any(frame and frame.looks_ahead for frame in frames) else "it"
        kinds = self.state_kinds
        held = {"tails": "slices and rows"}
        state = [
            held.get(kind, kind) + ("" if len(kinds) == 1 else f" of {and_between(names)}")
            for kind, names in kinds.items()
        ]
        return (
            f"a stream emits {emitted} when {self.declared.time} is {self.declared.lateness} past {after}; rows of closed "
            f"windows are dropped and counted; state: {', '.join(state)}"
        )

    # -- passes ----------------------------------------------------------------------------------------------------

    def _branch(self, plan_pass: Pass) -> Branch:
        expected = self._expected(plan_pass)
        together = "  in one pass" if len(plan_pass.aggregates) > 1 else ""
        beside = self.plan.technique and not plan_pass.over_slices
        leaves = {
            "algorithm": f"{plan_pass.choice.algorithm}: {plan_pass.choice.reason}",
            "partials": "; ".join(expected.readings()),
            "over": "rows, because slices would be as large as their rows" if beside else "",
            "shared": f"one structure for {and_between(list(self.plan.windows))}" if plan_pass.together else "",
            "cost": expected.combines(),
            "memory": expected.memory(),
            "runs": self._runs(plan_pass),
        }
        return Branch("", (_heading(plan_pass) + together,), {label: text for label, text in leaves.items() if text})

    def _box(self, plan_pass: Pass, reads: TextBox) -> TextBox:
        expected = self._expected(plan_pass)
        how = f"{plan_pass.choice.algorithm}, {self._runs(plan_pass).partition(':')[0]}"
        return TextBox(_heading(plan_pass), [how, expected.combines(), expected.memory()], reads=[reads])

    def _expected(self, plan_pass: Pass) -> Expected:
        return Expected(self.plan, plan_pass, self.kinds, self.declared.objective)

    def _runs(self, plan_pass: Pass) -> str:
        return self.executors[self.plan.passes.index(plan_pass)]


def _heading(plan_pass: Pass) -> str:
    return ", ".join(f"{name}: {aggregate.label}" for name, aggregate in plan_pass.aggregates.items())
