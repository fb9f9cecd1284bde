"""check_laws finds the laws that an aggregate claims and does not obey."""

from __future__ import annotations

from typing import Any

import pytest
from helpers.cases import AGGREGATES

import sash
from sash import aggregate
from sash.testing import LawError, check_laws


@pytest.mark.parametrize("name", AGGREGATES)
def test_the_laws_that_aggregates_claim_hold(name: str) -> None:
    chosen = AGGREGATES[name]
    values = [3, -1, 3, 0, 7]
    check_laws(chosen, list(zip(values, reversed(values), strict=True)) if chosen.inputs > 1 else values)


@pytest.mark.parametrize(
    ("law", "claims"),
    [
        ("associative", {"combine": lambda older, newer: older - newer}),
        ("commutative", {"combine": lambda older, _: older, "commutative": True}),
        ("selective", {"combine": lambda older, newer: older + newer, "selective": True}),
        ("invertible", {"combine": max, "inverse": lambda whole, older: whole - older}),
        ("left alone by its identity", {"combine": max, "identity": 2}),
    ],
)
def test_check_laws_shows_a_counter_example(law: str, claims: dict[str, object]) -> None:
    broken = aggregate("broken", lift=lambda x: x, **claims)  # type: ignore[arg-type]
    with pytest.raises(LawError, match=rf"broken is not {law}: \w+\("):
        check_laws(broken, [1, 2, 5])


def test_check_laws_judges_rounding_by_the_size_of_the_values() -> None:
    midpoint = aggregate("midpoint", lift=float, combine=lambda older, newer: (older + newer) / 2)
    with pytest.raises(LawError, match="midpoint is not associative"):
        check_laws(midpoint, [1e-10, 2e-10, 4e-10])


def test_check_laws_finds_an_inverse_that_is_not_exact() -> None:
    claims: Any = {"combine": lambda older, newer: older + newer, "inverse": lambda whole, older: whole - older}
    check_laws(aggregate("total", lift=float, **claims), [0.1, 0.2, 0.3])
    with pytest.raises(LawError, match="total is not exactly invertible"):
        check_laws(aggregate("total", lift=float, inverse_is_exact=True, **claims), [0.1, 0.2, 0.3])


def test_check_laws_looks_at_the_last_values_too() -> None:
    late = aggregate(
        "late", lift=int, combine=lambda older, newer: max(older, newer) if max(older, newer) < 9 else older - newer
    )
    with pytest.raises(LawError, match="late is not associative"):
        check_laws(late, range(1, 20))


def test_check_laws_finds_a_combine_that_changes_its_argument() -> None:
    def extend(older: list[int], newer: list[int]) -> list[int]:
        older.extend(newer)
        return older

    growing = aggregate("growing", lift=lambda x: [x], combine=extend)
    with pytest.raises(LawError, match="combine of growing changes an argument"):
        check_laws(growing, [1, 2])


def test_check_laws_wants_values() -> None:
    with pytest.raises(ValueError, match="no values were given"):
        check_laws(sash.agg.max(), [])
