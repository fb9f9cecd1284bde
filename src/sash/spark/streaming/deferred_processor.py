"""The stateful processor as Spark sends it: the query is unpickled, and Sash imported, when the first rows arrive.

Before the first micro-batch, Spark starts a Python process beside the driver, which only asks which state variables there are. Importing
Sash there would delay the first micro-batch by half a second. A class that is defined in a function is pickled by value, so that process
does not import the module of the class.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

from pyspark import cloudpickle
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)

from sash.spark.streaming.bucket import HEAD, HEAD_COLUMNS, LOG, LOG_KEY, STATE, STATE_COLUMNS, STATES, StreamTask


def defer(task: StreamTask) -> StatefulProcessor:
    """Return the processor of a task, which calls a `BucketProcessor`."""
    pickled: bytes = cloudpickle.dumps(task)  # type: ignore[no-untyped-call]
    # The class refers to these and to no name of a module of Sash, which its pickle would import.
    head, state, log, states = (HEAD, HEAD_COLUMNS), (STATE, STATE_COLUMNS), (LOG, LOG_KEY, STATE_COLUMNS), STATES

    class DeferredProcessor(StatefulProcessor):
        """Opens the state variables; a BucketProcessor does everything else."""

        def init(self, handle: StatefulProcessorHandle) -> None:
            """Open the state variables, in the driver too."""
            self.opened = (
                handle,
                handle.getValueState(*head),
                handle.getValueState(*state),
                handle.getMapState(*log),
            )
            self.processor: Any = None

        def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: TimerValues) -> Iterator[Row]:  # noqa: N802, N803
            """Add the rows of a bucket."""
            yield from self.in_worker().add_rows(key, rows, timerValues)

        def handleExpiredTimer(  # noqa: N802
            self,
            key: Any,
            timerValues: TimerValues,  # noqa: N803
            expiredTimerInfo: ExpiredTimerInfo,  # noqa: N803
        ) -> Iterator[Row]:
            """Emit what is due in a bucket."""
            yield from self.in_worker().pass_time(key, timerValues, expiredTimerInfo.getExpiryTimeInMs())

        def handleInitialState(self, key: Any, initialState: Row, timerValues: TimerValues) -> None:  # noqa: N802, N803, ARG002
            """Store the state of a bucket that comes from another checkpoint."""
            self.in_worker().start_from(key, initialState[states])

        def close(self) -> None:
            """Spark calls this at the end of a task; there is nothing to close."""

        def in_worker(self) -> Any:
            """Return the BucketProcessor, made when the first rows arrive."""
            if self.processor is None:
                from sash.spark.streaming.bucket import BucketProcessor  # noqa: PLC0415 — in workers only

                self.processor = BucketProcessor(pickle.loads(pickled), *self.opened)  # noqa: S301 — Spark has unpickled this class, too
            return self.processor

    return DeferredProcessor()
