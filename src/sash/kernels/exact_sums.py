"""ExactSumKernel: moving sums and means of floats in fixed-point arithmetic where that is exact (fixed_point.py), else as the algorithm adds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sash.aggregates.base import Aggregate
from sash.aggregates.compensated import divide_counted, lift_counted, lift_float, total_of
from sash.algorithms.base import Algorithm
from sash.kernels import fixed_point
from sash.kernels.kernel import Kernel
from sash.kernels.kernel_arrays import Columns, Positions, ResultColumn, Results
from sash.kernels.plain import compile_loop

IS_MEAN: dict[tuple[Callable[..., Any], Callable[..., Any]], bool] = {
    (lift_float, total_of): False,
    (lift_counted, divide_counted): True,
}
"""By the functions of an aggregate: whether its result is the mean, or the sum."""


class ExactSumKernel(Kernel):
    """A kernel that leaves rows to the loop of its algorithm where sums are not exact.

    >>> from sash import agg
    >>> from sash.algorithms import TwoStacks
    >>> from sash.kernels import loops
    >>> kernel = ExactSumKernel(TwoStacks, [agg.sum()], ("float64",), loops.slide_rows)
    >>> [result] = kernel.slide_rows((np.array([1e90, 0.1, 0.2, 0.3]),), length=2)
    >>> result.values.tolist()
    [1e+90, 1e+90, 0.30000000000000004, 0.5]
    """

    def _slide_keys_into(self, columns: Columns, firsts: Positions, length: int, results: Results) -> None:
        """Write the aggregates over the newest `length` rows of each key."""
        left = self._slide_exactly(columns[0], firsts, length, results)
        if len(left) and (left[:, 1] - left[:, 0]).sum() == len(columns[0]):
            super()._slide_keys_into(columns, firsts, length, results)
            return
        keys = firsts[np.searchsorted(firsts, left[:, 0], "right") - 1]
        for first, begin, end in np.column_stack((keys, left)).tolist():
            start = max(first, begin - length + 1)
            own = tuple(column[start:end] for column in columns)
            section = [ResultColumn(result.values[start:end], None) for result in results]
            before = [part.values[: begin - start].copy() for part in section]
            super()._slide_keys_into(own, np.array([0, end - start]), length, section)
            for part, values in zip(section, before, strict=True):
                part.values[: begin - start] = values  # the loop began there, with windows that were not full

    def _slide_exactly(self, column: npt.NDArray[Any], firsts: Positions, length: int, results: Results) -> Positions:
        """Write the results that are exact. Return the runs of rows without: the first row of each and the one after it."""
        length = min(length, max(1, len(column)))
        most = len(firsts) + len(column) // (fixed_point.LEFT * fixed_point.AHEAD)
        left = np.empty((most, 2), np.int64)
        chunk = fixed_point.CHUNK
        steps, zeros = np.empty((2, chunk), np.uint64), np.zeros(chunk, column.dtype)
        outputs: dict[bool, list[npt.NDArray[Any]]] = {False: [], True: []}
        for aggregate, result in zip(self.design.aggregates, results, strict=True):
            outputs[IS_MEAN[aggregate.lift, aggregate.lower]].append(result.values)
        sums, means = (arrays[0] if arrays else np.empty(0) for arrays in outputs.values())
        runs = compile_loop(fixed_point.slide_exactly)(column, firsts, length, sums, means, steps, zeros, left)
        for first, *others in filter(None, outputs.values()):
            for other in others:
                other[:] = first
        return left[:runs]


def suits(algorithm: type[Algorithm[Any]], aggregates: Sequence[Aggregate[Any]], inputs: tuple[str, ...]) -> bool:
    """Return whether these are sums and means of one column of floats.

    >>> from sash import agg
    >>> from sash.algorithms import TwoStacks
    >>> suits(TwoStacks, [agg.sum()], ("float64",)), suits(TwoStacks, [agg.max()], ("float64",))
    (True, False)
    """
    if inputs not in (("float64",), ("float32",)) or algorithm.about.name != "two_stacks":
        return False
    forms = [aggregate.of_kind("float") for aggregate in aggregates]
    return all((form.lift, form.lower) in IS_MEAN for form in forms)
