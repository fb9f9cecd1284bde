from __future__ import annotations

import time as clock
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sash import window
from sash.plan.pictures.svg import INKS
from sash.plan.pictures.window import WIDTH
from sash.windows import Window

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
]
RIDES = [
    {"ts": datetime(2024, 5, 3, 9, tzinfo=UTC) + timedelta(minutes=minute), "kind": kind, "km": minute / 2}
    for minute, kind in enumerate(["start", "", "start", "", "stop", "", "stop", "", "start", "stop"])
]


def shapes(picture: str) -> list[ET.Element]:
    return list(ET.fromstring(picture).iter())  # noqa: S314 — Sash's own text


def words(picture: str) -> list[str]:
    return [shape.text or "" for shape in shapes(picture) if shape.tag == f"{SVG}text"]


def bars(picture: str) -> list[ET.Element]:
    return [
        shape
        for shape in shapes(picture)
        if shape.tag == f"{SVG}rect" and "sash-stroke-rim" in shape.get("class", "") and shape.get("height") == "14"
    ]


def combined(picture: str) -> list[str]:
    """Return what windows are said to be combined of."""
    found = [shape for shape in shapes(picture) if shape.tag == f"{SVG}text" and float(shape.get("x", 0)) > 650]
    return [shape.text or "" for shape in found]


@pytest.mark.parametrize("drawn", [*KINDS, *EXTREME], ids=repr)
def test_every_kind_has_a_picture(drawn: Window) -> None:
    begun = clock.perf_counter()
    picture = drawn._repr_svg_()
    assert clock.perf_counter() - begun < 20  # milliseconds; going through all slides would take hours
    assert picture is not None
    assert len(picture) < 60_000
    assert repr(drawn) in words(picture)
    assert 3 <= len(bars(picture)) <= 6
    assert any(word.startswith(("No slices: ", "Cut ")) for word in words(picture))
    for shape in shapes(picture):
        for name in ("x", "x1", "x2", "cx"):
            assert -1 <= float(shape.get(name, 0)) <= WIDTH


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
    assert combined(picture) == ["a ⊕ … ⊕ h", "b ⊕ … ⊕ i", "c ⊕ … ⊕ j", "d ⊕ … ⊕ k", "e ⊕ … ⊕ l"]
    assert "Cut where windows begin (cutty): a window has 1,440 slices." in words(picture)
    assert words(picture).count("⋯") == 2


def test_windows_without_slices_say_why() -> None:
    assert "No slices: there is a result for each row." in words(window.rows(3).draw())
    assert "No slices: where a window begins is not known before it ends." in words(
        window.delta("x", 2, slide=1).draw()
    )
    assert 'No slices: slicing="none" was asked for.' in words(window.tumbling("1h").draw(slicing="none"))


def test_a_window_of_ones_own_is_drawn_over_rows() -> None:
    rides = window.custom(lambda row: (row["kind"] == "start", row["kind"] == "stop"))
    assert rides._repr_svg_() is None
    with pytest.raises(ValueError, match="No rows can be made up for custom"):
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
    for drawn in (window.tumbling("36500d"), window.session("36500d"), window.rows(2**61), window.time(2**61)):
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
        ([], "0 rows were given; a picture shows from 1 to 200"),
        ([{"ts": 1}] * 201, "201 rows were given"),
        ([{"at": 1}], "there are rows without 'ts': name it with time="),
        ([{"ts": 2}, {"ts": 1}], "rows must be in order of ts: sort them"),
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


def test_pictures_are_legible_on_dark_pages() -> None:
    picture = window.rows(3).draw()
    style = next(shape.text or "" for shape in shapes(picture) if shape.tag == f"{SVG}style")
    assert "prefers-color-scheme: dark" in style
    for name, (light, dark) in INKS.items():
        assert f".sash-fill-{name} {{ fill: {dark} }}" in style
        assert light != dark


@given(length=st.integers(1, 10**7), slides=st.integers(1, 3000), offset=st.integers(-(10**7), 10**7))
def test_periodic_windows_of_any_proportion_are_drawn(length: int, slides: int, offset: int) -> None:
    slide = max(1, length // slides)
    assert bars(window.time(length, slide=slide, offset=offset).draw())
    assert bars(window.rows(length, slide=slide).draw())


def test_the_picture_in_the_docs_is_the_one_that_is_drawn() -> None:
    picture = Path(__file__).parent.parent / "docs" / "images" / "window_time.svg"
    assert picture.read_text(encoding="utf-8").rstrip("\n") == window.time("10m", slide="3m").draw()
