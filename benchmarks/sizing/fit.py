"""From the micro-batches of streams to coefficients: processor time by least squares, all else by division."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.sizing.case import CORES, HEAP, STEADY, SizedStream
from sash.state.size_plan import share_with_rows

MEGABYTE = 1 << 20
COUNTED = ("batch_seconds", "row_seconds", "change_seconds", "slice_seconds", "result_seconds")
"""What the time of a micro-batch is made of."""
COLD = 4
"""The first micro-batches of a stream, which Java and new Python workers take longer for."""


ROUNDS, SMALL = 30, 1e-3


@dataclass(frozen=True)
class StreamUse:
    """What a stream used."""

    stream: SizedStream
    batches: Sequence[dict[str, float]]
    """By micro-batch: rows, slices, results, and processor seconds ("cpu")."""
    java_megabytes: float
    worker_megabytes: float
    checkpoint_bytes: float
    stored_bytes: float
    """What the state store holds of the newest state."""
    keys: float
    slices: float
    bytes: float
    """The keys, slices and bytes of the newest state."""

    @property
    def changes(self) -> float:
        """The slices that a micro-batch changes: each key has one, if a row of the key comes."""
        return self.stream.keys * share_with_rows(self.stream.rows / self.stream.keys)

    @property
    def most_results(self) -> float:
        """The results of a micro-batch in which windows end."""
        return max(one["results"] for one in self.steady)

    @property
    def steady(self) -> Sequence[dict[str, float]]:
        """The last micro-batches."""
        return self.batches[-min(STEADY, len(self.batches) // 2) :]

    @property
    def usual_cpu(self) -> float:
        """The mean of their processor seconds."""
        return float(np.mean([one["cpu"] for one in self.steady]))

    @property
    def parts(self) -> npt.NDArray[np.float64]:
        """By micro-batch: how often each of COUNTED counts."""
        return np.array(
            [(CORES, one["rows"], self.changes, one["slices"], one["results"]) for one in self.batches], np.float64
        )


def processor_times(streams: Sequence[StreamUse]) -> dict[str, float]:
    """Return the seconds of COUNTED, none of them negative, with the least sum of errors relative to the time of a micro-batch.

    Errors, not their squares: now and then, a micro-batch takes much longer because Java collects garbage.
    """
    kept = [slice(min(COLD, len(one.batches) // 2), None) for one in streams]
    parts = np.concatenate([one.parts[part] for one, part in zip(streams, kept, strict=True)])
    seconds = np.array([batch["cpu"] for one, part in zip(streams, kept, strict=True) for batch in one.batches[part]])
    weights = np.repeat(
        [1 / one.usual_cpu for one in streams],
        [len(one.batches[part]) for one, part in zip(streams, kept, strict=True)],
    )
    parts, seconds = parts * weights[:, None], seconds * weights
    found = not_negative(parts, seconds)
    for _ in range(ROUNDS):  # least squares, whose weights make it least errors
        weights = np.maximum(np.abs(seconds - parts @ found), SMALL) ** -0.5
        found = not_negative(parts * weights[:, None], seconds * weights)
    return dict(zip(COUNTED, found.tolist(), strict=True))


def not_negative(parts: npt.NDArray[np.float64], sums: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the least squares without those that would be negative, which are 0.

    >>> not_negative(np.array([[1.0, 1.0], [1.0, 2.0], [1.0, 3.0]]), np.array([3.0, 2.0, 1.0]))
    array([2., 0.])
    """
    used = np.ones(parts.shape[1], bool)
    while True:
        scale = np.abs(parts[:, used]).max(axis=0)
        found = np.linalg.lstsq(parts[:, used] / scale, sums, rcond=None)[0] / scale
        if (found >= 0).all():
            break
        used[np.flatnonzero(used)[found.argmin()]] = False
    solution = np.zeros(parts.shape[1])
    solution[used] = found
    return solution


@dataclass(frozen=True)
class Measured:
    """What all streams used, but the largest, and the processor seconds of their first micro-batches after a restart."""

    few_rows: StreamUse
    few_keys: StreamUse
    many_keys: StreamUse
    long_windows: StreamUse
    restarts: Mapping[str, float]
    """That of `few_keys` begins with new processes; those of `few_rows` and `many_keys` find them running."""

    def beyond_usual(self, name: str) -> float:
        """Return the seconds of a restart beyond those of a usual micro-batch."""
        use: StreamUse = getattr(self, name)
        return self.restarts[name] - use.usual_cpu


def coefficients_of(measured: Measured, largest: StreamUse, slice_bytes: int) -> dict[str, float]:
    """Return all coefficients by name. Of the largest stream, only the size counts."""
    few_rows, few_keys, most = measured.few_rows, measured.few_keys, measured.many_keys
    changed = len(most.batches) * most.changes * slice_bytes
    written = sum(one["written"] for one in most.batches)
    by_slice = max(0.0, measured.beyond_usual("many_keys") - measured.beyond_usual("few_rows")) / (
        most.slices - few_rows.slices
    )
    return {
        **processor_times([few_rows, few_keys, most, measured.long_windows]),
        "key_bytes": (most.bytes - most.slices * slice_bytes) / most.keys,
        "written_share": written / changed,
        "stored_share": most.stored_bytes / most.bytes,
        "java_bytes": HEAP / CORES,
        **memory_of_workers(few_rows, few_keys, most),
        "restart_seconds": (measured.beyond_usual("few_keys") - few_keys.slices * by_slice) / CORES,
        "restart_slice_seconds": by_slice,
        "most_slices": largest.slices / CORES,
        "most_rows": largest.stream.rows / CORES,
    }


def memory_of_workers(few_rows: StreamUse, few_keys: StreamUse, many_keys: StreamUse) -> dict[str, float]:
    """Return the memory of a Python worker without rows, and of a row and a result, of streams that differ in rows and in results."""
    least, rows, results = (one.worker_megabytes * MEGABYTE for one in (few_rows, few_keys, many_keys))
    by_row = max(0.0, rows - least) / (few_keys.stream.rows - few_rows.stream.rows)
    of_rows = (many_keys.stream.rows - few_rows.stream.rows) * by_row
    by_result = max(0.0, results - least - of_rows) / (many_keys.most_results - few_rows.most_results)
    of_few = few_rows.stream.rows * by_row + few_rows.most_results * by_result
    return {"worker_bytes": (least - of_few) / CORES, "row_bytes": by_row, "result_bytes": by_result}


def use_of(stream: SizedStream, told: dict[str, Any]) -> StreamUse:
    """Return what a stream used, as its session told."""
    return StreamUse(stream, **{name: value for name, value in told.items() if name != "digest"})
