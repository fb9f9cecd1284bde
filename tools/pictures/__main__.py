"""Write the pictures to docs/images, and the tables of facts to docs/algorithms."""

from __future__ import annotations

from pathlib import Path

from tools.pictures.facts import PAGES, with_facts
from tools.pictures.gallery import pictures

IMAGES = Path("docs/images")


def main() -> None:
    """Write everything."""
    for name, text in pictures():
        path = IMAGES / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n", encoding="utf-8")
    for name in PAGES:
        page = Path("docs/algorithms") / f"{name}.md"
        page.write_text(with_facts(name, page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
