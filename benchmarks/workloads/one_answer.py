"""One library answers one question in this process: prints its time, the most memory that it takes above the rows, and what the answers come to.

python -m benchmarks.workloads.one_answer START LIBRARY PLACE QUESTION ROWS

PLACE is where the questions are: a module, and a name in it. What is printed is JSON.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from typing import Any

import numpy as np

from benchmarks.growth.one_point import CLEAR, FORGET_THE_MOST, resident
from benchmarks.questions.libraries import LIBRARIES, SASH
from benchmarks.suites import load

FEW = 1_000


def measure(library: str, place: str, name: str, rows: int) -> dict[str, Any]:
    """Return the seconds and the megabytes of the second run, those above what is resident before it, and the digest of its answers."""
    question = next(one for one in load(place) if one.name == name)
    asked = LIBRARIES[library]
    few = asked.load(question.rows_of, FEW)
    if library == "Sash":
        SASH.compile(question, few)
    asked.answers(question, few)  # libraries are imported, threads started
    loaded = asked.load(question.rows_of, rows)
    if hasattr(question.rows_of, "cache_clear"):
        question.rows_of.cache_clear()  # the rows as Arrow are not those of the library
    gc.collect()
    before = resident("VmRSS:")
    CLEAR.write_text(FORGET_THE_MOST, encoding="ascii")
    began = time.perf_counter()
    answers = asked.answers(question, loaded)
    seconds = time.perf_counter() - began
    most = resident("VmHWM:")
    values = {column: answers[column].cast("float64").to_numpy(zero_copy_only=False) for column in question.answers}
    digest = {column: float(np.nansum(found)) for column, found in values.items()} | {"rows": float(len(answers))}
    return {"seconds": seconds, "megabytes": max(most - before, 0.0), "digest": digest}


if __name__ == "__main__":
    _, asked_library, asked_in, asked_question, asked_rows = sys.argv[1:]
    print(json.dumps(measure(asked_library, asked_in, asked_question, int(asked_rows))))  # noqa: T201 — the parent reads it
