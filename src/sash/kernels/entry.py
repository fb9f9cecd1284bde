"""An entry: object code that Numba has compiled, linked by LLVM and called with ctypes. Nothing here imports Numba.

To import Numba and to load machine code with it takes longer than most queries. So the object code of a function is kept with a small
entry in front of it, which takes plain words:

    Python arguments ──► leaves ──► entry(slots, array, length, …) ──► function(array, length, …) in Numba's calling convention
                                      │ status, error, results
                                      ▼
                                    slots

The entry reads the address, the shape and the strides of an array from NumPy's own struct, which is part of its binary interface.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import pickle
import struct
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from itertools import count
from typing import Any

import numpy as np

Signature = tuple[Any, ...]
"""The types of arguments: "int64", "uint64", "float64" or "bool"; (dtype, dimensions, is contiguous) of an array; ("tuple", …)."""

NUMBERS: dict[str, Any] = {
    "int64": ctypes.c_int64,
    "uint64": ctypes.c_uint64,
    "float64": ctypes.c_double,
    "bool": ctypes.c_int64,
}
"""How Python passes numbers, by type."""
RESULTS = {"int": "q", "uint": "Q", "float": "d", "bool": "?7x"}
"""How Python reads results from slots of eight bytes, by kind of number."""
RETURNED, RETURNED_NONE, RAISED = 0, -2, 1
"""What a function of Numba returns: its status."""
METHOD_FASTCALL = 0x80
"""A flag of Python's: the function takes an array of arguments."""
LARGEST = 2**63
BOOLEANS, INTEGERS, FLOATS = (bool, np.bool_), (int, np.integer), (float, np.floating)
UNUSED = "NRT_MemInfo_call_dtor"
"""Numba's code refers to this function, and calls it only to free memory that it has allocated."""


class NotLinkedError(Exception):
    """Object code needs a function that this process does not have, or is damaged."""


def read_arguments(arguments: tuple[Any, ...], leaves: list[Any]) -> Signature:
    """Return the types of arguments; append arrays and numbers to `leaves`.

    >>> read_arguments((np.zeros((2, 3)), 7, (True, 0.5)), [])
    ((dtype('float64'), 2, True), 'int64', ('tuple', 'bool', 'float64'))
    """
    signature: list[Any] = []
    for value in arguments:
        if isinstance(value, np.ndarray):
            signature.append((value.dtype, value.ndim, value.flags.c_contiguous))
            leaves.append(value)
        elif isinstance(value, tuple):
            signature.append(("tuple", *read_arguments(value, leaves)))
        elif isinstance(value, BOOLEANS):
            signature.append("bool")
            leaves.append(int(value))
        elif isinstance(value, INTEGERS):
            number = int(value)
            signature.append("int64" if -LARGEST <= number < LARGEST else "uint64")
            leaves.append(number)
        elif isinstance(value, FLOATS):
            signature.append("float64")
            leaves.append(float(value))
        else:
            raise TypeError(f"Machine code takes arrays, numbers and tuples of them; given: a {type(value).__name__}.")
    return tuple(signature)


@dataclass(frozen=True)
class ObjectCode:
    """The object code of a function for one signature, and how to call it."""

    symbol: str
    leaves: list[str]
    """The type of each leaf: "array", or that of a number."""
    results: list[str]
    """The kinds of the numbers that the function returns; empty if it returns None."""
    returns_tuple: bool
    is_method: bool
    """Whether it is a built-in function for Python, which converts numbers itself and keeps the lock of the interpreter.

    A call takes 0.1 µs instead of 1.2, which matters for functions that take less. It takes numbers only, and returns one number or None.
    """
    needs_numba: bool
    """Whether it calls functions of Numba's own libraries, such as those that allocate memory."""
    code: bytes

    def pack(self) -> bytes:
        """Return the content of a file."""
        header = json.dumps({name: value for name, value in asdict(self).items() if name != "code"}).encode()
        content = len(header).to_bytes(8, "little") + header + self.code
        return hashlib.sha256(content).digest() + content

    @classmethod
    def unpack(cls, data: bytes) -> ObjectCode:
        """Read the content of a file. Raise NotLinkedError if it is damaged: LLVM would crash."""
        digest, content = data[:32], data[32:]
        if hashlib.sha256(content).digest() != digest:
            raise NotLinkedError("the file is damaged")
        end = 8 + int.from_bytes(content[:8], "little")
        return cls(**json.loads(content[8:end]), code=content[end:])


Entry = Callable[..., Any]
"""A function for one signature, called with leaves. It does not look at their types."""


def linked(code: ObjectCode) -> Entry:
    """Link object code. Raise NotLinkedError if it needs what this process does not have."""
    return _as_method(code) if code.is_method else _as_function(code)


def _as_function(code: ObjectCode) -> Entry:
    """Return an entry that ctypes calls; it releases the lock of the interpreter."""
    kinds = [ctypes.py_object if leaf == "array" else NUMBERS[leaf] for leaf in code.leaves]
    run: Any = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, *kinds)(_link(code))
    make_slots: Any = ctypes.c_uint64 * (1 + len(code.results))
    unpack = struct.Struct("8x" + "".join(RESULTS[result] for result in code.results)).unpack
    has_results, returns_tuple = bool(code.results), code.returns_tuple

    def entry(*leaves: Any) -> Any:
        slots = make_slots()
        status = run(slots, *leaves)
        if status not in (RETURNED, RETURNED_NONE):
            raise _error(status, slots[0])
        if status == RETURNED_NONE or not has_results:
            return None
        returned = unpack(slots)
        return returned if returns_tuple else returned[0]

    return entry


class MethodOfPython(ctypes.Structure):
    """PyMethodDef: what Python needs to know of a built-in function."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("documentation", ctypes.c_char_p),
    )


def _as_method(code: ObjectCode) -> Entry:
    """Return an entry that is a built-in function."""
    definition = MethodOfPython(code.symbol.encode(), _link(code), METHOD_FASTCALL, None)
    _linked.append(definition)  # Python does not copy it
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
    method: Any = make(("PyCFunction_NewEx", ctypes.pythonapi))(ctypes.addressof(definition), None, None)

    def entry(*leaves: Any) -> Any:
        returned = method(*leaves, None)
        if type(returned) is tuple:
            raise _error(RAISED, returned[0])
        return returned

    return entry


class ErrorOfNumba(ctypes.Structure):
    """The first fields of Numba's description of an error: see numba/core/callconv.py, excinfo_t."""

    _fields_ = (
        ("pickled", ctypes.c_void_p),
        ("size", ctypes.c_int32),
    )


def _error(status: int, address: int) -> BaseException:
    """Return the error that a function raised: its type and arguments are pickled in the object code."""
    if status != RAISED or not address:
        return SystemError(f"Machine code returned the unknown status {status}.")
    described = ErrorOfNumba.from_address(address)
    kind, arguments, *_ = pickle.loads(ctypes.string_at(described.pickled, described.size))  # noqa: S301 — in code that is executed anyway
    error: BaseException = kind(*arguments or ())
    return error


# -- linking -----------------------------------------------------------------------------------------------------------

_lock = threading.Lock()
_numbers = count()
_linked: list[Any] = []
"""What keeps linked code in memory."""


@cache
def _linker() -> Any:
    import llvmlite.binding as llvm  # noqa: PLC0415 — it takes 0.02 s

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.create_lljit_compiler(suppress_errors=True)


def _link(code: ObjectCode) -> int:
    """Return the address of an entry."""
    from llvmlite.binding import JITLibraryBuilder  # noqa: PLC0415 — as above

    symbols = _symbols_of_numba() if code.needs_numba else {UNUSED: _address_of_abort()}
    builder = JITLibraryBuilder().add_object_img(code.code).add_current_process().export_symbol(code.symbol)
    for name, known in symbols.items():
        builder.import_symbol(name, known)
    with _lock:
        try:
            tracker = builder.link(_linker(), f"sash_{next(_numbers)}")
        except RuntimeError as error:
            raise NotLinkedError(str(error)) from error
        _linked.append(tracker)
        address: int = tracker[code.symbol]
    return address


def _address_of_abort() -> int:
    return ctypes.cast(ctypes.pythonapi.Py_FatalError, ctypes.c_void_p).value or 0


def _symbols_of_numba() -> dict[str, int]:
    """Return the addresses of the functions in Numba's libraries, by name; it imports Numba."""
    from sash.kernels.compile_entry import library_functions  # noqa: PLC0415 — as it says

    return library_functions()


@cache
def machine() -> str:
    """Return what object code depends on, besides its source: the processor, and the versions that compiled it."""
    from importlib.metadata import version  # noqa: PLC0415 — only if something is compiled
    from importlib.resources import files  # noqa: PLC0415 — as above

    import llvmlite  # noqa: PLC0415 — as above
    import llvmlite.binding as llvm  # noqa: PLC0415 — as above

    features = llvm.get_host_cpu_features()
    processor = (
        llvm.get_process_triple(),
        llvm.get_host_cpu_name(),
        sorted(name for name in features if features[name]),
    )
    versions = (version("numba"), llvmlite.__version__, np.__version__, object.__basicsize__)
    options = sorted(one for one in os.environ.items() if one[0].startswith("NUMBA_"))
    own = [files(__package__).joinpath(f"{name}.py").read_bytes() for name in ("entry", "compile_entry")]
    return repr((processor, versions, options, hashlib.sha256(b"".join(own)).hexdigest()))
