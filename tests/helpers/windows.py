"""The table of windows. The tests of the oracle, of slices, of streams and of Spark take their windows from here.

A new window needs one entry. Every function here makes windows over rows with the columns `t` (time), `v` (a number) and `mark`
(a boolean or null).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from sash import window
from sash.plan.slicing import cycle_of
from sash.windows import Window

Length = Callable[[int], Any]
"""Returns the length of n ticks, as a window takes it: `int` if times are integers, `seconds(10)` if a tick has 10 seconds."""


@dataclass(frozen=True)
class WindowCase:
    """One kind of window."""

    drawn: st.SearchStrategy[Window]
    """With any arguments, over integer times."""
    examples: Callable[[Length], dict[str, Window]]
    """With some arguments, by name."""

    @property
    def example(self) -> Window:
        """One of them, over integer times."""
        return next(iter(self.examples(int).values()))


class Alternating:
    """Custom windows with state: one begins with every second row, one ends with every third if any is open."""

    def __init__(self) -> None:
        self.rows = self.opened = 0

    def __call__(self, row: Mapping[str, Any]) -> tuple[int, int]:
        begin = int(self.rows % 2 == 0) + int(row["mark"] is True)
        self.opened += begin
        self.rows += 1
        end = min(self.opened, 2 if self.rows % 3 == 0 else 0)
        self.opened -= end
        return begin, end


def one_or_two(row: Mapping[str, Any]) -> tuple[int, int]:
    """Custom windows without state: each row begins one that ends with it, and a marked row two."""
    return (2, 2) if row["mark"] else (1, 1)


def until_mark(row: Mapping[str, Any]) -> tuple[int, int]:
    """Custom windows without state: each row begins one, and a marked row ends the oldest."""
    return 1, int(row["mark"] is True)


CLOSED = ("right", "both", "left", "neither")
ENDS = st.sampled_from(["left", "right"])
LENGTHS = st.integers(1, 12)
LEAST = st.integers(1, 3)
EXCLUDED: st.SearchStrategy[Any] = st.sampled_from([None, "row", "ties", "group"])
OFFSETS = st.integers(-20, 20)


def around() -> st.SearchStrategy[dict[str, Any]]:
    """How far a frame reaches before and after a row: also without limit, and with a gap between the row and the frame."""
    far = st.none() | st.integers(-4, 6)
    sides: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries({"before": far, "after": far})

    def has_room(side: dict[str, Any]) -> bool:
        return None in side.values() or side["before"] + side["after"] >= 0

    return sides.filter(has_room)


def room_of(sides: dict[str, Any]) -> int:
    """How many rows a frame holds at most."""
    return 99 if None in sides.values() else sides["before"] + sides["after"] + 1


def sides_with_tail() -> st.SearchStrategy[dict[str, Any]]:
    """How far a frame reaches, and a tail that is not longer."""

    def add_tail(sides: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
        longest = 9 if sides["after"] is None else sides["before"] + sides["after"]
        return st.fixed_dictionaries({"tail": st.integers(1, longest)}).map(lambda tail: sides | tail)

    fits = around().filter(lambda sides: sides["before"] is not None and sides["after"] != -sides["before"])
    return (fits | LENGTHS.map(lambda length: {"before": length, "after": 0})).flatmap(add_tail)


def with_gaps() -> st.SearchStrategy[tuple[int, int]]:
    """A range and a slide, either of which may be longer."""
    return st.tuples(LENGTHS, LENGTHS)


WINDOWS: dict[str, WindowCase] = {
    "sliding time": WindowCase(
        st.builds(
            lambda pair, offset, closed, least: window.time(
                pair[0], slide=pair[1], offset=offset, closed=closed, min_rows=least
            ),
            with_gaps(), OFFSETS, ENDS, LEAST,
        ),
        lambda ticks: {
            "time": window.time(ticks(10), slide=ticks(4)),
            "time_offset": window.time(ticks(9), slide=ticks(6), offset=ticks(-2), min_rows=2),
            "time_right": window.time(ticks(10), slide=ticks(4), closed="right"),
            "time_apart": window.time(ticks(3), slide=ticks(8), offset=ticks(1)),
            "time_apart_right": window.time(ticks(4), slide=ticks(7), closed="right", min_rows=2),
        },
    ),
    "tumbling": WindowCase(
        st.builds(
            lambda length, offset, closed, least: window.tumbling(length, offset=offset, closed=closed, min_rows=least),
            LENGTHS, OFFSETS, ENDS, LEAST,
        ),
        lambda ticks: {
            "tumbling": window.tumbling(ticks(7), offset=ticks(2)),
            "tumbling_right": window.tumbling(ticks(5), closed="right"),
            "tumbling_least": window.tumbling(ticks(7), min_rows=2),
        },
    ),
    "cumulative": WindowCase(
        st.builds(
            lambda step, steps, offset, closed, least: window.cumulative(
                step * steps, step, offset=offset, closed=closed, min_rows=least
            ),
            st.integers(1, 4), st.integers(1, 5), OFFSETS, ENDS, LEAST,
        ),
        lambda ticks: {
            "cumulative": window.cumulative(ticks(12), ticks(4), offset=ticks(1)),
            "cumulative_right": window.cumulative(ticks(8), ticks(2), closed="right", min_rows=2),
        },
    ),
    "with empty windows": WindowCase(
        st.builds(
            lambda pair, offset, closed, least: window.time(
                pair[0], slide=pair[1], offset=offset, closed=closed, min_rows=least, empty=True
            ),
            with_gaps(), OFFSETS, ENDS, LEAST,
        ) | st.builds(
            lambda step, steps, offset, closed: window.cumulative(
                step * steps, step, offset=offset, closed=closed, empty=True
            ),
            st.integers(1, 4), st.integers(1, 5), OFFSETS, ENDS,
        ),
        lambda ticks: {
            "empty": window.time(ticks(4), slide=ticks(2), empty=True),
            "empty_tumbling": window.tumbling(ticks(3), closed="right", empty=True, min_rows=2),
            "empty_apart": window.time(ticks(2), slide=ticks(3), offset=ticks(1), empty=True),
            "empty_cumulative": window.cumulative(ticks(6), ticks(2), empty=True),
        },
    ),
    "sliding rows": WindowCase(
        st.builds(
            lambda pair, least: window.rows(pair[0], slide=pair[1], min_rows=min(least, pair[0])), with_gaps(), LEAST
        ),
        lambda _: {
            "rows": window.rows(4, slide=3),
            "rows_least": window.rows(6, slide=6, min_rows=4),
            "rows_apart": window.rows(2, slide=5),
        },
    ),
    "session": WindowCase(
        st.builds(lambda gap, least: window.session(gap, min_rows=least), LENGTHS, LEAST),
        lambda ticks: {"session": window.session(ticks(3)), "session_least": window.session(ticks(3), min_rows=2)},
    ),
    "punctuated": WindowCase(
        st.builds(lambda least: window.punctuated("mark", min_rows=least), LEAST),
        lambda _: {"punctuated": window.punctuated("mark"), "punctuated_least": window.punctuated("mark", min_rows=2)},
    ),
    "sliding delta": WindowCase(
        st.builds(
            lambda pair, least: window.delta("v", pair[0], slide=pair[1], min_rows=least), with_gaps(), LEAST
        ),
        lambda _: {"delta": window.delta("v", 4, slide=2), "delta_apart": window.delta("v", 2, slide=5, min_rows=2)},
    ),
    "custom": WindowCase(
        st.builds(
            lambda made, least: window.custom(made, min_rows=least),
            st.sampled_from([Alternating, one_or_two, until_mark]), LEAST,
        ),
        lambda _: {
            "custom": window.custom(until_mark),
            "custom_short": window.custom(one_or_two),
            "custom_state": window.custom(Alternating, min_rows=2),
        },
    ),
    "row frame": WindowCase(
        st.builds(lambda length, least: window.rows(length, min_rows=min(length, least)), LENGTHS, LEAST),
        lambda _: {"last_rows": window.rows(3), "last_row": window.rows(1), "last_least": window.rows(9, min_rows=4)},
    ),
    "rows around": WindowCase(
        st.builds(
            lambda sides, exclude, least: window.rows(
                **sides, exclude=exclude, min_rows=least if room_of(sides) - 1 >= least else 1
            ),
            around(), EXCLUDED, LEAST,
        ),
        lambda _: {
            "centred": window.rows(before=2, after=2),
            "rows_ahead": window.rows(before=0, after=3, min_rows=2),
            "earlier_rows": window.rows(before=4, after=-1),
            "rows_since": window.rows(before=None),
            "rows_until": window.rows(before=1, after=None),
            "other_rows": window.rows(before=2, after=2, exclude="row"),
            "no_ties": window.rows(before=4, exclude="ties"),
        },
    ),
    "time around": WindowCase(
        st.builds(
            lambda sides, closed, exclude, least: window.time(**sides, closed=closed, exclude=exclude, min_rows=least),
            around(), st.sampled_from(CLOSED), EXCLUDED, LEAST,
        ),
        lambda ticks: {
            "time_ahead": window.time(before=0, after=ticks(4)),
            "time_around": window.time(before=ticks(3), after=ticks(2), closed="left"),
            "time_gap": window.time(before=ticks(6), after=ticks(-2)),
            "time_until": window.time(before=ticks(2), after=None),
            "other_times": window.time(before=ticks(3), after=ticks(3), exclude="group"),
        },
    ),
    "expanding": WindowCase(
        st.builds(lambda exclude, least: window.expanding(exclude=exclude, min_rows=least), EXCLUDED, LEAST),
        lambda _: {"expanding": window.expanding(), "expanding_others": window.expanding(exclude="row")},
    ),
    "time frame": WindowCase(
        st.builds(
            lambda length, closed, least: window.time(length, closed=closed, min_rows=least),
            LENGTHS, st.sampled_from(CLOSED), LEAST,
        ),
        lambda ticks: {
            **{closed: window.time(ticks(5), closed=closed) for closed in CLOSED},
            "time_least": window.time(ticks(12), min_rows=3),
        },
    ),
    "time frame with a tail": WindowCase(
        st.builds(
            lambda sides, closed, exclude, least: window.time(**sides, closed=closed, exclude=exclude, min_rows=least),
            sides_with_tail(), st.sampled_from(CLOSED), EXCLUDED, LEAST,
        ),
        lambda ticks: {
            "tail": window.time(ticks(10), tail=ticks(4)),
            "tail_left": window.time(ticks(7), tail=ticks(5), closed="left", min_rows=2),
            "tail_gap": window.time(before=ticks(9), after=ticks(-2), tail=ticks(3)),
            "tail_ahead": window.time(before=ticks(6), after=ticks(3), tail=ticks(4), exclude="row"),
        },
    ),
    "delta frame": WindowCase(
        st.builds(lambda threshold, least: window.delta("v", threshold, min_rows=least), st.integers(1, 8), LEAST),
        lambda _: {"last_delta": window.delta("v", 2), "last_delta_least": window.delta("v", 2, min_rows=2)},
    ),
}  # fmt: skip
"""By kind."""
CALENDAR: dict[str, Window] = {
    "month": window.tumbling("1mo"),
    "quarter_monthly": window.time("1q", slide="1mo", offset="36h", min_rows=2),
    "month_right": window.tumbling("1mo", closed="right"),
    "first_months": window.time("1mo", slide="1q"),
    "every_month": window.tumbling("1mo", empty=True),
    "column_day": window.tumbling("1d"),
    "column_weeks": window.cumulative("2w", "1w"),
    "berlin_day": window.tumbling("1d", tz="Europe/Berlin"),
    "berlin_days": window.time("1d", slide="3d", closed="right", empty=True, tz="Europe/Berlin"),
    "berlin_week": window.time("2w", slide="1w", tz="Europe/Berlin"),
    "year_so_far": window.cumulative("1y", "1mo", offset="3mo", tz="America/New_York"),
    "last_month": window.time("1mo"),
    "last_days": window.time("2d", closed="both", tz="Australia/Adelaide"),
    "other_rows_of_year": window.time("1y", exclude="row", min_rows=2),
}
"""Windows of the calendar, which integers do not have."""
PER_WINDOW = {kind: case.drawn for kind, case in WINDOWS.items() if not case.example.per_row}
PER_ROW = {kind: case.drawn for kind, case in WINDOWS.items() if case.example.per_row}


def seconds(tick: int) -> Length:
    """Return lengths for times whose tick has some seconds."""
    return lambda ticks: f"{ticks * tick}s"


def examples(length: Length = int) -> dict[str, Window]:
    """Return some windows of every kind, by name."""
    made = {name: one for case in WINDOWS.values() for name, one in case.examples(length).items()}
    if length is int:
        return made
    return {
        **made,
        **{name: one.in_zone("UTC") for name, one in CALENDAR.items()},
    }  # on Spark, others follow the session


def slicings_of(one: Window) -> tuple[str, ...]:
    """Return how a window can be sliced."""
    return (
        "none",
        *(("panes",) if cycle_of(one) is not None else ()),
        *(("pairs", "cutty") if one.cuts is not None else ()),
    )
