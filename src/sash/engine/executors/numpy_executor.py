"""NumpyExecutor: runs a pass with NumPy. It compiles nothing, and does not import Numba."""

from __future__ import annotations

from typing import Any

from sash.aggregates.base import Aggregate
from sash.engine.executors.kernel_executor import KernelExecutor, KernelKey
from sash.engine.executors.results import kernel_forms
from sash.kernels.numpy_kernel import NumpyKernel
from sash.kernels.traced import CannotVectorizeError
from sash.kernels.whole_column import numpy_column_kernel


class NumpyExecutor(KernelExecutor):
    """Runs a pass by kernels whose steps go over whole columns."""

    def make_kernel(self, key: KernelKey, aggregates: list[Aggregate[Any]]) -> NumpyKernel:
        """Return a kernel. Raise CannotVectorizeError if NumPy cannot evaluate an aggregate."""
        return numpy_column_kernel(key.algorithm, aggregates, key.inputs, key.over)

    @property
    def seconds_per_row(self) -> float | None:
        """The expected time of a row; None if NumPy cannot evaluate this pass."""
        forms = kernel_forms(self.aggregates)
        try:
            kernel = numpy_column_kernel(self.plan_pass.algorithm, forms, self.columns.dtypes)
        except CannotVectorizeError:
            return None
        return kernel.seconds_per_row * len(forms)
