"""Carries the partials of stored slices into the passes of another query.

A pass stores the partials of its aggregates side by side, each once: a count is read from the partial of a mean beside it. If the
mean is removed from the query, the count needs a partial of its own. So a state names the parts of its partials, and the aggregates
that read each.

    stored  {mean, n}  fields  high · low · values        mean is removed
    carried {n}        field   values
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sash.aggregates.base import Aggregate
from sash.aggregates.derived import derived_fields, functions_name
from sash.engine.executors.executor import kernel_forms, with_auxiliary
from sash.engine.prepare import Prepared
from sash.engine.slice_block import cut
from sash.kernels.array_codec import Arrays
from sash.kernels.fused_partial import PartialLayout, Shape, fuse_partials, shape_from
from sash.plan.sharing import Pass, form_for

PARTS = "parts of partials"


class Part(NamedTuple):
    """A part of the partials of a pass."""

    functions: str
    """The names of lift and combine."""
    own: list[str]
    """The aggregates that it belongs to."""
    read: list[str]
    """The aggregates that are read from it, although their own partials would be others."""


Stored = tuple[int, Part, list[npt.NDArray[Any]]]
"""A stored part: the number of its pass, and its fields."""


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


def carry_partials(prepared: Prepared, arrays: Arrays, stored: Sequence[Sequence[Sequence[Any]]]) -> Arrays:
    """Return the arrays of slices for a query whose aggregates are among those of the query that stored them.

    `stored` are the parts of the stored partials. Raise ValueError if an aggregate cannot be read from them.
    """
    carried = {name: array for name, array in arrays.items() if name.split(" ")[0] not in ("shape", "values", "field")}
    known = [
        (number, Part(*part), fields)
        for number, parts in enumerate(stored)
        for part, fields in zip(parts, _fields_of_parts(arrays, number, len(parts)), strict=True)
    ]
    empty = cut(prepared, prepared.empty_block()).partials
    for number, (parts, like) in enumerate(zip(parts_of(prepared), empty, strict=True)):
        fields: list[npt.NDArray[Any]] = []
        source = -1
        assert like.shape is not None
        for part, count in zip(parts, _field_counts(like.shape, len(parts)), strict=True):
            source, found = _find(part, known, count)
            fields += found
        carried[f"shape {number}"] = np.frombuffer(json.dumps(like.shape).encode(), np.uint8)
        carried[f"values {number}"] = arrays[f"values {source}"]
        for place, (field, empty_field) in enumerate(zip(fields, like.fields, strict=True)):
            carried[f"field {number} {place}"] = field.astype(empty_field.dtype)
    return carried


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


def _find(part: Part, known: Sequence[Stored], count: int) -> tuple[int, list[npt.NDArray[Any]]]:
    """Return the pass that has stored a part, and the `count` fields of the part."""
    for number, stored, fields in known:
        if set(part.own) & set(stored.own) and len(fields) == count:
            return number, fields
        if set(part.own) & set(stored.read):
            return number, derived_fields(part.functions, stored.functions, fields, count)
    raise _lost(part)


def _lost(part: Part) -> ValueError:
    name = part.own[0].rsplit(" ", 1)[0]
    return ValueError(
        f"The state of aggregate {name!r} cannot be read after this change of the query. Leave the other aggregates of its columns in "
        "the query, or use a new checkpoint."
    )
