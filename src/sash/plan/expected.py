"""The expected cost of a pass, in words: combines per row and memory per key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sash.aggregates.base import Aggregate
from sash.kernels.fused_partial import fuse_partials
from sash.plan.sharing import Pass, Plan, form_for
from sash.plan.slicing import RegularSlices, regular_slices
from sash.plan.tree import and_between
from sash.windows import Window

SAMPLES: Mapping[str, Any] = {"float": 1.0, "int": 1, "bool": True}
NUMBER = 8
"""Bytes."""


@dataclass(frozen=True)
class Expected:
    """The cost of a pass, as far as it is known before it runs."""

    plan: Plan
    plan_pass: Pass
    kinds: Mapping[str, str]
    """The kinds of the columns that hold numbers."""
    objective: str

    @property
    def regular(self) -> RegularSlices | None:
        """The edges of the slices, if the pass uses slices and they are regular."""
        return regular_slices(self.plan.windows, self.plan.technique) if self.plan_pass.over_slices else None

    # -- combines --------------------------------------------------------------------------------------------------

    def combines(self) -> str:
        """Return the number of combines, in words."""
        per_window = " and window" if len(self.plan.windows) > 1 else ""
        if not self.plan_pass.over_slices:
            return f"for each row{per_window}: {self._slide()}"
        return f"{self._per_row()}1 combine for each row, into its slice; for each slice{per_window}: {self._slide()}"

    def _slide(self) -> str:
        """Return the cost of a slide."""
        cost, worst = self.plan_pass.choice.combines, self.plan_pass.choice.worst
        words = f"{cost} combine{'s' * (cost.amount != 1)}" if cost.unit == "combines" else str(cost)
        if worst is None:
            words += "" if cost.expected else ", at worst"
        else:
            words += f"{'' if cost.expected else ', amortised'}, and {worst} at worst"
        opens = self.regular is not None and any(self.regular.reads_open(name) for name in self.plan.windows)
        return words + (", and 1 for each window's open slice" if opens else "")

    def _per_row(self) -> str:
        """Return the total per row for windows of rows, if the number of rows in a slice is known."""
        regular, cost = self.regular, self.plan_pass.choice.combines.amount
        if regular is None or regular.unit != "rows" or isinstance(cost, str) or regular.in_a_cycle is None:
            return ""
        windows = 1 if self.plan_pass.together else len(self.plan.windows)
        total = 1 + windows * cost * regular.in_a_cycle / regular.edges.cycle
        total += sum(1 / cycle.period for name, cycle in regular.cycles.items() if regular.reads_open(name))
        return f"about {total:.3g} a row: "

    # -- memory ----------------------------------------------------------------------------------------------------

    def memory(self) -> str:
        """Return the memory of a key, in words."""
        space, numbers = self.plan_pass.choice.space, self.numbers()
        what = "slices" if self.plan_pass.over_slices else "rows"
        held = [self._held(name, window) for name, window in self.plan.windows.items()]
        counts = [count for count in held if count is not None]
        all_known = len(counts) == len(held)
        if all_known and self.plan_pass.together:  # one structure, as long as the longest window
            counts = [max(counts)]
        length = f"the {what} of a window"
        if all_known:
            length = f"{' + '.join(f'{count:,}' for count in counts)} {what if counts != [1] else what[:-1]}"
        if self.plan_pass.algorithm.keeps_values or self.plan_pass.lists:
            partials = "values"
        elif self.plan_pass.over_objects or numbers is None:
            partials = "partials, Python's own objects"
        else:
            partials = f"partials of {numbers} number{'s' * (numbers != 1)}"
        words = f"{space} {partials}, n = {length}"
        if self.plan_pass.over_objects or numbers is None:
            return words
        size = space.per_row * numbers * NUMBER
        if all_known:
            return f"{words}: up to {bytes_to_text(size * sum(counts))} a key"
        return f"{words}: {bytes_to_text(size)} for each"

    def _held(self, name: str, window: Window) -> int | None:
        """Return the number of slices or rows in a window, if it is known."""
        if self.plan_pass.over_slices:
            alone = len(self.plan.windows) == 1 and window.cuts and window.cuts.per_window == 1
            return self.regular.in_window(name).most if self.regular is not None else 1 if alone else None
        return window.length if isinstance(window.length, int) else None

    def numbers(self) -> int | None:
        """Return how many numbers a partial of the pass has; None if it has other objects."""
        if self.plan_pass.algorithm.keeps_values or self.plan_pass.lists:
            return 1
        parts = fuse_partials(self._forms, ("float64",)).components
        counts = [count_numbers(part.aggregate, self.kinds) for part in parts]
        return None if None in counts else sum(filter(None, counts))

    def readings(self) -> list[str]:
        """Return which results are read from the partial of another aggregate, in words."""
        names = list(self.plan_pass.aggregates)
        shared = fuse_partials(self._forms, ("float64",))
        sentences = []
        for number, part in enumerate(shared.components):
            readers = [name for name, output in zip(names, shared.outputs, strict=True) if output.component == number]
            kept = next(name for name, form in zip(names, self._forms, strict=True) if form is part.aggregate)
            if others := [name for name in readers if name != kept]:
                verb = "is" if len(others) == 1 else "are"
                sentences.append(f"{and_between(others)} {verb} read from the partial of {kept}")
        return sentences

    @cached_property
    def _forms(self) -> list[Aggregate[Any]]:
        forms = self.plan_pass.aggregates.values()
        return list(forms) if self.plan_pass.over_objects else [form_for(form, self.kinds) for form in forms]


def count_numbers(aggregate: Aggregate[Any], kinds: Mapping[str, str]) -> int | None:
    """Return the number of numbers in a partial of an aggregate; None if it has other objects.

    >>> from sash import agg
    >>> count_numbers(agg.mean("x").of_kind("float"), {"x": "float"}), count_numbers(agg.collect("x"), {"x": "float"})
    (3, None)
    """
    if not aggregate.laws.fixed_size:
        return None
    try:
        partial = aggregate.lift(*(SAMPLES.get(kinds.get(column, "int"), 1) for column in aggregate.columns))
    except Exception:  # noqa: BLE001 — a user's function may raise anything for a made-up value
        return None
    leaves = _leaves(partial)
    return len(leaves) if all(isinstance(leaf, bool | int | float) for leaf in leaves) else None


def _leaves(partial: Any) -> list[Any]:
    return [leaf for part in partial for leaf in _leaves(part)] if isinstance(partial, tuple) else [partial]


def bytes_to_text(size: float) -> str:
    """Return a number of bytes with its unit.

    >>> bytes_to_text(64), bytes_to_text(46_080), bytes_to_text(1_440_000)
    ('64 B', '46 KB', '1.4 MB')
    """
    for unit in ("B", "KB", "MB", "GB"):
        if size < 999.5 or unit == "GB":  # noqa: PLR2004
            break
        size /= 1000
    return f"{size:,.1f} {unit}" if size < 10 and unit != "B" else f"{size:,.0f} {unit}"  # noqa: PLR2004
