"""Compiles an algorithm for an aggregate with Numba: the papers' code generation (FlatFAT paper, section 5.3).

README.md lists the files in reading order. Numba is imported when something has to be compiled, not with this package.
"""

from sash.columns.column_types import CannotCompileError
from sash.kernels.kernel import Kernel
from sash.kernels.read import CannotFuseError

__all__ = ["CannotCompileError", "CannotFuseError", "Kernel"]
