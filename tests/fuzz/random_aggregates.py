"""Random aggregates: every one of `sash.agg`, over columns that fit it (and some that do not), expressions and filters.

The oracle knows no SQL. An expression has a Python twin here, and the oracle reads its values from a column of its own.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fuzz.calls import Call, Code, Lengths, Ticks, build, in_ticks
from fuzz.random_columns import WORDS, Column
from fuzz.random_tables import RandomTable
from sash.aggregates import BUILT_IN
from sash.aggregates.base import Aggregate
from sash.algorithms import find_algorithm

Row = Mapping[str, Any]
Twin = Callable[[Row], Any]

NEEDS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("count", "first", "last", "first_n", "last_n", "collect"), ("",)),
    **dict.fromkeys(("collect_distinct", "count_distinct", "mode", "per_value"), ("hashed",)),
    **dict.fromkeys(("frequency", "may_contain"), ("sketched",)),
    **dict.fromkeys(("max", "min"), ("ordered or ranked",)),
    **dict.fromkeys(("max_count", "min_count", "top_k", "bottom_k", "nth_smallest", "rank"), ("ordered",)),
    **dict.fromkeys(("arg_max", "arg_min"), ("ordered or ranked", "")),
    **dict.fromkeys(("sum", "mean"), ("summed",)),
    **dict.fromkeys(("product", "sum_of_squares", "geometric_mean", "variance", "var_pop", "stddev", "stddev_pop"), ("small",)),
    **dict.fromkeys(("skewness", "skewness_samp", "kurtosis", "kurtosis_samp", "ewm_sum", "ewm_mean", "ewm_variance", "ewm_stddev"), ("small",)),
    **dict.fromkeys(("covariance", "correlation", "weighted_mean", "slope", "intercept", "r_squared"), ("small", "small")),
    "spread": ("number or time",),
    **dict.fromkeys(("median", "quantile"), ("number or time",)),
    "approx_quantile": ("small",),
    "approx_count_distinct": ("sketched",),
    "histogram": ("number",),
    "ewm_count": ("",),
    "concat": ("text",),
    **dict.fromkeys(("any", "all"), ("bool",)),
}  # fmt: skip
"""The traits of columns that each aggregate needs."""
assert set(NEEDS) == set(BUILT_IN), set(NEEDS) ^ set(BUILT_IN)

ARGUMENTS: dict[str, dict[str, list[Any]]] = {
    "first_n": {"n": [1, 2, 5]},
    "last_n": {"n": [1, 2, 5]},
    "top_k": {"k": [1, 2, 5]},
    "bottom_k": {"k": [1, 2, 5]},
    "nth_smallest": {"i": [1, 2, 5]},
    "quantile": {"q": [0, 0.25, 0.5, 0.8, 1, [0.1, 0.5, 1]]},
    "approx_quantile": {"q": [0.0, 0.25, 0.5, 1.0]},
    "rank": {"method": ["average", "min", "max"], "pct": [True, False]},
    "histogram": {"edges": [[-2, 0, 1.5, 9], [0, 1], [-10.5, 100]]},
    "concat": {"sep": ["", "-", ", "]},
}
"""Arguments that do not depend on the columns."""
UNNESTED = ("per_value", "rank", "histogram", "slope", "intercept", "r_squared")
"""What is not drawn as an item of a map: most of it is refused there."""
CONDITIONS: dict[str, Twin] = {
    "id % 2 = 0": lambda row: row["id"] % 2 == 0,
    "v > 1": lambda row: row["v"] > 1,
    "mark": lambda row: row["mark"],
    "s = 'ant' OR s IS NULL": lambda row: row["s"] == "ant" or row["s"] is None,
    "v < 100": lambda row: row["v"] < 100,
    "v > 100": lambda row: row["v"] > 100,
    "x IS NOT NULL": lambda row: row["x"] is not None,
}
NATIVE_CONDITIONS: dict[str, dict[str, Twin]] = {
    "arrow": {'pc.field("v") > 1': CONDITIONS["v > 1"], 'pc.field("mark")': CONDITIONS["mark"]},
    "polars": {'pl.col("v") > 1': CONDITIONS["v > 1"], 'pl.col("mark")': CONDITIONS["mark"]},
}
EXPRESSIONS: dict[str, tuple[Twin, frozenset[str]]] = {
    "id + 1": (lambda row: row["id"] + 1, frozenset({"number", "small", "ordered", "hashed"})),
    "v * 2.0": (lambda row: float(row["v"]) * 2.0, frozenset({"number", "small", "ordered", "hashed"})),
    "upper(s)": (lambda row: row["s"] and row["s"].upper(), frozenset({"text", "ordered", "hashed"})),
    "mark": (lambda row: row["mark"], frozenset({"bool", "ordered", "hashed", "number"})),
    "CASE WHEN id > 2 THEN id END": (lambda row: row["id"] if row["id"] > 2 else None, frozenset({"number", "ordered", "hashed"})),
}  # fmt: skip
NATIVE_EXPRESSIONS = {"arrow": 'pc.field("id")', "polars": 'pl.col("id") + 1'}


@dataclass(frozen=True)
class Input:
    """An input of an aggregate: a column, or an expression with its twin."""

    code: Any
    """The name of a column, or code."""
    twin: Twin | None = None


@dataclass(frozen=True)
class AggregateCall:
    """An aggregate of a query."""

    name: str
    inputs: tuple[Input, ...]
    arguments: dict[str, Any] = field(default_factory=dict)
    where: tuple[Any, Twin] | None = None
    inner: AggregateCall | None = None

    @property
    def reads_time(self) -> bool:
        """Whether the result depends on the unit of the time column."""
        return self.name == "slope" and len(self.inputs) == 1

    def traits(self, table: RandomTable) -> frozenset[str]:
        """Return the traits of the first column; none for an expression."""
        column = table.columns.get(self.inputs[0].code) if isinstance(self.inputs[0].code, str) else None
        return frozenset() if column is None else column.traits

    def fits(self, algorithm: str) -> bool:
        """Return whether an algorithm can compute the aggregate."""
        inputs = [f"c{number}" for number in range(len(self.inputs))]
        try:
            find_algorithm(algorithm, build(self._call(inputs, with_where=False).text(in_ticks)))
        except ValueError:
            return False
        return True

    def text(self, lengths: Lengths) -> str:
        """Return the call as Python."""
        return self._call([one.code for one in self.inputs], with_where=True).text(lengths)

    def _call(self, inputs: list[Any], *, with_where: bool) -> Call:
        inner = (
            [] if self.inner is None else [self.inner._call([one.code for one in self.inner.inputs], with_where=True)]
        )
        where = {} if self.where is None or not with_where else {"where": self.where[0]}
        return Call(f"agg.{self.name}", (*inputs, *inner), self.arguments | where)

    def for_oracle(self, rows: list[dict[str, Any]], prefix: str, lengths: Lengths) -> Aggregate[Any]:
        """Return the aggregate over columns that are added to the rows: expressions computed, filtered values null."""
        names = [f"{prefix}{place}" for place in range(len(self.inputs))]
        for name, one in zip(names, self.inputs, strict=True):
            for row in rows:
                row[name] = row[one.code] if one.twin is None else one.twin(row)
        if self.where is not None:
            if not names:
                names = [f"{prefix}0"]
                for row in rows:
                    row[names[0]] = True
            for row in rows:
                if self.where[1](row) is not True:
                    row[names[0]] = None
        made: Aggregate[Any] = build(self._call(names, with_where=False).text(lengths))
        return made


class RandomAggregates:
    """Draws aggregates for the columns of a table."""

    def __init__(self, chooser: random.Random, table: RandomTable, native: str, *, plain: bool = False) -> None:
        self.chooser = chooser
        self.table = table
        self.native = native
        """Which native expressions the data takes: "arrow", "polars", or none."""
        self.plain = plain
        """Whether to use no expressions."""

    def draw(self) -> dict[str, AggregateCall]:
        """Return one or more aggregates by name."""
        count = self.chooser.choice([1, 1, 2, 2, 3, 4, 6])
        names = self.chooser.choices(list(NEEDS), k=count)
        return {f"a{number}": self.draw_one(name) for number, name in enumerate(names)}

    def draw_one(self, name: str, *, nested: bool = False) -> AggregateCall:
        """Return one aggregate."""
        chooser = self.chooser
        inputs = [self._input(need, allow_expression=not nested) for need in NEEDS[name]]
        if name in ("count", "ewm_count") and chooser.random() < 0.4:
            inputs = []
        if name in ("slope", "intercept", "r_squared") and self.table.time is not None and chooser.random() < 0.5:
            inputs = inputs[:1]
        inner = None
        if name == "per_value" and chooser.random() < 0.6:
            others = [other for other in NEEDS if other not in UNNESTED and not other.startswith(("approx", "ewm"))]
            inner = self.draw_one(chooser.choice(others), nested=True)
            if len(inner.inputs) == 0:
                inner = None
        where = self._condition() if not nested and not self.plain and chooser.random() < 0.2 else None
        return AggregateCall(name, tuple(inputs), self._arguments(name, inputs), where, inner)

    def _input(self, need: str, *, allow_expression: bool) -> Input:
        chooser = self.chooser
        wanted = need.split(" or ") if need else []
        if allow_expression and not self.plain and chooser.random() < 0.12:
            native = NATIVE_EXPRESSIONS.get(self.native)
            if (
                native is not None
                and chooser.random() < 0.4
                and ("number" in wanted or "small" in wanted or not wanted)
            ):
                return Input(Code(native), EXPRESSIONS["id + 1"][0] if "+" in native else lambda row: row["id"])
            fitting = [text for text, (_, traits) in EXPRESSIONS.items() if not wanted or set(wanted) & traits]
            if fitting:
                text = chooser.choice(fitting)
                return Input(Call("sash.expr", (text,)), EXPRESSIONS[text][0])
        columns = {
            name: column
            for name, column in self.table.columns.items()
            if name in ("v", "mark", "s", "x", "y", "z", "id")
        }
        if chooser.random() < 0.01:
            return Input(chooser.choice(list(columns)))  # it may be refused
        fitting = [name for name, column in columns.items() if not wanted or self._fits(column, wanted)]
        favoured = [name for name in fitting if name in ("x", "y", "z")]
        if favoured and chooser.random() < 0.8:
            return Input(chooser.choice(favoured))
        if fitting:
            return Input(chooser.choice(fitting))
        return Input({"text": "s", "bool": "mark"}.get(wanted[0], "v"))

    @staticmethod
    def _fits(column: Column, wanted: list[str]) -> bool:
        summed = {"summed"} if "small" in column.traits or column.traits & {"wide", "special"} else set()
        sketched = {"sketched"} if column.traits & {"number", "text"} and "decimal" not in column.traits else set()
        return bool((column.traits | summed | sketched) & set(wanted))

    def _condition(self) -> tuple[Any, Twin]:
        chooser = self.chooser
        if self.native and chooser.random() < 0.3:
            text = chooser.choice(list(NATIVE_CONDITIONS[self.native]))
            return Code(text), NATIVE_CONDITIONS[self.native][text]
        text = chooser.choice(list(CONDITIONS))
        return text, CONDITIONS[text]

    def _arguments(self, name: str, inputs: list[Input]) -> dict[str, Any]:
        chooser = self.chooser
        if name in ("frequency", "may_contain"):
            return {"item": self._item(inputs[0])}
        if name.startswith("ewm"):
            if self.table.time is not None and chooser.random() < 0.5:
                return {"half_life": Ticks(chooser.randint(1, 9) * self.table.time.grain)}
            return {"alpha": chooser.choice([0.5, 0.1, 1.0])}
        return {argument: chooser.choice(values) for argument, values in ARGUMENTS.get(name, {}).items()}

    def _item(self, one: Input) -> Any:
        """Return an item that a column may hold."""
        column = self.table.columns.get(one.code) if isinstance(one.code, str) else None
        if column is None or column.type_text not in (
            "pa.string()",
            "pa.large_string()",
            "pa.int64()",
            "pa.float64()",
            "pa.bool_()",
        ):
            return self.chooser.choice([3, "ant"])
        present = [value for value in column.values if value is not None]
        return self.chooser.choice(present) if present else self.chooser.choice(WORDS)
