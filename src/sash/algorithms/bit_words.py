"""Counts and finds the set bits of 64-bit words, for algorithms that keep a set as a bitmap.

The functions compile. In CPython a word is 0 to 2**64 - 1, in a kernel the same bits as a signed integer. So every shift to
the right is followed by a mask. LLVM turns `count_ones` into one instruction.
"""

from __future__ import annotations

WIDTH = 64
EVERY_SECOND = 0x5555555555555555
TWO_OF_FOUR = 0x3333333333333333
FOUR_OF_EIGHT = 0x0F0F0F0F0F0F0F0F
EVERY_EIGHTH = 0x0101010101010101


def count_ones(word: int) -> int:
    """Return the number of set bits, summed in pairs, fours and bytes.

    >>> count_ones(0b1011)
    3
    """
    pairs = word - ((word >> 1) & EVERY_SECOND)
    fours = (pairs & TWO_OF_FOUR) + ((pairs >> 2) & TWO_OF_FOUR)
    eights = (fours + (fours >> 4)) & FOUR_OF_EIGHT
    return ((eights * EVERY_EIGHTH) >> 56) & 127


def lowest_one(word: int) -> int:
    """Return the place of the lowest set bit of a word that is not 0.

    >>> lowest_one(0b1100)
    2
    """
    return count_ones((word & -word) - 1)


def highest_one(word: int) -> int:
    """Return the place of the highest set bit of a word that is not 0.

    >>> highest_one(0b1100)
    3
    """
    place = 0
    width = WIDTH // 2
    while width > 0:
        if (word >> (place + width)) & ((1 << width) - 1) != 0:
            place += width
        width >>= 1
    return place


def select_one(word: int, before: int) -> int:
    """Return the place of the set bit with `before` set bits below it, by halving the places.

    >>> select_one(0b1011, 2)
    3
    """
    place = 0
    width = WIDTH // 2
    while width > 0:
        lower = count_ones((word >> place) & ((1 << width) - 1))
        if before >= lower:
            before -= lower
            place += width
        width >>= 1
    return place
