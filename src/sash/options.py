"""The options of `Query.run`. An option is declared here once: its type, its default, its check and its documentation.

    groups of options ──► TableOptions, ReaderOptions, … ──► what type checkers and editors know of `run` (Unpack)
                     │                                   └─► read_options: checks and messages, before a run
                     └──► AnyOptions ──► with_options: the signatures and docstrings that `help` shows

An option belongs to one group, and the options of a kind of data are some of the groups. Code that runs a query gets all options of its
data in a mapping that cannot change: `options["threads"]`.
"""

# The annotations are read when this module is imported, so they are not strings: no `from __future__ import annotations`.

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from os import PathLike, fspath
from types import MappingProxyType
from typing import Annotated, Any, Literal, TypedDict, TypeVar, cast, get_args, get_origin

from sash.durations import DurationLike, read_duration
from sash.hints import did_you_mean
from sash.memory_size import read_size
from sash.plan.query_spec import QuerySpec
from sash.windows.arguments import parameter_of_window

Kind = TypeVar("Kind")
Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Option:
    """What is known of an option besides its name and type."""

    default: Any
    message: str = ""
    """The error for a value that is not valid; `{given}` stands for the option and the value."""
    valid: Callable[[Any], bool] = lambda _: True
    """Whether a value is valid. For a Literal, its values are."""
    error: type[Exception] = ValueError
    elsewhere: str = ""
    """Why other data does not have the option, if that is worth a message of its own."""


def is_count(value: Any) -> bool:
    """Return whether a value is None or an integer of at least 1."""
    return value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 1)


def is_size(value: Any) -> bool:
    """Return whether a value is an amount of memory."""
    try:
        return read_size(value) > 0
    except ValueError:
        return False


def is_text(value: Any) -> bool:
    """Return whether a value is None or a text that is not empty."""
    return value is None or (isinstance(value, str) and value != "")


COUNT = Option(None, "{given} is not valid. Use an integer of at least 1.", is_count)
COMPILED = Option(
    None, "{given} is not valid. Use True, False or None.", lambda v: isinstance(v, bool | None), TypeError
)
WIDE = Option(False, "run: {given} must be True or False.", lambda value: isinstance(value, bool), TypeError)
MODE = Option(
    "append", '{given} does not exist. Use "append" (each window once, when final) or "update" (on every change).'
)
EMIT = Option(
    "results",
    'run: {given} does not exist. Use "results", or "state" for the states of keys, which query.lookup reads.',
)
ORDER = Option(
    "time",
    '{given} is not an order of rows. Use "time", "keys" if rows are sorted by key and then time, or "any" to have them sorted.',
)
STRATEGY = Option("auto", "run: {given} does not exist. Use auto, native, slices, buckets, ranges.")
SKEW = Option(None, 'run: {given} does not exist. Use "auto", or leave it out.', lambda value: value in (None, "auto"))
AHEAD = Option(
    "1d",
    'run: {given} must be a length of time, such as "1d", or None.',
    lambda value: value is None or read_duration(value, "ahead").is_time,
)
METRICS = Option(None, 'run: {given} must be a name for the row counts, such as "sash".', is_text)
EVOLVE = Option(False, "run: {given} must be True or False.", lambda value: isinstance(value, bool), TypeError)
ERASE = Option(
    None,
    "run: {given} must be a list of keys.",
    lambda value: value is None or isinstance(value, list | tuple),
    TypeError,
)
NO_LABELS = (
    "the result of a label needs all events up to its time, and more may arrive. Labels need finite data. On Spark, call run "
    "inside foreachBatch."
)
FUTURE = Option(
    False, "run: {given} must be True or False.", lambda value: isinstance(value, bool), TypeError, elsewhere=NO_LABELS
)
STATE_FROM = Option(None, "run: {given} must be the checkpointLocation of another stream.", is_text, TypeError)


PARTIAL = Option(False, "run: {given} must be True or False.", lambda value: isinstance(value, bool), TypeError)
NO_HISTORY = "a table has all its rows. Streams start from a history."
RESUME = Option(
    None,
    'run: {given} must be the path of a file, such as "features.state".',
    lambda value: value is None or (isinstance(value, str | PathLike) and fspath(value) not in ("", b"")),
    TypeError,
    elsewhere="only a RecordBatchReader in this process continues from a file. A stream on Spark continues from its checkpoint.",
)
MEMORY = Option(
    None,
    "run: {given} is not a size. Use a number and a unit, as in 300MB or 2GB.",
    lambda value: value is None or is_size(value),
    elsewhere='a table is in memory already. For more rows than fit, pass a RecordBatchReader and order="any".',
)


class ForAllData(TypedDict, total=False):
    """Options for all data.

    - `compiled`: True compiles everything that can be compiled, False interprets all aggregates. Default: None, which
      compiles when that is faster than NumPy for the rows of all runs together.
    - `wide`: True makes columns of results that hold several: `p` of several quantiles becomes `p_0.5` and `p_0.9`, a histogram has a
      column for each bin, and `per_value` one for each value, which only data in this process knows. Default: False.
    """

    compiled: Annotated[bool | None, COMPILED]
    wide: Annotated[bool, WIDE]


class InThisProcess(TypedDict, total=False):
    """Options for data in this process.

    - `threads`: the number of threads. Default: all cores.
    """

    threads: Annotated[int | None, COUNT]


class WithBadTimes(TypedDict, total=False):
    """Options for data in this process, and for streams on Spark.

    - `on_bad_time`: "error" raises ValueError if a row has no usable time: a null, or one too far from 1970. "drop" drops such rows, and
      labels; a warning counts them, or on Spark the observed metrics. Default: "error".
    """

    on_bad_time: Annotated[Literal["error", "drop"], Option("error", "run: {given} must be 'error' or 'drop'.")]


class WithLabels(TypedDict, total=False):
    """Options for tables, in this process or on Spark.

    - `at`: labels, for point-in-time features: data of the same kind with the key columns and a time. The result is the labels, in
      their order (on Spark, in any), with one more column per aggregate and window: its value over the events of the same key up
      to the time of the label, never later. Windows end with the label; those that end after it need `future=True`. Of windows with a slide
      and sessions, a label gets the last one that has ended by then, and `window_start` and `window_end`. An event at the time of a label
      comes before it. Labels do not count as rows: `window.rows(10)` holds the ten newest events at or before a label. A key without
      events has nulls, and 0 for a count.
    - `at_time`: the time column of the labels. Default: the one of the query.
    - `future`: True also accepts windows that hold events after the label, such as `window.time(before="0s", after="7d")`. They are for targets:
      what a model is to predict. Never use them as features. Default: False, which makes such windows an error.
    """

    at: Annotated[Any, Option(None, elsewhere=NO_LABELS)]
    at_time: Annotated[str | None, Option(None, elsewhere=NO_LABELS)]
    future: Annotated[bool, FUTURE]


class ForStreams(TypedDict, total=False):
    """Options for streams, in this process or on Spark.

    - `mode`: "append" emits each window once, when it is final. "update" emits a window whenever it changes, with a
      column `change`: "upsert", or "delete" for a window that was replaced. Default: "append".
    - `emit`: "results" emits results. "state" emits in place of them the state of each key that a micro-batch changed, as bytes in a
      column `state`, which is null for a key whose state is gone, and `state_time`, from which on lookups are exact. `query.lookup`
      returns the features of such a state at any later time. For windows with a result per row that do not look ahead. Default:
      "results".
    - `late`: what happens to late rows, whose windows are all closed. "drop" drops them; a warning counts them, or the observed
      metrics of Spark. "error" raises ValueError; on Spark, a stream that it has stopped fails again after a restart. "keep" adds a
      column `late`: a struct of the late row, while all other columns are null; it is null beside results. On Spark, "keep" shuffles
      all columns of the stream. Default: None, which is "drop" on Spark and with `lateness`; otherwise a row that misses a window is
      an error.
    - `forget`: how long after its last row a key is forgotten, such as "30d", for windows that otherwise keep every key forever
      (`rows`, `delta`, `punctuated`, `custom`, `expanding`). A row that is so much later than the row before it, or more, starts anew,
      as the first row of its key. It cannot change for a checkpoint. Default: None, which forgets no key.
    - `history`: the rows before the stream: a table, or in process also a reader; on Spark a batch DataFrame. A new state is as if
      the stream had read those before `until`, so that windows are complete from the first row on. Windows that end by then have no
      results. A restart does not read them again. Default: None.
    - `until`: where the history ends and the stream begins: a time like those of the time column. Rows of the history from then on are
      ignored; so are earlier rows of the stream, which are counted. It cannot change for a checkpoint. Default: None, without a history.
    - `partial`: True accepts a history that may be shorter than the windows. Default: False, which makes that an error.
    - `erase`: keys to delete, as for requests of the GDPR: a list of values, or of dictionaries if there are several key columns. Their
      state is deleted, and their rows are dropped, from the next micro-batch with rows on, as long as the option is given. With
      `emit="state"`, each micro-batch emits their state as null. Default: None.
    """

    mode: Annotated[Literal["append", "update"], MODE]
    emit: Annotated[Literal["results", "state"], EMIT]
    late: Annotated[Literal["drop", "error", "keep"] | None, Option(None)]
    forget: Annotated[DurationLike | None, Option(None)]
    history: Annotated[Any, Option(None, elsewhere=NO_HISTORY)]
    until: Annotated[Any, Option(None, elsewhere=NO_HISTORY)]
    partial: Annotated[bool, PARTIAL]
    erase: Annotated[Sequence[Any] | None, ERASE]


class ForReaders(TypedDict, total=False):
    """Options for streams in this process.

    - `order`: "time", "keys" if the rows are sorted by key and then time, or "any" if they are in no order. With "any", all rows are
      read first and sorted by key and time, as a table is; what does not fit `memory` is sorted on disk, in the folder of `TMPDIR`.
      So the results are those of a table: per window in the same order, per row by key and time. Default: "time".
    - `memory`: how much memory `order="any"` may take, such as "2GB". Default: None, for half of what is free.
    - `resume`: a file from which the stream goes on where the run before ended. Windows that are open at the end of a run stay open. The
      file is replaced as a whole when the results have been read to their end. Default: None, which closes all windows at the end.
    """

    order: Annotated[Literal["time", "keys", "any"], ORDER]
    memory: Annotated[str | float | None, MEMORY]
    resume: Annotated[str | PathLike[str] | None, RESUME]


class OnSpark(TypedDict, total=False):
    """Options for PySpark DataFrames, streaming ones too.

    - `buckets`: the number of groups of keys. Default: the number of shuffle partitions.
    - `strategy`: "native", "slices", "buckets" or "ranges", see the page on Spark; for a stream "native". Default: "auto".
    - `types`: the result types of your own aggregates, such as {"s": "double"}, if they are not known before they run.
    """

    buckets: Annotated[int | None, COUNT]
    strategy: Annotated[Literal["auto", "native", "slices", "buckets", "ranges"], STRATEGY]
    types: Annotated[Mapping[str, Any] | None, Option(None)]


class ForSparkTables(TypedDict, total=False):
    """Options for a batch PySpark DataFrame.

    - `ranges`: the number of time ranges. Default: the number of shuffle partitions.
    - `skew`: "auto" looks for keys with very many rows, and distributes the rows of each over several tasks. A job counts a sample of the keys when
      `run` is called. Default: None, which runs no such job.
    """

    ranges: Annotated[int | None, COUNT]
    skew: Annotated[Literal["auto"] | None, SKEW]


class ForSparkStreams(TypedDict, total=False):
    """Options for a streaming PySpark DataFrame.

    - `ahead`: how far ahead of the clock a time may be; None for no limit. Default: "1d".
    - `metrics`: the name of the counts among Spark's observed metrics. Default: None, for "sash", with a number for further queries, so
      that one stream can hold several; `sash.spark.counts` finds them.
    - `evolve`: True lets the query continue from a checkpoint of a query with other aggregates or windows. Those with the same
      name and definition go on. New windows begin after the rows that the stream has read before; new aggregates are null
      until their window does. Default: False, which makes a changed query an error.
    - `state_from`: the checkpoint of another stream, which has stopped. A new checkpoint starts from its state, also with another
      number of buckets.
    """

    ahead: Annotated[DurationLike | None, AHEAD]
    metrics: Annotated[str | None, METRICS]
    evolve: Annotated[bool, EVOLVE]
    state_from: Annotated[str | None, STATE_FROM]


class TableOptions(ForAllData, InThisProcess, WithLabels, WithBadTimes, total=False):
    """The options for a table in this process: Arrow, pandas or Polars."""


class SparkTableOptions(ForAllData, WithLabels, OnSpark, ForSparkTables, total=False):
    """The options for a batch PySpark DataFrame."""


class SparkStreamOptions(ForAllData, OnSpark, ForStreams, ForSparkStreams, WithBadTimes, total=False):
    """The options for a streaming PySpark DataFrame."""


class ReaderOptions(ForAllData, InThisProcess, ForStreams, ForReaders, WithBadTimes, total=False):
    """The options for a stream in this process."""


GROUPS = (
    ForAllData, InThisProcess, WithLabels, WithBadTimes, ForStreams, ForReaders, OnSpark, ForSparkTables, ForSparkStreams
)  # fmt: skip


class AnyOptions(
    ForAllData,
    InThisProcess,
    WithLabels,
    WithBadTimes,
    ForStreams,
    ForReaders,
    OnSpark,
    ForSparkTables,
    ForSparkStreams,
    total=False,
):
    """The options for data of any kind."""


DATA: dict[Any, str] = {
    TableOptions: "a table in this process",
    SparkTableOptions: "a PySpark DataFrame",
    SparkStreamOptions: "a streaming DataFrame",
    ReaderOptions: "a RecordBatchReader",
}
"""What messages call the data that has some options."""
NAMES_ELSEWHERE = {
    **dict.fromkeys(("outputMode", "output_mode"), "mode"),
    **dict.fromkeys(("n_jobs", "num_threads", "workers", "cores"), "threads"),
    **dict.fromkeys(("num_partitions", "partitions", "numPartitions"), "buckets"),
    **dict.fromkeys(("return_type", "dtype", "dtypes"), "types"),
    **dict.fromkeys(("engine", "jit"), "compiled"),
    **dict.fromkeys(("memory_limit", "max_memory"), "memory"),
    **dict.fromkeys(("unnest", "explode", "expand", "pivot", "flatten"), "wide"),
}
"""Options by the names that other libraries use."""
NOT_SORTED = {
    "mode": "no window changes after it was emitted",
    "emit": "no state changes batch by batch",
    "late": "no row is late",
    "forget": "the state of a key ends with its last row",
    "history": "a history can be read together with them",
    "resume": "it cannot wait for later rows",
}
"""Options of streams that rows in any order do not have, and why."""
ALL_OPTIONS = "Options: see `sash.options`."
"""A line in the docstring of `run`, in place of which `with_options` documents all options."""
NAMES_OF_OPTIONS = "Options: those of `run`."
"""A line in other docstrings, in which `with_options` names all options."""


_declared: dict[Any, dict[str, tuple[Any, Option]]] = {}
_default_values: dict[Any, Mapping[str, Any]] = {}
"""By the class of options: each run asks for them."""


def declared_options(options_class: Any) -> dict[str, tuple[Any, Option]]:
    """Return the type and the declaration of each option, by name.

    >>> [name for name in declared_options(TableOptions)]
    ['compiled', 'wide', 'threads', 'at', 'at_time', 'future', 'on_bad_time']
    """
    known = _declared.get(options_class)
    if known is None:
        annotations = options_class.__annotations__.items()
        known = _declared[options_class] = {name: get_args(annotation)[:2] for name, annotation in annotations}
    return known


def read_options(options_class: type[Kind], given: Mapping[str, Any]) -> Kind:
    """Return all options for a kind of data, with defaults for those that are not given.

    Raises TypeError or ValueError if an option does not exist, does not apply to this data, or has a wrong value.

    >>> dict(read_options(TableOptions, {"threads": 2}))
    {'compiled': None, 'wide': False, 'threads': 2, 'at': None, 'at_time': None, 'future': False, 'on_bad_time': 'error'}
    """
    declared = declared_options(options_class)
    if not given:
        return cast("Kind", _defaults(options_class))
    for name in given:
        if name not in declared:
            raise _wrong_option(options_class, name)
    options = {**_defaults(options_class), **given}
    if options.get("at_time") is not None and options["at"] is None:
        problem = "at_time= names the time column of labels, but there are none."
        raise TypeError(f"{problem} Pass labels as at=, or leave at_time= out.")
    if options.get("future") and options["at"] is None:
        raise TypeError("future=True is for labels, but there are none. Pass labels as at=, or leave future= out.")
    _check_history(options)
    _check_order(options)
    for name, value in given.items():
        dtype, option = declared[name]
        choices = get_args(dtype) if get_origin(dtype) is Literal else None
        if not (option.valid(value) if choices is None else value in choices):
            raise option.error(option.message.format(given=f"{name}={value!r}"))
    return cast("Kind", MappingProxyType(options))


def _check_history(options: Mapping[str, Any]) -> None:
    """Raise TypeError or ValueError if the options about the history of a stream do not fit together."""
    has_history = options.get("history") is not None
    if has_history and options["until"] is None:
        raise TypeError(
            "history= needs until=, the time at which the stream takes over. Without it, rows that both have would count twice."
        )
    if options.get("partial") and not has_history:
        raise TypeError("partial=True is for a history that may be short, but there is none. Leave it out.")
    if has_history and options["mode"] == "update":
        raise ValueError(
            'mode="update" emits what new rows change. So windows of the history that get no more rows would have no results. Use '
            'mode="append", or leave history= out.'
        )


def _check_order(options: Mapping[str, Any]) -> None:
    """Raise ValueError if other options do not fit rows in any order."""
    if options.get("order") != "any":
        if options.get("memory") is not None:
            raise ValueError('memory= is for sorting rows that are in no order. Add order="any", or leave memory= out.')
        return
    for name, why in NOT_SORTED.items():
        value = options[name]
        if value != declared_options(ReaderOptions)[name][1].default:
            given = name if name in ("history", "resume") else f"{name}={value!r}"
            raise ValueError(f'order="any" reads all rows before the first result: {why}. Leave {given} or order= out.')


def _defaults(options_class: Any) -> Mapping[str, Any]:
    """Return the defaults of all options for a kind of data."""
    known = _default_values.get(options_class)
    if known is None:
        values = {name: option.default for name, (_, option) in declared_options(options_class).items()}
        known = _default_values[options_class] = MappingProxyType(values)
    return known


def _wrong_option(options_class: Any, name: str) -> TypeError:
    """Return the error for an option that does not exist, or does not apply to a kind of data."""
    data, names = DATA[options_class], list(declared_options(options_class))
    if name not in AnyOptions.__annotations__:
        hint = did_you_mean(name, names)
        if name in {field.name for field in fields(QuerySpec)}:
            hint = f" Pass it to the query: Query({name}=…)."
        elif (hint_of_window := parameter_of_window(name)) is not None:
            hint = hint_of_window
        elif NAMES_ELSEWHERE.get(name) in names:
            hint = f" Use {NAMES_ELSEWHERE[name]}=."
        known = f"{data} has the options {', '.join(names)}."
        return TypeError(f"There is no option {name!r}.{hint} {known[0].upper()}{known[1:]}")
    elsewhere = declared_options(AnyOptions)[name][1].elsewhere
    if elsewhere:
        return TypeError(f"{name}= does not apply to {data}: {elsewhere}")
    owners = [called for other, called in DATA.items() if name in other.__annotations__]
    return TypeError(f"{name}= is for {' and '.join(owners)}, but the data is {data}. Leave {name}= out.")


PARAMETERS = [
    inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=option.default, annotation=dtype)
    for name, (dtype, option) in declared_options(AnyOptions).items()
]
"""All options, as `help` shows them."""


def with_options(function: Function) -> Function:
    """Show all options in the signature and the docstring of a function, in place of `**options`."""
    signature = inspect.signature(function)
    own = [parameter for parameter in signature.parameters.values() if parameter.kind is not parameter.VAR_KEYWORD]
    function.__signature__ = signature.replace(parameters=[*own, *PARAMETERS])  # type: ignore[attr-defined]
    text = inspect.cleandoc(function.__doc__ or "")
    if ALL_OPTIONS in text:
        groups = [inspect.cleandoc(group.__doc__ or "").replace(".\n", ":\n", 1) for group in GROUPS]
        text = text.replace(ALL_OPTIONS, "\n\n".join(groups))
    names = ", ".join(f"`{parameter.name}`" for parameter in PARAMETERS)
    function.__doc__ = text.replace(NAMES_OF_OPTIONS, f"{NAMES_OF_OPTIONS[:-1]}, {names}.")
    return function
