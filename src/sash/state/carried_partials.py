"""Carries the partials of stored slices into the passes of another query.

A pass stores the partials of its aggregates side by side, each once: a count is read from the partial of a mean beside it. If the
mean is removed from the query, the count needs a partial of its own. So a state names the parts of its partials, and the aggregates
that read each.

    stored  {mean, n}  fields  high · low · values        mean is removed
    carried {n}        field   values
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sash.aggregates.base import Aggregate
from sash.aggregates.derived import derived_fields, functions_name
from sash.engine.executors.executor import SUFFIX, kernel_forms, with_auxiliary
from sash.engine.prepare import Prepared
from sash.engine.slice_block import cut, cut_each_row, merge
from sash.kernels.array_codec import Arrays
from sash.kernels.fused_partial import PartialLayout, Shape, fuse_partials, shape_from
from sash.plan.sharing import Pass, form_for
from sash.windows.base import Ints

PARTS = "parts of partials"


class Part(NamedTuple):
    """A part of the partials of a pass."""

    functions: str
    """The names of lift and combine."""
    own: list[str]
    """The aggregates that it belongs to."""
    read: list[str]
    """The aggregates that are read from it, although their own partials would be others."""

    @property
    def aggregates(self) -> set[str]:
        """The results that are read from it."""
        return self.named([*self.own, *self.read])

    def named(self, entries: Sequence[str]) -> set[str]:
        """Return the names of the results that some of its aggregates belong to."""
        return {name.rsplit(" ", 1)[0].removesuffix(SUFFIX) for name in entries}


Stored = tuple[int, Part, list[npt.NDArray[Any]]]
"""A stored part: the number of its pass, and its fields."""
Found = tuple[int, list[npt.NDArray[Any]]]
"""The number of a stored pass, and fields of it."""


def parts_of(prepared: Prepared) -> list[list[Part]]:
    """Return the parts of the partials of each pass, as a state stores them; found once for a prepared query."""
    if PARTS not in prepared.derived:
        prepared.derived[PARTS] = [_parts(plan_pass, prepared.kinds) for plan_pass in prepared.plan.passes]
    parts: list[list[Part]] = prepared.derived[PARTS]
    return parts


def _parts(plan_pass: Pass, kinds: dict[str, str]) -> list[Part]:
    named = [
        (f"{name} {number}", form_for(form, kinds))
        for name, aggregate in with_auxiliary(plan_pass.aggregates).items()
        for number, form in enumerate(kernel_forms([aggregate]))
    ]
    fused = fuse_partials([form for _, form in named], ())
    parts = [Part(functions_name(component.aggregate), [], []) for component in fused.components]
    for (name, form), output in zip(named, fused.outputs, strict=True):
        part, host = parts[output.component], fused.components[output.component].aggregate
        (part.own if _is_same(form, host) else part.read).append(name)
    return parts


def _is_same(form: Aggregate[Any], host: Aggregate[Any]) -> bool:
    return form.lift is host.lift and form.combine is host.combine


def carry_partials(
    prepared: Prepared, arrays: Arrays, stored: Sequence[Sequence[Sequence[Any]]], new: Collection[str] = ()
) -> Arrays:
    """Return the arrays of slices for a query whose aggregates are among those of the query that stored them, or `new`.

    `stored` are the parts of the stored partials. Partials of new aggregates are placeholders, which no result may show. Raise ValueError if an
    aggregate cannot be read from them.
    """
    carried = {name: array for name, array in arrays.items() if name.split(" ")[0] not in ("shape", "values", "field")}
    known = [
        (number, Part(*part), fields)
        for number, parts in enumerate(stored)
        for part, fields in zip(parts, _fields_of_parts(arrays, number, len(parts)), strict=True)
    ]
    empty = cut(prepared, prepared.empty_block()).partials
    for number, (parts, like) in enumerate(zip(parts_of(prepared), empty, strict=True)):
        assert like.shape is not None
        counts = _field_counts(like.shape, len(parts))
        found = [_find(part, known, count, new) for part, count in zip(parts, counts, strict=True)]
        sources = [source for source, _ in filter(None, found)]
        values = arrays[f"values {sources[-1]}"] if sources else np.zeros(len(arrays["times"]), np.int64)
        fields: list[npt.NDArray[Any]] = []
        for part, count in zip(found, counts, strict=True):
            own = slice(len(fields), len(fields) + count)
            fields += placeholders(prepared, number, values)[own] if part is None else part[1]
        kinds = [field.dtype for field in like.fields]
        carried[f"shape {number}"] = np.frombuffer(json.dumps(like.shape).encode(), np.uint8)
        carried[f"values {number}"] = values
        for place, (field, kind) in enumerate(zip(fields, kinds, strict=True)):
            carried[f"field {number} {place}"] = field.astype(kind)
    return carried


def placeholders(prepared: Prepared, number: int, values: Ints) -> list[npt.NDArray[Any]]:
    """Return the fields of a pass for slices of so many rows of ones: partials that all aggregates can combine and lower."""
    counts, places = np.unique(np.maximum(values, 1), return_inverse=True)
    rows = int(counts.sum())
    ones = {
        one.name: pa.repeat(pa.scalar(1).cast(one.type), rows)
        if one.name in prepared.kinds
        else pa.nulls(rows, one.type)
        for one in prepared.schema
    }
    assert prepared.time is not None
    ones[prepared.time.name] = prepared.time.write(np.zeros(rows, np.int64))
    each = cut_each_row(prepared, prepared.block(pa.table(ones, schema=prepared.schema)))
    apart = np.zeros(rows, np.bool_)
    apart[np.cumsum(counts) - counts] = True
    return [field[places] for field in merge(prepared, each, apart).partials[number].fields]


def _fields_of_parts(arrays: Arrays, number: int, parts: int) -> Iterator[list[npt.NDArray[Any]]]:
    """Yield the stored fields of each part of a pass."""
    shape: Shape = shape_from(json.loads(arrays[f"shape {number}"].tobytes()))
    place = 0
    for count in _field_counts(shape, parts):
        yield [arrays[f"field {number} {field}"] for field in range(place, place + count)]
        place += count


def _field_counts(shape: Shape, parts: int) -> list[int]:
    """Return how many fields each part of a partial has."""
    return [len(PartialLayout(shape_of_part).fields) for shape_of_part in ([shape] if parts == 1 else shape)]


def _find(part: Part, known: Sequence[Stored], count: int, new: Collection[str]) -> Found | None:
    """Return the pass that has stored a part, and the `count` fields of the part; None if only new aggregates are read from it."""
    if part.aggregates <= set(new):
        return None
    for number, stored, fields in known:
        if set(part.own) & set(stored.own) and len(fields) == count:
            return number, fields
        if set(part.own) & set(stored.read):
            return number, derived_fields(part.functions, stored.functions, fields, count)
    raise _lost(part)


def check_new_parts(prepared: Prepared, new: Collection[str]) -> None:
    """Raise ValueError if a kept aggregate would be read from the partial of a new one, which stored slices do not have."""
    for part in (part for parts in parts_of(prepared) for part in parts):
        owners, readers = part.named(part.own), part.aggregates
        if owners <= set(new) and readers - set(new):
            raise ValueError(
                f"evolve=True cannot add aggregate {min(owners)!r}: {min(readers - set(new))!r} would be read from its partial, which the "
                "stored slices do not have. Leave it out, or use a new checkpoint."
            )


def _lost(part: Part) -> ValueError:
    name = part.own[0].rsplit(" ", 1)[0]
    return ValueError(
        f"The state of aggregate {name!r} cannot be read after this change of the query. Leave the other aggregates of its columns in "
        "the query, or use a new checkpoint."
    )
