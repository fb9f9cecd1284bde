"""The documentation builds as a site without warnings, is complete, and loads nothing from other hosts."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from helpers.documentation import PAGES, ROOT

import sash
from tools.notebook import with_outputs
from tools.pictures.cheat_sheet import read_sections
from tools.pictures.facts import PAGES as ALGORITHM_PAGES
from tools.pictures.facts import with_facts
from tools.pictures.gallery import STRUCTURES, pictures

REDRAW = "run: python -m tools.pictures"
LOADED = {"script": "src", "link": "href", "img": "src", "source": "srcset", "iframe": "src", "object": "data"}
"""The tags whose attribute a browser loads by itself."""
REFERENCE: dict[str, tuple[str, Any]] = {
    "query": ("sash", sash),
    "aggregates": ("sash.agg", sash.agg),
    "windows": ("sash.window", sash.window),
    "spark": ("sash.spark", sash.spark),
    "live": ("sash.live", sash.live),
    "serve": ("sash.serve", sash.serve),
    "testing": ("sash.testing", sash.testing),
}
"""The pages of the reference, and the modules that they document."""


class Loads(HTMLParser):
    """Collects the addresses that a page loads, and the ids that it has."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.found: list[str] = []
        self.ids: set[str] = set()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if address := values.get(LOADED.get(tag, "")):
            self.found.append(address)
        if name := values.get("id"):
            self.ids.add(name)


@cache
def loads_of(page: Path) -> Loads:
    """Read a page once."""
    return Loads(page)


def build(folder: Path) -> Path:
    """Build the site as `make docs` does. Every warning is an error: a page in no toctree, a link that leads nowhere, …"""
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-c", "docs", "-d", str(folder / "trees")]
    built = subprocess.run([*command, ".", str(folder / "html")], capture_output=True, text=True, check=False, cwd=ROOT)
    assert built.returncode == 0, built.stderr
    assert not built.stderr
    return folder / "html"


@pytest.mark.full
def test_the_site_builds_without_warnings_and_is_complete(tmp_path: Path, subtests: pytest.Subtests) -> None:
    site = build(tmp_path)  # once: it takes most of the time, and other workers would build it again
    for check in CHECKS:
        with subtests.test(check.__name__):
            check(site)


def every_page_is_in_the_site(site: Path) -> None:
    missing = [page for page in PAGES if page != "README.md" and not (site / page).with_suffix(".html").exists()]
    assert not missing
    assert "docs/index.html" in (site / "index.html").read_text("utf-8")


def every_page_is_in_a_toctree(site: Path) -> None:
    navigation = (site / "docs" / "index.html").read_text("utf-8")
    listed = set(re.findall(r'class="toctree-l\d[^"]*"><a class="reference internal" href="([^"#]+)"', navigation))
    pages = {str(path.relative_to(site)) for path in site.rglob("*.html")}
    inside = {str((site / "docs" / page).resolve().relative_to(site.resolve())) for page in listed}
    assert pages - inside == {"index.html", "docs/index.html", "genindex.html", "py-modindex.html", "search.html"}


def no_page_loads_from_another_host(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > len(PAGES)
    outside = {
        (page.name, address) for page in pages for address in loads_of(page).found if re.match(r"\w+:|//", address)
    }
    assert not {(page, address) for page, address in outside if not address.startswith("data:")}
    for sheet in site.rglob("*.css"):
        assert not re.findall(r"""url\(\s*["']?(?:https?:)?//""", sheet.read_text("utf-8")), sheet
        assert "@import" not in sheet.read_text("utf-8").replace('@import url("basic.css")', ""), sheet


def what_a_page_loads_is_there(site: Path) -> None:
    for page in site.rglob("*.html"):
        for address in loads_of(page).found:
            path = re.sub(r"[?#].*", "", address)
            if path and not address.startswith("data:"):
                assert (page.parent / path).exists(), f"{page} loads {address}"


def the_search_knows_pages_functions_and_algorithms(site: Path) -> None:
    index = (site / "searchindex.js").read_text("utf-8")
    for word in ("Start in five minutes", "Two-Stacks", "arg_max", "tumbling", "inspect_state"):
        assert word in index


def the_reference_has_every_public_function(site: Path) -> None:
    for page, (name, module) in REFERENCE.items():
        ids = loads_of(site / "docs" / "reference" / f"{page}.html").ids
        public = {f"{name}.{one}" for one in module.__all__ if callable(getattr(module, one))}
        assert not public - ids - {"sash.window.Window"}
    assert {"sash.Query.run", "sash.Aggregator.slide"} <= loads_of(site / "docs/reference/query.html").ids


CHECKS = (
    every_page_is_in_the_site,
    every_page_is_in_a_toctree,
    no_page_loads_from_another_host,
    what_a_page_loads_is_there,
    the_search_knows_pages_functions_and_algorithms,
    the_reference_has_every_public_function,
)


@pytest.mark.parametrize("name", ALGORITHM_PAGES)
def test_the_page_of_an_algorithm_is_complete_and_its_facts_are_up_to_date(name: str) -> None:
    text = PAGES[f"docs/algorithms/{name}.md"].read_text("utf-8")
    assert re.findall(r"^## (.*)", text, re.MULTILINE) == [
        "Picture",
        "Invariants",
        "When it is chosen",
        "Cost",
        "Paper",
    ]
    assert f"images/algorithms/{name}.svg" in text
    assert with_facts(name, text) == text, REDRAW


def test_the_pictures_are_those_that_the_code_draws() -> None:
    images = ROOT / "docs" / "images"
    drawn = dict(pictures())
    assert set(ALGORITHM_PAGES) <= set(STRUCTURES)
    for name, text in drawn.items():
        assert (images / name).read_text("utf-8") == f"{text}\n", f"docs/images/{name} is out of date; {REDRAW}"
    for folder in ("algorithms", "windows", "slicing"):
        assert {f"{folder}/{path.name}" for path in (images / folder).iterdir()} <= set(drawn)


def test_the_calls_of_the_cheat_sheet_are_valid() -> None:
    sections = dict(read_sections((ROOT / "docs" / "cheat-sheet.md").read_text("utf-8")))
    names = {"sash": sash, "agg": sash.agg, "window": sash.window}
    calls = [code for rows in sections.values() for code, _ in rows if code.startswith(("agg.", "window."))]
    assert len(calls) > 25
    for call in calls:
        eval(call, names)  # noqa: S307 — the calls of the page


def test_the_outputs_of_the_notebook_are_up_to_date() -> None:
    path = ROOT / "examples" / "tour.ipynb"
    notebook = json.loads(path.read_text("utf-8"))
    assert with_outputs(notebook) == notebook, "run: python -m tools.notebook examples/tour.ipynb"
