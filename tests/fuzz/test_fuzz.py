"""The fuzzer itself: seeds are reproducible, some cases pass, and a wrong result, an error and a crash are found."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from fuzz.calls import Call, build
from fuzz.cases import Case, random_case
from fuzz.check import check
from fuzz.random_aggregates import AggregateCall, Input
from fuzz.random_columns import Column
from fuzz.random_tables import RandomTable
from fuzz.shrink import shrink
from sash.engine import run_table

NUMBERS = RandomTable(
    {"id": Column("pa.int64()", list(range(9))), "x": Column("pa.int8()", [3, 1, 4, 1, 5, 9, 2, 6, 5])}, None
)
SUM = AggregateCall("sum", (Input("x"),))
CASE = Case(
    0, NUMBERS, "arrow", "table", {"w": Call("window.rows", (2,))}, {"a": SUM, "b": AggregateCall("count", ())}, (), ()
)


@pytest.mark.parametrize("seed", range(40))
def test_cases_pass_or_are_refused(seed: int) -> None:
    case = random_case(seed)
    if not case.options.get("compiled") and case.kind != "stream":  # those may compile for seconds
        outcome = check(case)
        assert outcome.kind in ("passed", "refused"), f"{outcome.message}\n{case.reproduction}"


def test_a_seed_is_one_case_and_its_text_is_what_runs() -> None:
    for seed in range(200):
        case = random_case(seed)
        assert case.reproduction == random_case(seed).reproduction
        if "dictionary" not in case.table.text:  # its categories have an order of their own
            table: pa.Table = build(case.table.text)
            assert table.equals(case.table.table()) or "nan" in case.table.text


def test_a_wrong_result_is_found_and_made_small(monkeypatch: pytest.MonkeyPatch) -> None:
    assert check(CASE).kind == "passed"
    monkeypatch.setattr("fuzz.expected.recompute_query", lambda *_: wrong(CASE))
    outcome = check(CASE)
    assert (outcome.kind, outcome.signature) == ("finding", "sum, window.rows, arrow")
    assert "row 8, a: 11 instead of 12" in outcome.message


def wrong(case: Case) -> list[dict[str, Any]]:
    """Return results with one that is wrong."""
    rows = build(case.query).run(case.table.table()).to_pylist()
    return [row | {"a": row["a"] + (row["id"] == 8)} for row in rows]


def test_an_error_that_is_no_sentence_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        message = "list index out of range"
        raise IndexError(message)

    monkeypatch.setattr(run_table, "execute", fail)
    outcome = check(CASE)
    assert (outcome.kind, outcome.signature.split(":")[0]) == ("finding", "IndexError at engine/run_table.py")
    smaller, again = shrink(CASE, outcome)
    assert smaller.table.rows <= 1
    assert len(smaller.aggregates) == 1
    assert again.kind == "finding"


def test_a_refusal_is_no_finding() -> None:
    refused = replace(CASE, declared={"algorithm": "order_statistics_tree"})
    assert check(refused).kind == "refused"
