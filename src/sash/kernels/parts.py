"""What one pass over columns computes: partials side by side, and the results that are read from them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from sash.aggregates.base import Aggregate, unchanged
from sash.aggregates.derived import derive_lower
from sash.kernels.layout import PartialLayout, Shape

KINDS = {"bool": "bool", "int32": "int", "int64": "int", "float32": "float", "float64": "float"}
"""The types of columns that kernels take, and their kinds for `Aggregate.of_kind`."""


@dataclass(frozen=True)
class PartialPart:
    """The part of the partial that belongs to one aggregate, and the input columns that it is lifted from."""

    aggregate: Aggregate[Any]
    columns: tuple[int, ...]
    in_first_lane: int
    """The number of the same part in the first lane; its own number if it is there."""


@dataclass(frozen=True)
class PartOutput:
    """One column of results: the part that it is read from, the function, and the minimum number of values."""

    part: int
    lower: Callable[[Any], Any]
    at_least: int
    held: int | None
    """The field of the part that counts the values; None if every row is one value."""


@dataclass(frozen=True)
class PartialParts:
    """The parts of a partial that is combined as a whole, and the results that are read from it.

    Several aggregates in one pass are parts over the same columns. One aggregate over several sections of a column at
    once (lanes) has one part and one set of columns per lane: the processor works on one lane while another waits for its
    last combine.
    """

    parts: tuple[PartialPart, ...]
    outputs: tuple[PartOutput, ...]
    inputs: tuple[str, ...]
    """The types of the input columns."""

    @property
    def identity(self) -> tuple[Any, ...]:
        """Everything that a kernel takes from the parts, for its fingerprint."""
        parts = [
            (part.columns, self.read_as(part), part.in_first_lane, one.counts, one.distinct, one.costly_lift)
            for part in self.parts
            for one in (part.aggregate,)
        ]
        outputs = [(output.part, output.at_least, output.held) for output in self.outputs]
        return self.inputs, parts, outputs, *self.functions.items()

    def read_as(self, part: PartialPart) -> tuple[str, ...]:
        """The types in which a part reads its columns: float32 as float64, as interpreted, unless it returns input values."""
        kinds = (self.inputs[column] for column in part.columns)
        return tuple("float64" if kind == "float32" and part.aggregate.gives != "value" else kind for kind in kinds)

    @property
    def functions(self) -> dict[str, Callable[..., Any]]:
        """The functions of the aggregates, by their names in the generated module."""
        functions = {}
        for number, part in enumerate(self.parts):
            for name in ("lift", "combine", "inverse"):
                if getattr(part.aggregate, name) is not None:
                    functions[f"{name}_{number}"] = getattr(part.aggregate, name)
        first = self.parts[0].aggregate
        ranked = ("rank", "between", "place")
        functions |= {name: getattr(first, name) for name in ranked if getattr(first, name) is not None}
        return functions | {f"lower_{number}": output.lower for number, output in enumerate(self.outputs)}

    def of_partials(self, shape: Shape) -> PartialParts:
        """Return the same pass over partials of a shape instead of rows: one column per field."""
        shapes = [shape] if len(self.parts) == 1 else list(shape)
        parts, inputs = [], list[str]()
        for part, own in zip(self.parts, shapes, strict=True):
            fields = PartialLayout(own).fields
            columns = tuple(range(len(inputs), len(inputs) + len(fields)))
            parts.append(replace(part, aggregate=replace(part.aggregate, lift=as_partial(own)), columns=columns))
            inputs += fields
        return PartialParts(tuple(parts), self.outputs, tuple(inputs))

    def in_lanes(self, lanes: int) -> PartialParts:
        """Return the same pass over several sections of the columns at once."""
        width, parts = len(self.inputs), len(self.parts)
        return PartialParts(
            tuple(
                replace(part, columns=tuple(column + lane * width for column in part.columns))
                for lane in range(lanes)
                for part in self.parts
            ),
            tuple(replace(output, part=output.part + lane * parts) for lane in range(lanes) for output in self.outputs),
            self.inputs * lanes,
        )


@cache
def as_partial(shape: Shape) -> Callable[..., Any]:
    """Return the function that builds a partial from its fields.

    >>> as_partial(("int64", ("float64", "float64")))(3, 1.5, 2.5)
    (3, (1.5, 2.5))
    """
    names = [f"x{field}" for field in range(len(PartialLayout(shape).fields))]
    made = PartialLayout(shape).build(lambda field: ast.Name(names[field], ast.Load()))
    text = f"lambda {', '.join(names)}: {ast.unparse(ast.fix_missing_locations(made))}"
    function: Callable[..., Any] = eval(text)  # noqa: S307 — consists of x0, x1, … only
    return function


def read_fields(aggregates: Sequence[Aggregate[Any]], inputs: tuple[str, ...], shape: Shape) -> list[Aggregate[Any]]:
    """Return aggregates whose results are the fields of the partial of a pass, in order.

    >>> from sash import agg
    >>> fields = read_fields([agg.spread("x")], ("int64",), ("int64", "int64"))
    >>> [one.lower((3, 8)) for one in fields]
    [3, 8]
    """
    parts = share_parts(aggregates, inputs).parts
    shapes = [shape] if len(parts) == 1 else list(shape)
    return [
        replace(part.aggregate, lower=read_field(path), at_least=1, empty=None, gives="number", variants={})
        for part, own in zip(parts, shapes, strict=True)
        for path in PartialLayout(own).paths
    ]


@cache
def read_field(path: tuple[int, ...]) -> Callable[[Any], Any]:
    """Return the function that reads a field of a partial.

    >>> read_field((1, 0))((3, (1.5, 2.5)))
    1.5
    """
    function: Callable[[Any], Any] = eval("lambda partial: partial" + "".join(f"[{index}]" for index in path))  # noqa: S307 — numbers only
    return function


def as_values(aggregate: Aggregate[Any]) -> Aggregate[Any]:
    """Return the form of an aggregate for an algorithm that keeps values: a partial is one value."""
    return replace(
        aggregate,
        lift=unchanged,
        combine=lambda older, _: older,  # values are ranked or counted, never combined
        lower=unchanged,
        inverse=None,
        interpreted_only="",
        holistic=False,
        variants={},
    )


def share_parts(aggregates: Sequence[Aggregate[Any]], inputs: tuple[str, ...]) -> PartialParts:
    """Return the pass that computes several aggregates of the same columns, each partial only once.

    >>> from sash import agg
    >>> together = [aggregate.of_kind("float") for aggregate in (agg.count("x"), agg.stddev("x"), agg.variance("x"))]
    >>> shared = share_parts(together, ("float64",))
    >>> [part.aggregate.name for part in shared.parts], [output.part for output in shared.outputs]
    (['stddev'], [0, 0, 0])
    """
    parts: list[Aggregate[Any]] = []
    # Aggregates that others can be read from come first.
    for aggregate in sorted(
        aggregates, key=lambda one: sum(derive_lower(one, other) is not None for other in aggregates)
    ):
        if not any(_lower_from(aggregate, part) for part in parts):
            parts.append(aggregate)
    outputs = []
    for aggregate in aggregates:
        lowers = [_lower_from(aggregate, part) for part in parts]
        number, lower = next((number, lower) for number, lower in enumerate(lowers) if lower is not None)
        outputs.append(PartOutput(number, lower, aggregate.at_least, aggregate.held))
    columns = tuple(range(len(inputs)))
    numbered = tuple(PartialPart(part, columns, number) for number, part in enumerate(parts))
    return PartialParts(numbered, tuple(outputs), inputs)


def whole_shape(shapes: list[Shape]) -> Shape:
    """Return the shape of the partial that has parts of these shapes."""
    return shapes[0] if len(shapes) == 1 else tuple(shapes)


def _lower_from(aggregate: Aggregate[Any], part: Aggregate[Any]) -> Callable[[Any], Any] | None:
    """Return the function that reads the aggregate from a part, or None."""
    same = aggregate.lift is part.lift and aggregate.combine is part.combine
    return aggregate.lower if same else derive_lower(aggregate, part)
