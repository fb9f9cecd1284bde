"""What the NumPy kernels of order statistics and of distinct values have in common: they read all values of a window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sash.aggregates.base import Aggregate
from sash.algorithms.recalculate import Recalculate
from sash.columns.buffers import empty_array
from sash.columns.column_types import KINDS
from sash.kernels.fused_partial import as_values
from sash.kernels.kernel_arrays import Positions
from sash.kernels.numpy_kernel import NumpyKernel
from sash.kernels.partial_columns import Partial, empty_like, put
from sash.kernels.ranks.wavelet_matrix import Numbers
from sash.kernels.traced import CannotVectorizeError


class NumpyValuesKernel(NumpyKernel):
    """Windows over rows only: the partial of a row is its value, and the results of a window take the place of its partial.

    Several aggregates are the entries of a list: they read the same values, and need the same number of them.
    """

    def __init__(self, aggregates: Sequence[Aggregate[Any]], inputs: tuple[str, ...]) -> None:
        self.forms = [aggregate.of_kind(KINDS[inputs[0]]) for aggregate in aggregates]
        if len({(form.result.rows_needed, form.result.gives) for form in self.forms}) > 1:
            raise CannotVectorizeError(
                f"{' and '.join(form.label for form in self.forms)} read different values of a window."
            )
        super().__init__(Recalculate, [as_values(form) for form in self.forms], inputs)
        outputs = enumerate(self.fused.outputs)
        self.fused = replace(self.fused, outputs=tuple(replace(output, component=number) for number, output in outputs))

    def _slide(self, items: Partial, begins: Positions, ends: Positions) -> Partial:
        """Return the results of windows, one column for each aggregate; undefined where there are too few values."""
        enough = ends - begins >= self.forms[0].result.rows_needed
        results = tuple(empty_array((int(enough.sum()),), dtype) for dtype in self.results)
        if enough.all():
            self._read_windows(items[0], begins, ends, results)
            return results
        self._read_windows(items[0], begins[enough], ends[enough], results)
        whole = empty_like(results, len(begins))
        put(whole, enough, results)
        return whole

    def _read_windows(self, values: Numbers, begins: Positions, ends: Positions, results: Sequence[Numbers]) -> None:
        """Write the results of each window. None is empty."""
        raise NotImplementedError
