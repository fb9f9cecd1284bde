"""The text of a kernel: a module with the fused loop and the functions that it calls."""

from __future__ import annotations

import ast
import json
from functools import partial
from typing import Any

from sash.kernels.fuse import Fuser
from sash.kernels.layout import Layout
from sash.kernels.read import AlgorithmSource, read_function


def write_kernel(algorithm: AlgorithmSource, layout: Layout, result: str, inputs: int, loop: Any) -> str:
    """Return the text of the module that holds the fused loop."""
    source = read_function(loop)
    body = Fuser(algorithm, layout, inputs).fuse(source)
    cursors = algorithm.attributes("int")
    singles = algorithm.attributes("P")
    opening = [f"self_{name} = cursors[{number}]" for number, name in enumerate(cursors)]
    closing = [f"cursors[{number}] = self_{name}" for number, name in enumerate(cursors)]
    for name in singles:
        opening.append(f"self_{name} = {_text(layout.build(partial(_first, name)))}")
        parts = layout.take_apart(ast.Name(f"self_{name}", ast.Load()))
        closing += [f"start_{name}_{field}[0] = {_text(part)}" for field, part in enumerate(parts)]
    parameters = [name for name in source.parameters if name not in ("window", "lifted", "emit")]
    parameters += [f"column_{number}" for number in range(inputs)] + ["results", "mask", "cursors"]
    for attribute, kind in algorithm.state.items():
        prefix = "start" if kind == "P" else "self"
        if kind.endswith("P]") or kind == "P":
            parameters += [f"{prefix}_{attribute}_{field}" for field in range(len(layout.fields))]
        elif kind != "int":
            parameters.append(f"self_{attribute}")
    lines = [*opening, *"\n".join(map(_text, body)).splitlines(), *closing]
    described = json.dumps({"partial": layout.shape, "result": result})
    return "\n".join(
        [
            f'"""{loop.__name__} of {algorithm.name}: made by sash.kernels, not to be edited."""',
            "import numpy as np",
            "from numba import njit",
            f"LAYOUT = {described!r}",
            *_cast("lift", [f"x{number}" for number in range(inputs)], layout),
            *_cast("combine", ["older", "newer"], layout),
            *(_cast("inverse", ["whole", "older"], layout) if "inverse" in algorithm.text else []),
            *(
                _hand_on("rank", "count") + _hand_on("between", "below, above, part")
                if "self.rank" in algorithm.text
                else []
            ),
            *_hand_on("lower", "partial"),
            *_hand_on("only_value", "partial", "partial"),
            *_hand_on("only_key", "partial", "partial"),
            *_hand_on("same_key", "one, other", "same(one, other)"),
            *_hand_on("hash_of", "key", _hash(layout)),
            "@njit",
            "def same(one, other):",
            f"    return {_same(layout)}",
            "@njit",
            "def is_newer(winner, older, newer):",
            "    return same(winner, newer)",
            "@njit(cache=True, nogil=True)",
            f"def {loop.__name__}({', '.join(parameters)}):",
            *(f"    {line}" for line in lines),
            "",
        ]
    )


def _cast(function: str, parameters: list[str], layout: Layout) -> list[str]:
    """Wrap one of the aggregate's functions so that every field has its column's type."""
    parts = iter(layout.take_apart(ast.Name("partial", ast.Load())))
    types = iter(layout.fields)
    cast = layout.build(lambda _: ast.Call(ast.Name(f"np.{_scalar(next(types))}", ast.Load()), [next(parts)], []))
    return [
        "@njit",
        f"def {function}({', '.join(parameters)}):",
        f"    partial = raw_{function}({', '.join(parameters)})",
        f"    return {_text(cast)}",
    ]


def _hand_on(function: str, parameters: str, result: str = "") -> list[str]:
    return ["@njit", f"def {function}({parameters}):", f"    return {result or f'raw_{function}({parameters})'}"]


def _same(layout: Layout) -> str:
    ones = layout.take_apart(ast.Name("one", ast.Load()))
    others = layout.take_apart(ast.Name("other", ast.Load()))
    return " and ".join(
        f"({a} == {b} or ({a} != {a} and {b} != {b}))"
        for a, b in zip(map(_text, ones), map(_text, others), strict=True)
    )


def _hash(layout: Layout) -> str:
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
