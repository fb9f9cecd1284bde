"""The laws of aggregates, checked on values: a law that was claimed and doesn't hold is shown with a counter-example."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice, pairwise, product
from typing import Any

from sash.aggregates.base import Aggregate
from sash.algorithms.base import alike

MOST_PARTIALS = 12
"""Triples are checked, so 12 partials are 1,728 of them."""


class LawError(AssertionError):
    """A law that an aggregate claims does not hold; the message shows a counter-example."""


def check_laws(aggregate: Aggregate[Any], values: Iterable[Any]) -> None:
    """Check associativity, and what the aggregate claims of the other laws of combine, on partials of these values.

    Floats may differ by rounding. (`ranked`, `holistic` and `fixed_size` say how partials look, and are not checked.)

    >>> import sash
    >>> midpoint = sash.aggregate("midpoint", lift=float, combine=lambda older, newer: (older + newer) / 2)
    >>> sash.testing.check_laws(midpoint, [1, 2, 4])
    Traceback (most recent call last):
    sash.testing.laws.LawError: midpoint is not associative: combine(combine(1.0, 1.0), 2.0) = 1.5,
    but combine(1.0, combine(1.0, 2.0)) = 1.25.
    """
    check = _Check(aggregate, values)
    for older, middle, newer in product(check.partials, repeat=3):
        check.associative(older, middle, newer)
    for older, newer in product(check.partials, repeat=2):
        if aggregate.commutative:
            check.commutative(older, newer)
        if aggregate.selective:
            check.selective(older, newer)
        if aggregate.inverse is not None:
            check.invertible(older, newer)
    if aggregate.has_identity:
        for partial in check.partials:
            check.identity(partial)


class _Check:
    """The laws, each on given partials."""

    def __init__(self, aggregate: Aggregate[Any], values: Iterable[Any]) -> None:
        self.aggregate = aggregate
        self.combine = aggregate.combine
        rows = (value if aggregate.inputs > 1 else (value,) * aggregate.inputs for value in values)
        lifted = [aggregate.lift(*row) for row in islice(rows, MOST_PARTIALS * 2 // 3)]
        if not lifted:
            message = f"{aggregate.name}: no values were given, so no law can be checked."
            raise ValueError(message)
        joined = [self.combine(older, newer) for older, newer in pairwise(lifted)]
        self.partials = lifted + joined[: MOST_PARTIALS // 3]

    def associative(self, older: Any, middle: Any, newer: Any) -> None:
        left = self.combine(self.combine(older, middle), newer)
        right = self.combine(older, self.combine(middle, newer))
        self._agree(
            "associative",
            left,
            right,
            f"combine(combine({older!r}, {middle!r}), {newer!r})",
            f"combine({older!r}, combine({middle!r}, {newer!r}))",
        )

    def commutative(self, older: Any, newer: Any) -> None:
        left, right = self.combine(older, newer), self.combine(newer, older)
        self._agree("commutative", left, right, f"combine({older!r}, {newer!r})", f"combine({newer!r}, {older!r})")

    def selective(self, older: Any, newer: Any) -> None:
        chosen = self.combine(older, newer)
        if not (alike(chosen, older) or alike(chosen, newer)):
            message = f"{self.aggregate.name} is not selective: combine({older!r}, {newer!r}) = {chosen!r} is neither."
            raise LawError(message)

    def invertible(self, older: Any, newer: Any) -> None:
        assert self.aggregate.inverse is not None
        whole = self.combine(older, newer)
        left = self.aggregate.inverse(whole, older)
        self._agree("invertible", left, newer, f"inverse({whole!r}, {older!r})", "what was combined with it")

    def identity(self, partial: Any) -> None:
        nothing = self.aggregate.identity
        self._agree("with identity", self.combine(nothing, partial), partial, f"combine(identity, {partial!r})", "it")
        self._agree("with identity", self.combine(partial, nothing), partial, f"combine({partial!r}, identity)", "it")

    def _agree(self, law: str, left: Any, right: Any, left_text: str, right_text: str) -> None:
        if not alike(left, right):
            message = f"{self.aggregate.name} is not {law}: {left_text} = {left!r},\nbut {right_text} = {right!r}."
            raise LawError(message)
