"""A case: a query, its rows and how it runs, all drawn from one seed."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from typing import Any

from fuzz.calls import Call, Lengths, in_ticks
from fuzz.forms import random_form
from fuzz.random_aggregates import AggregateCall, RandomAggregates, Twin
from fuzz.random_columns import Column
from fuzz.random_tables import RandomTable, random_table
from fuzz.random_windows import RandomWindows
from sash.algorithms import ALGORITHMS

ALGORITHM_NAMES = list(dict.fromkeys(algorithm.about.name for algorithm in ALGORITHMS))
SPECIAL = {
    "occurrence_table": ["count_distinct"],
    "occurrence_tournament": ["mode"],
    "order_statistics_tree": ["median", "quantile", "nth_smallest", "rank"],
    "subtract_on_evict": ["sum", "count", "mean", "histogram", "sum_of_squares"],
    "slickdeque": ["max", "min", "first", "last", "arg_max", "arg_min", "any", "all", "sum"],
}
"""Algorithms for few aggregates, which would seldom meet them."""
SUBTRACTING = ("subtract_on_evict", "slickdeque", "slideside")
"""Algorithms that subtract floats if they are named: an infinity or NaN spoils later windows, as the documentation says."""
EXPRESSION_KEYS: dict[str, Twin] = {
    "id % 2": lambda row: row["id"] % 2,
    "mark IS NULL": lambda row: row["mark"] is None,
}
SLICINGS = ("cutty", "pairs", "panes", "none")


@dataclass(frozen=True)
class Case:
    """A query and its rows."""

    seed: int
    table: RandomTable
    kind: str
    """arrow, pandas, polars, lazy or stream."""
    form: str
    windows: dict[str, Call]
    aggregates: dict[str, AggregateCall]
    by: tuple[str, ...]
    order_by: tuple[str, ...]
    declared: dict[str, Any] = field(default_factory=dict)
    """algorithm, slicing, objective, lateness: those that are not the default."""
    options: dict[str, Any] = field(default_factory=dict)
    """Options of `run`."""
    labels: RandomTable | None = None
    setting: str = ""
    """A statement before the run."""

    @property
    def lengths(self) -> Lengths:
        """How lengths are written in the query."""
        return in_ticks if self.table.time is None else self.table.time.lengths

    @property
    def has_calendar(self) -> bool:
        """Whether a window follows the calendar."""
        return any(call.has_calendar for call in self.windows.values())

    @property
    def query(self) -> str:
        """The query as Python."""
        windows = {name: call.text(self.lengths) for name, call in self.windows.items()}
        only = len(windows) == 1
        written = (
            next(iter(windows.values()))
            if only
            else f"{{{', '.join(f'{name!r}: {text}' for name, text in windows.items())}}}"
        )
        parts = [
            f"{{{', '.join(f'{name!r}: {one.text(self.lengths)}' for name, one in self.aggregates.items())}}}",
            written,
        ]
        keys = ", ".join(f'sash.expr("{name}")' if name in EXPRESSION_KEYS else repr(name) for name in self.by)
        parts += [f"by=[{keys}]"] * bool(self.by) + ['time="t"'] * (self.table.time is not None)
        parts += [f"order_by={list(self.order_by)}"] * bool(self.order_by)
        for name, value in self.declared.items():
            shown = self.lengths(value) if name == "lateness" else repr(value)
            parts.append(f"{name}={shown}")
        return f"sash.Query({', '.join(parts)})"

    @property
    def arguments(self) -> str:
        """The options of `run` as Python."""
        listed = [f"{name}={value!r}" for name, value in self.options.items()]
        if self.labels is not None:
            listed.append(f"at={self.label_form}")
        return "".join(f", {one}" for one in listed)

    @property
    def label_form(self) -> str:
        """The labels in the form of the rows."""
        known = self.form if self.kind in ("polars", "lazy") or self.form == "one_batch(table)" else "table"
        return "pandas(labels, {})" if self.kind == "pandas" else known.replace("table", "labels", 1)

    @property
    def reproduction(self) -> str:
        """The case as Python."""
        lines = [self.setting] if self.setting else []
        lines.append(f"table = {self.table.text}")
        if self.labels is not None:
            lines.append(f"labels = {self.labels.text}")
        lines.append(f"print({self.query}.run({self.form}{self.arguments}))")
        return "\n".join(lines)

    @property
    def dimensions(self) -> dict[str, str]:
        """What the case is made of, to count refusals by."""
        return {
            "form": "at=" if self.labels is not None else self.kind,
            "mode": str(self.options.get("mode", "append")) if self.kind == "stream" else "",
            "windows": " + ".join(
                sorted(
                    {
                        call.function + ("" if "slide" not in call.keywords else " slide")
                        for call in self.windows.values()
                    }
                )
            )
            if len(self.windows) == 1
            else "several",
            "algorithm": str(self.declared.get("algorithm", "auto")),
            "slicing": str(self.declared.get("slicing", "auto")),
            "compiled": str(self.options.get("compiled")),
            "exclude": str(
                next((call.keywords["exclude"] for call in self.windows.values() if "exclude" in call.keywords), "")
            ),
            "time": "none"
            if self.table.time is None
            else self.table.time.type_text.partition("(")[0]
            + (" s" if '"s"' in self.table.time.type_text else " ns" if '"ns"' in self.table.time.type_text else ""),
        } | {f"aggregate {one.name}": one.name for one in self.aggregates.values()}


def random_case(seed: int) -> Case:
    """Return the case of a seed."""
    chooser = random.Random(seed)
    table = random_table(chooser)
    has_labels = table.time is not None and chooser.random() < 0.1
    kind, form = random_form(chooser, table)
    if has_labels and kind == "stream":
        kind, form = "arrow", "table"
    drawer = RandomWindows(chooser, table.time)
    windows = drawer.draw_for_labels() if has_labels else drawer.draw()
    native = {"arrow": "arrow", "polars": "polars", "lazy": "polars", "stream": "arrow"}.get(kind, "")
    drawn = RandomAggregates(chooser, table, native)
    aggregates, algorithm = drawn.draw(), ""
    if chooser.random() < 0.08:
        algorithm = chooser.choice(list(SPECIAL))
        aggregates = {"a0": drawn.draw_one(chooser.choice(SPECIAL[algorithm]))}
    by = chooser.choice([(), ("k",), ("k",), ("k",), ("k", "g"), ("g", "k")])
    if not has_labels and chooser.random() < 0.08:
        by = (*by, chooser.choice(list(EXPRESSION_KEYS)))
    order_by = chooser.choice([(), (), ("id",), ("v",), ("s", "id"), ("x",), ("mark", "v")])
    if table.time is None and chooser.random() < 0.5:
        order_by = ()
    options = random_options(chooser, kind)
    if options.get("compiled") or kind == "stream":  # each kernel takes about a second to compile
        aggregates = dict(list(aggregates.items())[:2])
        windows = dict(list(windows.items())[:1]) if options.get("compiled") else windows
    overrides = {"algorithm": algorithm} if algorithm else random_overrides(chooser, windows, aggregates)
    if any(column.traits & {"special", "wild"} for column in table.columns.values()):
        overrides = {name: value for name, value in overrides.items() if value not in SUBTRACTING}
    case = Case(seed, table, kind, form, windows, aggregates, by, order_by, overrides, options)
    case = in_whole_microseconds(case)
    if kind == "stream":
        case = random_stream(chooser, case)
    if has_labels:
        case = replace(case, labels=random_labels(chooser, case.table))
    return case


def in_whole_microseconds(case: Case) -> Case:
    """Return a case whose windows of the calendar have times that Python knows: without nanoseconds."""
    time = case.table.time
    if not case.has_calendar or time is None or time.tick != 1:
        return case
    times = Column(time.type_text, [ticks // 1_000 * 1_000 for ticks in case.table.columns["t"].values])
    return replace(case, table=replace(case.table, columns=case.table.columns | {"t": times}))


def random_overrides(
    chooser: random.Random, windows: dict[str, Call], aggregates: dict[str, AggregateCall]
) -> dict[str, Any]:
    """Return what overrides the choice of the plan: mostly what fits the windows and aggregates."""
    made: dict[str, Any] = {}
    if chooser.random() < 0.3:
        fitting = [name for name in ALGORITHM_NAMES if all(one.fits(name) for one in aggregates.values())]
        made["algorithm"] = chooser.choice(fitting if fitting and chooser.random() < 0.95 else ALGORITHM_NAMES)
    can_be_sliced = all(call.function in SLICED and is_per_window(call) for call in windows.values())
    if chooser.random() < (0.4 if can_be_sliced else 0.03):
        made["slicing"] = chooser.choice(SLICINGS)
    if chooser.random() < 0.1:
        made["objective"] = "latency"
    return made


ENDED_BY_ROWS = ("window.rows", "window.punctuated")
SLICED = ("window.time", "window.rows", "window.tumbling", "window.cumulative", "window.punctuated")


def is_per_window(call: Call) -> bool:
    """Return whether a window has a result per window rather than per row."""
    per_row = call.function in ("window.time", "window.rows", "window.delta", "window.expanding")
    return "slide" in call.keywords or not per_row


def random_options(chooser: random.Random, kind: str) -> dict[str, Any]:
    """Return options of `run` for all kinds of data."""
    compiled = chooser.choices([None, False, True], [70, 29, 1])[0]
    if kind == "stream" and chooser.random() < 0.6:
        compiled = False
    made: dict[str, Any] = {} if compiled is None else {"compiled": compiled}
    return made | ({"threads": chooser.choice([1, 2, 5])} if chooser.random() < 0.1 else {})


def random_stream(chooser: random.Random, case: Case) -> Case:
    """Return a case whose rows arrive in an order that a stream accepts: no row is late."""
    times = case.table.columns["t"].values if case.table.time is not None else []
    places = list(range(case.table.rows))
    declared, options = dict(case.declared), dict(case.options)
    if case.by and chooser.random() < 0.1 and not set(case.by) & set(EXPRESSION_KEYS):
        keys = {place: tuple(as_key(case.table.columns[name].values[place]) for name in case.by) for place in places}
        places.sort(key=lambda place: (keys[place], times[place] if times else 0))
        options["order"] = "keys"
    elif times:
        lateness = 0
        if chooser.random() < 0.7:
            assert case.table.time is not None
            lateness = declared["lateness"] = chooser.choice([0, 1, 4, 30]) * case.table.time.grain
        places.sort(key=lambda place: times[place] + chooser.randint(0, lateness))
        by_time = all(call.function in SLICED or call.function == "window.session" for call in case.windows.values())
        ends = by_time and all(
            is_per_window(call) and call.function not in ENDED_BY_ROWS for call in case.windows.values()
        )
        if chooser.random() < (0.3 if ends else 0.02):
            options["mode"] = "update"
    if chooser.random() < 0.95:
        for call in case.windows.values():
            call.keywords.pop("empty", None)  # a stream cannot have them
    setting = "reader.MOST_ROWS = 1" if chooser.random() < 0.5 else ""
    arrived = case.table.take(places)
    arrived = replace(arrived, columns=arrived.columns | {"id": Column("pa.int64()", list(range(arrived.rows)))})
    return replace(case, table=arrived, declared=declared, options=options, setting=setting)


def as_key(value: Any) -> str:
    """Return a text by which equal keys are sorted together: -0.0 is 0.0."""
    return repr(value + 0.0 if isinstance(value, float) else value)


def random_labels(chooser: random.Random, table: RandomTable) -> RandomTable:
    """Return labels: keys and times of rows, some of them moved."""
    assert table.time is not None
    rows = chooser.choice([0, 1, 4, 20])
    if not table.rows:
        return table.only(["k", "g", "t"])
    places = [chooser.randrange(table.rows) for _ in range(rows)]
    taken = table.take(places).only(["k", "g", "t"])
    moved = [time + chooser.choice([0, 0, 1, -1, 3]) * table.time.grain for time in taken.columns["t"].values]
    if "uint" in table.time.type_text:
        moved = [max(0, time) for time in moved]
    return replace(taken, columns=taken.columns | {"t": Column(table.time.type_text, moved)})
