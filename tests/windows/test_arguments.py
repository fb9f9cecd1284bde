"""Windows refuse wrong arguments in a sentence that says what to do."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from sash import window


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: window.rows(0), r"range=0 must be at least 1"),
        (lambda: window.rows(-3), r"range=-3 must be at least 1"),
        (lambda: window.rows(2.5), r"range=2.5 is not a whole number of rows"),  # type: ignore[arg-type]
        (lambda: window.rows(True), r"range=True is not a whole number of rows"),
        (lambda: window.rows("1h"), r"For a window of time use window.time"),  # type: ignore[arg-type]
        (lambda: window.rows(3, slide=0), r"slide=0 must be at least 1"),
        (lambda: window.rows(3, min_rows=5), r"min_rows=5 is more than the 3 rows that a window can hold, so no window would"),
        (lambda: window.rows(3, slide=9, min_rows=4), r"min_rows=4 is more than the 3 rows"),
        (lambda: window.rows(before=2, after=-1, min_rows=3), r"min_rows=3 is more than the 2 rows"),
        (lambda: window.rows(3, exclude="row", min_rows=3), r"min_rows=3 is more than the 2 rows"),
        (lambda: window.rows(3, min_rows=0), r"min_rows=0 must be at least 1"),
        (lambda: window.time(0), r"range=0 must be more than 0"),
        (lambda: window.time("-1h"), r"range='-1h' must be more than 0"),
        (lambda: window.time(timedelta(0)), r"must be more than 0"),
        (lambda: window.time("1h", slide="0s"), r"slide='0s' must be more than 0"),
        (lambda: window.time("1h", empty=True), r"empty= needs slide="),
        (lambda: window.time("1h", slide="1h", empty="yes"), r"empty='yes' must be True or False"),  # type: ignore[arg-type]
        (lambda: window.tumbling("1h", closed="rigth"), r"closed='rigth' does not exist\. Did you mean 'right'\?"),  # type: ignore[arg-type]
        (lambda: window.tumbling("1h", min_rows=0), r"window.tumbling: min_rows=0 must be at least 1"),
        (lambda: window.cumulative("2h", "1h", closed="neither"), r"window.cumulative: closed='neither' applies to"),  # type: ignore[arg-type]
        (lambda: window.cumulative("2h", "1h", min_rows="1"), r"window.cumulative: min_rows='1' is not a whole number"),  # type: ignore[arg-type]
        (lambda: window.session("2h", min_rows=0), r"window.session: min_rows=0 must be at least 1"),
        (lambda: window.delta("x", 1, min_rows=0), r"window.delta: min_rows=0 must be at least 1"),
        (lambda: window.punctuated("x", min_rows=0), r"window.punctuated: min_rows=0 must be at least 1"),
        (lambda: window.custom(lambda row: (1, 1), min_rows=0), r"window.custom: min_rows=0 must be at least 1"),  # noqa: ARG005
        (lambda: window.time("soon"), r"range='soon' is not a duration. Use a number and a unit \(ns, us, ms"),
        (lambda: window.time("1 fortnight"), r"is not a duration"),
        (lambda: window.time(1.5), r"range=1.5 is not a duration"),  # type: ignore[arg-type]
        (lambda: window.time("0.1ns"), r"is not a whole number of nanoseconds"),
        (lambda: window.time("1h", slide=5), r"1h and 5 have different units"),
        (lambda: window.time(60, slide=5, offset="1m"), r"60 and 1m have different units"),
        (lambda: window.time("1h", closed="up"), r"closed='up' does not exist\. Use right, both, left, neither"),
        (lambda: window.time("1h", slide="1m", closed="both"), r"closed='both' applies to the window of a row"),
        (lambda: window.time("1h", offset="1m"), r"offset= needs slide="),
        (lambda: window.cumulative("24h", "7h"), r"range='24h' is not a multiple of step='7h'"),
        (lambda: window.cumulative("1h", "2h"), r"step='2h' is more than range='1h', so no window would end"),
        (lambda: window.session(0), r"gap=0 must be more than 0"),
        (lambda: window.delta("", 3), r"'' is not the name of a column"),
        (lambda: window.delta("x", 0), r"threshold=0 must be more than 0"),
        (lambda: window.delta("x", float("nan")), r"threshold=nan must be more than 0, and finite"),
        (lambda: window.delta("x", "3"), r"threshold='3' is not a number"),  # type: ignore[arg-type]
        (lambda: window.delta("x", 3, slide=-1), r"slide=-1 must be more than 0"),
        (lambda: window.punctuated(3), r"3 is not the name of a column"),  # type: ignore[arg-type]
        (lambda: window.custom(3), r"3 is not a function"),  # type: ignore[arg-type]
    ],
)  # fmt: skip
def test_windows_say_what_is_wrong_with_them(make: Callable[[], object], sentence: str) -> None:
    with pytest.raises((ValueError, TypeError), match=sentence) as caught:
        make()
    assert str(caught.value).endswith(".")
