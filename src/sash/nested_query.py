"""NestedQuery: a text of several SELECTs. Sash runs those with windows; DuckDB or Spark runs all that is in and around them.

FROM, WHERE of a SELECT with windows ──► engine ──► rows ──► SELECT with windows ──► results ──┐ for each, innermost first
the whole text, in which results stand for these SELECTs ◄─────────────────────────────────────┘ ──► engine ──► result
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, Never

from sash.hints import list_names
from sash.options import with_options
from sash.query import Query

if TYPE_CHECKING:
    from sash.backends.sql_engines import Engine
    from sash.language.around import AroundText, NamedInput
    from sash.language.engine_text import EngineText
    from sash.plan.explanation import Explanation

OF_THE_OUTERMOST = ("at", "at_time", "future", "mode", "late", "evolve", "state_from")
"""Options that change what the results of a SELECT are: they apply to the outermost one alone."""
OF_ONE_SELECT = ("history", "until", "partial", "resume")
"""Options about the rows before a stream, which would have to go through all SELECTs, too."""


class Explanations(tuple["Explanation", ...]):
    """The plans of several SELECTs with windows, in the order in which they run."""

    __slots__ = ()

    def __str__(self) -> str:
        """Return the trees."""
        return "\n\n".join(map(str, self))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return "".join(f"<pre>{escape(str(one))}</pre>" for one in self)


class NestedQuery(Query):
    """A query of several SELECTs: WITH, subqueries, joins and UNION in and around windows."""

    def __init__(self, text: str, time: str | None, select: Callable[[int], Query]) -> None:
        """Parse a text. `select` returns the query of a SELECT with windows, by its number."""
        self._text, self._given_time = text, time
        self._around = self.around('"')
        self.selects = [select(number) for number in range(len(self._around.windowed))]

    @with_options
    def run(self, data: Any = None, **options: Any) -> Any:  # FROM may name the data
        """Run the query and return the results; see `sash.sql` and `Query.run`.

        `data` is data of any kind that `Query.run` accepts, if FROM names one table; a dictionary of tables by name; or a Spark
        session whose tables FROM names. It is left out if FROM names files alone. `options` are those of `Query.run`.
        """
        self._check_options(self._around, options)
        engine = self.engine(data)
        return engine.given(self.results(engine, options))

    @with_options
    def explain(self, data: Any = None, **options: Any) -> Any:
        """Return the plan of the SELECT with windows, or of each if there are several; see `Query.explain`."""
        if data is None and self._tables():
            plans = [query.explain(None, **options) for query in self.selects]
        else:
            plans = []
            self.results(self.engine(data, empty=True), options, plans)
        return plans[0] if len(plans) == 1 else Explanations(plans)

    @with_options
    def schema(self, data: Any = None, **options: Any) -> Any:  # as for run
        """Return the schema of the result; see `Query.schema`."""
        engine = self.engine(data, empty=True)
        return engine.schema(self.results(engine, options))

    @with_options
    def state_header(self, data: Any = None, **options: Any) -> Never:  # noqa: ARG002 — as for run
        """Raise ValueError: SQL around windows has no states of keys."""
        raise _no_states()

    def lookup(self, state: Any, *, now: Any, header: bytes | None = None) -> Never:  # noqa: ARG002 — as for Query
        """Raise ValueError: SQL around windows has no states of keys."""
        raise _no_states()

    def to_sql(self) -> str:
        """Return the text."""
        return self._text

    # -- running -------------------------------------------------------------------------------------------------------

    def results(self, engine: Engine, options: Mapping[str, Any], plans: list[Explanation] | None = None) -> Any:
        """Return the results as data of the engine. `plans` gets the plan of each SELECT with windows."""
        around = self.around(engine.quote)
        self._check_options(around, options)
        inner = {name: value for name, value in options.items() if name not in OF_THE_OUTERMOST}
        last = len(self.selects) - 1
        for number, query in enumerate(self.selects):
            rows = self.rows_of(engine, around, number)
            is_result = number == last and around.is_root
            own = dict(options) if is_result else inner
            if own.get("at") is not None:
                own["at"] = engine.labels(own["at"])
            if plans is not None:
                plans.append(query.explain(rows, **own))
            results = query.run(rows, **own)
            if is_result:
                return results
            engine.keep(f"sash_result_{number}", results)
        return self.by_engine(engine.rows, around.around())

    def rows_of_last(self, engine: Engine, options: Mapping[str, Any] | None = None) -> EngineText:
        """Run all SELECTs with windows but the last. Return the text of the rows of the last one."""
        around = self.around(engine.quote)
        for number, query in enumerate(self.selects[:-1]):
            engine.keep(f"sash_result_{number}", query.run(self.rows_of(engine, around, number), **(options or {})))
        return self.rows_text(engine, around, len(self.selects) - 1)

    def rows_of(self, engine: Engine, around: AroundText, number: int) -> Any:
        """Return the rows that a SELECT with windows reads: the columns that it needs, of all that its FROM has."""
        return self.by_engine(engine.rows, self.rows_text(engine, around, number))

    def rows_text(self, engine: Engine, around: AroundText, number: int) -> EngineText:
        """Return the text of the rows that a SELECT with windows reads."""
        from sash.language.sql_error import SqlError  # noqa: PLC0415 — sqlglot is optional

        windowed = around.windowed[number]
        every = around.rows(number)
        names = self.by_engine(engine.names, every)
        lower = [name.lower() for name in names]
        if windowed.all_columns and (twice := [name for name in names if lower.count(name.lower()) > 1]):
            problem = f"FROM has several columns {twice[0]}, so * cannot stand for its columns."
            place = around.place_of(number)
            raise SqlError(f"{problem} Name the columns, or join with USING ({twice[0]}).", self._text, *place)
        statement = windowed.statement
        times = self.by_engine(engine.time_columns, every) if statement.needs_time else []
        return around.rows(number, names, times)

    def engine(self, data: Any, *, empty: bool = False) -> Engine:
        """Return the engine that has the data. Raise TypeError if the data is not what FROM names."""
        from sash.backends.base import is_a  # noqa: PLC0415 — as above
        from sash.backends.sql_engines import DuckdbEngine, SparkEngine  # noqa: PLC0415 — declaring a query needs no data

        inputs = self._around.inputs
        files = {f"sash_input_{number}": each.name for number, each in enumerate(inputs) if each.is_path}
        numbers = {each.name: f"sash_input_{number}" for number, each in enumerate(inputs) if not each.is_path}
        if is_a(data, "pyspark", "SparkSession"):
            return SparkEngine(data, {number: name for name, number in numbers.items()}, files)
        tables = {numbers[name]: table for name, table in self._named(data).items()}
        frames = [is_a(table, "pyspark", "DataFrame") for table in tables.values()]
        if not any(frames):
            return DuckdbEngine(tables, files, empty=empty)
        if not all(frames):
            raise TypeError("Some tables are DataFrames of Spark, and some are not. Use data of one kind.")
        return SparkEngine(next(iter(tables.values())).sparkSession, tables, files)

    def by_engine(self, run: Callable[[str], Any], text: EngineText, lines_before: int = 0) -> Any:
        """Return what an engine makes of a text. Raise SqlError with the place in the query if it cannot run it.

        `run` writes `lines_before` lines before the text.
        """
        from sash.engine.query_sql import EngineError  # noqa: PLC0415 — declaring a query needs no data

        try:
            return run(text.text)
        except EngineError as error:
            raise self._placed(error, text, lines_before) from error

    def _placed(self, error: Any, text: EngineText, lines_before: int) -> ValueError:
        from sash.language.sql_error import SqlError  # noqa: PLC0415 — sqlglot is optional

        inputs = self._around.inputs
        problem = re.sub(r"sash_input_(\d+)", lambda match: inputs[int(match[1])].name, error.problem).rstrip()
        problem += "" if problem.endswith((".", "!", "?")) else "."
        place = None if error.line is None else text.place(error.line - lines_before, error.column)
        if place is None:
            return ValueError(problem)
        return SqlError(problem, self._text, place, self._around.token_end(place))

    def _named(self, data: Any) -> dict[str, Any]:
        """Return the table of each name in FROM."""
        names = self._tables()
        if isinstance(data, Mapping):
            missing = [name for name in names if name not in data]
            if missing:
                raise TypeError(
                    f"FROM names {list_names(names)}, but {list_names(missing)} is missing. {_advice(names)}"
                )
            return {name: data[name] for name in names}
        if data is None:
            if names:
                raise TypeError(f"FROM names {list_names(names)}. {_advice(names)}")
            return {}
        if not names:
            raise TypeError("FROM names no table, so run needs no data. Leave it out, or name a table in FROM.")
        if len(names) > 1:
            raise TypeError(f"FROM names {list_names(names)}, so one table is not enough. {_advice(names)}")
        return {names[0]: data}

    def _tables(self) -> list[str]:
        return [each.name for each in self._around.inputs if not each.is_path]

    @property
    def outermost(self) -> Query | None:
        """The SELECT with windows whose results are those of the text, if it names its time column; None if there is none."""
        last = self.selects[-1]
        return last if self._around.is_root and hasattr(last, "_declared") else None

    @property
    def inputs(self) -> list[NamedInput]:
        """The tables and files that FROM names."""
        return self._around.inputs

    def _check_options(self, around: AroundText, options: Mapping[str, Any]) -> None:
        if options.get("emit") == "state":
            raise _no_states()
        apart = [name for name in OF_ONE_SELECT if not _is_default(options.get(name))]
        if apart:
            problem = f"{apart[0]}= does not apply to a text of several SELECTs"
            raise ValueError(f"{problem}. Compute the rows first, and run one SELECT over them.")
        given = [name for name in OF_THE_OUTERMOST if not _is_default(options.get(name))]
        if given and not around.is_root:
            problem = f"The results come from SQL around the windows, and {given[0]}= does not apply to that."
            raise ValueError(f"{problem} Leave it out, or let the outermost SELECT have the windows.")

    def around(self, quote: str) -> AroundText:
        """Return the parsed text, for an engine with these quotes around names."""
        from sash.language.around import around_text  # noqa: PLC0415 — sqlglot is optional

        return around_text(self._text, self._given_time, quote)

    def __repr__(self) -> str:
        """Return the call that makes this query."""
        return f"sql({self._text!r})" if self._given_time is None else f"sql({self._text!r}, time={self._given_time!r})"

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the parsed text, which is read again."""
        return {name: value for name, value in self.__dict__.items() if name != "_around"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Read the text."""
        self.__dict__.update(state)
        self._around = self.around('"')


def _no_states() -> ValueError:
    problem = 'emit="state" and lookup do not apply to a text of several SELECTs'
    return ValueError(f"{problem}. Compute the rows first, and run one SELECT with windows over them.")


def _is_default(value: Any) -> bool:
    """Return whether an option has no effect. Tables have no truth value, so they are not compared."""
    return value is None or value is False or (isinstance(value, str) and value == "append")


def _advice(names: Sequence[str]) -> str:
    if len(names) == 1:
        return f"Pass it: query.run({names[0]}), or name a file, as in FROM 'data.parquet'."
    listed = ", ".join(f'"{name}": …' for name in names)
    return f"Pass them by name: query.run({{{listed}}}), or a Spark session."
