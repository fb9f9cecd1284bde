"""What the NumPy kernels of order statistics and of distinct values have in common: they read all values of a window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sash.aggregates.base import Aggregate
from sash.algorithms.recalculate import Recalculate
from sash.kernels.kernel_io import Positions, empty_array
from sash.kernels.numpy_kernel import NumpyKernel
from sash.kernels.partial_columns import Partial
from sash.kernels.parts import KINDS, as_values
from sash.kernels.ranks.wavelet_matrix import Numbers
from sash.kernels.traced import CannotVectorizeError


class NumpyValuesKernel(NumpyKernel):
    """Windows over rows only: the partial of a row is its value, and the results of a window take the place of its partial.

    Several aggregates are the entries of a list: they read the same values, and need the same number of them.
    """

    def __init__(self, aggregates: Sequence[Aggregate[Any]], inputs: tuple[str, ...]) -> None:
        self.forms = [aggregate.of_kind(KINDS[inputs[0]]) for aggregate in aggregates]
        if len({(form.rows_needed, form.gives) for form in self.forms}) > 1:
            message = f"{' and '.join(form.label for form in self.forms)} read different values of a window."
            raise CannotVectorizeError(message)
        super().__init__(Recalculate, [as_values(form) for form in self.forms], inputs)
        outputs = enumerate(self.parts.outputs)
        self.parts = replace(self.parts, outputs=tuple(replace(output, part=number) for number, output in outputs))

    def _slide(self, partials: Sequence[Partial], begins: Positions, ends: Positions) -> list[Partial]:
        """Return the results of windows, one column for each aggregate; undefined where there are too few values."""
        values = partials[0]
        results = [empty_array((len(begins),), kind) for kind in self.results]
        enough = ends - begins >= self.forms[0].rows_needed
        if enough.all():
            self._read_windows(values, begins, ends, results)
        else:
            chosen = [empty_array((int(enough.sum()),), kind) for kind in self.results]
            self._read_windows(values, begins[enough], ends[enough], chosen)
            for column, own in zip(results, chosen, strict=True):
                column[enough] = own
        return list(results)

    def _read_windows(self, values: Numbers, begins: Positions, ends: Positions, results: Sequence[Numbers]) -> None:
        """Write the results of each window. None is empty."""
        raise NotImplementedError
