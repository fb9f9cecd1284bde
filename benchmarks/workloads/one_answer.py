"""One library answers one question in this process: prints the most memory that it takes above the rows, and what the answers come to, as JSON.

python -m benchmarks.workloads.one_answer START LIBRARY QUESTION ROWS
"""

from __future__ import annotations

import gc
import json
import sys
from typing import Any

import numpy as np

from benchmarks.growth.one_point import CLEAR, FORGET_THE_MOST, resident
from benchmarks.questions.libraries import LIBRARIES, SASH
from benchmarks.workloads.asked import QUESTIONS
from benchmarks.workloads.data import readings

FEW = 1_000


def measure(library: str, name: str, rows: int) -> dict[str, Any]:
    """Return the megabytes of the second run, above what is resident before it, and the digest of its answers."""
    question = next(one for one in QUESTIONS if one.name == name)
    asked = LIBRARIES[library]
    few = asked.load(question.rows_of, FEW)
    if library == "Sash":
        SASH.compile(question, few)
    asked.answers(question, few)  # libraries are imported, threads started
    loaded = asked.load(question.rows_of, rows)
    readings.cache_clear()  # the rows as Arrow are not those of the library
    gc.collect()
    before = resident("VmRSS:")
    CLEAR.write_text(FORGET_THE_MOST, encoding="ascii")
    answers = asked.answers(question, loaded)
    most = resident("VmHWM:")
    values = {column: answers[column].cast("float64").to_numpy(zero_copy_only=False) for column in question.answers}
    digest = {column: float(np.nansum(found)) for column, found in values.items()} | {"rows": float(len(answers))}
    return {"megabytes": max(most - before, 0.0), "digest": digest}


if __name__ == "__main__":
    _, asked_library, asked_question, asked_rows = sys.argv[1:]
    print(json.dumps(measure(asked_library, asked_question, int(asked_rows))))  # noqa: T201 — the parent reads it
