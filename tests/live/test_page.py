"""The page in a browser: data arrives, controls work, it comes back after a restart, and it can be used without a mouse."""

from __future__ import annotations

import struct
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.chromium import Tab, find_chromium

from live.conftest import ServerProcess

CHARTS = "window.sash && [...sash.charts.values()].length === 4 && [...sash.charts.values()].every((chart) => chart.columns?.[0].length)"
KEY = "house 1, household 2"


@pytest.fixture
def tab(browser: Tab) -> Iterator[Tab]:
    browser.problems.clear()
    browser.screen(1280, 900)
    yield browser
    browser.call("Page.navigate", url="about:blank")


@pytest.fixture
def page(tab: Tab, server: ServerProcess) -> Tab:
    tab.open(server.url)
    tab.wait(CHARTS)
    return tab


def choose(tab: Tab, control: str, value: str) -> None:
    tab.run(
        f"(() => {{ const it = document.getElementById('{control}'); it.value = '{value}'; it.dispatchEvent(new Event('change')); }})()"
    )


def test_without_chromium_the_tests_say_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(RuntimeError, match="need Chromium, and none was found"):
        find_chromium()


def test_data_arrives_and_all_text_is_text(page: Tab) -> None:
    newest = page.run("sash.charts.get('1 minute').columns[0].at(-1)")
    page.wait(f"sash.charts.get('1 minute').columns[0].at(-1) > {newest}")
    assert page.run("document.getElementById('title').textContent") == "Generated <b>results</b>"
    assert page.run("document.querySelectorAll('#title *').length") == 0
    page.wait("document.getElementById('n-rows').textContent > '0'")
    assert page.run("document.getElementById('n-state').textContent") == "12 MB"
    page.wait("document.getElementById('plan').naturalWidth > 300")
    page.wait("document.getElementById('plan-text').textContent.includes('slices')")
    assert page.problems == []


def test_the_picker_the_line_and_the_zoom_change_the_charts_and_the_address(page: Tab) -> None:
    assert page.run("[...document.querySelectorAll('#keys option')].length") == 2
    before = page.run("sash.charts.get('1 minute').columns[2][0]")
    choose(page, "key", KEY)
    page.wait(f"Math.abs(sash.charts.get('1 minute').columns[2][0] - {before}) > 1e-9")
    choose(page, "line", "readings")
    page.wait("sash.charts.get('1 minute').columns[2].every((value) => value === 60)")
    page.run("[...document.querySelectorAll('#zooms input')].find((input) => input.value === '1 hour').click()")
    page.wait("sash.charts.size === 1 && sash.charts.get('1 hour')?.columns")
    assert "zoom=1+hour" in page.run("location.hash")
    page.call("Page.reload")
    page.wait("window.sash?.charts.size === 1 && sash.charts.get('1 hour')?.columns")
    assert page.run("document.getElementById('key').value") == KEY
    assert page.problems == []


def test_a_burst_shows_corrections_of_the_past(page: Tab) -> None:
    assert page.run("sash.charts.get('1 minute').corrected") == 0
    page.run("document.getElementById('burst').click()")
    page.wait("sash.charts.get('1 minute').corrected >= 40")
    assert "late rows" in page.run("document.getElementById('note').textContent")
    [before, after] = page.run(
        "(() => { const [, , last, , age, before] = sash.charts.get('1 minute').columns;"
        " const at = age.findIndex((one) => one >= 0); return [before[at], last[at]]; })()"
    )
    assert after - before > 300
    page.wait("document.getElementById('n-late').textContent === '12'")
    assert page.problems == []


def test_the_query_box_draws_results_and_shows_errors(page: Tab) -> None:
    page.wait("document.getElementById('query').value.includes('SELECT')")
    page.run("document.getElementById('run').click()")
    page.wait("!document.getElementById('answer').hidden && document.querySelectorAll('#answer-chart canvas').length")
    assert page.run("document.querySelectorAll('#answer-legend li').length") == 6
    assert page.run("document.querySelectorAll('#answer-table tbody tr').length") > 10
    page.run(
        "document.getElementById('query').value = 'SELECT maxx(load) FROM rows [RANGE 5 MINUTES SLIDE 1 MINUTE ON ts]'"
    )
    page.run("document.getElementById('run').click()")
    error = page.wait("!document.getElementById('error').hidden && document.getElementById('error').textContent")
    assert "maxx" in error
    assert page.run("document.getElementById('answer').hidden")
    page.run(
        "document.getElementById('query').value = \"SELECT max(load) FROM '/etc/passwd' [RANGE 5 MINUTES SLIDE 1 MINUTE ON ts]\""
    )
    page.run("document.getElementById('run').click()")
    page.wait("document.getElementById('error').textContent.includes('FROM names the file')")
    assert page.problems == []


def test_a_query_has_limits_and_can_be_cancelled(page: Tab) -> None:
    page.wait("document.getElementById('query').value.includes('SELECT')")
    tables = ", ".join(f"rows AS r{i}" for i in range(3))
    slow = f"SELECT count(*) AS n FROM (SELECT max(r0.ts) AS ts FROM {tables}) [RANGE 1 DAY SLIDE 1 DAY ON ts]"
    page.run(f"document.getElementById('query').value = {slow!r}")
    assert page.run("document.getElementById('cancel').disabled")
    page.run("document.getElementById('run').click()")
    page.wait("!document.getElementById('cancel').disabled")
    page.run("document.getElementById('cancel').click()")
    page.wait("document.getElementById('error').textContent === 'The query was cancelled.'")
    assert page.run("!document.getElementById('run').disabled && document.getElementById('cancel').disabled")
    settings = "SELECT max(current_setting('memory_limit')) AS m FROM rows [RANGE 5 MINUTES SLIDE 5 MINUTES ON ts]"
    page.run(f"document.getElementById('query').value = {settings!r}")
    page.run("document.getElementById('run').click()")
    page.wait("document.getElementById('error').textContent.includes('current_setting')")
    assert page.problems == []


def test_keys_are_searched_and_named_by_all_their_columns(page: Tab) -> None:
    assert page.run("document.getElementById('key-label').textContent") == "House, household"
    choose(page, "key", "household 2")  # a part of the text is enough
    page.wait(f"document.getElementById('key').value === '{KEY}'")
    page.wait("location.hash.includes('household+2')")
    choose(page, "key", "nowhere")
    page.wait("document.getElementById('note').textContent.includes('nowhere')")
    assert page.run("document.getElementById('key').value") == KEY


def test_the_page_comes_back_after_the_server_was_killed(tab: Tab) -> None:
    server = ServerProcess()
    tab.open(server.url)
    tab.wait(CHARTS)
    choose(tab, "key", KEY)
    tab.run("sash.charts.get('1 minute').onSelect(1800006000, 1800012000)")
    tab.wait("sash.charts.get('1 minute').panel.from === 1800006000")
    server.kill()
    tab.wait("document.getElementById('connection').textContent.includes('lost')")
    time.sleep(1)
    again = ServerProcess(port=server.port)
    try:
        tab.wait("document.getElementById('connection').textContent === 'Connected'")
        tab.wait("document.getElementById('note').textContent.includes('restarted')")
        tab.run("[...sash.charts.values()].forEach((chart) => (chart.columns = null))")
        tab.run("document.getElementById('burst').click()")
        tab.wait(CHARTS)
        assert tab.run("document.getElementById('key').value") == KEY
        assert tab.run("sash.charts.get('1 minute').panel.from") == 1800006000
    finally:
        again.kill()
    expected = ("WebSocket connection", "ERR_CONNECTION")  # what Chromium says of each try
    assert [text for text in tab.problems if not any(one in text for one in expected)] == []


def test_the_page_can_be_used_with_the_keyboard_and_read_aloud(page: Tab) -> None:
    reached = []
    for _ in range(14):
        page.press("Tab")
        reached.append(
            page.run("document.activeElement.id || document.activeElement.className || document.activeElement.name")
        )
    order = ["skip", "theme", "key", "line", "zoom", "follow", "burst", "plot"]
    assert [one for one in dict.fromkeys(reached) if one in order] == order
    page.run("document.querySelector('.plot').focus()")
    page.press("ArrowLeft")
    assert "mean" in page.wait("document.getElementById('announce').textContent")
    wide = page.run("(({panel}) => panel.to - panel.from)(sash.charts.get('1 minute'))")
    page.press("+")
    page.wait(f"(({{panel}}) => panel.to - panel.from)(sash.charts.get('1 minute')) < {wide} * 0.6")
    assert page.run("document.getElementById('follow').getAttribute('aria-pressed')") == "false"
    page.press("Escape")
    page.wait("document.getElementById('follow').getAttribute('aria-pressed') === 'true'")
    page.run("document.getElementById('values').open = true")
    page.wait("document.querySelectorAll('#values-table tbody tr').length >= 10")
    nodes = page.call("Accessibility.getFullAXTree")["nodes"]
    named = {
        (node["role"]["value"], node["name"]["value"]) for node in nodes if node.get("name") and not node["ignored"]
    }
    roles = {"button", "combobox", "textbox", "radio"}
    assert {("combobox", "House, household"), ("combobox", "Show"), ("button", "Run"), ("radio", "1 hour")} <= named
    unnamed = [
        node for node in nodes if not node["ignored"] and node["role"]["value"] in roles and not node["name"]["value"]
    ]
    assert unnamed == []
    assert any(role in ("image", "img") and "windows of 1 day" in name for role, name in named)
    assert page.problems == []


def test_light_dark_and_narrow_screens(page: Tab, tmp_path: Path) -> None:
    background = "getComputedStyle(document.body).backgroundColor"
    light = page.run(background)
    pictures = [page.screenshot(tmp_path / "light.png")]
    page.screen(1280, 900, "dark")
    page.wait(f"{background} !== '{light}'")
    pictures.append(page.screenshot(tmp_path / "dark.png"))
    for chosen in ("light", "dark"):
        page.run("document.getElementById('theme').click()")
        assert page.run("document.documentElement.dataset.theme") == chosen
    page.run("document.getElementById('theme').click()")
    page.screen(360, 740)
    page.wait("sash.charts.get('1 day').chart.width < 340")
    assert page.run("document.documentElement.scrollWidth") <= 360  # nothing sticks out
    pictures.append(page.screenshot(tmp_path / "narrow.png"))
    assert all(colours(picture) > 20 for picture in pictures)
    assert page.problems == []


def colours(png: bytes) -> int:
    """Return how many different values the bytes of a picture have: an empty page has few."""
    parts, place = [], 8
    while place < len(png):
        (length,) = struct.unpack(">I", png[place : place + 4])
        if png[place + 4 : place + 8] == b"IDAT":
            parts.append(png[place + 8 : place + 8 + length])
        place += length + 12
    return len(set(zlib.decompress(b"".join(parts))))
