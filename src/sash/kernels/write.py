"""The text of a kernel: a module with the fused loop and the functions that it calls."""

from __future__ import annotations

import ast
import json
from functools import partial
from typing import Any

from sash.kernels.fuse import OF_THE_LOOP, Fuser, FusionSpec
from sash.kernels.infer import Types
from sash.kernels.layout import PartialLayout
from sash.kernels.parts import PartialParts
from sash.kernels.read import FunctionSource, read_function

VALIDITY = """
@njit
def is_valid(validity, row):
    return len(validity) == 0 or (validity[np.uint64(row >> 3)] >> (row & 7)) & 1 != 0
@njit
def mark_valid(valid, row):
    valid[np.uint64(row >> 3)] |= np.uint8(1 << (row & 7))
@njit
def mark_valid_of(valid, number, row):
    valid[np.uint64(number), np.uint64(row >> 3)] |= np.uint8(1 << (row & 7))
"""


def write_kernel(fused: FusionSpec, parts: PartialParts, types: Types, loop: Any) -> str:
    """Return the text of the module that holds the fused loop."""
    algorithm, layout = fused.algorithm, fused.layout
    source = read_function(loop)
    body = Fuser(fused).fuse(source)
    opening, closing = _load_and_keep_state(fused)
    lines = [*opening, *"\n".join(map(_text, body)).splitlines(), *closing]
    described = json.dumps({"partial": layout.shape, "results": types.results})
    functions = [("lift", ""), ("combine", "older, newer")]
    if "inverse" in algorithm.text and all(part.aggregate.inverse is not None for part in parts.parts):
        functions.append(("inverse", "whole, older"))
    return "\n".join(
        [
            f'"""{loop.__name__} of {algorithm.name}: made by sash.kernels, not to be edited."""',
            "import numpy as np",
            "from numba import njit",
            f"LAYOUT = {described!r}",
            *(line for name, parameters in functions for line in _of_parts(name, parameters, parts, types)),
            *(f"{name} = raw_{name}" for name in parts.functions if name in ("rank", "between")),
            *_lowers(parts, types),
            *_function("only_value", "partial", "partial"),
            *_function("only_key", "partial", "partial"),
            *_function("same", "one, other", _same(layout)),
            *_function("same_key", "one, other", "same(one, other)"),
            *_function("hash_of", "key", _hash(layout)),
            *_function("is_newer", "winner, older, newer", "same(winner, newer)"),
            *VALIDITY.strip().splitlines(),
            "@njit(cache=True, nogil=True)",
            f"def {loop.__name__}({', '.join(_parameters(fused, source))}):",
            *(f"    {line}" for line in lines),
            "",
        ]
    )


def _parameters(fused: FusionSpec, loop: FunctionSource) -> list[str]:
    """The parameters of the fused loop: the loop's own, columns, results, and the algorithm's state."""
    names = [name for name in loop.parameters if name not in OF_THE_LOOP]
    names += [f"column_{number}" for number in range(fused.inputs)]
    names += ["validity"] if fused.nullable else []
    names += [f"results_{number}" for number in range(_count_results(fused, loop))]
    names += [f"valid_{number}" for number in range(len(fused.at_least)) if fused.marks]
    names += ["progress", "mask", "cursors"]
    for attribute, kind in fused.algorithm.state.items():
        prefix = "start" if kind == "P" else "self"
        if attribute in fused.given or kind == "int":
            continue
        if kind.endswith("P]") or kind == "P":
            names += [f"{prefix}_{attribute}_{field}" for field in range(len(fused.layout.fields))]
        else:
            names.append(f"self_{attribute}")
    return names


def _count_results(fused: FusionSpec, loop: FunctionSource) -> int:
    """How many columns the loop writes: results, or the fields of partials."""
    return len(fused.layout.fields if "keep" in loop.parameters else fused.at_least)


def _load_and_keep_state(fused: FusionSpec) -> tuple[list[str], list[str]]:
    """Cursors and single partials live in local variables while the loop runs."""
    opening, closing = [], []
    for number, name in enumerate(fused.algorithm.attributes("int")):
        opening.append(f"self_{name} = cursors[{number}]")
        closing.append(f"cursors[{number}] = self_{name}")
    for name in fused.algorithm.attributes("P"):
        opening.append(f"self_{name} = {_text(fused.layout.build(partial(_first, name)))}")
        parts = fused.layout.take_apart(ast.Name(f"self_{name}", ast.Load()))
        closing += [f"start_{name}_{field}[0] = {_text(part)}" for field, part in enumerate(parts)]
    return opening, closing


def _of_parts(function: str, parameters: str, parts: PartialParts, types: Types) -> list[str]:
    """Write lift, combine or inverse of every part, each field cast to its column's type, and of the whole partial."""
    lines: list[str] = []
    calls = []
    for number, (part, shape) in enumerate(zip(parts.parts, types.shapes, strict=True)):
        name = f"{function}_{number}"
        own = parameters or ", ".join(f"x{column}" for column in part.columns)
        lines += [f"{name} = raw_{name}"] if name in types.exact else _cast(name, own, PartialLayout(shape))
        if parameters:
            arguments = [_part(partial, number, parts, types) for partial in own.split(", ")]
        else:
            kinds = zip(part.columns, parts.read_as(part), strict=True)
            arguments = [f"np.{_scalar(kind)}(x{column})" for column, kind in kinds]
        calls.append(f"{name}({', '.join(arguments)})")
    if len(calls) == 1 and (parameters or parts.read_as(parts.parts[0]) == parts.inputs):
        return [*lines, f"{function} = {function}_0"]
    everything = parameters or ", ".join(f"x{column}" for column in range(len(parts.inputs)))
    return lines + _function(function, everything, calls[0] if len(calls) == 1 else f"({', '.join(calls)})")


def _lowers(parts: PartialParts, types: Types) -> list[str]:
    """Write the functions that read each result from the whole partial, and the number of values where it has that."""
    lines = []
    for number, output in enumerate(parts.outputs):
        if output.held is not None:
            own = "partial" if len(parts.parts) == 1 else f"partial[{output.part}]"
            lines += _function(f"held_{number}", "partial", f"{own}[{output.held}]")
        if len(parts.parts) == 1:
            lines.append(f"lower_{number} = raw_lower_{number}")
        else:
            result = f"raw_lower_{number}({_part('partial', output.part, parts, types)})"
            lines += _function(f"lower_{number}", "partial", result)
    return lines


def _part(partial: str, number: int, parts: PartialParts, types: Types) -> str:
    """Return one part of a partial, with the counts of the first lane.

    They are the same in all lanes, which LLVM sees if they have one name, and then divides by them only once.
    """
    part = parts.parts[number]
    shape = types.shapes[number]
    if part.in_first_lane == number or isinstance(shape, str):
        return f"{partial}[{number}]"
    lanes = [part.in_first_lane if field in part.aggregate.counts else number for field in range(len(shape))]
    return f"({''.join(f'{partial}[{lane}][{field}], ' for field, lane in enumerate(lanes))})"


def _cast(function: str, parameters: str, layout: PartialLayout) -> list[str]:
    """Wrap one of the aggregate's functions so that every field has its column's type."""
    parts = iter(layout.take_apart(ast.Name("partial", ast.Load())))
    types = iter(layout.fields)
    cast = layout.build(lambda _: ast.Call(ast.Name(f"np.{_scalar(next(types))}", ast.Load()), [next(parts)], []))
    return [
        "@njit",
        f"def {function}({parameters}):",
        f"    partial = raw_{function}({parameters})",
        f"    return {_text(cast)}",
    ]


def _function(name: str, parameters: str, result: str) -> list[str]:
    return ["@njit", f"def {name}({parameters}):", f"    return {result}"]


def _same(layout: PartialLayout) -> str:
    ones = layout.take_apart(ast.Name("one", ast.Load()))
    others = layout.take_apart(ast.Name("other", ast.Load()))
    return " and ".join(
        f"({a} == {b} or ({a} != {a} and {b} != {b}))"
        for a, b in zip(map(_text, ones), map(_text, others), strict=True)
    )


def _hash(layout: PartialLayout) -> str:
    """Mix the bits of a value: all NaNs have the same hash, and -0.0 that of 0.0, which adding 0.0 makes of it."""
    if layout.shape in ("float32", "float64"):
        return "np.int64(mix(np.uint64(0) if key != key else np.float64(key + 0.0).view(np.uint64)))"
    return "np.int64(mix(np.uint64(np.int64(key))))"


def _first(name: str, field: int) -> ast.expr:
    return ast.Subscript(ast.Name(f"start_{name}_{field}", ast.Load()), ast.Constant(0), ast.Load())


def _scalar(field: str) -> str:
    return "bool_" if field == "bool" else field


def _text(node: ast.AST) -> str:
    return ast.unparse(ast.fix_missing_locations(node))
