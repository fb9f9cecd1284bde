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

from sash.spark.streaming.bucket import HEAD, HEAD_COLUMNS, LOG, LOG_KEY, STATE, STATE_COLUMNS, StreamTask


def defer(task: StreamTask) -> StatefulProcessor:
    """Return a processor that does what a `BucketProcessor` does."""
    pickled: bytes = cloudpickle.dumps(task)  # type: ignore[no-untyped-call]
    # The class refers to these and to no name of a module of Sash, which its pickle would import.
    head, state, log = (HEAD, HEAD_COLUMNS), (STATE, STATE_COLUMNS), (LOG, LOG_KEY, STATE_COLUMNS)

    class DeferredProcessor(StatefulProcessor):
        """Opens the state variables; a BucketProcessor does everything else."""

        processor: Any = None

        def init(self, handle: StatefulProcessorHandle) -> None:
            """Open the state variables, in the driver too."""
            self.opened = (
                handle,
                handle.getValueState(*head),
                handle.getValueState(*state),
                handle.getMapState(*log),
            )

        def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: TimerValues) -> Iterator[Row]:  # noqa: N802, N803
            """Add the rows of a bucket."""
            yield from self._processor().handleInputRows(key, rows, timerValues)

        def handleExpiredTimer(  # noqa: N802
            self,
            key: Any,
            timerValues: TimerValues,  # noqa: N803
            expiredTimerInfo: ExpiredTimerInfo,  # noqa: N803
        ) -> Iterator[Row]:
            """Emit what is due in a bucket."""
            yield from self._processor().handleExpiredTimer(key, timerValues, expiredTimerInfo)

        def handleInitialState(self, key: Any, initialState: Row, timerValues: TimerValues) -> None:  # noqa: N802, N803
            """Store the state of a bucket that comes from another checkpoint."""
            self._processor().handleInitialState(key, initialState, timerValues)

        def close(self) -> None:
            """Spark calls this at the end of a task; there is nothing to close."""

        def _processor(self) -> Any:
            if self.processor is None:
                from sash.spark.streaming.bucket import BucketProcessor  # noqa: PLC0415 — in workers only

                self.processor = BucketProcessor(pickle.loads(pickled))  # noqa: S301 — Spark has unpickled this class, too
                self.processor.open(*self.opened)
            return self.processor

    return DeferredProcessor()
