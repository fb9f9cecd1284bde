"""The types of an aggregate's partial and result for columns of given types, as Numba infers them.

Numba's typed form of a function also shows arithmetic in which machine code and Python differ. A user's function that uses it is
interpreted. docs/how-it-works.md lists the differences that remain.

| expression | Python | Numba |
|---|---|---|
| `2 ** n` of integers, n < 0 | a float | 0 |
| `2 ** 70`, the integer `2**63` | an integer of any size | wraps around, or becomes a float |
| `~flag` of a bool | -1 or -2 | the opposite bool |

Importing this module imports Numba.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numba
import numpy as np
from numba import from_dtype
from numba.core import ir
from numba.np.numpy_support import as_dtype

from sash.aggregates.pickling import is_own
from sash.columns.column_types import CannotCompileError
from sash.kernels.functions import first_line
from sash.kernels.fused_partial import FusedPartial, InferredTypes, Shape

types: Any = numba.types

POWERS = (pow, operator.pow, operator.ipow)
LARGEST = 2**63 - 1


def infer_types(fused: FusedPartial, compiled: dict[str, Any]) -> InferredTypes:
    """Return the types of partials and results. Raise CannotCompileError if a function can't be compiled."""
    shapes, results, exact = [], [], set()
    for number, component in enumerate(fused.components):
        functions = _Functions(component.aggregate.name, compiled, fused.functions)
        row = tuple(from_dtype(np.dtype(dtype)) for dtype in fused.read_as(component))
        lifted = functions.returned(f"lift_{number}", row)
        combining = [name for name in (f"combine_{number}", f"inverse_{number}") if name in compiled]
        shape, wider = None, lifted
        # lift may return an int where combine returns a float; types only widen, so it terminates
        while wider != shape:
            shape = wider
            combined = {name: functions.returned(name, (_numba_type(shape),) * 2) for name in combining}
            wider = reduce(functions.widen, combined.values(), shape)
        exact |= {name for name, returned in {f"lift_{number}": lifted, **combined}.items() if returned == shape}
        shapes.append(shape)
    for number, output in enumerate(fused.outputs):
        aggregate = fused.components[output.component].aggregate
        functions = _Functions(aggregate.name, compiled, fused.functions)
        value = _numba_type(shapes[output.component])
        result: Shape
        if aggregate.laws.distinct:
            result = "int64"
        elif aggregate.laws.place is not None:
            result = functions.returned("place", (types.int64, types.int64, types.int64))
        elif aggregate.laws.ranked is not None:
            result = functions.returned("between", (value, value, types.float64))
        else:
            result = functions.returned(f"lower_{number}", (value,))
        if not isinstance(result, str):
            raise CannotCompileError(f"{aggregate.name} returns {result} for a row, which is not one number.")
        results.append(result)
    return InferredTypes(shapes, results, exact)


@dataclass(frozen=True)
class _Functions:
    """The return types of the compiled functions of one aggregate."""

    aggregate: str
    compiled: dict[str, Any]
    sources: dict[str, Any]
    """The Python functions that were compiled, by the same names."""

    def returned(self, name: str, arguments: tuple[Any, ...]) -> Shape:
        """Return the shape that a function returns for arguments of these types."""
        label, compiled = f"{name.partition('_')[0]} of {self.aggregate}", self.compiled[name]
        try:
            compiled.compile(arguments)
        except Exception as error:  # Numba raises many types, internal ones too; nothing of the user's runs here
            raise CannotCompileError(f"{label} can't be compiled: {first_line(error)}") from error
        if not is_own(self.sources[name]):  # tests compare Sash's own functions
            for difference in _differences(compiled, arguments, set()):
                raise CannotCompileError(
                    f"{label} uses {difference}, which machine code computes differently from Python."
                )
        return self._shape(compiled.overloads[arguments].signature.return_type)

    def _shape(self, numba_type: Any) -> Shape:
        plain = types.unliteral(numba_type)
        if isinstance(plain, types.BaseTuple) and len(plain):
            return tuple(map(self._shape, plain))
        if isinstance(plain, types.Number | types.Boolean):
            return str(as_dtype(plain))
        raise CannotCompileError(f"{self.aggregate} holds {plain}, which is not a number or a tuple of numbers.")

    def widen(self, lifted: Shape, combined: Shape) -> Shape:
        """Return the shape that holds partials of both shapes."""
        if isinstance(lifted, str) and isinstance(combined, str):
            return str(np.promote_types(lifted, combined))
        if isinstance(lifted, tuple) and isinstance(combined, tuple) and len(lifted) == len(combined):
            return tuple(self.widen(mine, yours) for mine, yours in zip(lifted, combined, strict=True))
        raise CannotCompileError(
            f"lift of {self.aggregate} gives {lifted} and combine gives {combined}: they must have the same form."
        )


def _numba_type(shape: Shape) -> Any:
    if isinstance(shape, str):
        return from_dtype(np.dtype(shape))
    return types.BaseTuple.from_types([_numba_type(field) for field in shape])


def _differences(function: Any, arguments: tuple[Any, ...], visited: set[Any]) -> Iterator[str]:
    """Yield a phrase for each difference in a compiled function, for the types of its arguments, and in the functions that it calls."""
    if (function, arguments) in visited or arguments not in function.overloads:
        return
    visited.add((function, arguments))
    typed = function.overloads[arguments].type_annotation
    known = _constants(typed)
    for value in known.values():
        if isinstance(value, int) and not -LARGEST - 1 <= value <= LARGEST:
            yield f"the integer {value}, which needs more than 64 bits"
    for node, signature in typed.calltypes.items():
        if not isinstance(node, ir.Expr) or signature is None:
            continue
        called = typed.typemap[node.func.name] if node.op == "call" else None
        if isinstance(called, types.Dispatcher):
            yield from _differences(called.dispatcher, signature.args, visited)
        elif node.op == "unary" and node.fn is operator.invert and isinstance(signature.args[0], types.Boolean):
            yield "~ of a boolean"
        elif (operands := _operands_of_power(node, called)) and all(map(_is_whole, signature.args)):
            yield from _differences_of_power(*(known.get(operand.name) for operand in operands))


def _differences_of_power(base: Any, exponent: Any) -> Iterator[str]:
    """Yield the difference in a power of integers; an operand is None if it is not a constant."""
    if not isinstance(exponent, int):
        yield "a power of integers whose exponent is not a constant"
    elif exponent < 0:
        yield "a power of integers with a negative exponent"
    elif isinstance(base, int) and abs(base**exponent) > LARGEST:
        yield f"{base}**{exponent}, which needs more than 64 bits"


def _operands_of_power(node: ir.Expr, called: Any) -> tuple[Any, ...]:
    """Return base and exponent of `x ** y` or `pow(x, y)`; nothing for another expression."""
    if node.op in ("binop", "inplace_binop") and node.fn in POWERS:
        return node.lhs, node.rhs
    if getattr(called, "typing_key", None) in POWERS and len(node.args) == 2:  # noqa: PLR2004 — base and exponent
        return tuple(node.args)
    return ()


def _is_whole(operand: Any) -> bool:
    return isinstance(operand, types.Integer | types.Boolean)


def _constants(typed: Any) -> dict[str, Any]:
    """Return the values of variables that are assigned a constant, a global variable or a variable of a closure."""
    return {
        statement.target.name: statement.value.value
        for block in typed.blocks.values()
        for statement in block.body
        if isinstance(statement, ir.Assign) and isinstance(statement.value, ir.Const | ir.Global | ir.FreeVar)
    }
