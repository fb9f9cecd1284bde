"""What the factories of aggregates share: from their arguments to an aggregate over columns, and sentences."""

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


def compiled_only_by(algorithm: str) -> str:
    """Return why an aggregate whose partials grow is compiled by one algorithm alone: the one that keeps values instead.

    >>> compiled_only_by("order_statistics_tree")
    'its partials grow with the window, so only order_statistics_tree, which keeps none, is compiled.'
    """
    return f"its partials grow with the window, so only {algorithm}, which keeps none, is compiled."


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
