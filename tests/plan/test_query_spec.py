"""An invalid query raises an error that says what to do, before any row is read."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import sash
from sash import agg, window
from sash.aggregates.base import Aggregate

HOUR = window.time("1h", slide="10m")


def declared(**given: Any) -> sash.Query:
    return sash.Query(**{"aggregates": {"top": agg.max("x")}, "windows": window.rows(3), **given})


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"aggregates": {}}, r"aggregates={} is empty\. Use aggregates="),
        ({"aggregates": []}, r"aggregates=\[\] is empty\. Use aggregates="),
        ({"aggregates": 3}, r"aggregates=3 is not a dictionary of aggregates"),
        ({"aggregates": [agg.max("x"), agg.min]}, r"aggregates: min is a function, not an aggregate\. Use agg\.min\("),
        ({"aggregates": [3]}, r"aggregates: 3 is not an aggregate\. Use agg\.max\("),
        ({"aggregates": [agg.top_k("x", 3), agg.max()]}, r"'max': max needs 1 column, but has 0"),
        ({"aggregates": [agg.rank("x"), agg.max("x"), agg.rank("x")]}, r"aggregates: rank\(\"x\"\) and rank\(\"x\"\) are both named 'rank_x'\. Use a dictionary to name them"),
        ({"aggregates": (agg.histogram("x", [0, 1]), agg.histogram("x", [0, 9]))}, r"are both named 'histogram_x'"),
        ({"windows": []}, r"windows=\[\] is empty\. Use windows="),
        ({"windows": [window.rows(2), 3]}, r"windows=\[rows\(2\), 3\] is neither a window nor a dictionary or a list of windows"),
        ({"windows": [window.rows(2), window.rows(2)]}, r"windows: rows\(2\) and rows\(2\) are both named 'rows_2'\. Use a dictionary"),
        ({"aggregates": window.rows(2)}, r"aggregates=rows\(2\) is a window; windows come second"),
        ({"aggregates": {3: agg.max("x")}}, r"aggregates: 3: the name is not a string\."),
        ({"aggregates": {"top": max}}, r"'top': max is a function, not an aggregate\. Use agg\.max\("),
        ({"aggregates": {"top": agg.mean}}, r"'top': mean is a function, not an aggregate\. Use agg\.mean\("),
        ({"aggregates": {"top": "sum"}}, r"'top': 'sum' is not an aggregate\. Use agg\.sum\("),
        ({"aggregates": {"top": 3}}, r"'top': 3 is not an aggregate\. Use \"peak\": agg\.max\("),
        ({"aggregates": {"top": agg.max()}}, r"'top': max needs 1 column, but has 0\. Name it, as in max\(\"load\"\)"),
        ({"windows": {}}, r'windows={} is empty\. Use windows=window\.time\("1h"\)'),
        ({"windows": "15 min"}, r"windows='15 min' is neither .* Use windows=window\.time\(\"15 min\"\)"),
        ({"windows": 3}, r"windows=3 is neither .* Use windows=window\.rows\(3\)"),
        ({"windows": {"hour": "1h"}}, r"'hour': '1h' is not a window\. Use windows={\"w\": window\.time\(\"1h\"\)}"),
        ({"windows": {"a": window.rows(3), "b": HOUR}, "time": "ts"}, r"result per row \(a\) and windows with a result per window \(b\)"),
        ({"windows": HOUR}, r'time\("1h", slide="10m"\) needs a time column\. Name it'),
        ({"windows": window.time("1h")}, r"needs a time column"),
        ({"windows": window.session("1h")}, r"needs a time column"),
        ({"lateness": "1h"}, r"lateness needs a time column\. Name it"),
        ({"lateness": "-1h", "time": "ts"}, r"lateness='-1h' must not be negative"),
        ({"by": 3}, r"by=3 must be the name of a column, or a list of names"),
        ({"by": ["key", "key"]}, r"by=\['key', 'key'\] names a column twice"),
        ({"order_by": [""]}, r"order_by=\[''\] must be the name of a column"),
        ({"time": 3}, r"time=3 is not the name of a column\. Name the column that orders the rows"),
        ({"algorithm": "magic"}, r"algorithm='magic' does not exist\. Use auto, recalculate, "),
        ({"algorithm": "two_stack"}, r"algorithm='two_stack' does not exist\. Did you mean 'two_stacks'\?"),
        ({"algorithm": "DABA"}, r"algorithm='DABA' does not exist\. Did you mean 'daba'\?"),
        ({"algorithm": "subtract_on_evict"}, r"max has no inverse, so subtract_on_evict cannot evict it\. Use two_stacks"),
        ({"algorithm": "order_statistics_tree"}, r"max is not read by rank"),
        ({"algorithm": "slickdeque", "aggregates": {"m": agg.skewness("x")}}, r"slickdeque cannot"),
        ({"objective": "speed"}, r"objective='speed' does not exist\. Use throughput or latency"),
        ({"slicing": "thin"}, r"slicing='thin' does not exist\. Use auto, cutty, pairs, panes or none"),
        ({"slicing": "pane"}, r"slicing='pane' does not exist\. Did you mean 'panes'\?"),
        ({"slicing": "cutty"}, r"rows\(3\) has a result per row, which slices cannot give\. Leave slicing="),
        ({"slicing": "panes", "windows": window.session(3), "time": "t"}, r"session\(3\) has no fixed slide, which panes need\. Use"),
        ({"slicing": "pairs", "windows": window.delta("x", 3, slide=1)}, r"cannot be sliced, because its begin is not known before its end"),
        ({"windows": HOUR, "time": "ts", "by": "top"}, r"two columns named 'top'\. Rename an aggregate"),
        ({"windows": HOUR, "time": "ts", "by": "window_start"}, r"two columns named 'window_start'"),
        (
            {"aggregates": {"a_b": agg.max("x"), "a": agg.min("x")}, "windows": {"b_c": window.rows(2), "c": window.rows(3)}},
            r"two columns named 'a_b_c'",
        ),
    ],
)  # fmt: skip
def test_an_invalid_query_raises_when_it_is_declared(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises((ValueError, TypeError), match=sentence) as caught:
        declared(**given)
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize(
    ("aggregate", "algorithm"),
    [
        (agg.mode("x"), "occurrence_tournament"),
        (agg.median("x"), "order_statistics_tree"),
        (agg.count_distinct("x"), "occurrence_table"),
    ],
)
def test_an_algorithm_that_needs_values_names_the_window_that_excludes_rows(
    aggregate: Aggregate[Any], algorithm: str
) -> None:
    windows = [window.rows(3), window.rows(before=1, after=1, exclude="row")]
    expected = f'^{algorithm} needs values, but rows\\(before=1, after=1, exclude="row"\\) combines the partials .* exclude out.$'
    with pytest.raises(ValueError, match=expected):
        sash.Query({"m": aggregate}, windows, algorithm=algorithm)


def test_an_algorithm_that_needs_values_cannot_go_over_slices() -> None:
    given: dict[str, Any] = {"windows": HOUR, "time": "ts", "aggregates": {"m": agg.median("x")}}
    with pytest.raises(ValueError, match="order_statistics_tree needs values, but slices have only partials"):
        declared(**given, slicing="cutty", algorithm="order_statistics_tree")


def test_columns_may_come_from_an_iterator() -> None:
    assert declared(by=(name for name in ("a", "b")))._declared.by == ("a", "b")


@pytest.mark.parametrize(
    ("aggregate", "name"),
    [
        (agg.count(), "count"),
        (agg.count("x"), "count_x"),
        (agg.max("x"), "max_x"),
        (agg.arg_max("x", "y"), "arg_max_x_y"),
        (agg.quantile("x", 0.9), "quantile_x_0.9"),
        (agg.quantile("x", [0.5, 0.9]), "quantile_x"),
        (agg.top_k("x", 3), "top_k_x_3"),
        (agg.concat("x", ", "), "concat_x"),
        (agg.frequency("x", "lamp"), "frequency_x_lamp"),
        (agg.rank("x"), "rank_x"),
        (agg.rank("x", method="min", pct=True), "rank_x_min_pct"),
        (agg.histogram("x", [0, 1]), "histogram_x"),
        (agg.per_value("k", agg.quantile("x", 0.9)), "quantile_x_0.9_per_k"),
        (agg.per_value("k"), "count_per_k"),
        (sash.aggregate("own", lift=abs, combine=max)("x"), "own_x"),
    ],
    ids=repr,
)
def test_an_aggregate_of_a_list_names_itself(aggregate: Any, name: str) -> None:
    assert list(declared(aggregates=[aggregate])._declared.aggregates) == [name]


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (window.time("1h"), "1h"),
        (window.time("24h", slide="1m"), "24h_slide_1m"),
        (window.time("1h", closed="left"), "1h_closed_left"),
        (window.time(10), "time_10"),
        (window.rows(100), "rows_100"),
        (window.rows(100, slide=10), "rows_100_slide_10"),
        (window.tumbling("1h"), "tumbling_1h"),
        (window.cumulative("1d", "1h"), "cumulative_1d_1h"),
        (window.session("30m"), "session_30m"),
        (window.delta("x", 0.5), "delta_x_0.5"),
        (window.punctuated("x"), "punctuated_x"),
    ],
    ids=repr,
)
def test_a_window_of_a_list_names_itself(given: Any, name: str) -> None:
    assert list(declared(windows=[given], time="ts")._declared.windows) == [name]


def test_a_list_is_named_as_a_dictionary_is() -> None:
    lists = declared(aggregates=[agg.max("x"), agg.mean("x")], windows=[window.rows(2), window.time(9)], time="t")
    named = declared(
        aggregates={"max_x": agg.max("x"), "mean_x": agg.mean("x")},
        windows={"rows_2": window.rows(2), "time_9": window.time(9)},
        time="t",
    )
    rows = pa.table({"t": [1, 2], "x": [1.0, 2.0]})
    assert lists.run(rows).equals(named.run(rows))
    assert repr(lists) == repr(named)
    names = ["max_x_rows_2", "max_x_time_9", "mean_x_rows_2", "mean_x_time_9"]
    assert lists.run(rows).column_names[2:] == names
    periodic = declared(aggregates=[agg.max("x")], windows=[window.tumbling(2), window.tumbling(4)], time="t")
    assert periodic.run(rows)["window"].unique().to_pylist() == ["tumbling_2", "tumbling_4"]
