"""Arithmetic in which machine code and Python differ. A user's function that uses it is interpreted.

| expression | Python | Numba |
|---|---|---|
| `2 ** n` of integers, n < 0 | a float | 0 |
| `2 ** 70`, the integer `2**63` | an integer of any size | wraps around, or becomes a float |
| `~flag` of a bool | -1 or -2 | the opposite bool |

Numba's typed form of the function shows where integers and booleans occur: the source does not. docs/how-it-works.md lists the
differences that remain.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

import numba
from numba.core import ir

from sash.columns.column_types import CannotCompileError

types: Any = numba.types

POWERS = (pow, operator.pow, operator.ipow)
LARGEST = 2**63 - 1


def refuse_differences(function: Any, arguments: tuple[Any, ...], label: str) -> None:
    """Raise CannotCompileError if a compiled function, or one that it calls, computes something else than Python.

    `arguments` are the types that it was compiled for, `label` names it in the message.
    """
    for difference in _differences(function, arguments, set()):
        raise CannotCompileError(f"{label} uses {difference}, which machine code computes differently from Python.")


def _differences(function: Any, arguments: tuple[Any, ...], visited: set[Any]) -> Iterator[str]:
    """Yield a phrase for each difference in one overload of a compiled function and in the functions that it calls."""
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
