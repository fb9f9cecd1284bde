"""Numbers for groups of rows, so that Spark sends each group to a partition of its own."""

from __future__ import annotations

from functools import cache

SEED = 42
BITS = 0xFFFFFFFF


@cache
def spread_out(groups: int) -> list[int]:
    """Return numbers for groups such that Spark sends each to a partition of its own, if there are as many partitions.

    Spark sends a number to the partition of its hash. With the numbers 0 to 15, three groups may share a partition while
    others stay empty.

    >>> sorted(hash_int(number) % 4 for number in spread_out(4))
    [0, 1, 2, 3]
    """
    numbers: dict[int, int] = {}
    candidate = 0
    while len(numbers) < groups:
        numbers.setdefault(hash_int(candidate) % groups, candidate)
        candidate += 1
    return [numbers[partition] for partition in range(groups)]


def hash_int(value: int) -> int:
    """Return Spark's hash of an int: Murmur3 with 32 bits (Appleby 2008), as a signed integer.

    >>> hash_int(1)
    -559580957
    """
    mixed = _rotated(value * 0xCC9E2D51 & BITS, 15) * 0x1B873593 & BITS
    state = (_rotated(SEED ^ mixed, 13) * 5 + 0xE6546B64) & BITS
    state ^= 4  # bytes
    state = (state ^ state >> 16) * 0x85EBCA6B & BITS
    state = (state ^ state >> 13) * 0xC2B2AE35 & BITS
    state ^= state >> 16
    return state - (1 << 32) if state >> 31 else state


def _rotated(value: int, bits: int) -> int:
    return (value << bits | value >> 32 - bits) & BITS
