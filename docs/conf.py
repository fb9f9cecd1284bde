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

from docutils import nodes

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "src"))

import sash  # noqa: E402 — of this repository, whatever is installed

# The reference shows the names that users write.
sys.modules.update({"sash.agg": sash.agg, "sash.window": sash.window})

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
autoclass_content = "both"
toc_object_entries_show_parents = "hide"

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


def docstring_to_rst(app: Any, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:  # noqa: ARG001
    """Turn the sections of a docstring (`Result: …`) into a field list, and pictures, which are indented, into literal blocks."""
    found: list[str] = []
    was_picture = False
    for paragraph in "\n".join(lines).split("\n\n"):
        is_picture = paragraph.startswith("    ")
        found += ["::"] if is_picture and not was_picture else []
        found.append(paragraph if is_picture else sections_to_fields(paragraph))
        was_picture = is_picture
    lines[:] = "\n\n".join(found).split("\n")


def sections_to_fields(paragraph: str) -> str:
    """Return the lines of a paragraph, those from the first section on as fields."""
    found: list[str] = []
    inside = False
    for line in paragraph.split("\n"):
        section = SECTION.match(line)
        if section:
            found += [] if inside else [""]
            inside = True
        found.append(f":{section[1]}: {section[2]}" if section else "    " * inside + line)
    return "\n".join(found)


def without_unknown(*given: Any) -> tuple[str, str] | None:
    """Leave out `**unknown`, which catches misspelt options and is no parameter that a user could pass."""
    *_, signature, result = given
    return None if signature is None else (re.sub(r"(, \*)?, \*\*unknown", "", signature), result)


def strip_code(app: Any, doctree: nodes.document) -> None:  # noqa: ARG001
    """Remove the empty line at the end of a doctest, which Markdown needs between its output and the fence."""
    for block in doctree.findall(nodes.literal_block):
        if len(block.children) == 1 and isinstance(block[0], nodes.Text):
            block.rawsource = block.rawsource.rstrip()
            block[:] = [nodes.Text(block.astext().rstrip())]


def copy_screenshots(app: Any, error: Exception | None) -> None:
    """Copy the images that HTML in Markdown names: Sphinx copies those of Markdown itself only."""
    if error is None:
        folder = Path(app.outdir) / "docs" / "images"
        folder.mkdir(parents=True, exist_ok=True)
        for image in (ROOT / "docs" / "images").glob("*.png"):
            shutil.copy(image, folder)


def setup(app: Any) -> None:
    """Connect the hooks."""
    app.connect("autodoc-process-docstring", docstring_to_rst)
    app.connect("autodoc-process-signature", without_unknown)
    app.connect("doctree-read", strip_code)
    app.connect("build-finished", copy_screenshots)
