"""FlatFAT: figures 3 and 4 and theorem 4.2 of the paper."""

from __future__ import annotations

import random

import pytest
from helpers.concatenation import LETTERS, Concatenation, log2, update_bound

from sash.algorithms.flatfat import FlatFAT

POWERS_OF_TWO = [1, 2, 4, 8, 16, 32, 64]


@pytest.fixture
def concat() -> Concatenation:
    return Concatenation()


def test_figure_3_new_of_eight_leaves_makes_seven_combines(concat: Concatenation) -> None:
    fat = FlatFAT.new(concat.aggregate, "12345678")
    assert concat.count() == 7
    a, b, c, d, e, f, g = (fat.tree[node] for node in (4, 5, 6, 7, 2, 3, 1))
    assert (a, b, c, d) == ("12", "34", "56", "78")
    assert (e, f, g) == ("1234", "5678", "12345678")


def test_figure_4_update_of_four_leaves_recomputes_exactly_a_b_d_e_f_g(concat: Concatenation) -> None:
    fat = FlatFAT.new(concat.aggregate, "12345678")
    concat.count()
    fat.update([0, 1, 3, 6], "ABDG")  # a[1], a[2], a[4], a[7] of the paper, which counts from 1
    level_1, level_2, level_3 = concat.calls[:3], concat.calls[3:5], concat.calls[5:]
    assert sorted(level_1) == [("3", "D"), ("A", "B"), ("G", "8")]  # b, a, d
    assert sorted(level_2) == [("56", "G8"), ("AB", "3D")]  # f, e
    assert level_3 == [("AB3D", "56G8")]  # g
    assert fat.tree[6] == "56"  # c is left alone
    assert concat.count() == 6


def test_prefix_7_is_e_c_and_the_seventh_leaf(concat: Concatenation) -> None:
    fat = FlatFAT.new(concat.aggregate, "12345678")
    concat.count()
    assert fat.prefix(6) == "1234567"
    assert concat.calls == [("56", "7"), ("1234", "567")]


@pytest.mark.parametrize("n", POWERS_OF_TWO)
def test_theorem_4_2_i_new(n: int, concat: Concatenation) -> None:
    fat = FlatFAT.new(concat.aggregate, LETTERS[:n])
    assert fat.capacity == n
    assert concat.count() == n - 1
    assert fat.aggregate() == LETTERS[:n]
    assert concat.count() == 0
    fat._check()


@pytest.mark.parametrize("n", POWERS_OF_TWO)
def test_theorem_4_2_ii_update(n: int, concat: Concatenation) -> None:
    chance = random.Random(n)
    leaves = list(LETTERS[:n])
    fat = FlatFAT.new(concat.aggregate, leaves)
    for m in range(1, n + 1):
        evenly_spread = [n * i // m for i in range(m)]
        for places in (evenly_spread, chance.sample(range(n), m), chance.sample(range(n), m)):
            partials = chance.sample(LETTERS, m)
            concat.count()
            fat.update(places, partials)
            assert concat.count() <= update_bound(n, m)
            for place, partial in zip(places, partials, strict=True):
                leaves[place] = partial
            assert fat.aggregate() == "".join(leaves)
    fat._check()


@pytest.mark.parametrize("n", POWERS_OF_TWO)
def test_theorem_4_2_iii_prefix_and_suffix(n: int, concat: Concatenation) -> None:
    fat = FlatFAT.new(concat.aggregate, LETTERS[:n])
    concat.count()
    for place in range(n):
        assert fat.prefix(place) == LETTERS[: place + 1]
        assert concat.count() <= log2(n)
        assert fat.suffix(place) == LETTERS[place:n]
        assert concat.count() <= log2(n)


@pytest.mark.parametrize("filled", range(1, 9))
def test_a_tree_that_is_not_full_skips_the_empty_leaves(filled: int, concat: Concatenation) -> None:
    made = FlatFAT.new(concat.aggregate, LETTERS[:filled])
    grown: FlatFAT[str] = FlatFAT(concat.aggregate)
    for letter in LETTERS[:filled]:
        grown.insert(letter)
    for fat in (made, grown):
        fat._check()
        assert fat.aggregate() == LETTERS[:filled]
        for place in range(filled):
            assert fat.prefix(place) == LETTERS[: place + 1]
            assert fat.suffix(place) == LETTERS[place:filled]


@pytest.mark.parametrize("asked_after", [1, 2, 3, 5, 8, 11])
def test_the_array_is_up_to_date_when_it_is_asked_after_any_number_of_inserts(
    asked_after: int, concat: Concatenation
) -> None:
    fat: FlatFAT[str] = FlatFAT(concat.aggregate, (8,))
    slots = [""] * 8
    for position in range(30):
        if position >= 8:
            fat.evict()
        fat.insert(LETTERS[position])
        slots[position % 8] = LETTERS[position]
        if position % asked_after == 0:
            concat.count()
            assert fat.aggregate() == "".join(slots)
            assert concat.count() <= log2(8)
            assert fat.aggregate() == "".join(slots)
            assert concat.count() == 0
            for place in range(min(position + 1, 8)):
                assert fat.prefix(place) == "".join(slots[: place + 1])
                assert fat.suffix(place) == "".join(slots[place:])


def test_flatfat_reads_the_fewest_nodes(concat: Concatenation) -> None:
    fat = FlatFAT.new(concat.aggregate, LETTERS[:16])
    concat.count()
    for last, nodes in ((16, 1), (8, 1), (12, 2), (15, 4), (5, 2), (1, 1)):
        assert fat.query_last(last) == LETTERS[16 - last : 16]
        assert concat.count() == nodes - 1
