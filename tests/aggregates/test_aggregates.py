"""Every built-in aggregate against an independent reference, its laws, and its compiled form."""

from __future__ import annotations

import copy
import math
import operator
import random
import statistics
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import cache, partial, reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sash
import sash.aggregates as agg
from sash.aggregates import BUILT_IN
from sash.aggregates.base import Aggregate, unchanged
from sash.aggregates.median_like import SortedValues
from sash.aggregates.sql import SqlForm, SqlInput, sql_form
from sash.algorithms.base import alike, same
from sash.kernels.functions import compile_function
from sash.testing.laws import check_laws

NAN = math.nan
INF = math.inf
FEW = ["ant", "bee", "cat", ""]

any_float = st.floats() | st.sampled_from([NAN, -0.0, 0.0, 1.0, INF, -INF])
small = st.integers(-4, 4)
quarters = st.integers(-400, 400).map(lambda number: number / 4)
"""Steps of 1/4: no two values are so close that a skewness is all rounding."""
words = st.sampled_from(FEW)
anything = st.sampled_from([NAN, -0.0, 0.0, 1, 2.5, "ant", "bee"])


def isnan(value: Any) -> bool:
    return isinstance(value, float | Decimal) and math.isnan(value)


def in_order(values: Sequence[Any]) -> list[Any]:
    """Sort with NaN last, equal ones in the order given."""
    return sorted(values, key=lambda value: (isnan(value), 0 if isnan(value) else value))


def distinct(values: Sequence[Any]) -> list[Any]:
    """Leave out what has come before."""
    found: list[Any] = []
    for value in values:
        if not any(same(value, other) for other in found):
            found.append(value)
    return found


def occurrences(values: Sequence[Any], wanted: Any) -> int:
    return sum(same(value, wanted) for value in values)


def power_sum(values: Sequence[float], power: int) -> Any:
    """Σ(x - mean)^power, in exact fractions."""
    exact = [Fraction(value) for value in values]
    mean = sum(exact, start=Fraction(0)) / len(exact)
    return sum(((value - mean) ** power for value in exact), start=Fraction(0))


def skewness_of(values: Sequence[float]) -> float:
    m2 = power_sum(values, 2)
    return math.sqrt(len(values)) * float(power_sum(values, 3)) / float(m2) ** 1.5 if m2 else NAN


def kurtosis_of(values: Sequence[float]) -> float:
    m2 = power_sum(values, 2)
    return float(len(values) * power_sum(values, 4) / (m2 * m2)) - 3 if m2 else NAN


def correlation_of(rows: Sequence[tuple[float, float]]) -> float:
    x, y = zip(*rows, strict=True)
    return statistics.correlation(x, y) if len(set(x)) > 1 and len(set(y)) > 1 else NAN


def weighted_mean_of(rows: Sequence[tuple[float, float]]) -> float:
    weights = sum(w for _, w in rows)
    return sum(x * w for x, w in rows) / weights if weights else NAN


def geometric_mean_of(values: Sequence[float]) -> float:
    if any(value < 0 for value in values):
        return NAN
    return statistics.geometric_mean(values) if all(values) else 0.0


def ranked_quantile_of(values: Sequence[float], q: float) -> Any:
    """The smallest value that at least a fraction q of the values do not exceed."""
    return in_order(values)[max(1, math.ceil(q * len(values))) - 1]


@dataclass
class Reference:
    """What the result must be, from the raw rows."""

    expected: Callable[[list[Any]], Any]
    row: st.SearchStrategy[Any]
    arguments: dict[str, Any] = field(default_factory=dict)


REFERENCES = {
    "count": Reference(len, anything),
    "sum": Reference(math.fsum, quarters | st.just(NAN)),
    "product": Reference(math.prod, small.map(float) | st.just(NAN)),
    "sum_of_squares": Reference(lambda v: sum(x * x for x in v), quarters | st.just(NAN)),
    "mean": Reference(lambda v: math.fsum(v) / len(v), quarters | st.just(NAN)),
    "geometric_mean": Reference(geometric_mean_of, quarters | st.floats(1, 1e300)),
    "weighted_mean": Reference(weighted_mean_of, st.tuples(quarters, small)),
    "variance": Reference(statistics.variance, quarters),
    "var_pop": Reference(statistics.pvariance, quarters),
    "stddev": Reference(statistics.stdev, quarters),
    "stddev_pop": Reference(statistics.pstdev, quarters),
    "skewness": Reference(skewness_of, quarters),
    "kurtosis": Reference(kurtosis_of, quarters),
    "covariance": Reference(lambda r: statistics.covariance(*zip(*r, strict=True)), st.tuples(quarters, quarters)),
    "correlation": Reference(correlation_of, st.tuples(quarters, quarters)),
    "max": Reference(lambda v: in_order(v)[-1], any_float),
    "min": Reference(lambda v: in_order(v)[0], any_float),
    "spread": Reference(lambda v: in_order(v)[-1] - in_order(v)[0], any_float),
    "max_count": Reference(lambda v: occurrences(v, in_order(v)[-1]), any_float | small),
    "min_count": Reference(lambda v: occurrences(v, in_order(v)[0]), any_float | small),
    "arg_max": Reference(
        lambda r: next(a for x, a in r if same(x, in_order([x for x, _ in r])[-1])), st.tuples(any_float | small, words)
    ),
    "arg_min": Reference(
        lambda r: next(a for x, a in r if same(x, in_order([x for x, _ in r])[0])), st.tuples(any_float | small, words)
    ),
    "any": Reference(any, st.booleans()),
    "all": Reference(all, st.booleans()),
    "first": Reference(lambda v: v[0], anything),
    "last": Reference(lambda v: v[-1], anything),
    "first_n": Reference(lambda v: v[:3], anything, {"n": 3}),
    "last_n": Reference(lambda v: v[-3:], anything, {"n": 3}),
    "top_k": Reference(lambda v: in_order(v)[::-1][:3], any_float | small, {"k": 3}),
    "bottom_k": Reference(lambda v: in_order(v)[:3], any_float | small, {"k": 3}),
    "collect": Reference(list, anything),
    "collect_distinct": Reference(distinct, anything),
    "concat": Reference("-".join, words, {"sep": "-"}),
    "count_distinct": Reference(lambda v: len(distinct(v)), anything),
    "mode": Reference(lambda v: max(distinct(v), key=lambda value: occurrences(v, value)), anything),
    "median": Reference(statistics.median, quarters),
    "quantile": Reference(lambda v: float(np.quantile(v, 0.8)), quarters, {"q": 0.8}),
    "nth_smallest": Reference(lambda v: in_order(v)[1], any_float | small, {"i": 2}),
    "approx_count_distinct": Reference(lambda v: len(distinct(v)), anything),
    "approx_quantile": Reference(lambda v: ranked_quantile_of(v, 0.8), any_float, {"q": 0.8}),
    "frequency": Reference(lambda v: occurrences(v, "bee"), anything, {"item": "bee"}),
    "may_contain": Reference(lambda v: "bee" in v, anything, {"item": "bee"}),
}

SUMS = ["sum", "sum_of_squares", "mean"]

PARTIALS_OF_NUMBERS = [
    *("count", "sum", "product", "sum_of_squares", "mean", "geometric_mean", "weighted_mean"),
    *("variance", "var_pop", "stddev", "stddev_pop", "skewness", "kurtosis", "covariance", "correlation"),
    *("max", "min", "spread", "max_count", "min_count", "arg_max", "arg_min", "any", "all", "first", "last"),
]


def lifted(aggregate: Aggregate[Any], rows: Sequence[Any]) -> list[Any]:
    as_arguments = (row if aggregate.inputs > 1 else (row,) * aggregate.inputs for row in rows)
    return [aggregate.lift(*arguments) for arguments in as_arguments]


def from_left(aggregate: Aggregate[Any], rows: Sequence[Any]) -> Any:
    return aggregate.lower(reduce(aggregate.combine, lifted(aggregate, rows)))


def from_halves(aggregate: Aggregate[Any], rows: Sequence[Any]) -> Any:
    def fold(partials: list[Any]) -> Any:
        middle = len(partials) // 2
        return partials[0] if middle == 0 else aggregate.combine(fold(partials[:middle]), fold(partials[middle:]))

    return aggregate.lower(fold(lifted(aggregate, rows)))


def agrees(actual: Any, expected: Any) -> bool:
    if isinstance(expected, list):
        return isinstance(actual, list) and alike(tuple(actual), tuple(expected))
    return alike(float(actual), float(expected)) if isinstance(expected, float) else same(actual, expected)


def build(name: str) -> Aggregate[Any]:
    return BUILT_IN[name](**REFERENCES[name].arguments)


def test_every_aggregate_has_a_reference() -> None:
    assert set(REFERENCES) == set(BUILT_IN)
    assert set(agg.__all__) == {"BUILT_IN", *BUILT_IN}


@pytest.mark.parametrize("name", BUILT_IN)
@given(data=st.data())
def test_equals_its_reference(name: str, data: st.DataObject) -> None:
    aggregate = build(name)
    rows = data.draw(st.lists(REFERENCES[name].row, min_size=max(1, aggregate.at_least), max_size=12))
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
    inputs = 1 if name == "count" else make().inputs
    columns = ("x", "y")[:inputs]
    assert make().columns == ()
    bound = make(*columns)
    assert bound.columns == columns
    assert bound.inputs == inputs
    assert bound.name == name
    assert all(variant.columns == columns for variant in bound.variants.values())


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


# Integers


@cache
def compiled(name: str, kind: str) -> Aggregate[Any]:
    """Return a built-in aggregate with its functions compiled."""
    aggregate = BUILT_IN[name]().of_kind(kind)
    return Aggregate(
        name=name,
        lift=compile_function(aggregate.lift),
        combine=compile_function(aggregate.combine),
        lower=compile_function(aggregate.lower),
        inverse=None if aggregate.inverse is None else compile_function(aggregate.inverse),
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
            with pytest.raises(OverflowError, match="more than 64 bits: cast"):
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


# Floats


@pytest.mark.parametrize("offset", [1e9, -1e9])
@pytest.mark.parametrize("fold", [from_left, from_halves])
def test_a_large_offset_does_not_spoil_moments(offset: float, fold: Callable[..., float]) -> None:
    source = random.Random(1)
    values = [offset + source.random() for _ in range(1000)]
    assert fold(agg.variance(), values) == pytest.approx(statistics.variance(values), rel=1e-6)
    assert fold(agg.stddev(), values) == pytest.approx(statistics.stdev(values), rel=1e-6)
    assert fold(agg.skewness(), values) == pytest.approx(skewness_of(values), rel=1e-4, abs=1e-4)
    assert fold(agg.kurtosis(), values) == pytest.approx(kurtosis_of(values), rel=1e-4)
    pairs = [(value, 3 * value) for value in values]
    assert fold(agg.correlation(), pairs) == pytest.approx(1.0, rel=1e-3)


@pytest.mark.parametrize("name", ["sum", "mean", "variance", "stddev", "covariance"])
def test_one_huge_value_is_taken_into_account(name: str) -> None:
    values = [1.0, 2.0, 1e90, 3.0]
    rows = [(value, value) for value in values] if name == "covariance" else values
    expected = {"sum": 1e90, "mean": 2.5e89, "stddev": 5e89}.get(name, 2.5e179)
    assert from_left(BUILT_IN[name]().of_kind("float"), rows) == pytest.approx(expected)


def test_geometric_mean_does_not_overflow() -> None:
    assert from_left(agg.geometric_mean(), [1e300] * 10_000) == pytest.approx(1e300, rel=1e-9)
    assert from_left(agg.geometric_mean(), [1e-300] * 10_000) == pytest.approx(1e-300, rel=1e-9)
    largest = sys.float_info.max
    assert math.isfinite(from_left(agg.geometric_mean(), [largest] * 1000))
    assert from_left(agg.geometric_mean(), [2.0, INF]) == INF


@pytest.mark.parametrize("poison", [NAN, INF, -INF])
@pytest.mark.parametrize("place", [0, 1, 4])
@pytest.mark.parametrize(
    "name", ["variance", "var_pop", "stddev", "stddev_pop", "skewness", "kurtosis", "covariance", "correlation"]
)
def test_nan_and_infinity_poison_moments_wherever_they_are(name: str, place: int, poison: float) -> None:
    values = [1.0, 2.0, 4.0, 8.0]
    values.insert(place, poison)
    aggregate = BUILT_IN[name]()
    rows = [(1.0, value) for value in values] if aggregate.inputs == 2 else values
    assert math.isnan(from_left(aggregate, rows))
    assert math.isnan(from_halves(aggregate, rows))


# Order


@pytest.mark.parametrize(
    "values",
    [
        ["bee", "ant", "cat", "ant"],
        [date(2026, 1, day) for day in (3, 1, 9, 1)],
        [Decimal(text) for text in ("3.5", "-1", "9", "-1")],
        [Decimal("3.5"), Decimal("NaN"), Decimal(9), Decimal("NaN")],
    ],
    ids=["strings", "dates", "decimals", "decimal NaN"],
)
@pytest.mark.parametrize(
    "name", ["max", "min", "max_count", "min_count", "arg_max", "arg_min", "top_k", "bottom_k", "nth_smallest"]
)
def test_orders_whatever_can_be_compared(name: str, values: list[Any]) -> None:
    rows = list(zip(values, "wxyz", strict=True)) if name.startswith("arg") else values
    assert agrees(from_left(build(name), rows), REFERENCES[name].expected(rows))


def test_quantiles_of_other_types() -> None:
    assert from_left(agg.median(), [Decimal(1), Decimal(2)]) == Decimal("1.5")
    assert from_left(agg.median(), [date(2026, 1, 3), date(2026, 1, 1), date(2026, 1, 2)]) == date(2026, 1, 2)
    noon = datetime(2026, 1, 1, 12)  # noqa: DTZ001
    assert from_left(agg.median(), [noon, noon + timedelta(hours=2)]) == noon + timedelta(hours=1)
    assert from_left(agg.median(), ["b", "a", "c"]) == "b"


def test_quantiles_of_extremes() -> None:
    largest = sys.float_info.max
    assert from_left(agg.median(), [-largest, largest]) == 0.0
    assert from_left(agg.median(), [INF, INF]) == INF
    assert from_left(agg.median(), [-INF, 1.0]) == -INF
    assert math.isnan(from_left(agg.median(), [1.0, NAN]))
    assert from_left(agg.median(), [1.0, 2.0, NAN]) == 2.0


@given(values=st.lists(quarters, min_size=1), q=st.floats(0, 1))
def test_quantile_interpolates_as_numpy_does(values: list[float], q: float) -> None:
    assert from_left(agg.quantile(q=q), values) == pytest.approx(float(np.quantile(values, q)), rel=1e-9, abs=1e-9)


def test_lower_of_order_statistics_reads_only_len_and_select() -> None:
    class Tree:
        def __len__(self) -> int:
            return 4

        def select(self, rank: int) -> int:
            return [10, 20, 30, 40][rank]

    for aggregate, expected in ((agg.median(), 25.0), (agg.quantile(q=1), 40.0), (agg.nth_smallest(i=3), 30)):
        assert aggregate.lower(Tree()) == expected  # type: ignore[arg-type]


def test_sorted_values_are_equal_by_value() -> None:
    assert SortedValues([NAN, 1, -0.0]) == SortedValues([0.0, 1.0, float("nan")])
    assert SortedValues([1]) != SortedValues([1, 1])
    assert SortedValues([1, NAN]) != SortedValues([1, 2])
    assert SortedValues([1]) != (1,)


# Collections and sums of objects


def test_sum_of_strings_and_lists_keeps_the_order() -> None:
    assert from_left(agg.sum(), ["a", "b", "c"]) == "abc"
    assert from_left(agg.sum(), [[1], [2, 3]]) == [1, 2, 3]
    assert from_left(agg.mean(), [Decimal(1), Decimal(2)]) == Decimal("1.5")
    assert not agg.sum().commutative


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


# Sketches


def test_approx_count_distinct_is_close_and_does_not_depend_on_the_order() -> None:
    kinds = agg.approx_count_distinct()
    values = [index % 3000 for index in range(4000)]
    shuffled = random.Random(1).sample(values, len(values))
    results = {from_left(kinds, values), from_halves(kinds, values), from_halves(kinds, shuffled)}
    assert len(results) == 1
    assert results.pop() == pytest.approx(3000, rel=0.05)


@pytest.mark.parametrize("q", [0.0, 0.01, 0.5, 0.99, 1.0])
def test_approx_quantile_has_a_close_rank(q: float) -> None:
    values = random.Random(1).sample(range(2000), 2000)
    assert from_halves(agg.approx_quantile(q=q), values) / 2000 == pytest.approx(q, abs=0.04)


def test_frequency_is_never_too_low_and_hardly_too_high() -> None:
    source = random.Random(1)
    values = [int(source.expovariate(0.01)) for _ in range(2000)]
    counts = Counter(values)
    whole = reduce(agg.frequency(item=0).combine, lifted(agg.frequency(item=0), values))
    errors = [agg.frequency(item=item).lower(whole) - count for item, count in counts.items()]
    assert min(errors) >= 0
    assert sum(error > 20 for error in errors) <= 0.01 * len(errors)


def test_may_contain_has_no_false_negatives_and_false_positives_only_above_4096() -> None:
    whole = reduce(agg.may_contain(item=0).combine, lifted(agg.may_contain(item=0), range(4000)))
    assert all(agg.may_contain(item=item).lower(whole) for item in range(0, 4000, 7))
    assert not any(agg.may_contain(item=item).lower(whole) for item in range(4000, 5000, 7))
    more = reduce(agg.may_contain(item=0).combine, lifted(agg.may_contain(item=0), range(4000, 6000)), whole)
    assert all(agg.may_contain(item=item).lower(more) for item in range(0, 6000, 7))
    assert not all(agg.may_contain(item=item).lower(more) for item in range(6000, 7000, 7))


def test_sketches_take_equal_numbers_for_the_same_value() -> None:
    numbers = [1, 1.0, True, np.int64(1), np.float64(1.0)]
    assert from_left(agg.approx_count_distinct(), [*numbers, 0.0, -0.0, NAN, float("nan"), 2**70]) == 4
    assert from_left(agg.frequency(item=1.0), numbers) == 5
    assert from_left(agg.may_contain(item=1), [1.0])
    with pytest.raises(TypeError, match="Sketches take numbers and strings, not the date"):
        from_left(agg.may_contain(item=0), [date(2026, 1, 1)])


@pytest.mark.parametrize("name", ["frequency", "may_contain"])
def test_an_item_must_be_named(name: str) -> None:
    with pytest.raises(TypeError, match=f"{name} answers a question about one item: name it"):
        BUILT_IN[name]("x")


def test_datasketches_is_imported_by_the_first_value() -> None:
    script = """
import sys, sash.aggregates as agg
kinds = agg.approx_count_distinct()
assert not {"datasketches", "_datasketches", "numba"} & set(sys.modules)
kinds.lift(1)
assert "datasketches" in sys.modules
"""
    subprocess.run([sys.executable, "-c", script], check=True)


# Compiled


COLUMNS: dict[str, list[list[Any]]] = {
    "float": [[0.5, 3.0, -2.0, 3.0], [1.0, NAN, 7.0], [NAN, 2.0, NAN], [-0.0, 0.0], [INF, 1.0, -INF], [1e300, 1e-300]],
    "int": [[5, -3, 0, 5], [7, 7], [2**30, -(2**30), 1]],
    "bool": [[True, False, True], [False, False]],
}


@pytest.mark.parametrize("kind", COLUMNS)
@pytest.mark.parametrize("name", PARTIALS_OF_NUMBERS)
def test_compiled_equals_interpreted(name: str, kind: str) -> None:
    interpreted = BUILT_IN[name]().of_kind(kind)
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
    aggregates = {name: factory() for name, factory in BUILT_IN.items() if name not in others}
    found = {name for name, aggregate in aggregates.items() if is_numbers(aggregate.lift(*[1.0] * aggregate.inputs))}
    assert found == set(PARTIALS_OF_NUMBERS)


# Capabilities that engines ask for

NO_SQL = {
    **dict.fromkeys(["median", "quantile", "nth_smallest", "mode", "count_distinct"], "needs all values"),
    **dict.fromkeys(["collect", "collect_distinct", "concat"], "needs all values, in order"),
    **dict.fromkeys(["first_n", "last_n", "top_k", "bottom_k"], "SQL has no bounded list that merges"),
    **dict.fromkeys(["max_count", "min_count"], "SQL would need two passes over the rows"),
    **dict.fromkeys(["frequency", "may_contain"], "the sketches of Spark have another format"),
    "product": "SQL has no product",
}
"""The aggregates whose slices Spark SQL cannot compute, and why."""
LOADS = pa.schema({"load": pa.float64(), "plug": pa.string(), "ts": pa.int64()})


def test_every_aggregate_has_sql_or_a_reason() -> None:
    assert {name for name in BUILT_IN if not build(name).has_sql} == set(NO_SQL)


def test_sql_of_an_aggregate_needs_no_registration() -> None:
    def total_distance(source: SqlInput) -> SqlForm | str:
        if not source.are_numbers:
            return source.refuse()
        return source.form({"distance": f"sum(abs({source.column.as_double}))"}, unchanged)

    distance = Aggregate(name="distance", lift=abs, combine=operator.add, gives="number", sql=total_distance)
    assert not distance.is_built_in
    form = sql_form("way", distance("load"), LOADS, "`ts`", ())
    assert isinstance(form, SqlForm)
    assert form.expressions == {"distance of load": "sum(abs(`load`))"}
    assert form.aggregate.columns == ("distance of load",)
    assert from_left(form.aggregate, [2.5, 4.0]) == 6.5
    assert sql_form("way", distance("plug"), LOADS, "`ts`", ()) == (
        "'way': Spark SQL has no partials of distance of string."
    )


@pytest.mark.parametrize("function", ["lift", "combine", "lower"])
def test_sql_belongs_to_the_functions_that_it_was_declared_with(function: str) -> None:
    other = replace(agg.sum("load"), **{function: max})  # type: ignore[arg-type]
    assert sql_form("x", other, LOADS, "`ts`", ()) == "'x': Spark SQL has no partials of sum."


def test_sql_does_not_depend_on_the_name() -> None:
    renamed = replace(agg.max("load"), name="peak")
    form = sql_form("x", renamed, LOADS, "`ts`", ())
    assert isinstance(form, SqlForm)
    assert form.expressions == {"max of load": "max(`load`)"}


def test_sql_uses_the_variant_for_the_column() -> None:
    schema = pa.schema({"x": pa.int64(), "y": pa.float32()})
    whole, real = (sql_form("s", agg.sum(column), schema, "`ts`", ()) for column in ("x", "y"))
    assert isinstance(whole, SqlForm)
    assert isinstance(real, SqlForm)
    assert from_left(whole.aggregate, [(1, 5), (0, 7)]) == 2**32 + 12  # high and low halves
    assert from_left(real.aggregate, [1.5, 2.0]) == 3.5


def test_the_sql_of_a_mean_ends_with_the_column_that_determines_its_type() -> None:
    form = sql_form("m", agg.mean("x"), pa.schema({"x": pa.decimal128(28, 3)}), "`ts`", ())
    assert isinstance(form, SqlForm)
    assert form.aggregate.columns == ("count of x", "sum of x")


def test_concat_shows_timestamps_in_their_own_zone() -> None:
    noon = pa.array([datetime(2026, 1, 1, 12, tzinfo=UTC)], pa.timestamp("us", "America/New_York"))
    query = sash.Query({"text": agg.concat("x")}, sash.window.rows(2))
    assert query.run(pa.table({"x": noon}))["text"].to_pylist() == ["2026-01-01 07:00:00-05:00"]


def test_capabilities_of_built_in_aggregates() -> None:
    built = {name: build(name) for name in BUILT_IN}
    assert all(aggregate.is_built_in for aggregate in built.values())
    assert {name for name, aggregate in built.items() if aggregate.exact_decimals} == {"sum", "spread"}
    assert {name for name, aggregate in built.items() if aggregate.sorts} == {"top_k", "bottom_k"}
    assert {name for name, aggregate in built.items() if aggregate.hashes} == {
        *("collect_distinct", "count_distinct", "mode"),
    }


# Mistakes


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
    with pytest.raises(TypeError, match=r"arg_max takes 2 column\(s\)"):
        agg.arg_max("load")


def test_fewer_values_than_needed_and_none() -> None:
    assert {name for name in BUILT_IN if build(name).at_least == 2} == {
        *("variance", "stddev", "covariance", "correlation"),
        "nth_smallest",  # its reference asks for the second
    }
    assert agg.nth_smallest(i=4).at_least == 4
    assert {name for name in BUILT_IN if build(name).empty == 0} == {
        *("count", "count_distinct", "approx_count_distinct", "frequency"),
    }
