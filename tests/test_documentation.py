"""Code in the documentation runs, and every public function is documented."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.documentation import PAGES, blocks_of, run_page, uses_spark

import sash
from sash.testing import strategies

MODULES = {
    "sash": sash,
    "sash.agg": sash.agg,
    "sash.live": sash.live,
    "sash.serve": sash.serve,
    "sash.spark": sash.spark,
    "sash.testing": sash.testing,
    "sash.testing.strategies": strategies,
    "sash.window": sash.window,
}
FACTORIES: dict[str, Callable[..., Any]] = dict(sash.agg.BUILT_IN)
FACTORIES |= {name: getattr(sash.window, name) for name in sash.window.__all__ if name != "Window"}
UNCHECKED = ("sash.window.Window",)
"""The base class of windows: users call functions that return one."""
WITH_METHODS = (sash.Aggregator, sash.Query)
"""The classes whose methods must be documented like functions."""


def public_names(module: Any) -> list[str]:
    """Return the public names of a module; one without `__all__` exports what it defines."""
    defined = [name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__]
    return [name for name in getattr(module, "__all__", defined) if not name.startswith("_")]


def public_callables() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield each public function and class, and the public methods of classes that users call."""
    for path, module in MODULES.items():
        for name in public_names(module):
            value = getattr(module, name)
            if not callable(value) or f"{path}.{name}" in UNCHECKED:
                continue
            yield f"{path}.{name}", value
            if value in WITH_METHODS:
                own = [(key, getattr(value, key)) for key in vars(value) if not key.startswith("_")]
                yield from ((f"{path}.{name}.{key}", method) for key, method in own if callable(method))


PUBLIC = dict(public_callables())


def parameters_of(function: Callable[..., Any]) -> list[str]:
    """Return the names of the parameters of a function, or of the constructor that a class defines itself."""
    if inspect.isclass(function):
        own = inspect.isfunction(vars(function).get("__init__")) and "__dataclass_fields__" not in vars(function)
        return parameters_of(function.__init__) if own else []
    found = inspect.signature(function).parameters.values()
    # `**unknown: Never` catches misspelt options; it is no parameter that a user could pass.
    return [one.name for one in found if one.name != "self" and one.annotation != "Never"]


def doc_of(function: Callable[..., Any]) -> str:
    """Return the docstring of a function, or of a class and its constructor."""
    constructor = vars(function).get("__init__") if inspect.isclass(function) else None
    return "\n".join(inspect.getdoc(part) or "" for part in (function, constructor) if part is not None)


def test_public_callables_are_discovered() -> None:
    expected = {"sash.aggregate", "sash.catalogue", "sash.agg.max", "sash.window.time", "sash.testing.check_laws"}
    expected |= {
        "sash.Query",
        "sash.Query.run",
        "sash.Query.explain",
        "sash.Query.schema",
        "sash.spark.finish",
        "sash.Aggregator.slide",
        "sash.Aggregator.thaw",
        "sash.testing.strategies.rows",
    }
    assert expected <= set(PUBLIC)
    assert "sash.spark.require_pyspark" not in PUBLIC


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_function_has_a_summary_its_parameters_and_an_example(name: str) -> None:
    text = doc_of(PUBLIC[name])
    summary = text.partition("\n")[0]
    assert summary.endswith("."), f"the first line of {name} is no sentence: {summary!r}"
    prose = re.sub(r"^>>> .*$", "", text, flags=re.MULTILINE)
    missing = [parameter for parameter in parameters_of(PUBLIC[name]) if not re.search(rf"\b{parameter}\b", prose)]
    assert not missing, f"{name} does not explain {', '.join(missing)}"
    assert ">>> " in text, f"{name} has no example"
    assert "+SKIP" not in text, f"the example of {name} does not run"


@pytest.mark.parametrize("name", FACTORIES)
def test_an_aggregate_or_window_shows_a_query_and_explains_its_result(name: str) -> None:
    text = inspect.getdoc(FACTORIES[name]) or ""
    assert "sash.Query(" in text, f"{name} has no example with a query"
    sections = re.findall(r"^([A-Z]\w+)(?: and \w+)?: ", text, re.MULTILINE)
    needed = ["Nulls", "Result", "Errors"]
    assert [section for section in sections if section in needed] == needed, f"{name} has the sections {sections}"


@pytest.mark.parametrize("name", [name for name in PUBLIC if name.startswith("sash.Query.")])
def test_a_method_of_a_query_shows_a_query_and_explains_its_result(name: str) -> None:
    text = inspect.getdoc(PUBLIC[name]) or ""
    assert "sash.Query(" in text, f"{name} has no example with a query"
    sections = set(re.findall(r"^([A-Z]\w+)(?: and \w+)?: ", text, re.MULTILINE))
    needed = {"Result", "Errors"} if name == "sash.Query.explain" else {"Nulls", "Result", "Errors"}
    assert needed <= sections, f"{name} has the sections {sections}"


@pytest.mark.parametrize("page", [page for page in PAGES if any(blocks_of(page)) and not uses_spark(page)])
def test_the_code_of_a_page_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_page(page)


def test_every_code_block_of_a_page_names_a_language_that_is_known() -> None:
    languages = {
        language
        for path in PAGES.values()
        for language in re.findall(r"^```(\w+)$", path.read_text("utf-8"), re.MULTILINE)
    }
    assert languages <= {"python", "pycon", "text", "sh", "sql"}  # a misspelt python block would never run


def test_the_first_block_of_the_readme_runs_when_pasted(tmp_path: Path) -> None:
    first = next(blocks_of("README.md"))
    command = [sys.executable, "-i", "-q"]
    done = subprocess.run(command, input=first.code, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert "Error" not in done.stderr, done.stderr
    assert first.output is not None
    assert done.stdout.split() == first.output.split()


def test_the_readme_begins_with_a_command_its_picture_code_and_the_demo() -> None:
    top = "\n".join(PAGES["README.md"].read_text(encoding="utf-8").splitlines()[:50])
    parts = ["pip install", "sash plot", "![", "```python", "make demo", "make test"]
    assert sorted(parts, key=top.index) == parts
