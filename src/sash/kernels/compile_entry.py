"""Compiles a function of a generated module to object code, with an entry in front of it (entry.py). Importing this module imports Numba."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numba
import numba._helperlib
import numba.core.cgutils
import numba.core.compiler_lock
import numba.core.runtime
import numba.extending
import numba.np.arrayobj
import numpy as np
from llvmlite import ir
from numba import from_dtype
from numba.np.numpy_support import as_dtype

from sash.kernels.entry import Entry, NotLinkedError, ObjectCode, Signature, linked

types: Any = numba.types
njit: Any = numba.njit
locked: Any = numba.core.compiler_lock.global_compiler_lock
helpers: Any = numba._helperlib  # noqa: SLF001 — the functions that compiled code calls
runtime: Any = numba.core.runtime
cgutils: Any = numba.core.cgutils
intrinsic: Any = numba.extending.intrinsic
populate_array: Any = numba.np.arrayobj.populate_array

POINTER, LONG = ir.IntType(8).as_pointer(), ir.IntType(64)
KINDS = {"i": "int", "u": "uint", "f": "float", "b": "bool"}
BOXES_VALUES = "__excinfo_unwrap_args"
"""The name of Numba's functions that make Python objects of the values in an error, which need objects of the process that compiled them."""
WORD = np.intp(0).itemsize
ADDRESS, SHAPE, STRIDES = (object.__basicsize__ // WORD + word for word in (0, 2, 3))
"""The words of NumPy's struct of an array: after the head of an object come the address, the number of dimensions, and these two."""


def native(function: Any, **options: Any) -> Any:
    """Return a function compiled for machine code alone: what Python needs to call it takes half of the time to compile.

    To call it from Python ends the process. `options` are those of Numba.
    """
    return njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, **options)(function)


class Compiled:
    """A function compiled for a signature."""

    def __init__(self, function: Any, signature: Signature, symbol: str, *, is_method: bool) -> None:
        """Compile a function of Numba."""
        arguments = tuple(map(numba_type, signature))
        function.compile(arguments)
        overload = function.overloads[arguments]
        results, returns_tuple = _results(overload.signature.return_type)
        leaves = list(_leaves(signature))
        library, code = _compile(overload, leaves, symbol, is_method=is_method)
        self._function, self._signature = function, signature
        self._boxes_values = any(one.name.startswith(BOXES_VALUES) for one in library._final_module.functions)  # noqa: SLF001 — as below
        self.code = ObjectCode(symbol, leaves, results, returns_tuple, is_method, needs_numba=False, code=code)
        self.can_be_stored = not (overload.library.has_dynamic_globals or self._boxes_values)
        """Whether the code works in other processes: it holds no address of this one, such as that of a large global array."""

    def link(self) -> Entry:
        """Link the code: alone; or with the functions in Numba's libraries; if it needs more than these, let Numba do so."""
        for needs_numba in (False, True) if not self._boxes_values else ():
            self.code = replace(self.code, needs_numba=needs_numba)
            with suppress(NotLinkedError):
                return linked(self.code)
        self.can_be_stored = False
        dispatcher = njit(nogil=not self.code.is_method)(self._function.py_func)
        return lambda *leaves: dispatcher(*_nested(self._signature, iter(leaves)))


def _nested(signature: Signature, leaves: Iterator[Any]) -> Iterator[Any]:
    """Yield the arguments that were taken apart into leaves."""
    for described in signature:
        is_tuple = isinstance(described, tuple) and described[0] == "tuple"
        yield tuple(_nested(described[1:], leaves)) if is_tuple else next(leaves)


def numba_type(described: Any) -> Any:
    """Return the type of an argument."""
    if isinstance(described, str):
        return types.boolean if described == "bool" else getattr(types, described)
    if described[0] == "tuple":
        return types.BaseTuple.from_types([numba_type(item) for item in described[1:]])
    dtype, dimensions, is_contiguous = described
    return types.Array(from_dtype(np.dtype(dtype)), dimensions, "C" if is_contiguous else "A")


def _leaves(signature: Signature) -> Iterator[str]:
    for described in signature:
        if isinstance(described, str):
            yield described
        elif described[0] == "tuple":
            yield from _leaves(described[1:])
        else:
            yield "array"


def _results(returned: Any) -> tuple[list[str], bool]:
    """Return the kinds of the numbers that a function returns, and whether they are a tuple."""
    plain = types.unliteral(returned.type if isinstance(returned, types.Optional) else returned)
    if plain == types.none:
        return [], False
    is_tuple = isinstance(plain, types.BaseTuple)
    return [KINDS[as_dtype(types.unliteral(one)).kind] for one in (plain if is_tuple else [plain])], is_tuple


@locked  # type: ignore[untyped-decorator]
def _compile(overload: Any, leaves: list[str], symbol: str, *, is_method: bool) -> tuple[Any, bytes]:
    """Return a library with a function and its entry, and the object code."""
    context = overload.target_context
    library = context.codegen().create_library(symbol)
    module = library.create_ir_module(symbol)
    write = _write_method if is_method else _write_entry
    write(context, module, overload, leaves, symbol)
    library.add_ir_module(module)
    library.add_linking_library(overload.library)
    library.finalize()
    code = context.codegen()._tm.emit_object(library._final_module)  # noqa: SLF001 — there is no public way
    return library, code


def _write_entry(context: Any, module: Any, overload: Any, leaves: list[str], symbol: str) -> None:
    """Write entry(slots, …leaves), which returns the status."""
    passed = {"array": POINTER, "float64": ir.DoubleType()}
    entry_type = ir.FunctionType(ir.IntType(32), [LONG.as_pointer(), *(passed.get(leaf, LONG) for leaf in leaves)])
    entry = ir.Function(module, entry_type, symbol)
    builder = ir.IRBuilder(entry.append_basic_block())
    slots, *given = entry.args
    status, result = _call(context, builder, overload, given)
    no_error = cgutils.get_null_value(status.excinfoptr.type)
    builder.store(builder.ptrtoint(builder.select(status.is_error, status.excinfoptr, no_error), LONG), slots)
    for number, value in enumerate(_numbers(context, builder, overload.signature.return_type, result)):
        builder.store(value, cgutils.gep(builder, slots, number + 1))
    builder.ret(status.code)


def _write_method(context: Any, module: Any, overload: Any, leaves: list[str], symbol: str) -> None:
    """Write a built-in function for Python: method(…leaves, None) returns a number or None; a tuple with the address of an error."""
    method = ir.Function(module, ir.FunctionType(POINTER, [POINTER, POINTER.as_pointer(), LONG]), symbol)
    builder = ir.IRBuilder(method.append_basic_block())
    objects = method.args[1]

    def python(name: str, returned: Any, *arguments: Any) -> Any:
        function_type = ir.FunctionType(returned, [argument.type for argument in arguments])
        return builder.call(cgutils.get_or_insert_function(module, function_type, name), arguments)

    given = []
    for number, leaf in enumerate(leaves):
        value = builder.load(cgutils.gep(builder, objects, number))
        is_float = leaf == "float64"
        given.append(
            python("PyFloat_AsDouble", ir.DoubleType(), value) if is_float else python("PyLong_AsLongLong", LONG, value)
        )
    with builder.if_then(cgutils.is_not_null(builder, python("PyErr_Occurred", POINTER)), likely=False):
        builder.ret(cgutils.get_null_value(POINTER))
    status, result = _call(context, builder, overload, given)
    with builder.if_then(status.is_error, likely=False):
        address = python("PyLong_FromVoidPtr", POINTER, builder.bitcast(status.excinfoptr, POINTER))
        error = python("PyTuple_New", POINTER, LONG(1))
        python("PyTuple_SetItem", ir.IntType(32), error, LONG(0), address)
        builder.ret(error)
    with builder.if_then(status.is_none):
        none = builder.load(cgutils.gep(builder, objects, len(leaves)))
        python("Py_IncRef", ir.VoidType(), none)
        builder.ret(none)
    [number] = _numbers(context, builder, overload.signature.return_type, result)
    [kind], _ = _results(overload.signature.return_type)
    if kind == "float":
        builder.ret(python("PyFloat_FromDouble", POINTER, builder.bitcast(number, ir.DoubleType())))
    else:
        make = {"int": "PyLong_FromLongLong", "uint": "PyLong_FromUnsignedLongLong", "bool": "PyBool_FromLong"}
        builder.ret(python(make[kind], POINTER, number))


def _call(context: Any, builder: Any, overload: Any, given: Sequence[Any]) -> tuple[Any, Any]:
    """Call a function with leaves. Return the status and the result."""
    leaves, types_given = iter(given), overload.signature.args
    arguments = [_argument(context, builder, one, leaves) for one in types_given]
    function = context.declare_function(builder.module, overload.fndesc)
    called: tuple[Any, Any] = context.call_conv.call_function(
        builder, function, overload.signature.return_type, types_given, arguments
    )
    return called


def _argument(context: Any, builder: Any, wanted: Any, given: Iterator[Any]) -> Any:
    """Return an argument, made of the next leaves."""
    if isinstance(wanted, types.BaseTuple):
        return context.make_tuple(builder, wanted, [_argument(context, builder, item, given) for item in wanted])
    leaf = next(given)
    if isinstance(wanted, types.Array):
        return _array(context, builder, wanted, leaf)
    return builder.icmp_signed("!=", leaf, leaf.type(0)) if wanted == types.boolean else leaf


def _array(context: Any, builder: Any, wanted: Any, address: Any) -> Any:
    """Return an array in Numba's form, which borrows the memory of a NumPy array."""
    word = cgutils.intp_t
    words = builder.bitcast(address, word.as_pointer())

    def read(base: Any, number: int) -> Any:
        return builder.load(cgutils.gep(builder, base, number))

    shape, strides = (builder.inttoptr(read(words, place), word.as_pointer()) for place in (SHAPE, STRIDES))
    array = context.make_array(wanted)(context, builder)
    populate_array(
        array,
        data=builder.inttoptr(read(words, ADDRESS), array.data.type),
        shape=[read(shape, number) for number in range(wanted.ndim)],
        strides=[read(strides, number) for number in range(wanted.ndim)],
        itemsize=context.get_constant(types.intp, as_dtype(wanted.dtype).itemsize),
        meminfo=None,
    )
    return array._getvalue()  # noqa: SLF001 — as all code of Numba does


def _numbers(context: Any, builder: Any, returned: Any, result: Any) -> Iterator[Any]:
    """Yield the numbers of a result as words."""
    plain = types.unliteral(returned.type if isinstance(returned, types.Optional) else returned)
    if plain == types.none:
        return
    is_tuple = isinstance(plain, types.BaseTuple)
    values = cgutils.unpack_tuple(builder, result) if is_tuple else [result]
    for one, value in zip(plain if is_tuple else [plain], values, strict=True):
        number = types.unliteral(one)
        if isinstance(number, types.Float):
            yield builder.bitcast(context.cast(builder, value, number, types.float64), ir.IntType(64))
        elif isinstance(number, types.Boolean):
            yield builder.zext(context.cast(builder, value, number, types.int8), ir.IntType(64))
        else:
            yield context.cast(builder, value, number, types.int64 if number.signed else types.uint64)


def library_functions() -> dict[str, int]:
    """Return the addresses of the functions in Numba's libraries, by the names that compiled code has for them."""
    found = {f"numba_{name}": address for name, address in helpers.c_helpers.items()}
    own = runtime._nrt_python.c_helpers.items()  # noqa: SLF001 — as above
    return found | {name if name.startswith("_") else f"NRT_{name}": address for name, address in own}


def _write_pointer(_: Any, address: Any) -> Any:  # noqa: ARG001 — Numba reads the parameter names
    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], cgutils.voidptr_t)

    return types.voidptr(types.int64), generate


pointer: Any = intrinsic(_write_pointer)
