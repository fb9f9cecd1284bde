"""Runs the cells of a notebook, and writes their outputs into it: `python -m tools.notebook examples/tour.ipynb`.

A cell shows what it prints, then the value of its last line, as a notebook would: as a picture if it has one, else as text.
"""

from __future__ import annotations

import ast
import io
import json
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any


def with_outputs(notebook: dict[str, Any]) -> dict[str, Any]:
    """Return a notebook with the outputs of its cells. They run in order, in one namespace."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    cells, count = [], 0
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            count += 1
            outputs = run_cell("".join(cell["source"]), count, namespace)
            cells.append({**cell, "execution_count": count, "outputs": outputs})
        else:
            cells.append(cell)
    return {**notebook, "cells": cells}


def run_cell(source: str, count: int, namespace: dict[str, Any]) -> list[dict[str, Any]]:
    """Run a cell. Return its outputs."""
    tree = ast.parse(source)
    last = tree.body[-1]
    shown = ast.Expression(last.value) if isinstance(last, ast.Expr) else None
    before = ast.Module(tree.body[:-1] if shown else tree.body, [])
    printed, value = io.StringIO(), None
    with redirect_stdout(printed):
        exec(compile(before, f"cell {count}", "exec"), namespace)  # noqa: S102 — the code of the notebook
        if shown is not None:
            value = eval(compile(shown, f"cell {count}", "eval"), namespace)  # noqa: S307
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": as_lines(printed.getvalue())})
    if value is not None:
        data = representations(value)
        outputs.append({"data": data, "execution_count": count, "metadata": {}, "output_type": "execute_result"})
    return outputs


def representations(value: Any) -> dict[str, list[str]]:
    """Return what a notebook may show of a value, by media type."""
    methods = {"image/svg+xml": "_repr_svg_", "text/html": "_repr_html_"}
    rich = {media: getattr(value, method)() for media, method in methods.items() if hasattr(value, method)}
    found = {media: as_lines(text) for media, text in rich.items() if text is not None}
    return found | {"text/plain": as_lines(repr(value))}


def as_lines(text: str) -> list[str]:
    """Return the lines of a text as notebooks store them."""
    return text.splitlines(keepends=True)


def main(paths: list[str]) -> None:
    """Run notebooks and write them back."""
    for path in map(Path, paths):
        notebook = with_outputs(json.loads(path.read_text("utf-8")))
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
