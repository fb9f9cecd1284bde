"""Point-in-time features: windows that end at the time of a label instead of a row.

    events ──► RowBlock by key and time ──┐
    labels ──► Points by key and time  ───┴──► evaluate ──► one result per label ──► in the order of labels

Keys of events and labels are numbered together. A label sorts after events of equal time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from sash.columns.buffers import as_arrow
from sash.columns.column_types import column_type, plain_type
from sash.columns.read_column import to_arrow
from sash.engine.assemble import join_rows, row_columns
from sash.engine.evaluate import evaluate
from sash.engine.executors import Results
from sash.engine.executors.execute import execute
from sash.engine.group_ids import code_type, number_keys
from sash.engine.keys import KeyOrder, cut_evenly, order_rows
from sash.engine.prepare import Prepared
from sash.engine.row_block import InputRows, RowBlock, RowSource
from sash.engine.run_table import SEVERAL, convert_columns, in_input_order, run_sections, section_count
from sash.engine.threads import CORES
from sash.expressions import is_computed
from sash.hints import counted, did_you_mean, list_names
from sash.options import WithLabels as LabelOptions
from sash.plan.query_spec import QuerySpec
from sash.plan.tree import Branch, and_between
from sash.windows import expanding
from sash.windows.arrays import sums_before
from sash.windows.base import Flags, Points, whole_span
from sash.windows.time_loops import find_places

ALIKE = ({"int", "float", "decimal"}, {"timestamp", "date"}, {"string"}, {"bytes"})
"""Groups of types whose values are compared after a cast. Arrow would also cast numbers to times, and strings to numbers."""


def check_labels(query: QuerySpec, options: LabelOptions) -> None:
    """Raise ValueError or TypeError if a query cannot be evaluated as of the times of labels."""
    at_time = options["at_time"]
    if not isinstance(at_time, str | None):
        raise TypeError(f"at_time={at_time!r} is not the name of a column.")
    if query.time is None:
        raise ValueError(
            'at= needs a time column, which says when an event happened. Name it, as in Query(time="ts", …).'
        )
    for window in query.windows.values():
        assert window.frame is not None  # see `QuerySpec.at_points`
        if window.frame.no_labels:
            raise ValueError(
                f"at= does not apply to {window}: it {window.frame.no_labels}. Use windows that end with their row, as "
                'window.time("1h"), window.rows(10) or window.expanding(), or windows with a slide.'
            )
        if window.frame.looks_ahead and not options["future"]:
            raise ValueError(
                f"at= does not apply to {window}: it looks ahead, to events after the label. A feature that knows the future makes a "
                "model look good in training and fail in use (leakage). If the result is the target of the model, pass future=True."
            )


def of_other_kind(labels: object, expected: str) -> TypeError:
    """Return the error for labels that are of another kind than the events."""
    actual = f"{type(labels).__module__.partition('.')[0]}.{type(labels).__name__}"
    return TypeError(f"at= must be of the same kind as the events, a {expected}, but it is a {actual}.")


def check_names(query: QuerySpec, names: list[str], at_time: str | None) -> None:
    """Raise ValueError if labels lack a key or their time, or have a column with the name of a result."""
    if at_time is None and query.time is not None and query.time not in names:
        raise ValueError(
            f"The labels have no column {query.time!r}, the time of the query. Name their own: run(events, at=labels, at_time=…). They "
            f"have {list_names(names)}."
        )
    needed = [name for name in [*query.by, at_time] if name is not None and not is_computed(name)]
    if missing := [name for name in needed if name not in names]:
        raise ValueError(
            f"The labels have no column {missing[0]!r}.{did_you_mean(missing[0], names)} They have {list_names(names)}."
        )
    if taken := [name for name in query.row_columns if name in names]:
        raise ValueError(
            f"The labels have a column {taken[0]!r}, which is also the name of a result. Rename one of them."
        )


def label_query(query: QuerySpec, at_time: str | None) -> QuerySpec:
    """Return the query whose columns are those that labels need: the keys and their time."""
    return replace(query, aggregates={}, windows={"": expanding()}, order_by=(), time=at_time or query.time)


def describe_labels(query: QuerySpec, at_time: str | None) -> Branch:
    """Return the branch of an explanation that says what labels do."""
    matched = f"the same {', '.join(query.by)}" if query.by else "all keys"
    later = ", or after it where a window looks ahead" if query.future_columns else ""
    text = (
        f"one result per label, from the events of {matched} up to its {at_time or query.time}{later}; a label comes after events of "
        "equal time"
    )
    closed = [str(window) for name, window in query.windows.items() if name in query.bound_names]
    as_of = [f"{and_between(closed)}: the last window that has ended by then"] if closed else []
    return Branch("labels", (text.replace("the events of all keys", "all events"), *as_of))


def run_labels(
    prepared: Prepared, events: pa.Table, labels: pa.Table, at_time: str | None = None, threads: int | None = None
) -> pa.Table:
    """Return the results of each label in the order of labels."""
    workers = threads or CORES
    rows = len(events) + len(labels)
    return execute(prepared, rows, lambda bound: read_labels(bound, events, labels, at_time).run(bound, workers))


@dataclass(frozen=True)
class LabelledKeys:
    """Events of some keys by key and time, and the labels of the same keys."""

    block: RowBlock
    points: Points

    def columns(self, prepared: Prepared) -> Results:
        """Return a column for each aggregate and window, one result per label, in order of key and time."""
        rounds, results = self._rounds(prepared), []
        for chosen in rounds:
            points = self.points if chosen is None else self.points.select(chosen)
            results.append(row_columns(prepared, evaluate(prepared, self.block, points=points)))
        if len(results) == 1:
            return results[0]
        labels = np.concatenate([np.flatnonzero(chosen) for chosen in rounds if chosen is not None])
        positions = as_arrow(np.argsort(labels))
        joined = {name: join_rows([columns[name] for columns in results]) for name in results[0]}
        return {name: to_arrow(column).take(positions) for name, column in joined.items()}

    def _rounds(self, prepared: Prepared) -> Sequence[Flags | None]:
        """Return labels whose windows never go back; [None] if all labels are so.

        Months end at different days: a month before 30 March 5:00 begins earlier than a month before 29 March 10:00. Aggregates slide
        over windows in order, so that such labels have a round of their own. There are at most as many as a month has short ends.
        """
        windows = [window for window in prepared.plan.windows.values() if window.frame and window.frame.goes_back]
        if not windows:
            return [None]
        items = replace(self.block.items(windows, whole_span(np.diff(self.block.firsts))), points=self.points)
        begins = [window.bounds(items, {}, prepared.loops).begins for window in windows]
        waiting: Flags = np.ones(len(self.points.times), np.bool_)
        rounds: list[Flags] = []
        while waiting.any() or not rounds:
            labels = np.flatnonzero(waiting)
            fits = np.ones(len(labels), np.bool_)
            for begin in begins:
                label_begins = begin[labels]
                fits &= label_begins >= np.maximum.accumulate(label_begins)
            chosen: Flags = np.zeros(len(waiting), np.bool_)
            chosen[labels[fits]] = True
            rounds.append(chosen)
            waiting &= ~chosen
        return rounds


@dataclass(frozen=True)
class LabelledEvents(LabelledKeys):
    """Events by key and time, and the labels of the same keys."""

    order: KeyOrder
    """The order of labels: by key and time."""

    def run(self, prepared: Prepared, threads: int = 1) -> pa.Table:
        """Return the results of each label."""
        count = section_count(len(self.block) + len(self.points.times))
        if count >= SEVERAL:
            convert_columns(prepared, self.block)
        results = run_sections(prepared, threads, lambda section: section.columns(prepared), self._sections(count))
        return in_input_order(self.order, results, threads if count >= SEVERAL else 1)

    def _sections(self, count: int) -> list[LabelledKeys]:
        """Return `count` or fewer sections with about equally many events and labels."""
        block, points = self.block, self.points
        if count == 1:
            return [self]
        ends = sums_before(points.counts)
        sections = []
        for first, last in cut_evenly(block.firsts + ends, count):
            labels = slice(int(ends[first]), int(ends[last]))
            places = points.places[labels] - int(block.firsts[first])
            section_points = Points(points.times[labels], places, points.counts[first:last])
            sections.append(LabelledKeys(block.section(first, last), section_points))
        return sections


def read_labels(prepared: Prepared, events: pa.Table, labels: pa.Table, at_time: str | None = None) -> LabelledEvents:
    """Return events and labels by key and time."""
    layout, time = prepared.layout, prepared.time
    assert time is not None
    name = at_time or time.name
    columns = {key: as_type(labels[key], key, events.schema.field(key).type) for key in layout.by}
    moments = as_type(labels[name], name, time.type)
    if moments.null_count:
        raise ValueError(
            f"The time {name!r} is null in {counted(moments.null_count, 'label')}. Drop such labels, or fill in a time."
        )
    codes, keys = np.zeros(len(events) + len(labels), code_type(len(events) + len(labels))), 1
    if layout.by:
        of_events = pa.table({key: plain(events[key]) for key in layout.by})
        codes, keys = number_keys(pa.concat_tables([of_events, pa.table(columns)]), layout.by, prepared.loops)
    rows = InputRows(RowSource(events), layout, codes[: len(events)], keys, time.read(events[time.name]))
    block = rows.sorted(prepared.loops)
    order, ticks = order_rows(codes[len(events) :], keys, time.read(moments), prepared.loops)
    counts = np.diff(order.firsts)
    positions = np.empty(len(ticks), np.int64)
    prepared.loops(find_places)(block.times, block.firsts, ticks, counts, 1, positions)
    return LabelledEvents(block, Points(ticks, positions, counts), order)


def plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the values of a column, without a dictionary."""
    return column.cast(plain_type(column.type)) if column_type(column.type).group == "dictionary" else column


def as_type(
    column: pa.ChunkedArray, name: str, wanted: pa.DataType, *, data: str = "labels", other: str = "events"
) -> pa.ChunkedArray:
    """Return a column of labels, or of other data, in the type of that of the events. Raise TypeError if a value does not fit.

    >>> as_type(pa.chunked_array([pa.array([7], pa.int16())]), "id", pa.int64()).type
    DataType(int64)
    """
    column = plain(column)
    wanted = plain_type(wanted)
    actual = column.type
    if actual == wanted:
        return column
    if (getattr(actual, "tz", None) is None) != (getattr(wanted, "tz", None) is None):
        raise TypeError(
            f"Column {name!r} of the {data} is {actual}, but that of the {other} is {wanted}: only one has a time zone."
        )
    row = column_type(actual)
    is_alike = any({row.group, column_type(wanted).group} <= groups for groups in ALIKE)
    try:
        if is_alike or row.is_nested or row.group == "null":
            return column.cast(wanted)
        error = None
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as failed:
        error = failed
    raise TypeError(
        f"Column {name!r} of the {data} is {actual} and does not fit that of the {other}, {wanted}. Cast one of them."
    ) from error


def first_needed(prepared: Prepared, events: pa.Table) -> int:
    """Return the first of the events of one key, in order of time, that a label at or after the newest may need."""
    block = prepared.block(events)
    items = block.items([], whole_span(np.diff(block.firsts)))
    frames = [window.frame for window in prepared.plan.windows.values() if window.frame is not None]
    return min(int(frame.needed_from(items)[0]) for frame in frames)
