"""The other aggregates that belong to an aggregate: forms for kinds of columns, entries of a list, items of a map."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sash.aggregates.base import Aggregate


@dataclass(frozen=True, kw_only=True)
class Forms:
    """Aggregates over the same columns as the one that they belong to."""

    variants: Mapping[str, Aggregate[Any]] = field(default_factory=dict, compare=False)
    """Forms for columns of one kind ("bool", "int", "float"), where the kind has stronger laws or needs more care."""
    entries: tuple[Aggregate[Any], ...] = ()
    """If the result is a list: the aggregates of its entries. Kernels, whose results are numbers, compute these; the laws and the
    number of values needed are those of the list."""
    inner: Aggregate[Any] | None = None
    """If the result is a map: the aggregate of its items. The first column holds the keys, the others are those of `inner`."""

    def over(self, columns: tuple[str, ...], time: str) -> Forms:
        """Bind all of them to columns."""
        return Forms(
            variants={kind: variant.over(columns, time) for kind, variant in self.variants.items()},
            entries=tuple(entry.over(columns, time) for entry in self.entries),
            inner=self.inner.over(columns[1:], time) if self.inner is not None else None,
        )


def varying_column(aggregate: Aggregate[Any]) -> str | None:
    """Return the column whose kind selects the variant; None if there is none, or several.

    >>> from sash import agg
    >>> varying_column(agg.sum("load")), varying_column(agg.per_value("plug", agg.sum("load")))
    ('load', 'load')
    """
    if aggregate.forms.inner is not None:
        return varying_column(aggregate.forms.inner)
    return aggregate.columns[0] if len(aggregate.columns) == 1 else None
