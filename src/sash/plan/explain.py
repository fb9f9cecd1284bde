"""A plan in words and as a picture: windows → slices → for each aggregate how it is computed, why, and what it costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape

from sash.plan.declared import Declared
from sash.plan.expected import Expected, and_between
from sash.plan.pictures.flow import Box, draw_flow
from sash.plan.sharing import Pass, Plan
from sash.plan.slicing import CUT, EACH_BEGIN, Regular, regular_slices, slices_in_words, why_no_slices
from sash.plan.tree import Branch, Leaf, to_text
from sash.windows import Window


@dataclass(frozen=True)
class Settled:
    """What an engine found out about a query: its plan, and the types that it is for."""

    declared: Declared
    plan: Plan
    kinds: Mapping[str, str]
    """What the columns hold, where that is a kind of number."""
    types: str
    """The types of the columns, in words."""
    tried: bool
    """Whether the types are those of data, so that everything was compiled that can be."""
    keeps_slices: bool
    """Whether a stream is kept as slices, rather than as rows."""
    engine: tuple[Branch, ...] = ()
    """What is to be said of the engine that runs it, if it isn't this process alone."""


class Explanation:
    """How a query is answered: printed, a tree; in a notebook also a picture."""

    def __init__(self, settled: Settled) -> None:
        self._title = _title(settled.declared)
        self._passes = [_PassInWords(settled, one) for one in settled.plan.passes]
        self._settled = settled

    def __str__(self) -> str:
        """Return the tree."""
        declared, plan = self._settled.declared, self._settled.plan
        branches = [
            Branch(Leaf("types", (self._settled.types,))),
            Branch(Leaf("windows", tuple(name_window(name, window) for name, window in plan.windows.items()))),
            Branch(Leaf("slices", ("; ".join(describe_slices(self._settled)),))),
            *self._settled.engine,
        ]
        if declared.lateness is not None:
            branches.append(Branch(Leaf("lateness", (_describe_lateness(self._settled),))))
        branches += [one.branch() for one in self._passes]
        return to_text(self._title, branches)

    __repr__ = __str__

    def _repr_svg_(self) -> str:
        plan = self._settled.plan
        windows = [Box(name, (repr(window),)) for name, window in plan.windows.items()]
        over_slices = [one.one.over_slices for one in self._passes]
        middle = {True: Box("slices", tuple(describe_slices(self._settled)))} if any(over_slices) else {}
        if not all(over_slices):
            why = (
                "as they are" if any(over_slices) else describe_slices(self._settled)[0].replace("none", "no slices", 1)
            )
            middle[False] = Box("rows", (why,))
        passes = [(one.box(), kind) for kind in middle for one in self._passes if one.one.over_slices == kind]
        return draw_flow(self._title, windows, middle, passes)

    def _repr_html_(self) -> str:
        return f"{self._repr_svg_()}\n<pre>{escape(str(self))}</pre>"


class _PassInWords:
    """What is said of one pass."""

    def __init__(self, settled: Settled, one: Pass) -> None:
        self.one = one
        self.settled = settled
        self.expected = Expected(settled.plan, one, settled.kinds, settled.declared.objective)

    @property
    def heading(self) -> str:
        return ", ".join(f"{name}: {one.label}" for name, one in self.one.aggregates.items())

    def branch(self) -> Branch:
        """Return what the tree says."""
        together = "  in one pass" if len(self.one.aggregates) > 1 else ""
        leaves = [("algorithm", f"{self.one.algorithm.about.name}: {self.one.choice.reason}")]
        leaves += [("partials", "; ".join(found)) for found in [self.expected.readings()] if found]
        leaves += [("over", why) for why in [self._why_rows()] if why]
        if self.one.together:
            leaves.append(("shared", f"one structure answers {and_between(list(self.settled.plan.windows))}"))
        leaves += [("cost", self.expected.combines()), ("memory", self.expected.memory()), ("runs", self._runs())]
        return Branch(Leaf("", (self.heading + together,)), tuple(Leaf(label, (words,)) for label, words in leaves))

    def box(self) -> Box:
        """Return what the picture says."""
        lines = [f"{self.one.algorithm.about.name}, {'interpreted' if self.one.interpreted else 'compiled'}"]
        return Box(self.heading, (*lines, self.expected.combines(), self.expected.memory()))

    def _why_rows(self) -> str:
        """Return why a pass goes over rows where there are slices."""
        if self.one.over_slices or not self.settled.plan.technique:
            return ""
        return "rows: slices would hold as much as their rows do"

    def _runs(self) -> str:
        if self.one.interpreted:
            return f"interpreted: {self.one.interpreted.rstrip('.')}"
        own = [name for name, one in self.one.aggregates.items() if not one.is_built_in]
        if own and not self.settled.tried:
            return f"compiled, if {and_between(own)} can be: explain(data) tries"
        return "compiled"


def name_window(name: str, window: Window) -> str:
    """Return a window with its name, if it was given one."""
    return repr(window) if name == window.kind else f"{name}: {window!r}"


def _title(declared: Declared) -> str:
    order = [*([declared.time] if declared.time else []), *declared.order_by]
    keys = f"by {and_between(list(declared.by))}" if declared.by else "over all rows together"
    return f"Query {keys}, in order of {and_between(order)}" if order else f"Query {keys}, in the order of the rows"


def describe_slices(settled: Settled) -> list[str]:
    """Return what is to be said of the slices: how they are cut, how many a window has, who shares them."""
    plan = settled.plan
    windows = plan.windows
    if not plan.technique:
        return ["none: " + next(why_no_slices(one) for one in [*_unsliced(windows), *windows.values()])]
    if not any(one.over_slices for one in plan.passes):
        return ["none: no aggregate here gains from them"]
    regular = regular_slices(windows, plan.technique)
    cut = f"{plan.technique}: cut {CUT[plan.technique]}"
    shared = [f"shared by {and_between(list(windows))}"] if len(windows) > 1 else []
    if regular is not None:
        return [cut + _how_often(regular), _how_many(regular), *shared]
    # Slices of several windows of which some come when their rows say so are cut as if they were of one's own making.
    alone = [slices_in_words(window, None) for window in windows.values() if len(windows) == 1]
    return [cut, f"a window has {(alone or [EACH_BEGIN])[0]}", *shared]


def _how_often(regular: Regular) -> str:
    """Return how often slices are cut."""
    slides, slices = regular.slides, regular.in_a_cycle
    if slides is None:
        return f", in no cycle shorter than {regular.to_text(regular.longest)}"
    if slices is None:
        return f", in a cycle of {regular.to_text(slides)}"
    return f", {'' if slices == 1 else f'{slices:,} in '}each {regular.to_text(slides)}"


def _how_many(regular: Regular) -> str:
    """Return how many slices windows have."""
    first, *others = regular.cycles
    counts = f"{regular.in_window(first)} a window"
    if others:
        counts += f" of {first}, " + ", ".join(f"{regular.in_window(name)} of {name}" for name in others)
    return counts + (", the newest read while it is open" if any(map(regular.reads_open, regular.cycles)) else "")


def _unsliced(windows: Mapping[str, Window]) -> list[Window]:
    return [window for window in windows.values() if not window.sliced]


def _describe_lateness(settled: Settled) -> str:
    declared = settled.declared
    what = "the result of a row is given once {} is {} past it" if declared.per_row else ""
    what = what or "a window is given once {} is {} past its end"
    kept = "slices" if settled.keeps_slices else "rows"
    return (
        f"in a stream {what.format(declared.time, declared.lateness)}; rows that come later than that are left out, and "
        f"counted; until then {kept} are kept"
    )
