"""B-Int: figure 5 of the paper, and every interval of a shared window."""

from __future__ import annotations

import math

import pytest
from helpers.concatenation import LETTERS, Concatenation

from sash.algorithms.b_int import BInt


@pytest.fixture
def concat() -> Concatenation:
    return Concatenation()


def test_b_int_figure_5_decomposes_49_to_66(concat: Concatenation) -> None:
    window = BInt(concat.aggregate, (20,))
    for position in range(67):
        if position >= 20:
            window.evict()
        window.insert(LETTERS[position])
    assert (window.begin, window.end) == (47, 67)
    concat.count()
    assert window.query_between(49, 67) == LETTERS[49:67]
    pieces = [concat.calls[0][0], *(newer for _, newer in concat.calls)]
    bounds = [(LETTERS.index(piece[0]), LETTERS.index(piece[-1])) for piece in pieces]
    assert bounds == [(49, 49), (50, 51), (52, 55), (56, 63), (64, 65), (66, 66)]


def test_b_int_answers_every_interval_inside_the_shared_window(concat: Concatenation) -> None:
    window = BInt(concat.aggregate)
    for position in range(90):
        window.insert(LETTERS[position])
        if position >= 37:
            window.evict()
    for start in range(window.begin, window.end):
        for stop in range(start + 1, window.end + 1):
            concat.count()
            assert window.query_between(start, stop) == LETTERS[start:stop]
            assert concat.count() <= max(0, 2 * math.log2(stop - start) - 1)


def test_b_int_completes_only_the_intervals_that_end_with_the_new_position(concat: Concatenation) -> None:
    window = BInt(concat.aggregate, (8,))
    spent = []
    for letter in "abcdefgh":
        window.insert(letter)
        spent.append(concat.count())
    assert spent == [0, 1, 0, 2, 0, 1, 0, 3]
