"""Compiles an algorithm for an aggregate: the papers' code generation (FlatFAT paper, section 5.3), with Numba.

    read.py       an algorithm class as source             functions.py  the aggregate's functions, compiled
    fuse.py       its methods inlined into a loop          infer.py      the types of partial and result
    loops.py      the loops over columns                   layout.py     a partial as flat columns
    write.py      the text of the fused module             cache.py      generated modules on disk
    answers.py    what goes in and comes out               plain.py      functions compiled as they stand
    kernel.py     all of it put together

Importing this package imports Numba; the rest of Sash imports it only when something is to be compiled.
"""

from sash.kernels.functions import CannotCompileError
from sash.kernels.kernel import Kernel
from sash.kernels.read import CannotFuseError

__all__ = ["CannotCompileError", "CannotFuseError", "Kernel"]
