"""The query of the box: in a process of its own, which has limits."""

from __future__ import annotations

import asyncio

import numpy as np
import pyarrow as pa

from live.decoded import decode
from sash.live.query_process import QueryProcess

ROWS = pa.table({"t": np.arange(1000), "x": np.arange(1000.0)})
SHORT = "SELECT max(x) AS top FROM rows [RANGE 100 SLIDE 100 ON t]"
LONG = "SELECT count(*) AS n FROM rows [RANGE 20000000 SLIDE 1 ON t]"


def error_of(query: QueryProcess, rows: pa.Table | None = ROWS, **limits: int) -> str:
    header, _ = decode(asyncio.run(query.run(rows, **limits)))
    return str(header["error"])


def test_an_answer_comes_back() -> None:
    header, columns = decode(asyncio.run(QueryProcess(SHORT, 7).run(ROWS)))
    assert (header["id"], header["error"], header["results"], header["rows"]) == (7, "", 10, 1000)
    assert columns[2].tolist() == [99.0 + 100 * number for number in range(10)]
    assert "no_such" in error_of(QueryProcess("SELECT no_such(x) FROM rows [ROWS 5]", 1))
    assert "No rows have arrived" in error_of(QueryProcess(SHORT, 1), None)


def test_time_memory_and_results_have_limits() -> None:
    assert "ran for 1 seconds" in error_of(QueryProcess(LONG, 1), seconds=1)
    limited = error_of(QueryProcess(LONG, 1), megabytes=100)
    assert "memory" in limited or "100 MB" in limited
    tables = ", ".join(f"rows AS r{i}" for i in range(6))
    around = f"SELECT count(*) AS n FROM (SELECT max(r0.t) AS t FROM {tables}) [RANGE 5 SLIDE 5 ON t]"
    assert "more memory than its limit" in error_of(QueryProcess(around, 1), megabytes=100)
    many = pa.table({"t": np.arange(30) * 100_000})
    assert "at most 2,000,000" in error_of(
        QueryProcess("SELECT count(*) AS n FROM rows [RANGE 100000 SLIDE 1 ON t]", 1), many
    )


def test_a_query_can_be_cancelled() -> None:
    async def cancelled() -> bytes:
        query = QueryProcess(LONG, 3)
        running = asyncio.create_task(query.run(ROWS))
        while query.process is None:  # noqa: ASYNC110 — it has no event for that
            await asyncio.sleep(0.01)
        query.cancel()
        return await running

    header, _ = decode(asyncio.run(cancelled()))
    assert (header["id"], header["error"]) == (3, "The query was cancelled.")
