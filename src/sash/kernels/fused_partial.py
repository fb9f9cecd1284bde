"""What one pass over columns computes: partials in flat columns, side by side, and the results that are read from them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

from sash.aggregates.base import Aggregate, unchanged, with_fields
from sash.aggregates.derived import derive_lower

Shape = str | tuple["Shape", ...]
"""The name of a NumPy type ("float64"), or a tuple of shapes."""


@dataclass(frozen=True)
class PartialLayout:
    """The fields of a partial, in order.

    >>> PartialLayout(("int64", ("float64", "bool"))).fields
    ['int64', 'float64', 'bool']
    """

    shape: Shape

    @cached_property
    def fields(self) -> list[str]:
        """The NumPy type of each field."""
        return [field for _, field in _leaves(self.shape, ())]

    @property
    def paths(self) -> list[tuple[int, ...]]:
        """The indices that lead to each field."""
        return [path for path, _ in _leaves(self.shape, ())]

    def build(self, field: Callable[[int], ast.expr]) -> ast.expr:
        """Return the expression of a partial from one expression per field."""
        numbers = iter(range(len(self.fields)))
        return _build(self.shape, lambda: field(next(numbers)))

    def take_apart(self, partial: ast.expr) -> list[ast.expr]:
        """Return one expression per field of the partial."""
        fields = []
        for path in self.paths:
            field = partial
            for index in path:
                field = ast.Subscript(field, ast.Constant(index), ast.Load())
            fields.append(field)
        return fields


@dataclass(frozen=True)
class InferredTypes:
    """The types of the partials and results of a pass."""

    shapes: list[Shape]
    """The shape of each component."""
    results: list[str]
    """The NumPy type of each result."""
    exact: set[str]
    """The functions that return exactly the shape of their component and need no cast."""


def _leaves(shape: Shape, path: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], str]]:
    if isinstance(shape, str):
        yield path, shape
    else:
        for index, field in enumerate(shape):
            yield from _leaves(field, (*path, index))


def _build(shape: Shape, next_field: Callable[[], ast.expr]) -> ast.expr:
    if isinstance(shape, str):
        return next_field()
    return ast.Tuple([_build(field, next_field) for field in shape], ast.Load())


def shape_from(value: Any) -> Shape:
    """Return a shape from the nested lists of JSON."""
    return value if isinstance(value, str) else tuple(map(shape_from, value))


def join_shapes(shapes: list[Shape]) -> Shape:
    """Return the shape of a partial that has components of these shapes; one component is the partial itself."""
    return shapes[0] if len(shapes) == 1 else tuple(shapes)


def split_shape(shape: Shape, components: int) -> list[Shape]:
    """Return the shapes of the components of a partial."""
    return [shape] if components == 1 else list(shape)


@dataclass(frozen=True)
class Component:
    """The component of a partial that belongs to one aggregate, and the input columns that it is lifted from."""

    aggregate: Aggregate[Any]
    columns: tuple[int, ...]
    in_first_lane: int
    """The number of the same component in the first lane; its own number if it is there."""


@dataclass(frozen=True)
class Output:
    """One column of results: the component that it is read from, the function, and the minimum number of values."""

    component: int
    lower: Callable[[Any], Any]
    at_least: int
    held: int | None
    """The field of the component that counts the values; None if every row is one value."""


@dataclass(frozen=True)
class FusedPartial:
    """The components of a partial that is combined as a whole, and the results that are read from it.

    Several aggregates in one pass are components over the same columns. One aggregate over several sections of a column at
    once (lanes) has one component and one set of columns per lane: the processor works on one lane while another waits for its
    last combine.
    """

    components: tuple[Component, ...]
    outputs: tuple[Output, ...]
    inputs: tuple[str, ...]
    """The types of the input columns."""

    @property
    def identity(self) -> tuple[Any, ...]:
        """Everything that a kernel takes from the components, for its fingerprint."""
        columns = [(each.columns, self.read_as(each), each.in_first_lane) for each in self.components]
        forms = [each.aggregate for each in self.components]
        options = [(form.coding.counts, form.coding.costly_lift, form.laws.distinct) for form in forms]
        outputs = [(output.component, output.at_least, output.held) for output in self.outputs]
        return self.inputs, columns, options, outputs, *self.functions.items()

    def read_as(self, component: Component) -> tuple[str, ...]:
        """The types in which a component reads its columns: float32 as float64, as interpreted, unless it returns input values."""
        dtypes = (self.inputs[column] for column in component.columns)
        return tuple(
            "float64" if dtype == "float32" and component.aggregate.result.gives != "value" else dtype
            for dtype in dtypes
        )

    @property
    def functions(self) -> dict[str, Callable[..., Any]]:
        """The functions of the aggregates, by their names in the generated module."""
        named = {
            f"{name}_{number}": getattr(component.aggregate, name)
            for number, component in enumerate(self.components)
            for name in ("lift", "combine", "inverse")
        }
        ranking = self.components[0].aggregate.laws.ranked
        named |= {} if ranking is None else vars(ranking)
        named |= {f"lower_{number}": output.lower for number, output in enumerate(self.outputs)}
        return {name: function for name, function in named.items() if function is not None}

    def of_partials(self, shape: Shape) -> FusedPartial:
        """Return the same pass over partials of a shape instead of rows: one column per field."""
        components, inputs = [], list[str]()
        for component, own_shape in zip(self.components, split_shape(shape, len(self.components)), strict=True):
            fields = PartialLayout(own_shape).fields
            columns = tuple(range(len(inputs), len(inputs) + len(fields)))
            of_fields = replace(component.aggregate, lift=as_partial(own_shape))
            components.append(replace(component, aggregate=of_fields, columns=columns))
            inputs += fields
        return FusedPartial(tuple(components), self.outputs, tuple(inputs))

    def in_lanes(self, lanes: int) -> FusedPartial:
        """Return the same pass over several sections of the columns at once."""
        components, outputs = list[Component](), list[Output]()
        for lane in range(lanes):
            first_column, first_component = lane * len(self.inputs), lane * len(self.components)
            for each in self.components:
                components.append(replace(each, columns=tuple(first_column + column for column in each.columns)))
            outputs += [replace(each, component=first_component + each.component) for each in self.outputs]
        return FusedPartial(tuple(components), tuple(outputs), self.inputs * lanes)


@cache
def as_partial(shape: Shape) -> Callable[..., Any]:
    """Return the function that builds a partial from its fields.

    >>> as_partial(("int64", ("float64", "float64")))(3, 1.5, 2.5)
    (3, (1.5, 2.5))
    """
    names = [f"x{field}" for field in range(len(PartialLayout(shape).fields))]
    partial = PartialLayout(shape).build(lambda field: ast.Name(names[field], ast.Load()))
    text = f"lambda {', '.join(names)}: {ast.unparse(ast.fix_missing_locations(partial))}"
    function: Callable[..., Any] = eval(text)  # noqa: S307 — consists of x0, x1, … only
    return function


def read_fields(aggregates: Sequence[Aggregate[Any]], inputs: tuple[str, ...], shape: Shape) -> list[Aggregate[Any]]:
    """Return aggregates whose results are the fields of the partial of a pass, in order.

    >>> from sash import agg
    >>> fields = read_fields([agg.spread("x")], ("int64",), ("int64", "int64"))
    >>> [one.lower((3, 8)) for one in fields]
    [3, 8]
    """
    components = fuse_partials(aggregates, inputs).components
    return [
        with_fields(component.aggregate, lower=read_field(path), at_least=1, empty=None, gives="number", variants={})
        for component, own_shape in zip(components, split_shape(shape, len(components)), strict=True)
        for path in PartialLayout(own_shape).paths
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
    return with_fields(
        aggregate,
        lift=unchanged,
        combine=lambda older, _: older,  # values are ranked or counted, never combined
        lower=unchanged,
        inverse=None,
        invertible=False,
        interpreted_only="",
        holistic=False,
        variants={},
    )


def fuse_partials(aggregates: Sequence[Aggregate[Any]], inputs: tuple[str, ...]) -> FusedPartial:
    """Return the pass that computes several aggregates of the same columns, each partial only once.

    >>> from sash import agg
    >>> together = [aggregate.of_kind("float") for aggregate in (agg.count("x"), agg.stddev("x"), agg.variance("x"))]
    >>> fused = fuse_partials(together, ("float64",))
    >>> [component.aggregate.name for component in fused.components], [output.component for output in fused.outputs]
    (['stddev'], [0, 0, 0])
    """
    hosts: list[Aggregate[Any]] = []
    # Aggregates that others can be read from come first.
    for aggregate in sorted(
        aggregates, key=lambda aggregate: sum(derive_lower(aggregate, other) is not None for other in aggregates)
    ):
        if not any(_lower_from(aggregate, host) for host in hosts):
            hosts.append(aggregate)
    outputs = []
    for aggregate in aggregates:
        lowers = [_lower_from(aggregate, host) for host in hosts]
        number, lower = next((number, lower) for number, lower in enumerate(lowers) if lower is not None)
        outputs.append(Output(number, lower, aggregate.result.at_least, aggregate.result.held))
    columns = tuple(range(len(inputs)))
    components = tuple(Component(host, columns, number) for number, host in enumerate(hosts))
    return FusedPartial(components, tuple(outputs), inputs)


def _lower_from(aggregate: Aggregate[Any], host: Aggregate[Any]) -> Callable[[Any], Any] | None:
    """Return the function that reads the aggregate from the partial of another one, or None."""
    is_same = aggregate.lift is host.lift and aggregate.combine is host.combine
    return aggregate.lower if is_same else derive_lower(aggregate, host)
