"""Runs the code blocks of a documentation page, in order and in one namespace.

A `python` block is executed. A `pycon` block is a doctest. A `text` block that directly follows a `python` block is its output. Blocks in
other languages, and blocks without one, do not run.
"""

from __future__ import annotations

import doctest
import io
import re
from collections.abc import Iterator, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PAGES = {str(path.relative_to(ROOT)): path for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))}
FENCED = re.compile(r"^```([^`\n]*)\n(.*?)^```$(?:\n+```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


@dataclass(frozen=True)
class Block:
    """A fenced code block that runs."""

    line: int
    language: str
    code: str
    output: str | None


def blocks_of(page: str) -> Iterator[Block]:
    """Yield the blocks of a page that run."""
    text = PAGES[page].read_text(encoding="utf-8")
    for found in FENCED.finditer(text):
        language, code, output = found.groups()
        if language in ("python", "pycon"):
            yield Block(text.count("\n", 0, found.start(2)), language, code, output)


def uses_spark(page: str) -> bool:
    """Return whether a page has a block that needs a Spark session."""
    return any(re.search(r"\bspark\b", block.code) for block in blocks_of(page))


def run_page(page: str, paths: Mapping[str, Path] | None = None) -> dict[str, Any]:
    """Run the blocks of a page and return their namespace. `paths` replaces paths in the code, written as in `"results"`."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks_of(page):
        code = block.code
        for name, path in (paths or {}).items():
            code = code.replace(f'"{name}"', repr(str(path)))
        if block.language == "pycon":
            run_doctest(code, page, block.line, namespace)
        else:
            run_python("\n" * block.line + code, page, block.output, namespace)
    return namespace


def run_python(code: str, page: str, output: str | None, namespace: dict[str, Any]) -> None:
    """Execute a block and compare what it prints with its output, if the page shows it."""
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(compile(code, page, "exec"), namespace)  # noqa: S102 — the code of the page
    if output is not None:
        assert printed.getvalue().split() == output.split(), printed.getvalue()


def run_doctest(code: str, name: str, line: int, namespace: dict[str, Any]) -> None:
    """Run a doctest in a namespace, and leave its names there."""
    test = doctest.DocTestParser().get_doctest(code, namespace, name, name, line)
    test.globs = namespace  # it copies them
    report = io.StringIO()
    doctest.DocTestRunner(optionflags=OPTIONS, verbose=False).run(test, out=report.write, clear_globs=False)
    assert not report.getvalue(), report.getvalue()
