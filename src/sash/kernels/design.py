"""The design of a kernel: everything that its module is generated from, and the name that covers all of it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

from sash.aggregates.base import Aggregate
from sash.aggregates.comparison import is_above
from sash.algorithms.base import Algorithm
from sash.algorithms.bit_words import count_ones, highest_one, lowest_one, select_one
from sash.algorithms.occurrence_table import mix
from sash.columns.column_types import KINDS, CannotCompileError
from sash.kernels import loops
from sash.kernels.cache import PREFIX, read_bytes, write_file
from sash.kernels.functions import compile_function, fingerprint, first_line
from sash.kernels.fuse_expressions import FusionSpec
from sash.kernels.fused_partial import PartialLayout, Shape, as_values, fuse_partials, join_shapes
from sash.kernels.read import parse_code, read_algorithm, read_function
from sash.kernels.write import write_kernel

Loop = Any

CALLED = (is_above, mix, count_ones, lowest_one, highest_one, select_one)
"""The functions that algorithms call by name."""

IMPORT = re.compile(r"^ *from sash\.kernels(?:\.(\w+)| import ([\w, ]+))", re.MULTILINE)


@cache
def own_code() -> str:
    """Return the fingerprint of the code that generates kernels, so that a kernel of another version of it is never loaded.

    Comments do not count. To parse the modules takes 0.07 s, so the cache keeps the fingerprint of each version of their texts.
    """
    modules = dict(generating_code())
    version = fingerprint(*modules.items())
    known = read_bytes(f"{PREFIX}{version}.code")
    if known is not None and len(known) == len(version):
        return known.decode()
    found = fingerprint(*((module, ast.dump(parse_code(text))) for module, text in modules.items()))
    write_file(f"{PREFIX}{version}.code", found.encode())
    return found


def generating_code() -> Iterator[tuple[str, str]]:
    """Yield name and text of the modules of this package that generate kernels: this one, and all that it imports."""
    names = ["design", "compile_entry"]  # the second compiles what is generated
    for name in names:
        text = files(__package__).joinpath(f"{name}.py").read_text(encoding="utf-8")  # works in zip files too
        yield name, text
        imported = (each for match in IMPORT.findall(text) for each in "".join(match).replace(",", " ").split())
        names += [each for each in dict.fromkeys(imported) if each not in names]


@dataclass
class KernelDesign:
    """One loop, one algorithm, the aggregates of one pass, and the types of their columns."""

    algorithm: type[Algorithm[Any]]
    aggregates: Sequence[Aggregate[Any]]
    column_types: tuple[str, ...]
    """The types of the columns that the aggregates read."""
    loop: Loop
    _: KW_ONLY
    nullable: bool = False
    lanes: int = 1
    tracks_row: bool = False
    over: Shape | None = None
    """The shape of the partials that replace rows, if any."""

    def __post_init__(self) -> None:
        """Raise CannotCompileError if the aggregates must be interpreted."""
        if self.algorithm.interpreted_only and self.loop is not loops.slide_times:
            raise CannotCompileError(self.algorithm.interpreted_only)
        self.aggregates = [form_for(self.algorithm, aggregate, self.column_types) for aggregate in self.aggregates]
        self.nullable |= self.loop is loops.advance
        self.tracks_row |= self.loop in (
            loops.advance,
            loops.slide_times,
        )  # the state has changed, so it can't run again
        fused = fuse_partials(self.aggregates, self.column_types)
        if self.algorithm.one_aggregate and len(fused.components) > 1:
            raise CannotCompileError(
                f"{self.label} can't be computed together: {self.algorithm.about.name} takes one aggregate."
            )
        if self.over is not None:
            fused = fused.of_partials(self.over)
        self.inputs = fused.inputs
        """The types of the columns that the loop reads, in one lane."""
        self.fused = fused.in_lanes(self.lanes)
        self.name = self._fingerprint()

    @property
    def label(self) -> str:
        """The aggregates and their columns, for messages."""
        return " and ".join(dict.fromkeys(aggregate.label for aggregate in self.aggregates))

    def _fingerprint(self) -> str:
        """Return the name of the generated module, which covers everything that the module is generated from."""
        loop, algorithm = read_function(self.loop).identity, read_algorithm(self.algorithm).identity
        options = (self.nullable, self.tracks_row)
        try:
            return fingerprint(own_code(), algorithm, CALLED, loop, options, self.fused.identity)
        except Exception as error:  # also that of an empty closure or an object without a repr
            raise CannotCompileError(f"{self.label} is not compiled: {first_line(error)}") from error

    def names(self) -> dict[str, Any]:
        """Return the compiled functions that the module calls, by name. Raise CannotCompileError if they changed since the design was made."""
        if self._fingerprint() != self.name:
            raise CannotCompileError(f"{self.label} uses values that have changed since the query was prepared.")
        from sash.kernels.bit_intrinsics import compile_bit_functions  # noqa: PLC0415 — it imports Numba

        called = {function.__name__: compile_function(function) for function in CALLED} | compile_bit_functions()
        return called | {f"raw_{name}": function for name, function in self._compiled().items()}

    def write(self) -> str:
        """Generate the text of the module."""
        from sash.kernels.infer import infer_types  # noqa: PLC0415 — it imports Numba

        types = infer_types(self.fused, self._compiled())
        return write_kernel(self.fusion_spec(join_shapes(types.shapes)), types, self.loop)

    def _compiled(self) -> dict[str, Any]:
        return {name: compile_function(function) for name, function in self.fused.functions.items()}

    def fusion_spec(self, shape: Shape) -> FusionSpec:
        """Return what the loop is fused with, for partials of a shape."""
        source = read_algorithm(self.algorithm)
        if self.fused.components[0].aggregate.laws.place is not None and self.algorithm.keeps_values:
            source = replace(source, query="place_of_newest")
        emits = "emit" in read_function(self.loop).parameters
        costly = any(component.aggregate.coding.costly_lift for component in self.fused.components)
        marks = emits and (self.nullable or self.loop in (loops.slide_between, loops.slide_times))
        # A position of the stream is a row of the input only if every row is inserted.
        from_input = frozenset() if self.nullable or costly else source.from_input
        return FusionSpec(source, PartialLayout(shape), self.fused, self.nullable, marks, from_input, self.tracks_row)


def form_for(algorithm: type[Algorithm[Any]], aggregate: Aggregate[Any], inputs: tuple[str, ...]) -> Aggregate[Any]:
    """Return the form of the aggregate for these types and this algorithm. Raise CannotCompileError if there is none."""
    if unknown := [name for name in inputs if name not in KINDS]:
        raise CannotCompileError(
            f"Columns of {', '.join(unknown)} are not compiled: cast them to one of {', '.join(KINDS)}."
        )
    if aggregate.forms.entries:
        raise CannotCompileError(f"{aggregate.name} is not compiled: its result is a list.")
    if len(inputs) == 1:
        aggregate = aggregate.of_kind(KINDS[inputs[0]])
    if algorithm.keeps_values:
        aggregate = as_values(aggregate)
    if reason := aggregate.coding.interpreted_only:
        raise CannotCompileError(f"{aggregate.name} is not compiled: {reason}")
    return aggregate
