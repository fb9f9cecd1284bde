"""Checks the laws that an aggregate claims, on given values. A law that does not hold raises LawError with a counter-example."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable
from itertools import pairwise, product
from typing import Any

from sash.aggregates.base import ABSENT, Aggregate
from sash.algorithms.base import alike, same

MOST_FOR_TRIPLES = 16
MOST_FOR_PAIRS = 64
ROUNDING = 1e-9


class LawError(AssertionError):
    """A law that an aggregate claims does not hold. The message shows a counter-example.

    >>> import sash
    >>> newest = sash.aggregate("newest", lift=int, combine=lambda older, newer: newer, commutative=True)
    >>> try:
    ...     sash.testing.check_laws(newest, [1, 2])
    ... except sash.testing.LawError as error:
    ...     print(error)
    newest is not commutative: combine(1, 2) = 2,
    but combine(2, 1) = 1.
    """


def check_laws(aggregate: Aggregate[Any], values: Iterable[Any]) -> None:
    """Check that an aggregate is associative, and has the other laws that it claims, on partials of given values.

    `aggregate` is the aggregate. `values` are the rows to try: values, or tuples if it reads several columns; no nulls. Floats may
    differ by rounding. `ranked`, `distinct`, `modal`, `holistic` and `fixed_size` describe partials and results rather than
    `combine`, and are not checked. Returns None if no law fails.

    Errors: LawError, an AssertionError, with a counter-example. ValueError if there are no values.

    >>> import sash
    >>> midpoint = sash.aggregate("midpoint", lift=float, combine=lambda older, newer: (older + newer) / 2)
    >>> sash.testing.check_laws(midpoint, [1, 2, 4])
    Traceback (most recent call last):
    sash.testing.laws.LawError: midpoint is not associative: combine(combine(1.0, 1.0), 2.0) = 1.5,
    but combine(1.0, combine(1.0, 2.0)) = 1.25.
    """
    check = _Check(aggregate, values)
    pairs = list(product(_evenly(check.partials, MOST_FOR_PAIRS), repeat=2))
    for older, newer in pairs:
        check.changes_nothing(older, newer)
    for older, middle, newer in product(_evenly(check.partials, MOST_FOR_TRIPLES), repeat=3):
        check.associative(older, middle, newer)
    for older, newer in pairs:
        if aggregate.laws.commutative:
            check.commutative(older, newer)
        if aggregate.laws.selective:
            check.selective(older, newer)
        if aggregate.inverse is not None:
            check.invertible(older, newer)
    if aggregate.identity is not ABSENT:
        for partial in check.partials:
            check.identity(partial)


def _evenly(partials: list[Any], most: int) -> list[Any]:
    step = -(-len(partials) // most)
    return partials[::step]


class _Check:
    """One method per law, on given partials."""

    def __init__(self, aggregate: Aggregate[Any], values: Iterable[Any]) -> None:
        self.aggregate = aggregate
        self.combine = aggregate.combine
        rows = (value if aggregate.inputs > 1 else (value,) * aggregate.inputs for value in values)
        lifted = [aggregate.lift(*row) for row in rows]
        if not lifted:
            raise ValueError(f"{aggregate.name}: no values were given, so no law can be checked.")
        joined = [self.combine(*map(copy.deepcopy, pair)) for pair in pairwise(lifted)]
        self.partials = lifted + joined

    def changes_nothing(self, older: Any, newer: Any) -> None:
        before = copy.deepcopy((older, newer))
        self.combine(older, newer)
        if not same((older, newer), before):
            changed = f"{before!r} became {(older, newer)!r}"
            raise LawError(f"combine of {self.aggregate.name} changes an argument: {changed}.")

    def associative(self, older: Any, middle: Any, newer: Any) -> None:
        left = self.combine(self.combine(older, middle), newer)
        right = self.combine(older, self.combine(middle, newer))
        left_text = f"combine(combine({older!r}, {middle!r}), {newer!r})"
        right_text = f"combine({older!r}, combine({middle!r}, {newer!r}))"
        self._agree("associative", (left_text, left), (right_text, right), ROUNDING * _size((older, middle, newer)))

    def commutative(self, older: Any, newer: Any) -> None:
        left, right = self.combine(older, newer), self.combine(newer, older)
        left_text, right_text = f"combine({older!r}, {newer!r})", f"combine({newer!r}, {older!r})"
        self._are_equivalent("commutative", (left_text, left), (right_text, right), ROUNDING * _size((older, newer)))

    def _are_equivalent(self, law: str, left: tuple[str, Any], right: tuple[str, Any], allowed: float) -> None:
        """Raise LawError unless two partials give equal results or are alike."""
        if not alike(left[1], right[1], allowed) and self._mean_the_same(left[1], right[1], allowed):
            return
        self._agree(law, left, right, allowed)

    def _mean_the_same(self, one: Any, other: Any, allowed: float) -> bool:
        """Return whether two partials give equal results, alone and combined with others: different partials may be equivalent."""
        lower = self.aggregate.lower
        pairs = [(one, other)]
        for partial in _evenly(self.partials, MOST_FOR_TRIPLES):
            pairs.append((self.combine(one, partial), self.combine(other, partial)))
            pairs.append((self.combine(partial, one), self.combine(partial, other)))
        return all(alike(lower(mine), lower(yours), allowed) for mine, yours in pairs)

    def selective(self, older: Any, newer: Any) -> None:
        chosen = self.combine(older, newer)
        if not (same(chosen, older) or same(chosen, newer)):
            called = f"combine({older!r}, {newer!r})"
            raise LawError(f"{self.aggregate.name} is not selective: {called} = {chosen!r} is neither.")

    def invertible(self, older: Any, newer: Any) -> None:
        assert self.aggregate.inverse is not None
        whole = self.combine(older, newer)
        left = self.aggregate.inverse(whole, older)
        law = "exactly invertible" if self.aggregate.laws.invertible else "invertible"
        allowed = 0.0 if self.aggregate.laws.invertible else ROUNDING * _size((older, newer))
        self._agree(law, (f"inverse({whole!r}, {older!r})", left), ("what was combined with it", newer), allowed)

    def identity(self, partial: Any) -> None:
        left = self.combine(self.aggregate.identity, partial)
        right = self.combine(partial, self.aggregate.identity)
        law, allowed = "left alone by its identity", ROUNDING * _size(partial)
        self._are_equivalent(law, (f"combine(identity, {partial!r})", left), ("it", partial), allowed)
        self._are_equivalent(law, (f"combine({partial!r}, identity)", right), ("it", partial), allowed)

    def _agree(self, law: str, left: tuple[str, Any], right: tuple[str, Any], allowed: float) -> None:
        if not alike(left[1], right[1], allowed):
            problem, other = f"{left[0]} = {left[1]!r}", f"{right[0]} = {right[1]!r}"
            raise LawError(f"{self.aggregate.name} is not {law}: {problem},\nbut {other}.")


def _size(partial: Any) -> float:
    """Return the largest finite number in a partial, which the allowed rounding error is relative to."""
    if hasattr(partial, "tolist"):
        partial = partial.tolist()
    if isinstance(partial, tuple | list):
        return max(map(_size, partial), default=0.0)
    is_number = isinstance(partial, int | float) and math.isfinite(partial)
    return abs(float(partial)) if is_number else 0.0
