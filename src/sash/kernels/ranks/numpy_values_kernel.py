"""What the NumPy kernels of order statistics and of distinct values have in common: they read all values of a window."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from sash.aggregates.base import Aggregate
from sash.algorithms.recalculate import Recalculate
from sash.kernels.kernel_io import Positions, empty_array
from sash.kernels.numpy_kernel import NumpyKernel
from sash.kernels.partial_columns import Partial
from sash.kernels.parts import KINDS, as_values
from sash.kernels.ranks.wavelet_matrix import Numbers

if TYPE_CHECKING:
    from sash.kernels.kernel import Kernel


class NumpyValuesKernel(NumpyKernel):
    """Windows over rows only: the partial of a row is its value, and the result of a window takes the place of its partial."""

    def __init__(
        self, aggregate: Aggregate[Any], inputs: tuple[str, ...], compile_it: Callable[[], Kernel] | None = None
    ) -> None:
        self.form = aggregate.of_kind(KINDS[inputs[0]])
        super().__init__(Recalculate, [as_values(self.form)], inputs, compile_it=compile_it)

    def _slide(self, partials: Sequence[Partial], begins: Positions, ends: Positions) -> list[Partial]:
        """Return the result of each window; undefined if it has too few values."""
        [values] = partials
        results = empty_array((len(begins),), self.results[0])
        enough = ends - begins >= self.form.rows_needed
        if enough.all():
            self._read_windows(values, begins, ends, results)
        else:
            chosen = empty_array((int(enough.sum()),), self.results[0])
            self._read_windows(values, begins[enough], ends[enough], chosen)
            results[enough] = chosen
        return [results]

    def _read_windows(self, values: Numbers, begins: Positions, ends: Positions, results: Numbers) -> None:
        """Write the result of each window. None is empty."""
        raise NotImplementedError
