"""Every built-in aggregate against an independent reference, its laws, and its compiled form."""

from __future__ import annotations

import copy
import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from functools import cache, partial, reduce
from typing import Any

import pyarrow as pa
import pytest
from helpers.compiled import compiled_for_python
from helpers.pairwise import in_turn
from helpers.references import (
    INF,
    NAN,
    PARTIALS_OF_NUMBERS,
    REFERENCES,
    SUMS,
    agrees,
    anything,
    build,
    from_halves,
    from_left,
    lifted,
    quarters,
)
from hypothesis import given
from hypothesis import strategies as st

import sash
import sash.aggregates as agg
from sash import window
from sash.aggregates import BUILT_IN
from sash.aggregates.base import Aggregate
from sash.aggregates.naming import as_literal
from sash.algorithms.base import alike, same
from sash.testing import check_laws, recompute


def test_every_aggregate_has_a_reference() -> None:
    assert set(REFERENCES) == set(BUILT_IN)
    assert set(agg.__all__) == {"BUILT_IN", *BUILT_IN}


@pytest.mark.parametrize("name", BUILT_IN)
@given(data=st.data())
def test_equals_its_reference(name: str, data: st.DataObject) -> None:
    aggregate = build(name)
    rows = data.draw(st.lists(REFERENCES[name].row, min_size=max(1, aggregate.result.at_least), max_size=12))
    expected = REFERENCES[name].expected(rows)
    for result in (from_left(aggregate, rows), from_halves(aggregate, rows)):
        assert agrees(result, expected), f"{name} of {rows} is {result}, not {expected}"


@pytest.mark.parametrize("name", BUILT_IN)
@given(data=st.data())
def test_claims_only_laws_that_hold(name: str, data: st.DataObject) -> None:
    aggregate = build(name)
    # No NaN in sums: the inverse that they have for those who name subtract_on_evict can't take it out again.
    row = quarters if name in SUMS else REFERENCES[name].row
    check_laws(aggregate, data.draw(st.lists(row, min_size=1, max_size=3)))  # and what their neighbours make together


@pytest.mark.parametrize("name", SUMS)
@given(rows=st.lists(quarters, min_size=1, max_size=4))
def test_claims_only_laws_that_hold_of_floats(name: str, rows: list[float]) -> None:
    check_laws(build(name).of_kind("float"), rows)


@pytest.mark.parametrize("name", [*SUMS, "spread"])
@given(rows=st.lists(st.integers(-(2**31), 2**31), min_size=1, max_size=4))
def test_claims_only_laws_that_hold_of_integers(name: str, rows: list[int]) -> None:
    check_laws(build(name).of_kind("int"), rows)


@pytest.mark.parametrize("name", BUILT_IN)
@given(data=st.data())
def test_combine_and_inverse_leave_their_arguments_alone(name: str, data: st.DataObject) -> None:
    aggregate = build(name)
    older, newer = lifted(aggregate, data.draw(st.lists(REFERENCES[name].row, min_size=2, max_size=2)))
    whole = aggregate.combine(older, newer)
    before = copy.deepcopy((older, newer, whole))
    aggregate.combine(whole, newer)
    if aggregate.inverse is not None:
        aggregate.inverse(whole, older)
    assert alike((older, newer, whole), before)


@pytest.mark.parametrize("kind", ["bool", "int", "float", "object"])
@pytest.mark.parametrize("name", BUILT_IN)
def test_the_form_for_a_kind_has_no_other_forms(name: str, kind: str) -> None:
    form = build(name).of_kind(kind)
    assert form.name == name
    assert form.of_kind(kind) is form


@pytest.mark.parametrize("name", BUILT_IN)
def test_is_unbound_or_over_columns(name: str) -> None:
    make = partial(BUILT_IN[name], **REFERENCES[name].arguments)
    inputs = 1 if name in ("count", "ewm_count") else make().inputs
    columns = ("x", "y")[:inputs]
    assert make().columns == ()
    bound = make(*columns)
    assert bound.columns == columns
    assert bound.inputs == inputs
    assert bound.name == name
    assert all(variant.columns == columns for variant in bound.forms.variants.values())


@pytest.mark.parametrize("wrong", [3, ["x"], b"x", pa.array([1, 2])], ids=["number", "list", "bytes", "values"])
@pytest.mark.parametrize("name", BUILT_IN)
def test_a_column_that_is_not_a_string_is_an_error(name: str, wrong: Any) -> None:
    make = partial(BUILT_IN[name], **REFERENCES[name].arguments)
    inputs = 1 if name in ("count", "ewm_count") else make().inputs
    parameters = list(inspect.signature(BUILT_IN[name]).parameters)[:inputs]
    for parameter in parameters:
        columns = {other: wrong if other == parameter else "load" for other in parameters}
        with pytest.raises(
            TypeError, match=rf"^{name} got {parameter}=.+ Give a string, as in agg\.{name}\(\""
        ) as error:
            make(**columns)
        assert "\n" not in str(error.value)
        right = str(error.value).partition("as in agg.")[2].removesuffix(".")
        assert eval(right, dict(BUILT_IN)).inputs == inputs  # noqa: S307 — the call in the message works


def test_a_column_of_an_own_or_unbound_aggregate_that_is_not_a_string_is_an_error() -> None:
    pairs = sash.aggregate("pairs", lift=lambda x, y: x + y, combine=max)
    with pytest.raises(TypeError, match=r'^pairs got 3 as column 2, .* Give a string, as in pairs\("a", "b"\)\.$'):
        pairs("load", 3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r'^sum got 3 as column 1, .* Give a string, as in sum\("a"\)\.$'):
        agg.sum()(3)  # type: ignore[arg-type]


TABLE_2 = {
    "count": {"invertible", "commutative"},
    "sum": {"invertible", "commutative"},
    "max": {"commutative"},
    "min": {"commutative"},
    "mean": {"invertible", "commutative"},
    "geometric_mean": {"invertible", "commutative"},
    "max_count": {"commutative"},
    "min_count": {"commutative"},
    "stddev": {"invertible", "commutative"},
    "stddev_pop": {"invertible", "commutative"},
    "arg_max": set(),
    "arg_min": set(),
    "collect": {"invertible"},
}
"""Of the FlatFAT paper."""
ROUNDED = {"geometric_mean", "stddev", "stddev_pop"}
"""Their partials are floats whatever the column is, so no inverse is exact."""


@pytest.mark.parametrize("name", TABLE_2)
def test_has_the_laws_of_the_papers_table_2(name: str) -> None:
    expected = TABLE_2[name] - ({"invertible"} if name in ROUNDED else set())
    assert BUILT_IN[name]().of_kind("int").laws & {"invertible", "commutative"} == expected


@pytest.mark.parametrize("name", SUMS)
def test_floats_claim_no_inverse(name: str) -> None:
    real = BUILT_IN[name]().of_kind("float")
    assert "invertible" not in real.laws
    assert real.inverse is not None  # for those who ask for subtract_on_evict by name


@cache
def compiled(name: str, kind: str) -> Aggregate[Any]:
    """Return a built-in aggregate with its functions compiled."""
    aggregate = build(name).of_kind(kind)
    return Aggregate(
        name=name,
        lift=compiled_for_python(aggregate.lift),
        combine=compiled_for_python(aggregate.combine),
        lower=compiled_for_python(aggregate.lower),
        inverse=None if aggregate.inverse is None else compiled_for_python(aggregate.inverse),
        inputs=aggregate.inputs,
    )


int64 = st.integers(-(2**63), 2**63 - 1) | st.sampled_from([2**63 - 1, -(2**63), 0, -1])


def fits_in_64_bits(total: int) -> bool:
    return -(2**63) <= total < 2**63


@pytest.mark.parametrize(
    ("name", "exact"),
    [
        ("sum", sum),
        ("sum_of_squares", lambda v: sum(x * x for x in v)),
        ("spread", lambda v: max(v) - min(v)),
    ],
)
@given(values=st.lists(int64 | st.integers(-(2**31), 2**31), min_size=1, max_size=6))
def test_integers_stay_exact_and_overflow_is_an_error(
    name: str, exact: Callable[[list[int]], int], values: list[int]
) -> None:
    for aggregate in (BUILT_IN[name]().of_kind("int"), compiled(name, "int")):
        if fits_in_64_bits(exact(values)):
            assert from_left(aggregate, values) == exact(values)
        else:
            with pytest.raises(OverflowError, match=r"more than 64 bits\. Cast the column"):
                from_left(aggregate, values)


def test_an_overflow_leaves_with_its_rows() -> None:
    total = agg.sum().of_kind("int")
    assert total.inverse is not None
    older, newer = total.lift(2**63 - 1), total.combine(total.lift(5), total.lift(-7))
    whole = reduce(total.combine, [older, older, newer])
    assert total.lower(total.inverse(total.inverse(whole, older), older)) == -2


@given(values=st.lists(int64, min_size=1, max_size=9))
def test_mean_of_integers_is_rounded_only_in_the_end(values: list[int]) -> None:
    mean = agg.mean().of_kind("int")
    exact = Fraction(sum(values), len(values))
    assert from_left(mean, values) == pytest.approx(float(exact), rel=1e-15, abs=0)


def test_truth_values_add_up_like_integers() -> None:
    assert from_left(agg.sum().of_kind("bool"), [True, True, False]) == 2
    assert from_left(agg.mean().of_kind("bool"), [True, True, False, False]) == 0.5


def test_sum_of_strings_and_lists_keeps_the_order() -> None:
    assert from_left(agg.sum(), ["a", "b", "c"]) == "abc"
    assert from_left(agg.sum(), [[1], [2, 3]]) == [1, 2, 3]
    assert from_left(agg.mean(), [Decimal(1), Decimal(2)]) == Decimal("1.5")
    assert not agg.sum().laws.commutative


def test_mode_goes_to_the_first_in_the_window() -> None:
    assert from_left(agg.mode(), ["b", "a", "a", "b"]) == "b"
    assert from_halves(agg.mode(), ["b", "a", "a", "b"]) == "b"
    assert math.isnan(from_left(agg.mode(), [1.0, NAN, float("nan")]))


@given(older=st.lists(anything, min_size=1), newer=st.lists(anything, min_size=1))
def test_count_distinct_takes_older_values_out_again(older: list[Any], newer: list[Any]) -> None:
    kinds = agg.count_distinct()
    assert kinds.inverse is not None
    first, second = (reduce(kinds.combine, lifted(kinds, values)) for values in (older, newer))
    assert kinds.inverse(kinds.combine(first, second), first) == second


COLUMNS: dict[str, list[list[Any]]] = {
    "float": [[0.5, 3.0, -2.0, 3.0], [1.0, NAN, 7.0], [NAN, 2.0, NAN], [-0.0, 0.0], [INF, 1.0, -INF], [1e300, 1e-300]],
    "int": [[5, -3, 0, 5], [7, 7], [2**30, -(2**30), 1]],
    "bool": [[True, False, True], [False, False]],
}


@pytest.mark.parametrize(("name", "kind"), in_turn(PARTIALS_OF_NUMBERS, COLUMNS))
def test_compiled_equals_interpreted(name: str, kind: str) -> None:
    interpreted = build(name).of_kind(kind)
    machine_code = compiled(name, kind)
    for values in COLUMNS[kind]:
        rows: list[Any] = list(zip(values, values[::-1], strict=True)) if interpreted.inputs == 2 else list(values)
        for fold in (from_left, from_halves):
            expected, actual = fold(interpreted, rows), fold(machine_code, rows)
            assert same(actual, expected), f"{name} of {rows} is {expected} interpreted and {actual} compiled"
            assert isinstance(actual, type(expected))
        if interpreted.inverse is not None:
            older, newer = lifted(interpreted, rows)[:2]
            assert machine_code.inverse is not None
            assert same(machine_code.inverse(newer, older), interpreted.inverse(newer, older))


def test_every_partial_of_numbers_is_compiled_here() -> None:
    def is_numbers(partial: Any) -> bool:
        return all(map(is_numbers, partial)) if isinstance(partial, tuple) else isinstance(partial, int | float)

    others = {"first_n", "last_n", "top_k", "bottom_k", "collect", "frequency", "may_contain"}
    others |= {"histogram"}  # a kernel counts each bin by itself
    aggregates = {name: build(name) for name in BUILT_IN if name not in others}
    found = {name for name, aggregate in aggregates.items() if is_numbers(aggregate.lift(*[1.0] * aggregate.inputs))}
    assert found == set(PARTIALS_OF_NUMBERS)


def test_concat_shows_timestamps_in_their_own_zone() -> None:
    noon = pa.array([datetime(2026, 1, 1, 12, tzinfo=UTC)], pa.timestamp("us", "America/New_York"))
    query = sash.Query({"text": agg.concat("x")}, sash.window.rows(2))
    assert query.run(pa.table({"x": noon}))["text"].to_pylist() == ["2026-01-01 07:00:00-05:00"]


@pytest.mark.parametrize("name", ["sum", "spread"])
def test_decimals_stay_exact(name: str) -> None:
    """Where combine adds and subtracts, 28 digits would not do: neighbours differ in the 38th."""
    long = [Decimal(10**37 + last) for last in (5, 3, 9)]
    found = sash.Query({"found": BUILT_IN[name]("x")}, sash.window.rows(3)).run(pa.table({"x": long}))
    assert found["found"].to_pylist()[-1] == {"sum": Decimal(3 * 10**37 + 17), "spread": Decimal(6)}[name]


@pytest.mark.parametrize("name", [name for name in BUILT_IN if build(name).inputs == 1])
def test_values_without_order_and_hash_are_computed_or_refused(name: str) -> None:
    """Lists: an aggregate that sorts, hashes or computes refuses them; all others take them."""
    rows = pa.table({"x": [[2], [1, 5], [2]]})
    query = sash.Query({"found": partial(BUILT_IN[name], **REFERENCES[name].arguments)("x")}, sash.window.rows(2))
    if name in ("collect", "concat", "count", "ewm_count", "first", "first_n", "last", "last_n"):
        expected = [recompute(build(name), rows["x"].to_pylist()[max(0, end - 2) : end]) for end in (1, 2, 3)]
        assert query.run(rows)["found"].to_pylist() == expected
    else:
        with pytest.raises(TypeError, match=r"column 'x'|Sketches take numbers and strings, but .* is a list"):
            query.run(rows)


@pytest.mark.parametrize(
    ("mistake", "sentence"),
    [
        (lambda: agg.quantile(q=1.5), "q=1.5"),
        (lambda: agg.approx_quantile(q=-1), "q=-1"),
        (lambda: agg.top_k(k=0), "k=0"),
        (lambda: agg.bottom_k(k=-1), "k=-1"),
        (lambda: agg.first_n(n=0), "n=0"),
        (lambda: agg.last_n(n=0), "n=0"),
        (lambda: agg.nth_smallest(i=0), "i=0"),
    ],
)
def test_impossible_parameters_are_refused(mistake: Callable[[], object], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        mistake()


def test_one_column_of_two_is_refused() -> None:
    with pytest.raises(TypeError, match=r"arg_max needs 2 columns, but got"):
        agg.arg_max("load")


@pytest.mark.parametrize(
    ("mistake", "sentence"),
    [
        (lambda: agg.max(3), r'max got column=3, which is not the name of a column\. Give a string, as in agg\.max\("load"\)'),  # type: ignore[arg-type]
        (lambda: agg.max(["a", "b"]), r"max got column=\['a', 'b'\], which is not the name of a column"),  # type: ignore[arg-type]
        (lambda: agg.top_k("load", "3"), r"top_k got k='3', but k must be an integer"),  # type: ignore[arg-type]
        (lambda: agg.quantile("load", "0.5"), r"quantile got q='0\.5', but q must be a number"),  # type: ignore[arg-type]
    ],
)  # fmt: skip
def test_arguments_of_a_wrong_type_are_refused(mistake: Callable[[], object], sentence: str) -> None:
    with pytest.raises(TypeError, match=sentence):
        mistake()


COUNTS = ("count", "count_distinct", "approx_count_distinct", "frequency", "ewm_count")


@pytest.mark.parametrize("name", BUILT_IN)
def test_windows_without_values_have_no_result_but_counts_do(name: str) -> None:
    columns = ("x", "y")[: max(1, build(name).inputs)]
    rows = pa.table({column: pa.array([None, None], pa.float64()) for column in columns})
    query = sash.Query({"found": BUILT_IN[name](*columns, **REFERENCES[name].arguments)}, sash.window.rows(2))
    empty = [0, 0, 0] if name == "histogram" else 0 if name in COUNTS else None
    assert query.run(rows)["found"].to_pylist() == [empty] * 2


def test_a_sample_needs_two_values_and_the_nth_of_values_needs_n() -> None:
    rows = pa.table({"x": [3.0, None, 5.0], "y": [1.0, 2.0, 2.0]})

    def results(aggregate: Aggregate[Any]) -> list[Any]:
        found: list[Any] = sash.Query({"a": aggregate}, sash.window.rows(3)).run(rows)["a"].to_pylist()
        return found

    assert results(agg.variance("x")) == [None, None, 2]
    assert results(agg.stddev("x")) == [None, None, pytest.approx(math.sqrt(2))]
    assert results(agg.covariance("x", "y")) == [None, None, 1]
    assert results(agg.correlation("x", "y")) == [None, None, pytest.approx(1)]
    assert results(agg.var_pop("x")) == results(agg.stddev_pop("x")) == [0, 0, 1]
    assert results(agg.nth_smallest("x", 2)) == [None, None, 5]
    assert results(agg.nth_smallest("y", 3)) == [None, None, 2]


@pytest.mark.parametrize(
    ("made", "shown"),
    [
        (agg.max("x"), 'max("x")'),
        (agg.max(), "max()"),
        (agg.arg_max("load", "plug"), 'arg_max("load", "plug")'),
        (agg.count(), "count()"),
        (agg.median("x"), 'median("x")'),
        (agg.quantile("x", 0.5), 'quantile("x", 0.5)'),
        (agg.approx_quantile("x", q=0.9), 'approx_quantile("x", 0.9)'),
        (agg.nth_smallest("x", 2), 'nth_smallest("x", 2)'),
        (agg.first_n("x", 3), 'first_n("x", 3)'),
        (agg.last_n("x", 3), 'last_n("x", 3)'),
        (agg.top_k("x", 3), 'top_k("x", 3)'),
        (agg.bottom_k("x", 3), 'bottom_k("x", 3)'),
        (agg.concat("x"), 'concat("x")'),
        (agg.concat("x", sep=", "), 'concat("x", ", ")'),
        (agg.frequency("plug", "lamp"), 'frequency("plug", "lamp")'),
        (agg.may_contain("plug", 3), 'may_contain("plug", 3)'),
        (sash.aggregate("newest", lift=lambda x: x, combine=lambda _, newer: newer)("x"), 'newest("x")'),
        (agg.quantile(q=0.1)("x"), 'quantile("x", 0.1)'),
    ],
)
def test_an_aggregate_shows_the_call_that_makes_it(made: Aggregate[Any], shown: str) -> None:
    assert repr(made) == shown


CONSTANTS = {
    "q": 1,
    "sep": ";",
    "item": 3,
    "n": 3,
    "k": 3,
    "i": 3,
    "edges": [1, 2],
    "method": "min",
    "pct": True,
    "aggregate": agg.sum("y"),
    "alpha": 0.25,
}


@pytest.mark.parametrize("name", agg.BUILT_IN)
def test_every_aggregate_shows_its_constants(name: str) -> None:
    parameters = inspect.signature(BUILT_IN[name]).parameters
    given = {parameter: CONSTANTS.get(parameter, parameter) for parameter in parameters if parameter != "half_life"}
    by_name = {parameter for parameter, one in parameters.items() if one.kind is one.KEYWORD_ONLY}
    texts = [f"{key}={as_literal(value)}" if key in by_name else as_literal(value) for key, value in given.items()]
    assert repr(BUILT_IN[name](**given)) == f"{name}({', '.join(texts)})"


class Weighted:
    """Functions of an aggregate that are methods."""

    weight = 2

    def lift(self, x: int) -> int:
        return self.weight * x

    def product(self, x: int, y: int) -> int:
        return self.weight * x * y

    @classmethod
    def of_class(cls, x: int) -> int:
        return cls.weight * x

    def __call__(self, x: int) -> int:
        return self.weight * x


@dataclass
class WithoutHash:
    """An object that can be called."""

    factor: int

    def __call__(self, x: int) -> int:
        return self.factor * x


@pytest.mark.parametrize("compiled", [None, True, False])
@pytest.mark.parametrize(
    ("lift", "columns", "expected"),
    [
        (Weighted().lift, ("x",), [2, 6, 10]),
        (Weighted.of_class, ("x",), [2, 6, 10]),
        (Weighted(), ("x",), [2, 6, 10]),
        (Weighted().product, ("x", "y"), [8, 28, 56]),
        (partial(Weighted().product, 1), ("x",), [2, 6, 10]),
        (math.atan2, ("x", "x"), None),
        (float, ("x",), [1.0, 3.0, 5.0]),
        (WithoutHash(2), ("x",), [2, 6, 10]),
    ],
)
def test_lift_may_be_a_method(lift: Any, columns: tuple[str, ...], expected: Any, compiled: bool | None) -> None:
    """`self`, and arguments that are bound already, are not columns."""
    own = sash.aggregate("own", lift=lift, combine=lambda older, newer: older + newer)
    table = pa.table({"x": [1, 2, 3], "y": [4, 5, 6]})
    results = sash.Query(own(*columns), window.rows(2)).run(table, compiled=compiled)["own"].to_pylist()
    assert expected is None or results == expected
    with pytest.raises(TypeError, match=f"needs {len(columns)} column"):
        own(*columns, "y")
