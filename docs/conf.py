"""The site that `make docs` builds: the Markdown of the repository, and a reference made from docstrings.

The source folder is the repository, so that the links between Markdown files are the same here and in the repository. This file is in docs,
so the command is `sphinx-build -c docs . build/docs`.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "src"))

import sash  # noqa: E402 — of this repository, whatever is installed

project = "Sash"
version = release = sash.__version__
project_copyright = "the authors of Sash; Apache License 2.0"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_copybutton"]
root_doc = "docs/index"
include_patterns = ["docs/**", "CHANGELOG.md", "CONTRIBUTING.md", "src/sash/*/README.md", "src/sash/spark/*/README.md"]
# Sphinx walks the tree, and does not enter what is excluded.
exclude_patterns = [".*", "build", "dist", "benchmarks", "examples", "tests", "tools", "docs/_*", "**/__pycache__"]

myst_heading_anchors = 4
highlight_language = "none"
default_role = "code"  # docstrings write `name`, as Markdown does

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the text of a docstring says more than its annotations
autodoc_class_signature = "separated"

html_theme = "furo"
html_title = "Sash"
html_static_path = ["_static"]
html_css_files = ["site.css"]
templates_path = ["_templates"]
html_additional_pages = {"index": "to_first_page.html"}  # the first page is docs/index.html
html_copy_source = False
html_show_sphinx = False
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"
copybutton_exclude = ".linenos, .gp, .go"

SECTION = re.compile(r"(Nulls and NaN|Nulls|Result|Errors): (.*)")


def sections_to_fields(app: Any, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:  # noqa: ARG001
    """Turn the sections of a docstring into a field list: `Result: the type of a`, and the lines up to the next section."""
    found: list[str] = []
    inside = False
    for line in lines:
        if section := SECTION.match(line):
            found += [] if inside else [""]
            found.append(f":{section[1]}: {section[2]}")
            inside = True
        elif inside and line and not line.startswith(">>>"):
            found.append(f"    {line}")
        else:
            found.append(line)
            inside = False
    lines[:] = found


def copy_screenshots(app: Any, error: Exception | None) -> None:
    """Copy the images that HTML in Markdown names: Sphinx copies those of Markdown itself only."""
    if error is None:
        folder = Path(app.outdir) / "docs" / "images"
        folder.mkdir(parents=True, exist_ok=True)
        for image in (ROOT / "docs" / "images").glob("*.png"):
            shutil.copy(image, folder)


def setup(app: Any) -> None:
    """Connect the hooks."""
    app.connect("autodoc-process-docstring", sections_to_fields)
    app.connect("build-finished", copy_screenshots)
