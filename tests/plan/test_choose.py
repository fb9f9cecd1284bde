from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from helpers.cases import AGGREGATES, affine

import sash
from sash import agg, catalogue
from sash.algorithms import find_algorithm
from sash.algorithms.base import SlideCost, SpaceCost
from sash.plan.choose import OBJECTIVES, Choice, candidates, choose_algorithm, cost_of

RANGES = ((), (2,), (3_000,), (2, 3), (10, 100, 1_000), (60, 120, 180, 240, 300), tuple(range(5, 105)))
HOURS = (60, 120, 180, 240, 300)
POWERS = (2, 16, 128, 1_024, 8_192)
INTEGERS = agg.sum().of_kind("int")


@pytest.mark.parametrize(
    ("aggregate", "options", "expected"),
    [
        (agg.max(), {}, "two_stacks"),
        (agg.stddev(), {}, "two_stacks"),
        (affine, {}, "two_stacks"),
        (agg.sum().of_kind("float"), {}, "two_stacks"),
        (INTEGERS, {}, "subtract_on_evict"),
        (agg.median(), {}, "order_statistics_tree"),
        (agg.count_distinct(), {}, "occurrence_table"),
        (agg.mode(), {}, "occurrence_tournament"),
        (agg.max(), {"ranges": POWERS}, "slickdeque"),
        (agg.arg_max(), {"ranges": POWERS}, "slickdeque"),
        (agg.max(), {"ranges": HOURS}, "slideside"),
        (agg.max(), {"ranges": (1,), "use": "whole"}, "recalculate"),
        (INTEGERS, {"ranges": HOURS}, "slideside"),
        (agg.stddev(), {"ranges": (2, 1_000)}, "flatfit"),
        (agg.stddev(), {"ranges": HOURS}, "slideside"),
        (agg.stddev(), {"ranges": (10, 60, 1_440), "use": "kept"}, "flatfat"),
        (agg.median(), {"ranges": (2, 3)}, "recalculate"),
        (agg.collect_distinct(), {"ranges": (2, 3), "objective": "latency"}, "recalculate"),
        (agg.max(), {"objective": "latency"}, "daba"),
        (INTEGERS, {"objective": "latency"}, "subtract_on_evict"),
        (agg.median(), {"objective": "latency"}, "order_statistics_tree"),
        (agg.max(), {"objective": "latency", "ranges": HOURS}, "flatfat"),
        (INTEGERS, {"objective": "latency", "ranges": HOURS}, "slickdeque"),
    ],
)
def test_the_chain(aggregate: sash.Aggregate[Any], options: dict[str, Any], expected: str) -> None:
    assert choose_algorithm(aggregate, **options).algorithm == expected


@pytest.mark.parametrize("name", AGGREGATES)
def test_what_is_chosen_can_do_it(name: str) -> None:
    aggregate = AGGREGATES[name]
    for ranges, objective in product(RANGES, OBJECTIVES):
        choice = choose_algorithm(aggregate, ranges, objective=objective)
        form = find_algorithm(choice.algorithm, aggregate)
        about = form.about
        assert not about.needs or about.needs in aggregate.laws  # what has no exact inverse is never subtracted
        assert len(ranges) <= 1 or about.ranges != "one"
        assert len(form(aggregate, ranges)) == 0
        assert choice.space == about.space
        assert str(choice.combines) in (
            (str(about.worst), f"{about.worst} for each range")
            if objective == "latency"
            else (str(about.amortised), str(about.amortised_many))
        )
        assert choice.reason


@pytest.mark.parametrize("name", AGGREGATES)
def test_where_several_fit_all_of_them_were_measured(name: str) -> None:
    aggregate = AGGREGATES[name]
    for ranges, objective in product(RANGES, OBJECTIVES):
        names, _ = candidates(aggregate, ranges, objective=objective)
        assert all(cost_of(one, aggregate, ranges) > 0 for one in names if len(names) > 1)


def growth(worst: SlideCost) -> int:
    """How a bound of the catalogue grows: not with n, with its logarithm, or with n."""
    return 0 if isinstance(worst.amount, int) else 1 if "log" in worst.amount else 2


@pytest.mark.parametrize("name", [name for name, one in AGGREGATES.items() if "holistic" not in one.laws])
@pytest.mark.parametrize("ranges", [(), HOURS])
def test_no_bound_is_better_than_that_of_what_is_chosen_for_latency(name: str, ranges: tuple[int, ...]) -> None:
    aggregate = AGGREGATES[name]
    choice = choose_algorithm(aggregate, ranges, objective="latency")
    chosen = find_algorithm(choice.algorithm, aggregate).about
    fitting = [
        about
        for about in catalogue()
        if (not about.needs or about.needs in aggregate.laws)
        and about.order != "any"
        and (not ranges or about.ranges == "many")
    ]
    assert growth(chosen.worst) == min(growth(about.worst) for about in fitting)


def test_a_choice_says_what_it_costs() -> None:
    assert choose_algorithm(INTEGERS, HOURS) == Choice(
        "slideside",
        "exactly invertible, several ranges; measured against slickdeque, flatfit, flatfat, b_int",
        combines=SlideCost("q + 2"),
        space=SpaceCost(3),
        worst=SlideCost("n for each range"),
    )
    assert choose_algorithm(agg.max(), ranges=(2, 3), objective="latency").combines == SlideCost(
        "3 log2 n for each range"
    )
    assert choose_algorithm(agg.max(), objective="latency").combines == SlideCost(6)


def test_measured_costs_decide_where_several_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    def cheap(*names: str, cost: float = 0.5) -> None:
        monkeypatch.setattr("sash.plan.choose.cost_of", lambda name, *_: cost if name in names else 1.0)

    cheap("slideside", "flatfit")
    assert choose_algorithm(agg.max(), HOURS).algorithm == "slideside"
    cheap("slideside", cost=0.95)  # another run may find it the other way round
    assert choose_algorithm(agg.max(), HOURS).algorithm == "slickdeque"
    cheap("two_stacks")
    assert choose_algorithm(agg.max(), objective="latency").algorithm == "daba"
    cheap("b_int")
    assert choose_algorithm(agg.max(), ranges=HOURS, objective="latency").algorithm == "b_int"


def test_what_is_asked_for_by_name_is_taken() -> None:
    choice = choose_algorithm(agg.sum(), algorithm="subtract_on_evict")  # inexact, but asked for
    assert (choice.algorithm, choice.reason, choice.combines) == (
        "subtract_on_evict",
        "asked for by name",
        SlideCost(2),
    )
    assert choose_algorithm(agg.max(), HOURS, algorithm="b_int", objective="latency").algorithm == "b_int"
    assert choose_algorithm(agg.max(), algorithm="fiba").algorithm == "fiba"


@pytest.mark.parametrize(
    ("aggregate", "options", "sentence"),
    [
        (agg.max(), {"objective": "speed"}, 'objective="speed" does not exist. Use "throughput" for'),
        (agg.max(), {"objective": "", "algorithm": "daba"}, 'objective="" does not exist'),
        (agg.max(), {"algorithm": "three_stacks"}, 'no algorithm "three_stacks". Did you mean'),
        (
            agg.max(),
            {"algorithm": "subtract_on_evict"},
            "max has no inverse, so subtract_on_evict cannot evict it. Use",
        ),
        (
            agg.max(),
            {"algorithm": "daba", "ranges": (2, 3)},
            "daba answers one range only. Leave ranges out, or use flatfat",
        ),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(
    aggregate: sash.Aggregate[Any], options: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ValueError, match=r"^[A-Za-z].*[.]$") as refused:
        choose_algorithm(aggregate, **options)
    assert sentence in str(refused.value)
