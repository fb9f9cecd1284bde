"""What can't work is refused in a sentence that says what to do, before any row is touched."""

from __future__ import annotations

from typing import Any

import pytest

import sash
from sash import agg, window

HOUR = window.time("1h", slide="10m")


def declared(**given: Any) -> sash.Query:
    return sash.Query(**{"aggregates": {"top": agg.max("x")}, "windows": window.rows(3), **given})


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"aggregates": {}}, r"give a dictionary of named ones"),
        ({"aggregates": {"top": max}}, r"'top': <built-in function max> is not a named aggregate"),
        ({"aggregates": {"top": agg.max()}}, r"'top' is max of 1 column\(s\), but 0 are named"),
        ({"windows": {}}, r"windows={}: give a window"),
        ({"windows": "1h"}, r"windows='1h': give a window"),
        ({"windows": {"hour": "1h"}}, r"'hour': '1h' is not a named window"),
        ({"windows": {"a": window.rows(3), "b": HOUR}, "time": "ts"}, r"each row \(a\) and for each window \(b\) don't mix"),
        ({"windows": HOUR}, r'time\("1h", slide="10m"\) is a window of time: say which column holds it'),
        ({"windows": window.time("1h")}, r"is a window of time"),
        ({"windows": window.session("1h")}, r"is a window of time"),
        ({"lateness": "1h"}, r"lateness says how late rows may come, so there must be a time"),
        ({"lateness": "-1h", "time": "ts"}, r"lateness='-1h': it must not be negative"),
        ({"by": 3}, r"by=3: give the name of a column"),
        ({"by": ["key", "key"]}, r"by=\['key', 'key'\] names a column twice"),
        ({"order_by": [""]}, r"order_by=\[''\]: give the name of a column"),
        ({"time": 3}, r"time=3: give the name of the column"),
        ({"algorithm": "magic"}, r'There is no algorithm "magic": choose from recalculate, '),
        ({"algorithm": "subtract_on_evict"}, r"max has no inverse, so subtract_on_evict can't evict it: use two_stacks"),
        ({"algorithm": "order_statistics_tree"}, r"max is not read by rank"),
        ({"algorithm": "slickdeque", "aggregates": {"m": agg.skewness("x")}}, r"slickdeque can't"),
        ({"objective": "speed"}, r'objective=\'speed\': it is "throughput"'),
        ({"slicing": "thin"}, r"slicing='thin': it is auto, cutty, pairs, panes, or none"),
        ({"slicing": "cutty"}, r"rows\(3\) gives a result for each row, so there is nothing to slice"),
        ({"slicing": "panes", "windows": window.session(3), "time": "t"}, r"session\(3\) has no fixed slide, which panes need"),
        ({"slicing": "pairs", "windows": window.delta("x", 3, slide=1)}, r"is not known before it ends, so it can't be sliced"),
        ({"windows": HOUR, "time": "ts", "by": "top"}, r"two columns named 'top': rename an aggregate"),
        ({"windows": HOUR, "time": "ts", "by": "window_start"}, r"two columns named 'window_start'"),
        (
            {"aggregates": {"a_b": agg.max("x"), "a": agg.min("x")}, "windows": {"b_c": window.rows(2), "c": window.rows(3)}},
            r"two columns named 'a_b_c'",
        ),
    ],
)  # fmt: skip
def test_queries_say_what_is_wrong_with_them_when_they_are_declared(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises((ValueError, TypeError), match=sentence) as caught:
        declared(**given)
    assert str(caught.value).endswith(".")


def test_a_tree_that_keeps_values_is_not_made_of_slices() -> None:
    given: dict[str, Any] = {"windows": HOUR, "time": "ts", "aggregates": {"m": agg.median("x")}}
    with pytest.raises(ValueError, match="order_statistics_tree keeps values, and slices have none"):
        declared(**given, slicing="cutty", algorithm="order_statistics_tree")
