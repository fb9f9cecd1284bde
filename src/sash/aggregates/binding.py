"""From a factory's arguments to an aggregate over columns."""

from __future__ import annotations

from sash.aggregates.base import Aggregate, P


def over(aggregate: Aggregate[P], *columns: str | None) -> Aggregate[P]:
    """Return the aggregate over these columns, or unbound as it is if none of them is named.

    >>> from sash.aggregates.max_like import arg_max
    >>> arg_max().columns, arg_max("load", "plug").columns
    ((), ('load', 'plug'))
    """
    named = [column for column in columns if column is not None]
    return aggregate(*named) if named else aggregate


def refuse_less_than_one(name: str, parameter: str, given: int) -> None:
    """Raise a sentence if a parameter that counts from 1 is smaller.

    >>> refuse_less_than_one("top_k", "k", 0)
    Traceback (most recent call last):
      ...
    ValueError: top_k was given k=0, but k counts values and starts at 1: give k=1 or more.
    """
    if given < 1:
        message = (
            f"{name} was given {parameter}={given}, but {parameter} counts values and starts at 1: "
            f"give {parameter}=1 or more."
        )
        raise ValueError(message)
