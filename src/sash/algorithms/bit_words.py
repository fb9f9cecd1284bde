"""Words of 64 bits, asked for their ones: what an algorithm that keeps a set as a bitmap is made of.

They compile: in CPython a word is 0 to 2**64 - 1, in a kernel the same bits as a signed number. So every shift to the right
is followed by a mask, and LLVM makes one instruction of `count_ones`.
"""

from __future__ import annotations

WIDTH = 64
EVERY_SECOND = 0x5555555555555555
TWO_OF_FOUR = 0x3333333333333333
FOUR_OF_EIGHT = 0x0F0F0F0F0F0F0F0F
EVERY_EIGHTH = 0x0101010101010101


def count_ones(word: int) -> int:
    """Return how many bits are set, summed in pairs, fours and bytes.

    >>> count_ones(0b1011)
    3
    """
    pairs = word - ((word >> 1) & EVERY_SECOND)
    fours = (pairs & TWO_OF_FOUR) + ((pairs >> 2) & TWO_OF_FOUR)
    eights = (fours + (fours >> 4)) & FOUR_OF_EIGHT
    return ((eights * EVERY_EIGHTH) >> 56) & 127


def lowest_one(word: int) -> int:
    """Return the place of the lowest bit set, of a word that isn't 0.

    >>> lowest_one(0b1100)
    2
    """
    return count_ones((word & -word) - 1)


def highest_one(word: int) -> int:
    """Return the place of the highest bit set, of a word that isn't 0.

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
    """Return the place of the set bit that has so many set bits below it, by halving the places.

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
