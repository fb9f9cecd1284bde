"""Features from a store, without HTTP: they are those of labels, and wrong requests are errors that say what is right."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

import sash
from sash import agg, window
from sash.serve.feature_service import FeatureService, StatesError
from sash.serve.request_time import epoch, read_moment
from sash.serve.store import Store
from serve.cards import CARDS, END, SHOPS, expected, payments, write_states


@pytest.fixture
def service(store: Store) -> FeatureService:
    rows = payments()
    write_states(store, CARDS, "cards", rows)
    write_states(store, SHOPS, "shops", rows)
    return FeatureService({"cards": CARDS, "shops": SHOPS}, store)


def test_features_are_those_of_labels(service: FeatureService) -> None:
    for minutes in (0, 30, 300, 2_000):
        now = END + timedelta(minutes=minutes)
        keys = [{"card": card} for card in (0, 7, 39, 99)]
        found = service.answer(keys, now.isoformat())
        for key, answers in zip(keys, found, strict=True):
            assert answers == {
                "cards": {
                    "known": key["card"] < 40,
                    "now": now.isoformat().replace("+00:00", "Z"),
                    "features": expected(CARDS, payments(), dict(key), now),
                }
            }


def test_a_request_chooses_queries_by_its_keys(service: FeatureService) -> None:
    both = service.answer([{"card": "3", "shop": "shop 1"}, {"shop": "shop 2"}], END.isoformat())
    assert [sorted(answers) for answers in both] == [["cards", "shops"], ["shops"]]
    assert both[1]["shops"]["features"] == expected(SHOPS, payments(), {"shop": "shop 2"}, END)
    named = service.answer([{"card": 3, "shop": "shop 1"}], END.isoformat(), ["shops", "cards", "shops"])
    assert named == both[:1]
    assert service.answer([], END.isoformat()) == []


WRONG: list[tuple[dict[str, Any], Any, list[str], str]] = [
    ({"card": "x"}, None, [], "The key column 'card' has the type int64, which 'x' does not fit"),
    (
        {"crad": 3},
        None,
        [],
        r"No query has the key column 'crad'\. Did you mean 'card'\? .* cards \(card\), shops \(shop\)",
    ),
    ({}, None, [], "'cards' needs the key column 'card'"),
    ({"card": 3}, None, ["card"], r"There is no query 'card'\. Did you mean 'cards'"),
    ({"card": 3}, None, ["shops"], "No query has the key column 'card'"),
    ({"shop": "x"}, None, ["cards", "shops"], "'cards' needs the key column 'card'"),
    ({"card": 3}, "yesterday", [], "now='yesterday' is not a time"),
    ({"card": 3}, "2026-03-02T10:00:00", [], "2026-03-02T10:00:00Z; in a URL, \\+ is %2B"),
    ({"card": 3}, 17, [], "now=17 is not a time"),
    ({"card": 3}, "2026-03-02T10:00:00Z", [], "is before 2026-03-02"),
]


@pytest.mark.parametrize(("key", "now", "names", "message"), WRONG)
def test_a_wrong_request_is_an_error(
    service: FeatureService, key: dict[str, Any], now: Any, names: list[str], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        service.answer([key], now, names)


def test_without_a_time_it_is_now(service: FeatureService) -> None:
    before = datetime.now(UTC)
    found = service.answer([{"card": 3}])[0]["cards"]
    assert before <= datetime.fromisoformat(found["now"]) <= datetime.now(UTC)
    assert found["features"]["n_1d"] == 0


def test_another_query_under_the_name_is_an_error(store: Store) -> None:
    write_states(store, CARDS, "cards", payments())
    with pytest.raises(StatesError, match=r"The states of 'cards' in .* do not belong to this query"):
        FeatureService({"cards": SHOPS}, store)
    with pytest.raises(LookupError, match=r"has no states of 'shops'. It has 'cards'"):
        FeatureService({"shops": SHOPS}, store)


def test_states_that_are_replaced_while_the_service_runs(store: Store) -> None:
    rows = payments()
    write_states(store, CARDS, "cards", rows)
    service = FeatureService({"cards": CARDS}, store)
    store.drop("cards")
    with pytest.raises(LookupError):
        service.answer([{"card": 3}], END.isoformat())
    narrow = rows.set_column(0, "card", rows["card"].cast(pa.int32()))  # the same query over other types
    write_states(store, CARDS, "cards", narrow)
    found = service.answer([{"card": "3"}], END.isoformat())[0]["cards"]
    assert found["features"] == expected(CARDS, narrow, {"card": 3}, END)
    store.drop("cards")
    write_states(store, SHOPS, "cards", rows)
    with pytest.raises(StatesError):
        service.answer([{"card": 3}], END.isoformat())


@pytest.mark.parametrize(
    "dtype", [pa.int64(), pa.date32(), pa.timestamp("ns"), pa.timestamp("s", "Europe/Berlin"), pa.duration("ms")]
)
def test_times_of_all_types(store: Store, dtype: pa.DataType) -> None:
    query = sash.Query({"n": agg.count()}, window.expanding(), by="card", time="t")
    rows = pa.table(
        {"card": [1, 1], "t": pa.array([3, 5], pa.int32() if pa.types.is_date(dtype) else pa.int64()).cast(dtype)}
    )
    write_states(store, query, "cards", rows)
    service = FeatureService({"cards": query}, store)
    assert query.lookup(None, now=epoch(dtype), header=store.get("cards").layout.header) == {"n": 0}
    if pa.types.is_integer(dtype) or pa.types.is_duration(dtype):
        now = 17 if pa.types.is_integer(dtype) else 0.017  # a length of time is in seconds in JSON
        assert service.answer([{"card": 1}], "17")[0]["cards"] == {"known": True, "now": now, "features": {"n": 2}}
        assert service.answer([{"card": 1}], 17)[0]["cards"]["features"] == {"n": 2}
        with pytest.raises(ValueError, match="Pass now=, a whole number"):
            service.answer([{"card": 1}])
    else:
        assert service.answer([{"card": 1}])[0]["cards"]["features"] == {"n": 2}
    for wrong in ("x", "", 1.5, True, [1]):
        with pytest.raises(ValueError, match=r"is not a time\. The time column has the type"):
            read_moment(wrong, dtype)


def test_deleted_keys_are_not_known(service: FeatureService) -> None:
    assert service.answer([{"card": 3}], END.isoformat())[0]["cards"]["known"]
    service.store.delete("cards", {"card": 3})
    found = service.answer([{"card": 3}], END.isoformat())[0]["cards"]
    assert (found["known"], found["features"]["n_1d"]) == (False, 0)
