"""Point-in-time features: windows that end at the time of a label instead of a row.

    events ──► RowBlock by key and time ──┐
    labels ──► Points by key and time  ───┴──► evaluate ──► one result per label ──► in the order of labels

Keys of events and labels are numbered together. A label sorts after events of equal time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from sash.aggregator.columns import to_arrow
from sash.engine.assemble import join_rows, row_columns
from sash.engine.evaluate import PassDoesNotCompileError, evaluate, interpret_failed
from sash.engine.first_run import first_run
from sash.engine.keys import KeyOrder, number_keys, order_rows
from sash.engine.prepare import Prepared
from sash.engine.row_block import InputRows, RowBlock, RowSource
from sash.engine.run_table import part_count
from sash.plan.declared import Declared
from sash.windows.arrays import search_in_keys
from sash.windows.base import Points


def check_labels(query: Declared) -> None:
    """Raise ValueError if a query cannot be evaluated as of the times of labels."""
    if query.time is None:
        message = 'at= needs a time column, which says when an event happened. Name it, as in Query(time="ts", …).'
        raise ValueError(message)
    for window in query.windows.values():
        if window.no_labels:
            message = (
                f"at= does not apply to {window}: it {window.no_labels}. Use windows that end with their row, as "
                'window.time("1h"), window.rows(10) or window.expanding().'
            )
            raise ValueError(message)


def label_query(query: Declared, at_time: str | None) -> Declared:
    """Return the query whose columns are those that labels need: the keys and their time."""
    return replace(query, aggregates={}, order_by=(), time=at_time or query.time)


def run_labels(
    prepared: Prepared, events: pa.Table, labels: pa.Table, at_time: str | None
) -> tuple[pa.Table, Prepared]:
    """Return the results of each label in the order of labels, and the query in which aggregates that do not compile are interpreted."""
    return first_run(prepared, len(events)).run(lambda query: _run(query, events, labels, at_time))


def _run(prepared: Prepared, events: pa.Table, labels: pa.Table, at_time: str | None) -> tuple[pa.Table, Prepared]:
    made = read_labels(prepared, events, labels, at_time)
    while True:
        try:
            return made.run(prepared), prepared
        except PassDoesNotCompileError as failed:
            prepared = interpret_failed(prepared, failed)


@dataclass(frozen=True)
class LabelledEvents:
    """Events by key and time, and the labels of the same keys."""

    block: RowBlock
    points: Points
    order: KeyOrder
    """The order of labels: by key and time."""

    def run(self, prepared: Prepared) -> pa.Table:
        """Return the results of each label."""
        made = []
        first = 0
        ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(self.points.counts)])
        for part in self.block.parts(part_count(len(self.block))):
            last = first + len(part.firsts) - 1
            own = slice(int(ends[first]), int(ends[last]))
            begin = int(self.block.firsts[first])
            points = Points(self.points.times[own], self.points.places[own] - begin, self.points.counts[first:last])
            made.append(row_columns(prepared, evaluate(prepared, part, points=points)))
            first = last
        return pa.table(
            {name: self.order.restore(to_arrow(join_rows([part[name] for part in made]))) for name in made[0]}
        )


def read_labels(prepared: Prepared, events: pa.Table, labels: pa.Table, at_time: str | None) -> LabelledEvents:
    """Return events and labels by key and time."""
    layout, time = prepared.layout, prepared.time
    assert time is not None
    name = at_time or time.name
    types = {key: events.schema.field(key).type for key in layout.by} | {name: events.schema.field(time.name).type}
    moments = as_types(labels, types).rename_columns({name: time.name})
    together = pa.concat_tables([events.select(list(layout.by)), moments.select(list(layout.by))])
    codes, keys = number_keys(together, layout.by, prepared.run)
    if not layout.by:
        codes, keys = np.zeros(len(events) + len(labels), np.int64), 1
    times = time.read(events[time.name])
    rows = InputRows(RowSource(events), layout, codes[: len(events)], keys, times)
    block = rows.sorted(prepared.run)
    order, ticks = order_rows(codes[len(events) :], keys, time.read(moments[time.name]), prepared.run)
    counts = np.diff(order.firsts)
    places = search_in_keys(block.times, block.firsts, ticks + 1, counts)
    return LabelledEvents(block, Points(ticks, places, counts), order)


def as_types(labels: pa.Table, types: dict[str, pa.DataType]) -> pa.Table:
    """Return columns of labels in the types of the events. Raise TypeError if a value does not fit."""
    columns = {}
    for name, kind in types.items():
        given = labels.schema.field(name).type
        if (getattr(given, "tz", None) is None) != (getattr(kind, "tz", None) is None):
            message = (
                f"Column {name!r} of the labels is {given}, but that of the events is {kind}: only one has a time zone."
            )
            raise TypeError(message)
        try:
            columns[name] = labels[name].cast(kind)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            message = f"Column {name!r} of the labels is {given} and does not fit that of the events, {kind}. Cast one of them."
            raise TypeError(message) from error
    return pa.table(columns)
