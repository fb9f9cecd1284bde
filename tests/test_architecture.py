"""docs/architecture.md names files and functions. They must exist, and a call chain names at most twelve files."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "sash"
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
NAMED = re.compile(r"`([\w/]+\.py): ([\w., \n]+?)`")
MOST_FILES = 12


def places(text: str) -> list[tuple[str, str]]:
    """Return each file and function that a text names as `file.py: one, other`."""
    return [(file, name.strip()) for file, names in NAMED.findall(text) for name in names.split(",")]


def chains() -> dict[str, str]:
    """Return the call chains of the page, by heading."""
    sections = PAGE.split("\n### ")[1:]
    return {section.partition("\n")[0]: section for section in sections}


def defined_in(path: Path) -> set[str]:
    """Return the functions and classes of a file, methods as `Class.method`."""
    names = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            names |= {f"{node.name}.{own.name}" for own in node.body if isinstance(own, ast.FunctionDef)}
    return names


@pytest.mark.parametrize(("file", "name"), dict.fromkeys(places(PAGE)))
def test_a_function_that_the_page_names_is_defined_there(file: str, name: str) -> None:
    assert (SOURCE / file).is_file(), f"{file} does not exist"
    assert name in defined_in(SOURCE / file), f"{file} does not define {name}"


def test_every_file_that_the_page_names_exists() -> None:
    named = re.findall(r"`((?:\w+/)+\w+\.py)(?:`|: )", PAGE)
    assert [file for file in named if not (SOURCE / file).is_file() and not (ROOT / file).is_file()] == []


@pytest.mark.parametrize("heading", chains())
def test_a_call_chain_names_at_most_twelve_files(heading: str) -> None:
    files = {file for file, _ in places(chains()[heading])}
    assert 0 < len(files) <= MOST_FILES, sorted(files)


def test_the_page_lists_every_package() -> None:
    packages = {path.parent.name for path in SOURCE.glob("**/__init__.py")} - {"sash", "pictures", "ranks", "executors"}
    listed = re.findall(r"^ +(\w+)/ ", PAGE, re.MULTILINE)
    assert sorted(listed) == sorted(packages)
