"""The functions of `sash.algorithms.bit_words` for kernels: one processor instruction where there is one.

PDEP deposits the bits of one word at the set bits of another. One PDEP of `1 << before` replaces the six halvings of
`select_one`: a window's median takes 9 ns instead of 16.
"""

from __future__ import annotations

from typing import Any

import numba.core.cgutils
import numba.cpython.unsafe.numbers
import numba.extending
import numpy as np
from numba.core.registry import cpu_target

from sash.aggregates.exponential import MOST_HALVINGS
from sash.algorithms.bit_words import count_ones, lowest_one, select_one
from sash.kernels.compile_entry import native
from sash.kernels.functions import compile_function

types: Any = numba.types
cgutils: Any = numba.core.cgutils
intrinsic: Any = numba.extending.intrinsic
leading_zeros: Any = numba.cpython.unsafe.numbers.leading_zeros
trailing_zeros: Any = numba.cpython.unsafe.numbers.trailing_zeros

SLOW = ("znver1", "znver2")
"""AMD's first two Zen generations implement PDEP in microcode, one bit at a time."""


def compile_bit_functions() -> dict[str, Any]:
    """Return the functions, compiled, by name."""
    return {
        "count_ones": compile_function(count_ones),  # LLVM recognises this and the next as instructions
        "lowest_one": compile_function(lowest_one),
        "highest_one": _highest_one,
        "select_one": _select_one if has_fast_pdep() else compile_function(select_one),
    }


def has_fast_pdep() -> bool:
    """Tell whether the processor that Numba compiles for has a fast PDEP."""
    _, processor, features = cpu_target.target_context.codegen().magic_tuple()
    return "+bmi2" in features.split(",") and processor not in SLOW


@native
def halved(times: Any) -> Any:
    """Return `exponential.halved`: the bits of the exponent, as a float. A call of ldexp would spill all float registers."""
    return np.int64((1023 - min(times, MOST_HALVINGS)) << 52).view(np.float64)


@native
def _highest_one(word: Any) -> Any:
    return np.int64(63 - leading_zeros(word))


@native
def _select_one(word: Any, before: Any) -> Any:
    return np.int64(trailing_zeros(_pdep(np.int64(1) << np.int64(before), word)))


def _write_pdep(_: Any, bits: Any, word: Any) -> Any:  # noqa: ARG001 — Numba reads the parameter names
    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        signature = cgutils.ir.FunctionType(arguments[0].type, [argument.type for argument in arguments])
        function = cgutils.get_or_insert_function(builder.module, signature, "llvm.x86.bmi.pdep.64")
        return builder.call(function, arguments)

    return types.int64(types.int64, types.int64), generate


_pdep: Any = intrinsic(_write_pdep)
