"""vectorize(function): the same function over whole columns instead of one row. It needs no compiler and no source text.

The function is copied with other global names: `math.sqrt` becomes NumPy's, `int`, `min` and the like become functions of columns, and
functions that it calls are copied the same way. Its code runs unchanged, on `Traced` columns. A function that changes something, or
that uses anything else, is refused.
"""

from __future__ import annotations

import dis
import math
from collections.abc import Callable, Iterator
from functools import lru_cache, partial, reduce
from types import CellType, CodeType, FunctionType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from sash.kernels.functions import fingerprint_any, shown
from sash.kernels.partial_columns import Partial, fields_of
from sash.kernels.traced import CannotVectorizeError, Paths, Traced, is_integer, number

CHANGES = frozenset(
    {
        "STORE_GLOBAL", "DELETE_GLOBAL", "STORE_DEREF", "STORE_ATTR", "DELETE_ATTR", "STORE_SUBSCR", "DELETE_SUBSCR",
        "IMPORT_NAME", "YIELD_VALUE", "RETURN_GENERATOR", "LIST_APPEND", "SET_ADD", "MAP_ADD",
    }
)  # fmt: skip
"""Instructions of functions that change something, or that build what is not a number or a tuple."""


# -- builtins over columns -------------------------------------------------------------------------------------------


def as_integer(value: Any = 0) -> Any:
    """Return `int(value)`."""
    if not isinstance(value, Traced):
        return int(value)
    values = number(value)
    if values.dtype.kind == "f":
        value.paths.refuse(~(np.abs(values) < 2.0**63), "it converts a number that is too large to an integer.")
        values = np.trunc(values).astype(np.int64)
    return value.made(values)


def as_real(value: Any = 0.0) -> Any:
    """Return `float(value)`."""
    return value.made(number(value).astype(np.float64)) if isinstance(value, Traced) else float(value)


def as_truth(value: Any = False) -> Any:
    """Return `bool(value)`."""
    return value.made(value.values != 0) if isinstance(value, Traced) else bool(value)


def largest(first: Any, *others: Any) -> Any:
    """Return `max(…)`: the first of equals."""
    best = first
    for other in others or _missing():
        best = max(best, other)
    return best


def smallest(first: Any, *others: Any) -> Any:
    """Return `min(…)`: the first of equals."""
    best = first
    for other in others or _missing():
        best = min(best, other)
    return best


def _missing() -> tuple[Any, ...]:
    message = "it takes the largest or smallest element of a collection."
    raise CannotVectorizeError(message)


BUILTINS: dict[str, Any] = {
    "abs": abs,
    "bool": as_truth,
    "float": as_real,
    "int": as_integer,
    "len": len,
    "max": largest,
    "min": smallest,
    "range": range,
    "tuple": tuple,
    "OverflowError": OverflowError,
    "ValueError": ValueError,
    "ZeroDivisionError": ZeroDivisionError,
}
"""What functions may use of Python's builtins."""


def _elementwise(plain: Callable[[float], Any], function: Callable[[Any], Any], wrong: Callable[[Any], Any]) -> Any:
    """Return a function of the math module over columns; it refuses arguments for which Python raises an error."""

    def apply(value: Any) -> Any:
        if not isinstance(value, Traced):
            return plain(value)
        values = number(value).astype(np.float64)
        value.paths.refuse(wrong(values), "it calls a function of math outside its domain.")
        return value.made(function(values))

    return apply


def _never(values: Any) -> Any:
    return np.zeros(values.shape, np.bool_)


def _floor(plain: Callable[[float], int], function: Callable[[Any], Any]) -> Any:
    def apply(value: Any) -> Any:
        if not isinstance(value, Traced) or is_integer(value.values):
            return plain(value) if not isinstance(value, Traced) else value
        return as_integer(value.made(function(number(value))))

    return apply


def _copysign(size: Any, sign: Any) -> Any:
    if not isinstance(size, Traced) and not isinstance(sign, Traced):
        return math.copysign(size, sign)
    traced = size if isinstance(size, Traced) else sign
    return traced.made(np.copysign(number(size), number(sign)))


def _ldexp(size: Any, exponent: Any) -> Any:
    if not isinstance(size, Traced) and not isinstance(exponent, Traced):
        return math.ldexp(size, exponent)
    traced = size if isinstance(size, Traced) else exponent
    values = np.ldexp(number(size), number(exponent))
    traced.paths.refuse(np.isinf(values) & np.isfinite(number(size)), "it computes a number that is too large.")
    return traced.made(values)


MATH = SimpleNamespace(
    pi=math.pi,
    e=math.e,
    inf=math.inf,
    nan=math.nan,
    sqrt=_elementwise(math.sqrt, np.sqrt, lambda values: values < 0),
    exp=_elementwise(math.exp, np.exp, lambda values: np.isfinite(values) & (values > 700)),  # noqa: PLR2004 — overflow
    log=_elementwise(math.log, np.log, lambda values: values <= 0),
    log2=_elementwise(math.log2, np.log2, lambda values: values <= 0),
    log10=_elementwise(math.log10, np.log10, lambda values: values <= 0),
    log1p=_elementwise(math.log1p, np.log1p, lambda values: values <= -1),
    fabs=_elementwise(math.fabs, np.abs, _never),
    isnan=_elementwise(math.isnan, np.isnan, _never),
    isinf=_elementwise(math.isinf, np.isinf, _never),
    isfinite=_elementwise(math.isfinite, np.isfinite, _never),
    copysign=_copysign,
    ldexp=_ldexp,
    floor=_floor(math.floor, np.floor),
    ceil=_floor(math.ceil, np.ceil),
)
"""What functions may use of the math module."""


# -- functions -------------------------------------------------------------------------------------------------------


def vectorize(function: Callable[..., Any]) -> VectorFunction:
    """Return a function over columns of partials. Raise CannotVectorizeError if the function cannot be vectorised.

    Its global variables have the values of now.

    >>> deviation = vectorize(lambda total: total[0] / total[1] if total[1] else 0.0)
    >>> deviation((np.array([3.0, 5.0]), np.array([2, 0]))).tolist()
    [1.5, 0.0]
    """
    if not isinstance(function, FunctionType):  # it may have no hash
        return VectorFunction(_copy(function, {}))
    return _vectorized(function, fingerprint_any(function))


@lru_cache(maxsize=256)
def _vectorized(function: Callable[..., Any], _: str) -> VectorFunction:
    return VectorFunction(_copy(function, {}))


class VectorFunction:
    """A function over columns of partials."""

    def __init__(self, copied: Callable[..., Any]) -> None:
        self.copied = copied

    def __call__(self, *arguments: Partial) -> Partial:
        """Return the result of each row. Raise CannotVectorizeError if the function would not return for one of them."""
        rows = len(fields_of(arguments)[0]) if arguments else 1
        return _merge(list(self._run(Paths(), arguments, rows)))

    def example(self, *arguments: Partial) -> Partial:
        """Return a result with the types of all paths, from partials of one row. Its values mean nothing."""
        found = [result for _, result in self._run(Paths(every=True), arguments, 1)]
        if not found:
            message = "it never returns."
            raise CannotVectorizeError(message)
        return reduce(partial(_choose, np.array([True])), found)

    def _run(self, paths: Paths, arguments: tuple[Partial, ...], rows: int) -> Iterator[tuple[Any, Partial]]:
        """Yield the rows and the results of each path."""
        traced = [_wrap(argument, paths) for argument in arguments]
        with np.errstate(all="ignore"):
            while paths.start():
                try:
                    result = self.copied(*traced)
                except CannotVectorizeError:
                    raise
                except Exception as error:
                    if paths.every and isinstance(error, ArithmeticError | ValueError):
                        continue  # a path that raises returns nothing, and the values of an example mean nothing
                    raise CannotVectorizeError(str(error)) from error
                yield paths.mask, _unwrap(result, rows)


def _copy(function: Any, done: dict[Any, Any]) -> Any:
    """Return a function with other global names, and so the functions that it calls."""
    named = getattr(function, "__name__", "")
    if not isinstance(function, FunctionType):
        if BUILTINS.get(named) is not None and function in (abs, bool, float, int, max, min):
            return BUILTINS[named]
        message = f"{shown(function)} is not a Python function."
        raise CannotVectorizeError(message)
    if function in done:
        if done[function] is None:
            message = f"{named} calls itself."
            raise CannotVectorizeError(message)
        return done[function]
    done[function] = None
    if forbidden := sorted({one.opname for one in _instructions(function.__code__)} & CHANGES):
        message = f"{named} does more than compute a result ({forbidden[0]})."
        raise CannotVectorizeError(message)
    names = {name: _value(name, function.__globals__, done) for name in _global_names(function.__code__)}
    cells = tuple(CellType(_allowed(cell.cell_contents, done)) for cell in function.__closure__ or ())
    made = FunctionType(function.__code__, {**names, "__builtins__": {}}, named, function.__defaults__, cells)
    done[function] = made
    return made


def _value(name: str, known: dict[str, Any], done: dict[Any, Any]) -> Any:
    if name in known:
        return _allowed(known[name], done)
    if name in BUILTINS:
        return BUILTINS[name]
    message = f"it uses {name}."
    raise CannotVectorizeError(message)


def _allowed(value: Any, done: dict[Any, Any]) -> Any:
    if value is math:
        return MATH
    if isinstance(value, bool | int | float):
        return value
    if isinstance(value, tuple):
        return tuple(_allowed(part, done) for part in value)
    for name in vars(MATH):
        if value is getattr(math, name):
            return getattr(MATH, name)
    if isinstance(value, ModuleType):
        message = f"it uses the module {value.__name__}."
        raise CannotVectorizeError(message)
    return _copy(value, done)


def _instructions(code: CodeType) -> Iterator[dis.Instruction]:
    yield from dis.get_instructions(code)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _instructions(constant)


def _global_names(code: CodeType) -> set[str]:
    return {str(one.argval) for one in _instructions(code) if one.opname in ("LOAD_GLOBAL", "LOAD_NAME")}


# -- partials --------------------------------------------------------------------------------------------------------


def _wrap(partial: Partial, paths: Paths) -> Any:
    return tuple(_wrap(part, paths) for part in partial) if isinstance(partial, tuple) else Traced(partial, paths)


def _unwrap(result: Any, rows: int) -> Partial:
    """Return the columns of a result; a constant becomes a column."""
    if isinstance(result, tuple) and result:
        return tuple(_unwrap(part, rows) for part in result)
    if isinstance(result, Traced):
        return result.values
    if isinstance(result, bool | int | float | np.generic):
        kind = np.int64 if isinstance(result, int) and not isinstance(result, bool) else None
        return np.full(rows, result, kind)
    message = f"it returns {type(result).__name__}, which is not a number or a tuple of numbers."
    raise CannotVectorizeError(message)


def _merge(found: list[tuple[Any, Partial]]) -> Partial:
    """Return for each row the result of its path."""
    (_, merged), *others = found
    for mask, result in others:
        merged = _choose(mask, result, merged)
    return merged


def _choose(mask: Any, one: Partial, other: Partial) -> Partial:
    if isinstance(one, tuple) != isinstance(other, tuple) or (isinstance(one, tuple) and len(one) != len(other)):
        message = "its results have different forms."
        raise CannotVectorizeError(message)
    if isinstance(one, tuple):
        return tuple(_choose(mask, mine, yours) for mine, yours in zip(one, other, strict=True))
    return one if one is other else np.where(mask, one, other)
