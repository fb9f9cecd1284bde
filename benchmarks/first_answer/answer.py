"""One query in one library, in this process: prints as JSON how long it took and what the result comes to.

    python -m benchmarks.first_answer.answer START LIBRARY QUERY FOLDER [EARLIER]

START is time.time() of the parent just before it started this process. Counted are the start of Python, the imports, and the query from its
declaration to the whole result; not counted is reading the rows. With EARLIER, the name of another query, that query runs first and only
the time of QUERY itself is counted: it is a further kind of query in a process that has already answered one.
"""

from __future__ import annotations

import sys
import time
from typing import Any

FILL = 2
"""Times that a query runs again after the clock has stopped, so that whatever Sash compiles for it is in the cache."""


def main(start: float, library: str, query: str, folder: str, earlier: str = "") -> None:
    """Import the library, read the rows, and answer."""
    from importlib import import_module  # noqa: PLC0415 — everything that is imported is counted

    asked: Any = import_module(f"benchmarks.first_answer.ask_{library}")
    imported = time.time()
    rows = asked.load(folder)
    if earlier:
        asked.answer(earlier, rows)
        start = imported = time.time()
    loaded = time.time()
    result = asked.answer(query, rows)
    seconds = imported - start + time.time() - loaded
    for _ in range(FILL if library == "sash" and not earlier else 0):
        asked.answer(query, rows)
    from json import dumps  # noqa: PLC0415 — when the clock has stopped

    print(dumps({"seconds": seconds, "digest": digest_of(asked.columns(result))}))  # noqa: T201 — the parent reads it


def digest_of(columns: dict[str, Any]) -> dict[str, float]:
    """Return the number of rows of a result, and the number and the sum of the values of each column.

    >>> import numpy as np
    >>> digest_of({"max": np.array([2.0, np.nan, 3.0])})
    {'rows': 3, 'values of max': 2, 'sum of max': 5.0}
    """
    digest: dict[str, float] = {"rows": len(next(iter(columns.values())))}
    for name, values in sorted(columns.items()):
        known = values[values == values]  # noqa: PLR0124 — only NaN differs from itself
        digest |= {f"values of {name}": len(known), f"sum of {name}": float(known.sum())}
    return digest


if __name__ == "__main__":
    main(float(sys.argv[1]), *sys.argv[2:])
