"""How much runs: of a matrix of parameters every pair of values in `make test`, every combination in `make test-full`.

Most faults show with one value, or with two values together. A set of combinations in which each pair occurs finds these, and is much
smaller than the product: 13 of 108 for lists of 4, 3, 3 and 3 values.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations, product
from random import Random
from typing import Any

FULL = bool(os.environ.get("SASH_FULL") or os.environ.get("SASH_SOAK"))
"""Whether everything runs (make test-full, make soak)."""

Choice = tuple[Any, ...]


def matrix(*values: Iterable[Any], valid: Callable[..., bool] = lambda *_: True) -> list[Choice]:
    """Return valid combinations of one value of each list: all, or enough for every pair of values that a valid one holds."""
    every = [choice for choice in product(*map(list, values)) if valid(*choice)]
    return every if FULL else pairwise(every)


def in_turn(
    values: Iterable[Any], *others: Iterable[Any], valid: Callable[..., bool] = lambda *_: True
) -> list[Choice]:
    """Return each of many values with one combination of the others, in turn: these hold every pair. All in `make test-full`.

    A matrix would hold every pair of a value and another one, which is much if values are many.

    >>> len(in_turn("abcde", [1, 2], [3, 4], valid=lambda name, one, _: (name, one) != ("b", 1))) == (18 if FULL else 5)
    True
    """
    own, rest = list(values), [list(listed) for listed in others]
    if FULL:
        return matrix(own, *rest, valid=valid)
    waiting = pairwise(list(product(*rest)))
    chosen = []
    for place in range(max(len(own), len(waiting))):
        value = own[place % len(own)]
        turn = next((turn for turn, one in enumerate(waiting) if valid(value, *one)), None)
        if turn is not None:
            chosen.append((value, *waiting[turn]))
            waiting.append(waiting.pop(turn))
    return chosen


def some(values: Iterable[Any], step: int) -> list[Any]:
    """Return one of `step` values, the first included; all of them in `make test-full`."""
    return list(values)[:: 1 if FULL else step]


def pairwise(every: Sequence[Choice]) -> list[Choice]:
    """Return some of the combinations, in their order, which hold every pair that any holds: greedily, one with most new pairs first.

    >>> pairwise(list(product("ab", "cd", "ef")))
    [('a', 'c', 'f'), ('a', 'd', 'e'), ('a', 'd', 'f'), ('b', 'c', 'e'), ('b', 'd', 'f')]
    """
    # By identity, since a value may have no hash; with its place, and with itself if there is only one list.
    pairs = [set(combinations(enumerate(map(id, choice)), min(2, len(choice)))) for choice in every]
    missing = set().union(*pairs)
    # In a random order, always the same one: else the first values of all lists would come together again and again.
    places = Random(len(every)).sample(range(len(every)), len(every))
    chosen = []
    while missing:
        best = max(places, key=lambda place: len(pairs[place] & missing))
        missing -= pairs[best]
        chosen.append(best)
    return [every[place] for place in sorted(chosen)]
