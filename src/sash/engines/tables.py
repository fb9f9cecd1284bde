"""The kinds of data that a query runs on, and results of the same kind."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from sash.engines.local import Local
from sash.plan.declared import Declared


def run(declared: Declared, data: Any, **options: Any) -> Any:
    """Return the results of a query for data of any kind."""
    if isinstance(data, pa.Table):
        return Local(declared, data.schema, **options).run(data)
    raise TypeError(data)
