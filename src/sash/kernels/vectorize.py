"""vectorize(function): the same function over whole columns instead of one row. It needs no compiler and no source text.

The function is copied with other global names: `math.sqrt` becomes NumPy's, `int`, `min` and the like become functions of columns, and
functions that it calls are copied the same way. Its code runs unchanged, on `Traced` columns. A function that changes something, or
that uses anything else, is refused.
"""

from __future__ import annotations

import dis
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial, reduce
from types import CellType, CodeType, FunctionType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from sash.kernels.direct import NUMPY_FORMS
from sash.kernels.functions import fingerprint_any, shown
from sash.kernels.fused_partial import Shape
from sash.kernels.traced import CannotVectorizeError, Paths, Traced, is_integer, number

Partial = Any
"""A column, or a tuple of partials."""
WIDE = 8
"""The bytes of a number of 64 bits."""
CHANGES = {
    "STORE_GLOBAL", "DELETE_GLOBAL", "STORE_DEREF", "STORE_ATTR", "DELETE_ATTR", "STORE_SUBSCR", "DELETE_SUBSCR",
    "IMPORT_NAME", "YIELD_VALUE", "RETURN_GENERATOR", "LIST_APPEND", "SET_ADD", "MAP_ADD",
}  # fmt: skip
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
    return value.with_values(values)


def as_real(value: Any = 0.0) -> Any:
    """Return `float(value)`."""
    return value.with_values(number(value).astype(np.float64)) if isinstance(value, Traced) else float(value)


def as_truth(value: Any = False) -> Any:
    """Return `bool(value)`."""
    return value.with_values(value.values != 0) if isinstance(value, Traced) else bool(value)


def _extreme(choose: Callable[[Any, Any], Any]) -> Any:
    """Return `min` or `max` of several values: the first of equals."""

    def apply(first: Any, *others: Any) -> Any:
        if not others:
            raise CannotVectorizeError("it takes the largest or smallest element of a collection.")
        return reduce(choose, others, first)

    return apply


UNCHANGED = (abs, len, range, tuple, OverflowError, ValueError, ZeroDivisionError)
BUILTINS: dict[str, Any] = {
    **{builtin.__name__: builtin for builtin in UNCHANGED},
    "bool": as_truth,
    "float": as_real,
    "int": as_integer,
    "max": _extreme(max),
    "min": _extreme(min),
}
"""What functions may use of Python's builtins."""


def _of_one(name: str, is_wrong: Callable[[Any], Any] | None) -> Any:
    """Return a function of the math module over columns; it refuses arguments for which Python raises an error."""

    def apply(value: Any) -> Any:
        if not isinstance(value, Traced):
            return getattr(math, name)(value)
        values = number(value).astype(np.float64)
        if is_wrong is not None:
            value.paths.refuse(is_wrong(values), "it calls a function of math outside its domain.")
        return value.with_values(getattr(np, name)(values))

    return apply


def _of_two(name: str) -> Any:
    """Return a function of the math module with two arguments over columns."""

    def apply(size: Any, other: Any) -> Any:
        traced = next((value for value in (size, other) if isinstance(value, Traced)), None)
        if traced is None:
            return getattr(math, name)(size, other)
        values = getattr(np, name)(number(size), number(other))
        traced.paths.refuse(np.isinf(values) & np.isfinite(number(size)), "it computes a number that is too large.")
        return traced.with_values(values)

    return apply


def _rounded(name: str) -> Any:
    """Return `math.floor` or `math.ceil` over columns."""

    def apply(value: Any) -> Any:
        if not isinstance(value, Traced):
            return getattr(math, name)(value)
        if is_integer(value.values):
            return value
        return as_integer(value.with_values(getattr(np, name)(number(value))))

    return apply


WRONG: dict[str, Callable[[Any], Any] | None] = {
    "sqrt": lambda values: values < 0,
    "exp": lambda values: np.isfinite(values) & (values > 700),  # noqa: PLR2004 — overflow
    **dict.fromkeys(("log", "log2", "log10"), lambda values: values <= 0),
    "log1p": lambda values: values <= -1,
    **dict.fromkeys(("fabs", "isnan", "isinf", "isfinite")),
}
"""The arguments for which a function of the math module raises an error, if any."""
MATH = SimpleNamespace(
    **{name: getattr(math, name) for name in ("pi", "e", "inf", "nan")},
    **{name: _of_one(name, is_wrong) for name, is_wrong in WRONG.items()},
    **{name: _of_two(name) for name in ("copysign", "ldexp")},
    **{name: _rounded(name) for name in ("floor", "ceil")},
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
    return VectorFunction(_copy(function, {}), NUMPY_FORMS.get(function))


@dataclass(frozen=True)
class VectorFunction:
    """A function over columns of partials."""

    copied: Callable[..., Any]
    numpy_form: Callable[..., Any] | None = None
    """The same over columns of 64 bits, if it is known."""

    def __call__(self, *arguments: Partial) -> Partial:
        """Return the result of each row. Raise CannotVectorizeError if the function would not return for one of them."""
        if self.numpy_form is not None and all(field.dtype.itemsize == WIDE for field in fields_of(arguments)):
            with np.errstate(all="ignore"):
                return self.numpy_form(*arguments)
        rows = len(fields_of(arguments)[0]) if arguments else 1
        (_, merged), *others = self._run(Paths(), arguments, rows)
        for mask, result in others:
            merged = _choose(mask, result, merged)
        return merged

    def example(self, *arguments: Partial) -> Partial:
        """Return a result with the types of all paths, from partials of one row. Its values mean nothing."""
        results = [result for _, result in self._run(Paths(every=True), arguments, 1)]
        if not results:
            raise CannotVectorizeError("it never returns.")
        return reduce(partial(_choose, np.array([True])), results)

    def merge_into(self, shape: Shape) -> Callable[[Partial, Partial], Partial]:
        """Return the function over two partials of a shape, with a result of that shape; NumPy's warnings are off."""
        if self.numpy_form is not None and all(np.dtype(name).itemsize == WIDE for name in fields_of(shape)):
            return self.numpy_form
        return lambda older, newer: cast(self(older, newer), shape)

    def number_type(self, shape: Shape) -> np.dtype[Any]:
        """Return the type of the number that the function returns for partials of a shape."""
        result = self.example(map_fields(lambda dtype: np.ones(1, dtype), shape))
        if not isinstance(result, np.ndarray):
            raise CannotVectorizeError("a result is not one number.")
        dtype: np.dtype[Any] = result.dtype
        return dtype

    def _run(self, paths: Paths, arguments: tuple[Partial, ...], rows: int) -> Iterator[tuple[Any, Partial]]:
        """Yield the rows and the results of each path."""
        traced = [map_fields(lambda column: Traced(column, paths), argument) for argument in arguments]
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
        raise CannotVectorizeError(f"{shown(function)} is not a Python function.")
    if function in done:
        if done[function] is None:
            raise CannotVectorizeError(f"{named} calls itself.")
        return done[function]
    done[function] = None
    instructions = list(_instructions(function.__code__))
    if forbidden := sorted({instruction.opname for instruction in instructions} & CHANGES):
        raise CannotVectorizeError(f"{named} does more than compute a result ({forbidden[0]}).")
    used = {str(each.argval) for each in instructions if each.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    names = {name: _value(name, function.__globals__, done) for name in used}
    cells = tuple(CellType(_allowed(cell.cell_contents, done)) for cell in function.__closure__ or ())
    copied = FunctionType(function.__code__, {**names, "__builtins__": {}}, named, function.__defaults__, cells)
    done[function] = copied
    return copied


def _value(name: str, known: dict[str, Any], done: dict[Any, Any]) -> Any:
    if name in known:
        return _allowed(known[name], done)
    if name in BUILTINS:
        return BUILTINS[name]
    raise CannotVectorizeError(f"it uses {name}.")


def _allowed(value: Any, done: dict[Any, Any]) -> Any:
    if value is math:
        return MATH
    if isinstance(value, bool | int | float):
        return value
    if isinstance(value, tuple):
        return tuple(_allowed(item, done) for item in value)
    for name in vars(MATH):
        if value is getattr(math, name):
            return getattr(MATH, name)
    if isinstance(value, ModuleType):
        raise CannotVectorizeError(f"it uses the module {value.__name__}.")
    return _copy(value, done)


def _instructions(code: CodeType) -> Iterator[dis.Instruction]:
    yield from dis.get_instructions(code)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _instructions(constant)


# -- partials --------------------------------------------------------------------------------------------------------


def map_fields(function: Callable[..., Any], partial: Any, *others: Any) -> Any:
    """Return a partial with a function applied to each column, and to the fields of other partials or shapes in the same place."""
    if not others:  # most calls: small queries spend much of their time here
        return (
            tuple([map_fields(function, field) for field in partial])
            if isinstance(partial, tuple)
            else function(partial)
        )
    if not any(isinstance(each, tuple) for each in (partial, *others)):
        return function(partial, *others)
    if not all(isinstance(each, tuple) and len(each) == len(partial) for each in (partial, *others)):
        raise CannotVectorizeError("its results have different forms.")
    return tuple(map_fields(function, *fields) for fields in zip(partial, *others, strict=True))


def fields_of(partial: Partial) -> list[npt.NDArray[Any]]:
    """Return the columns of a partial."""
    return [field for inner in partial for field in fields_of(inner)] if isinstance(partial, tuple) else [partial]


def take(partial: Partial, rows: Any) -> Partial:
    """Return some rows of a partial."""
    return tuple([take(field, rows) for field in partial]) if isinstance(partial, tuple) else partial[rows]


def put(partial: Partial, rows: Any, values: Partial) -> None:
    """Write the values of some rows."""
    if isinstance(partial, tuple):
        for field, new in zip(partial, values, strict=True):
            put(field, rows, new)
    else:
        partial[rows] = values


def empty_like(partial: Partial, rows: int) -> Partial:
    """Return a partial of the same types, with zeros."""
    return map_fields(lambda field: np.zeros(rows, field.dtype), partial)


def cast(partial: Partial, shape: Shape) -> Partial:
    """Return a partial with the types of a shape: lift may return an integer where combine returns a float."""

    def cast_field(field: npt.NDArray[Any], dtype: str) -> npt.NDArray[Any]:
        if not np.can_cast(field.dtype, dtype, "same_kind"):  # nothing is ever rounded here
            raise CannotVectorizeError(f"it returns {field.dtype} where {dtype} was expected.")
        return field.astype(dtype, copy=False)

    return map_fields(cast_field, partial, shape)


def _unwrap(result: Any, rows: int) -> Partial:
    """Return the columns of a result; a constant becomes a column."""
    if isinstance(result, tuple) and result:
        return tuple(_unwrap(field, rows) for field in result)
    if isinstance(result, Traced):
        return result.values
    if isinstance(result, bool | int | float | np.generic):
        dtype = np.int64 if isinstance(result, int) and not isinstance(result, bool) else None
        return np.full(rows, result, dtype)
    raise CannotVectorizeError(f"it returns {type(result).__name__}, which is not a number or a tuple of numbers.")


def _choose(mask: Any, chosen: Partial, other: Partial) -> Partial:
    """Return one result for the rows of a mask, and the other for the rest."""
    return map_fields(lambda mine, yours: mine if mine is yours else np.where(mask, mine, yours), chosen, other)
