"""The right answers, recomputed from raw rows with NumPy for a sample of the windows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.papers.case import PaperCase
from benchmarks.papers.data import Values

REFERENCES: dict[str, Callable[..., Any]] = {
    "count": lambda *columns: len(columns[0]),
    "sum": lambda x: x.sum(),
    "max": lambda x: x.max(),
    "min": lambda x: x.min(),
    "mean": lambda x: x.mean(),
    "min_count": lambda x: np.count_nonzero(x == x.min()),
    "stddev": lambda x: x.std(ddof=1) if len(x) > 1 else 0,
    "stddev_pop": lambda x: x.std(),
    "arg_max": lambda x, y: y[np.argmax(x)],
}
MOST_RANGES = 5


def check_sample(
    case: PaperCase, data: tuple[Values, ...], answers: Values, begins: Values | None = None, ends: Values | None = None
) -> None:
    """Raise AssertionError if answers differ from the raw rows: some windows at the begin, in the middle and at the end.

    Without bounds, answer i of the range n is that of the n rows up to row i, after a window that was filled with the first rows
    of the same columns.
    """
    reference = REFERENCES[case.chosen.name]
    widest = max(case.lengths)
    lines = np.atleast_2d(answers)
    chosen = np.unique(np.linspace(0, len(lines) - 1, min(len(lines), MOST_RANGES)).astype(int))
    for line in chosen.tolist():
        length = case.lengths[::-1][line]
        for row in sorted({0, lines.shape[1] // 2, lines.shape[1] - 1}):
            if begins is not None and ends is not None:
                raw = [one[begins[row] : ends[row]] for one in data]
            else:
                raw = [np.concatenate([one[:widest], one[: row + 1]])[-length:] for one in data]
            if case.chosen.result.at_least > len(raw[0]):
                continue
            message = f"{case.name}: {length} rows up to row {row}"
            np.testing.assert_allclose(
                float(lines[line, row]), float(reference(*raw)), rtol=case.tolerance, err_msg=message
            )
