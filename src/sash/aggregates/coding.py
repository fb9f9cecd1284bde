"""How engines represent the values and the partials of an aggregate."""

from __future__ import annotations

from dataclasses import dataclass

from sash.aggregates.pickling import Picklable


@dataclass(frozen=True, kw_only=True)
class Coding(Picklable):
    """What the functions of an aggregate do with values, and what kernels need to know about its partials."""

    codes: tuple[str, ...] = ()
    """The integer codes that may replace each column, so that kernels can process values of any type: "any" distinct codes
    if the aggregate only tests values for equality, "ordered" codes if it compares them."""
    sorts: bool = False
    """Sorts Python values, so that the own order of a dictionary column is not respected."""
    hashes: bool = False
    """Uses values as dictionary keys, so that nested values are rejected."""
    counts: tuple[int, ...] = ()
    """The fields of a partial, by index, that are the number of its values: kernels compute them once for all lanes."""
    costly_lift: bool = False
    """Whether `lift` takes longer than reading a partial, so that kernels store partials instead of lifting rows again."""
    interpreted_only: str = ""
    """The reason why the aggregate cannot be compiled, if that is known: a sentence."""
