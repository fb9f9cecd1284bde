"""Random windows: every kind of `sash.window`, with every argument."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from fuzz.calls import Call, Code, Ticks
from fuzz.random_columns import ZONES
from fuzz.random_tables import TimeKind

CLOSED = ("right", "both", "left", "neither")
EXCLUDED = (None, None, "row", "ties", "group")
CALENDAR = ("1mo", "1q", "1y", "2mo", "1d", "1w", "3d", "2w")


def given(**keywords: Any) -> dict[str, Any]:
    """Return the arguments that are not None; unlimited ends are written as code."""
    return {name: one for name, one in keywords.items() if one is not None}


class RandomWindows:
    """Draws windows for a type of times."""

    def __init__(self, chooser: random.Random, time: TimeKind | None) -> None:
        self.chooser = chooser
        self.time = time

    def draw(self) -> dict[str, Call]:
        """Return one or more windows by name, all with a result per row or all with a result per window."""
        chooser = self.chooser
        kinds = self.per_row() if chooser.random() < 0.5 else self.per_window()
        count = chooser.choice([1, 1, 1, 1, 2, 3])
        return {name: chooser.choice(kinds)() for name in ("w", "u", "q")[:count]}

    def draw_for_labels(self) -> dict[str, Call]:
        """Return windows that end with their row."""
        chooser = self.chooser
        kinds = [self.last_rows, self.last_time, self.expanding, self.earlier_rows, self.earlier_time]
        if self.time is not None and self.time.has_calendar:
            kinds.append(self.last_calendar)
        made = {name: chooser.choice(kinds)() for name in ("w", "u", "q")[: chooser.choice([1, 1, 2])]}
        for call in made.values():
            call.keywords.pop("exclude", None)  # a label is no row
        return made

    def per_row(self) -> list[Callable[[], Call]]:
        kinds = [self.last_rows, self.rows_around, self.rows_around, self.expanding, self.delta]
        if self.time is not None:
            kinds += [self.last_time, self.last_time, self.time_around, self.time_around]
            if self.time.has_calendar:
                kinds += [self.last_calendar, self.last_calendar]
        return kinds

    def per_window(self) -> list[Callable[[], Call]]:
        kinds = [self.sliding_rows, self.sliding_delta, self.punctuated, self.custom]
        if self.time is not None:
            kinds += [
                self.sliding_time,
                self.sliding_time,
                self.sliding_time,
                self.tumbling,
                self.cumulative,
                self.session,
            ]
            if self.time.has_calendar:
                kinds += [self.calendar, self.calendar, self.calendar]
        return kinds

    # -- arguments -----------------------------------------------------------------------------------------------------

    def length(self, low: int = 1, high: int = 12) -> Ticks:
        assert self.time is not None
        return Ticks(self.chooser.randint(low, high) * self.time.grain)

    def least(self, most: int = 3) -> int | None:
        return self.chooser.choice([None, None, None, self.chooser.randint(1, max(1, most))])

    def exclude(self) -> str | None:
        return self.chooser.choice(EXCLUDED)

    def end(self) -> str | None:
        return self.chooser.choice([None, None, "left", "right"])

    def zone(self) -> str:
        """Return a zone; columns without one are local already."""
        return self.chooser.choice(ZONES) if self.time is not None and self.time.zone else "UTC"

    def offset(self) -> Ticks | None:
        if self.time is not None and self.time.type_text == "pa.date64()":
            return None if self.chooser.random() < 0.5 else self.length(-20, 20)
        return self.chooser.choice([None, None, self.length(-20, 20)])

    # -- a result per row ----------------------------------------------------------------------------------------------

    def last_rows(self) -> Call:
        count = self.chooser.randint(1, 12)
        closed = self.chooser.choice([None, None, None, *CLOSED]) if count > 1 else None
        excluded = self.chooser.choice([None, None, None, self.exclude()])
        return Call("window.rows", (count,), given(closed=closed, exclude=excluded, min_rows=self.least(count - 1)))

    def rows_around(self) -> Call:
        before, after = self._sides()
        room = 9 if before is None or after is None else before + after
        sides: dict[str, Any] = {"before": Code(str(before)), "after": Code(str(after))}
        return Call("window.rows", (), sides | given(exclude=self.exclude(), min_rows=self.least(min(3, room))))

    def earlier_rows(self) -> Call:
        before = self.chooser.randint(1, 6)
        sides = {"before": Code(str(self.chooser.choice([before, None]))), "after": self.chooser.randint(-before, 0)}
        return Call("window.rows", (), sides)

    def expanding(self) -> Call:
        return Call(
            "window.expanding", (), given(exclude=self.chooser.choice([None, self.exclude()]), min_rows=self.least())
        )

    def last_time(self) -> Call:
        closed = self.chooser.choice([None, *CLOSED])
        excluded = self.chooser.choice([None, None, self.exclude()])
        return Call("window.time", (self.length(),), given(closed=closed, exclude=excluded, min_rows=self.least()))

    def time_around(self) -> Call:
        before, after = self._sides()
        sides = {"before": self._side(before), "after": self._side(after)}
        options = given(closed=self.chooser.choice([None, *CLOSED]), exclude=self.exclude(), min_rows=self.least())
        return Call("window.time", (), sides | options)

    def earlier_time(self) -> Call:
        before = self.chooser.randint(1, 6)
        sides = {
            "before": self._side(self.chooser.choice([before, None])),
            "after": self._side(self.chooser.randint(-before, 0)),
        }
        return Call(
            "window.time", (), sides | given(closed=self.chooser.choice([None, *CLOSED]), min_rows=self.least())
        )

    def last_calendar(self) -> Call:
        closed = self.chooser.choice([None, *CLOSED])
        range_, zone = self._calendar_range()
        excluded = self.chooser.choice([None, None, self.exclude()])
        return Call("window.time", (range_,), given(closed=closed, exclude=excluded, min_rows=self.least(), tz=zone))

    def delta(self) -> Call:
        return Call("window.delta", ("v", self.chooser.choice([1, 2, 5, 0.5, 2.25])), given(min_rows=self.least()))

    # -- a result per window ---------------------------------------------------------------------------------------------

    def sliding_rows(self) -> Call:
        count = self.chooser.randint(1, 12)
        return Call("window.rows", (count,), {"slide": self.chooser.randint(1, 12)} | given(min_rows=self.least(count)))

    def sliding_delta(self) -> Call:
        slide = self.chooser.choice([1, 2, 5, 0.5])
        return Call(
            "window.delta", ("v", self.chooser.choice([1, 2, 5, 2.25])), {"slide": slide} | given(min_rows=self.least())
        )

    def punctuated(self) -> Call:
        return Call("window.punctuated", ("mark",), given(min_rows=self.least()))

    def custom(self) -> Call:
        made = self.chooser.choice(["Alternating", "one_or_two", "until_mark"])
        return Call("window.custom", (Code(made),), given(min_rows=self.least()))

    def session(self) -> Call:
        return Call("window.session", (self.length(),), given(min_rows=self.least()))

    def sliding_time(self) -> Call:
        range_, slide = self.chooser.choice([(self.length(), self.length()), (self.length(5, 50), self.length(1, 4))])
        return Call("window.time", (range_,), {"slide": slide} | self._of_windows())

    def tumbling(self) -> Call:
        return Call("window.tumbling", (self.length(),), self._of_windows())

    def cumulative(self) -> Call:
        step = self.length(1, 4)
        return Call("window.cumulative", (Ticks(step.count * self.chooser.randint(1, 5)), step), self._of_windows())

    def calendar(self) -> Call:
        chooser = self.chooser
        months = chooser.random() < 0.5
        zone = chooser.choice([None, self.zone()])
        choices = ("1mo", "2mo", "1q", "1y") if months else ("1d", "2d", "1w", "3d", "2w")
        range_, slide = chooser.choice(choices), chooser.choice(choices)
        hours = chooser.choice([None, None, "1h", "36h", "-2h", "1mo" if months else "1d"])
        dates = self.time is not None and "date" in self.time.type_text
        options = given(
            closed=self.end(),
            min_rows=self.least(),
            empty=chooser.choice([None, None, True]),
            tz=None if dates else zone,
        )
        options |= given(offset=None if dates else hours)
        match chooser.choice(["sliding", "tumbling", "cumulative"]):
            case "sliding":
                return Call("window.time", (range_,), {"slide": slide} | options)
            case "tumbling":
                return Call("window.tumbling", (range_,), options)
        pair = chooser.choice(
            [("1y", "1mo"), ("1q", "1mo"), ("1y", "1q")] if months else [("1w", "1d"), ("2w", "1w"), ("4d", "2d")]
        )
        return Call("window.cumulative", pair, options)

    def _of_windows(self) -> dict[str, Any]:
        empty = True if self.chooser.random() < 0.2 else None
        return given(offset=self.offset(), closed=self.end(), min_rows=self.least(), empty=empty)

    def _calendar_range(self) -> tuple[str, str | None]:
        chooser = self.chooser
        dates = self.time is not None and "date" in self.time.type_text
        if dates or chooser.random() < 0.5:
            return chooser.choice(["1mo", "2mo", "1q", "1y"]), None if dates else chooser.choice([None, self.zone()])
        return chooser.choice(["1d", "3d", "1w", "2w"]), self.zone()

    def _sides(self) -> tuple[int | None, int | None]:
        """Return how far a frame reaches before and after a row: also without limit, and with a gap."""
        choices = [None, *range(-4, 7)]
        while True:
            before, after = self.chooser.choice(choices), self.chooser.choice(choices)
            if before is None or after is None or before + after >= 0:
                return before, after

    def _side(self, count: int | None) -> Any:
        assert self.time is not None
        if count is None:
            return Code("None")
        return Ticks(count * self.time.grain) if count else 0
