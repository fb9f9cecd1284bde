"""A compiled window whose single events are one call of machine code each.

The way through columns converts arguments and results, which takes 20 µs and more. The call takes 0.1 µs: see
`sash.kernels.single_events`.
"""

from __future__ import annotations

from typing import Any, NoReturn

import pyarrow as pa

from sash.aggregator.compiled_window import CompiledWindow
from sash.aggregator.held_window import NO_LIMIT, no_row, refuse_time
from sash.columns.read_column import Column
from sash.kernels.kernel import with_message
from sash.kernels.kernel_arrays import ResultColumn
from sash.kernels.single_events import EventArrays, compile_event

FEW_EVENTS = 200
"""Up to this many single events go without machine code of their own: loading it takes 20 ms, compiling it 0.5 s."""
PYTHON_TYPES = {pa.float64(): float, pa.int64(): int, pa.bool_(): bool}
"""The columns whose values machine code takes from Python, and the type of these values."""
LARGEST_INT = 2**63 - 1
LARGEST_EXACT = 2**53
"""All integers up to this one are floats too."""


class EventWindow(CompiledWindow):
    """Rows of numbers, one by one or as columns."""

    _events = 0
    """The number of events without machine code of their own."""
    _event: Any = None
    """The machine code, once there were enough events."""
    _arrays: EventArrays
    _held = 0
    """The number of rows in the window, if there is machine code."""

    def __post_init__(self, columns: list[Column]) -> None:
        super().__post_init__(columns)
        rule = self.aggregate.result
        self._most = self.limit or NO_LIMIT
        self._kinds = [PYTHON_TYPES.get(dtype) for dtype in self.types[: self.aggregate.inputs]]
        self._takes_events = (
            None not in self._kinds and len(self.ranges) < 2 and rule.finish is None and rule.auxiliary is None  # noqa: PLR2004
        )
        self._no_values = tuple(kind(0) for kind in self._kinds if kind is not None)

    def insert(self, values: tuple[Any, ...], time: Any = None) -> None:
        """Add the newest row."""
        if time is not None:
            refuse_time(self.algorithm, time)
        if self._event is None and not self._is_ready():
            super().insert(values)
            return
        row, is_null = values, 0
        if list(map(type, values)) != self._kinds:
            row, is_null = self._converted(values), sum(value is None for value in values)
            if len(row) < len(values):
                super().insert(values)
                return
        if self._held == self.capacity and self._held != self._most:
            self._make_room(self._held + 1)
            self._bind()
        try:
            self._event(self._address, 1, 1, self._most, 0, is_null, *row)
        except Exception as error:  # noqa: BLE001 — `_fail` raises it
            self._fail(error, values)
        self._newest_is_null = is_null > 0
        if self._held != self._most:
            self._held += 1

    def evict(self, before: Any = None) -> None:
        """Remove the oldest row."""
        if before is not None or (self._event is None and not self._is_ready()):
            super().evict(before)
            return
        if not self._held:
            raise no_row()
        try:
            self._event(self._address, 0, 0, self._held - 1, 0, 0, *self._no_values)
        except Exception as error:  # noqa: BLE001 — `_fail` raises it
            self._fail(error)
        self._held -= 1

    def query(self, last: int | None = None) -> Any:
        """Return the result for the whole window or its `last` rows."""
        if self._event is None and not self._is_ready():
            return super().query(last)
        if self.ranges:
            self._check_stored(last or self._held)
        try:
            value = self._event(self._address, 0, 1, NO_LIMIT, last or NO_LIMIT, 0, *self._no_values)
        except Exception as error:  # noqa: BLE001 — `_fail` raises it
            self._fail(error)
        if value is None or (self._newest_is_null and self.aggregate.result.of_newest):
            return self.aggregate.result.empty
        return value

    def __len__(self) -> int:
        """Return the number of rows in the window, nulls included."""
        return super().__len__() if self._event is None else self._held

    def _advance(self, *arguments: Any, **options: Any) -> list[ResultColumn]:
        results = super()._advance(*arguments, **options)
        if self._event is not None:
            self._bind()
        return results

    def _is_ready(self) -> bool:
        """Count an event. Return whether there is machine code for it; load it if there were enough events."""
        if self._takes_events and self._failure is None:
            self._events += 1
            if self._events > FEW_EVENTS:
                self._bind()
        return self._event is not None

    def _bind(self) -> None:
        """Load the machine code for the current state."""
        self._held = super().__len__()
        if self._event is None or self._arrays.state is not self.state:
            self._arrays = EventArrays(self.kernel, self.state)
            self._address = self._arrays.address
            self._event = compile_event(self.kernel, self._arrays)

    def _converted(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return a row in the types of the window, any number for a null; a shorter row if a value has another type."""
        row = []
        for value, kind in zip(values, self._kinds, strict=True):
            if value is None or type(value) is kind:
                row.append(0 if value is None else value)
            elif kind is float and type(value) is int and abs(value) <= LARGEST_EXACT:
                row.append(value)
        return tuple(row)

    def _fail(self, error: Exception, row: tuple[Any, ...] = ()) -> NoReturn:
        """Raise an error of machine code. The window is lost, unless an integer was too large to be passed."""
        if any(type(value) is int and not -LARGEST_INT - 1 <= value <= LARGEST_INT for value in row):
            super().insert(row)  # raises TypeError
        self._failure, self._event = error, None
        raise with_message(error, f"{self.kernel.design.label}: {error}") from error
