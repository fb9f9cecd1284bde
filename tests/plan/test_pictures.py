from __future__ import annotations

import itertools
import time as clock
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sash import window
from sash.plan.pictures.sample import make_sample
from sash.plan.pictures.svg import INKS, width_of
from sash.plan.slicing import own_unit
from sash.windows import Window
from sash.windows.base import as_it_stands, whole_items

SVG = "{http://www.w3.org/2000/svg}"
KINDS = [
    window.rows(3),
    window.rows(100),
    window.rows(5, min_rows=4),
    window.rows(12, slide=5),
    window.rows(100, slide=10),
    window.rows(1000, slide=300),
    window.time("1h"),
    window.time("10m", closed="left"),
    window.time("9m", slide="6m"),
    window.time("24h", slide="1m"),
    window.time("24h", slide="7m", offset="-3m"),
    window.time(10, slide=5),
    window.time(3, slide=1),
    window.tumbling("1h", offset="15m"),
    window.cumulative("4h", "1h"),
    window.cumulative("24h", "1h"),
    window.session("30m"),
    window.session(1),
    window.delta("odometer", 10),
    window.delta("odometer", 10, slide=5),
    window.punctuated("is_checkout"),
]
EXTREME = [
    window.time("365d", slide="1ns"),
    window.cumulative("365d", "1s"),
    window.rows(10**12, slide=7),
    window.rows(10**12, slide=10**11),
    window.rows(10**15),
    window.time(2**59, slide=2**58),
    window.session("3650d"),
    window.session("1ns"),
    window.rows(2**61),
    window.tumbling("36500d"),
    window.time(2**61, slide=2**60),
    window.time("61m", slide="10m"),
    window.time("85m", slide="10m"),
    window.cumulative("9h", "1h"),
]
RIDES = [
    {"ts": datetime(2024, 5, 3, 9, tzinfo=UTC) + timedelta(minutes=minute), "kind": kind, "km": minute / 2}
    for minute, kind in enumerate(["start", "", "start", "", "stop", "", "stop", "", "start", "stop"])
]


def shapes(picture: str) -> list[ET.Element]:
    return list(ET.fromstring(picture).iter())  # noqa: S314 — Sash's own text


def texts(picture: str) -> list[ET.Element]:
    return [shape for shape in shapes(picture) if shape.tag == f"{SVG}text"]


def words(picture: str) -> list[str]:
    return [text.text or "" for text in texts(picture)]


def bars(picture: str) -> list[ET.Element]:
    """Return the bars of windows."""
    return [shape for shape in shapes(picture) if shape.tag == f"{SVG}rect" and "stroke-rim" in shape.get("class", "")]


def hollow(picture: str) -> list[ET.Element]:
    return [bar for bar in bars(picture) if "fill-paper" in bar.get("class", "")]


def combined(picture: str) -> list[str]:
    """Return what windows are combined of: the texts beside their bars."""
    bottoms = [float(bar.get("y", 0)) + float(bar.get("height", 0)) for bar in bars(picture)]
    beside = [
        text
        for text in texts(picture)
        if any(0 < bottom - float(text.get("y", 0)) < 6 for bottom in bottoms)
        and set(text.text or "") <= set("abcdefghijklmnopqrstuvwxyz′…⊕ ")
        and text.text not in ("windows", "")
    ]
    return [text.text or "" for text in beside]


def extent(text: ET.Element) -> tuple[float, float]:
    x, width = float(text.get("x", 0)), width_of(text.text or "", float(text.get("font-size", 12)))
    return (x - width / 2, x + width / 2) if text.get("text-anchor") == "middle" else (x, x + width)


def luminance(colour: str) -> float:
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours as WCAG defines it."""
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("drawn", [*KINDS, *EXTREME], ids=repr)
def test_every_kind_has_a_picture(drawn: Window) -> None:
    begun = clock.process_time()
    picture = drawn._repr_svg_()
    assert clock.process_time() - begun < 5  # seconds; going through all slides would take hours
    assert picture is not None
    assert len(picture) < 60_000
    assert repr(drawn) in words(picture)
    assert 3 <= len(bars(picture)) <= 6
    assert sum(word.startswith("Slices: ") for word in words(picture)) == 1
    if not drawn.per_row and drawn.cuts is not None:
        assert len(combined(picture)) == len(bars(picture))


@pytest.mark.parametrize("drawn", [*KINDS, *EXTREME], ids=repr)
def test_nothing_lies_outside_of_the_canvas_and_labels_do_not_overlap(drawn: Window) -> None:
    picture = drawn.draw()
    canvas = shapes(picture)[0]
    width, height = float(canvas.get("width", 0)), float(canvas.get("height", 0))
    for shape in shapes(picture):
        for name in ("x", "x1", "x2", "cx"):
            assert 0 <= float(shape.get(name, 0)) <= width
        for name in ("y", "y1", "y2", "cy"):
            assert 0 <= float(shape.get(name, 0)) <= height
    for text in texts(picture):
        assert extent(text)[0] >= 0
        assert extent(text)[1] <= width or text.text == repr(drawn)  # a bold title is measured in another way
    lines: dict[str, list[tuple[float, float]]] = {}
    for text in texts(picture):
        lines.setdefault(text.get("y", ""), []).append(extent(text))
    for line in lines.values():
        assert all(older[1] <= newer[0] + 1 for older, newer in itertools.pairwise(sorted(line)))


@pytest.mark.parametrize(
    "drawn",
    [
        window.rows(3),
        window.rows(12, slide=5),
        window.time("9m", slide="6m"),
        window.time(10, slide=3, offset=2),
        window.tumbling("1h", offset="15m"),
        window.cumulative("4h", "1h"),
    ],
    ids=repr,
)
def test_the_windows_are_those_that_a_query_finds(drawn: Window) -> None:
    sample = make_sample(drawn, "", None, "time")
    assert sample is not None
    by_rows = sample.unit == "rows"
    rows = whole_items([] if by_rows else sample.places, [0, len(sample.places)], unit=own_unit(drawn))
    bounds = drawn.bounds(rows, drawn.memory.new(1), as_it_stands)
    lefts, rights = (bounds.begins, bounds.ends) if by_rows else (bounds.starts, bounds.stops)
    assert lefts is not None
    assert rights is not None
    found = set(zip(lefts.tolist(), rights.tolist(), strict=True))
    assert len(sample.windows) >= 5
    assert {(bar.left, bar.right) for bar in sample.windows} <= found


@pytest.mark.parametrize(
    ("slicing", "expected"),
    [
        ("cutty", ["a ⊕ b′", "b ⊕ c′", "c ⊕ d′", "d ⊕ e′", "e ⊕ f′"]),
        ("pairs", ["a ⊕ b ⊕ c", "c ⊕ d ⊕ e", "e ⊕ f ⊕ g", "g ⊕ h ⊕ i", "i ⊕ j ⊕ k"]),
        ("panes", ["a ⊕ b ⊕ c", "c ⊕ d ⊕ e", "e ⊕ f ⊕ g", "g ⊕ h ⊕ i", "i ⊕ j ⊕ k"]),
    ],
)
def test_windows_are_the_combine_of_their_slices(slicing: str, expected: list[str]) -> None:
    assert combined(window.time("9m", slide="6m").draw(slicing=slicing)) == expected


def test_slices_of_rows_are_cut_as_a_query_cuts_them() -> None:
    picture = window.rows(12, slide=5).draw()  # begins after rows 3, 8, 13, …; ends after rows 5, 10, 15, …
    assert combined(picture)[:3] == ["a ⊕ b′", "a ⊕ b ⊕ c′", "b ⊕ c ⊕ d′"]
    assert combined(window.rows(10, slide=5).draw())[:3] == ["a", "a ⊕ b", "b ⊕ c"]


def test_a_window_of_many_slides_leaves_out_what_is_between() -> None:
    picture = window.time("24h", slide="1m").draw()
    assert combined(picture) == ["a ⊕ … ⊕ f", "b ⊕ … ⊕ g", "c ⊕ … ⊕ h", "d ⊕ … ⊕ i", "e ⊕ … ⊕ j"]
    assert "Slices: cut where windows begin (cutty), every 1m; 1,440 per window." in words(picture)
    assert words(picture).count("⋯") == 2
    assert [label for label in ("0", "1m", "4m", "5m", "1d", "1d4m") if label in words(picture)] == [
        "0",
        "1m",
        "4m",
        "1d",
        "1d4m",
    ]
    assert {"1", "5", "100", "104"} <= set(words(window.rows(100).draw()))


def test_windows_without_slices_say_why() -> None:
    assert "Slices: none, because every row has its own window." in words(window.rows(3).draw())
    unknown = "Slices: none, because the begin of a window is known only when it ends."
    assert unknown in words(window.delta("x", 2, slide=1).draw())
    assert 'Slices: none, because slicing="none" is set.' in words(window.tumbling("1h").draw(slicing="none"))


def test_slices_that_are_too_many_are_not_drawn() -> None:
    picture = window.time("1m", slide="1s").draw(RIDES, time="ts")
    assert "Slices: cut where windows begin (cutty), every 1s; 60 per window, too many to draw." in words(picture)
    assert combined(picture) == []


def test_windows_with_too_few_rows_are_hollow() -> None:
    picture = window.rows(5, min_rows=4).draw()
    assert (len(bars(picture)), len(hollow(picture))) == (6, 2)
    assert "Hollow windows have fewer than 4 rows: their result is null." in words(picture)
    for drawn in (window.rows(5), window.rows(100, min_rows=50), window.time("1h", min_rows=2)):
        assert not hollow(drawn.draw())


def test_a_window_of_ones_own_is_drawn_over_rows() -> None:
    rides = window.custom(lambda row: (row["kind"] == "start", row["kind"] == "stop"))
    assert rides._repr_svg_() is None
    with pytest.raises(ValueError, match="There are no sample rows for custom"):
        rides.draw()
    picture = rides.draw(RIDES)
    assert combined(picture) == ["a ⊕ b′", "b′", "c"]  # a row between two windows is in the slice before it
    assert "custom(<lambda>)" in words(picture)


@pytest.mark.parametrize(
    ("drawn", "expected"),
    [
        (window.time("4m", slide="2m"), ["a ⊕ b", "b ⊕ c", "c ⊕ d"]),
        (window.session("1m"), ["a"]),
        (window.time("24h", slide="1m"), []),
    ],
    ids=repr,
)
def test_ones_own_rows_have_their_own_times(drawn: Window, expected: list[str]) -> None:
    picture = drawn.draw(RIDES, time="ts")
    assert combined(picture)[: len(expected)] == expected
    assert [word for word in words(picture) if word.startswith("9h")]
    assert bars(picture)


def test_windows_that_times_of_64_bits_cannot_hold_have_no_picture() -> None:
    for drawn in (window.session("36500d"), window.time(2**61)):
        assert drawn._repr_svg_() is None


def test_ones_own_columns_are_drawn() -> None:
    near = window.delta("km", 1.0).draw(RIDES)
    assert "km" in words(near)
    assert len(bars(near)) == 6
    rows: list[dict[str, Any]] = [{"end": number == 2} for number in range(4)]
    assert len(bars(window.punctuated("end").draw(rows))) == 1


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ([], "0 rows were given, but a picture shows 1 to 200"),
        ([{"ts": 1}] * 201, "201 rows were given"),
        ([{"at": 1}], "some rows have no 'ts'. Name the time column with time="),
        ([{"ts": 2}, {"ts": 1}], "the rows are not in order of ts. Sort them"),
    ],
    ids=["none", "many", "missing", "unsorted"],
)
def test_rows_that_cannot_be_drawn(rows: list[dict[str, Any]], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        window.session(3).draw(rows, time="ts")


def test_slicing_that_cannot_be_is_refused_as_a_query_does() -> None:
    with pytest.raises(ValueError, match="has no fixed slide, which panes need"):
        window.session("1h").draw(slicing="panes")


def test_names_are_escaped() -> None:
    assert "delta('a<b & \"c\"', 3)" in words(window.delta('a<b & "c"', 3).draw())


def test_pictures_are_legible_on_light_and_dark_pages() -> None:
    picture = window.time("9m", slide="6m").draw()
    [style] = [shape.text or "" for shape in shapes(picture) if shape.tag == f"{SVG}style"]
    assert style.startswith("@media (prefers-color-scheme: dark)")
    for scheme in (0, 1):
        for ink, paper in (
            ("text", "paper"),
            ("note", "paper"),
            ("edge", "paper"),
            ("edge", "slice"),
            ("text", "slice"),
        ):
            assert contrast(INKS[ink][scheme], INKS[paper][scheme]) >= 4.5
        assert contrast(INKS["text"][scheme], INKS["window"][scheme]) >= 4.5
        assert contrast(INKS["rim"][scheme], INKS["paper"][scheme]) >= 3
    for shape in shapes(picture):
        for name in shape.get("class", "").split():
            assert f".{name} {{" in style  # every colour of the picture has a dark one


@given(length=st.integers(1, 10**7), slides=st.integers(1, 3000), offset=st.integers(-(10**7), 10**7))
def test_periodic_windows_of_any_proportion_are_drawn(length: int, slides: int, offset: int) -> None:
    slide = max(1, length // slides)
    assert bars(window.time(length, slide=slide, offset=offset).draw())
    assert bars(window.rows(length, slide=slide).draw())


def test_the_picture_in_the_docs_is_the_one_that_is_drawn() -> None:
    picture = Path(__file__).parents[2] / "docs" / "images" / "window_time.svg"
    assert picture.read_text(encoding="utf-8").rstrip("\n") == window.time("10m", slide="3m").draw()
