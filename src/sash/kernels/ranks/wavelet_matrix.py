"""Wavelet matrix: the element of any rank, or the number of small elements, in any range of a sequence; for many ranges at once, with NumPy.

Claude, Navarro, Ordóñez. The wavelet matrix: an efficient wavelet tree for large alphabets. Information Systems 47, 2015.

Time: O(bits) steps over columns, each O(elements + ranges). Space: O(elements + ranges), since a level is read as soon as it is built.

    The sequence 5 3 7 1 6, and the element of rank 1 in the range 3 7 1 6, from the highest bit to the lowest:

        bit 2    1 0 1 0 1      of 3 7 1 6 two have a 0, which come first: ranks 0 and 1 are among 3 1
                 3 1 5 7 6      all elements with a 0, then all with a 1, each in their order: the range is now 3 1
        bit 1    1 0 0 1 1      of 3 1 one has a 0: rank 1 is rank 0 of the other one
                 1 5 3 7 6      the range is now 3
        bit 0    1 1 1 1 0      3 has a 1, as rank 0 of the elements with a 1
                 6 1 5 3 7      the range is 3, the element of rank 1

Invariant: a range holds the elements of the first range that begin with the same bits as the result, in their order, and the rank counts
those of them that are smaller.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[Any]
Places = npt.NDArray[np.int32]


def select(sequence: Numbers, bits: int, begins: Places, ends: Places, ranks: Places) -> Numbers:
    """Return the element of rank ranks[n] among sequence[begins[n]:ends[n]], for each n.

    The elements are not negative and have that number of bits. Every rank is in its range. The arguments are not changed.

    >>> places = (np.array([number], np.int32) for number in (1, 5, 1))
    >>> select(np.array([5, 3, 7, 1, 6]), 3, *places).tolist()
    [3]
    """
    first, after, left = begins.copy(), ends.copy(), ranks.copy()
    for _, zeros_before, ordered in _levels(sequence, bits):
        begin, end = zeros_before.take(first, mode="clip"), zeros_before.take(after, mode="clip")  # clip: no test
        held = end - begin
        is_one = left >= held
        held *= is_one
        left -= held
        _move(first, begin, zeros_before[-1], is_one)
        _move(after, end, zeros_before[-1], is_one)
        sequence = ordered
    return sequence.take(first)


def count_up_to(sequence: Numbers, bits: int, begins: Places, ends: Places, limits: Places) -> Places:
    """Return how many of sequence[begins[n]:ends[n]] are at most limits[n], for each n. Limits have that number of bits, too.

    >>> places = (np.array([number], np.int32) for number in (1, 5, 3))
    >>> count_up_to(np.array([5, 3, 7, 1, 6]), 3, *places).tolist()
    [2]
    """
    first, after, smaller = begins.copy(), ends.copy(), np.zeros_like(limits)
    for bit, zeros_before, _ in _levels(sequence, bits):
        begin, end = zeros_before.take(first, mode="clip"), zeros_before.take(after, mode="clip")
        is_one = (limits & (1 << bit)) != 0
        smaller += (end - begin) * is_one  # those with a 0 where the limit has a 1
        _move(first, begin, zeros_before[-1], is_one)
        _move(after, end, zeros_before[-1], is_one)
    return smaller + (after - first)  # the last range holds those that equal the limit


def _levels(sequence: Numbers, bits: int) -> Iterator[tuple[int, Places, Numbers]]:
    """Yield each bit, the number of zeros before each place, and the sequence of the next level. The next level overwrites the counts."""
    zeros_before = np.zeros(len(sequence) + 1, np.int32)
    for bit in reversed(range(bits)):
        has_zero = (sequence & (1 << bit)) == 0
        np.cumsum(has_zero, out=zeros_before[1:])
        sequence = np.concatenate((sequence.compress(has_zero), sequence.compress(~has_zero)))
        yield bit, zeros_before, sequence


def _move(places: Places, zeros: Places, all_zeros: Any, is_one: npt.NDArray[np.bool_]) -> None:
    """Move bounds to the next level: all_zeros + places - zeros where the bit of the result is one, else zeros."""
    places -= zeros  # np.where would take three times as long as these steps
    places -= zeros
    places += all_zeros
    places *= is_one
    places += zeros
