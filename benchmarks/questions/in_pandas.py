"""Windows of pandas that several questions need."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

Values = Mapping[str, tuple[str, str]]
"""From the name of an answer to a column and a method of pandas' windows."""


def of_rows(frame: pd.DataFrame, length: int, values: Values, by: str) -> pd.DataFrame:
    """Return aggregates of the last rows of each key, in the order of the frame."""
    grouped = frame.groupby(by, sort=False)
    return _columns(grouped, grouped.rolling(length, min_periods=1), values)


def of_time(frame: pd.DataFrame, time: str, length: str | pd.Timedelta, values: Values, by: str) -> pd.DataFrame:
    """Return aggregates of the time before each row, of its key, in the order of the frame.

    A window of pandas ends with its row. Rows of equal time that follow belong to it too, so that each row has the result of the
    last row of its time.
    """
    grouped = frame.groupby(by, sort=False)
    rolled = _columns(grouped, grouped.rolling(length, on=time, min_periods=1), values)
    return rolled.groupby([frame[by], frame[time]], sort=False).transform("last")


def _columns(grouped: Any, windows: Any, values: Values) -> pd.DataFrame:
    """Return the answers of windows, which pandas orders by key, in the order of the frame."""
    order = np.concatenate(list(grouped.indices.values()))
    found = {}
    for name, (column, how) in values.items():
        found[name] = np.empty(len(order))
        found[name][order] = getattr(windows[column], how)().to_numpy()
    return pd.DataFrame(found)
