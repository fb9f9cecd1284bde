"""Pictures as SVG text: a few shapes in a few colours, legible on light pages and dark ones.

Colours are written twice: into the shapes, for programs that take no style sheets, and into a style sheet for dark pages.
Text is not measured, as no font is known here: a letter is taken to be a little wider than it mostly is.
"""

from __future__ import annotations

from html import escape

FONT = "system-ui, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif"
LETTER = 0.56
"""The width of a letter, in parts of the font's size."""
BOLD = 1.2
"""How much wider bold letters are."""

INKS = {
    "paper": ("#ffffff", "#1c2026"),
    "frame": ("#d0d7de", "#3d444d"),
    "text": ("#1f2328", "#e6edf3"),
    "note": ("#59636e", "#9da7b3"),
    "row": ("#1f2328", "#e6edf3"),
    "slice": ("#d7e8f7", "#1f3f5e"),
    "edge": ("#1f6fb5", "#6cb6ff"),
    "window": ("#f6cf9a", "#7a4a12"),
    "rim": ("#b45f06", "#f0a04b"),
}
"""Colours by what they stand for: on light pages, and on dark ones."""


class Picture(str):
    """The text of an SVG, which notebooks show as the picture that it is."""

    __slots__ = ()

    def _repr_svg_(self) -> str:
        return str(self)

    def __repr__(self) -> str:
        """Say what it is, rather than all of it."""
        return f"<Picture: {len(self):,} characters of SVG; a notebook shows it, print() and files have its text>"


class Canvas:
    """Shapes, one on top of the other.

    >>> canvas = Canvas(40)
    >>> canvas.dot(20, 20, "row")
    >>> print(canvas.picture(40, "a dot").splitlines()[-2])
    <circle cx="20" cy="20" r="3.2" fill="#1f2328" class="sash-fill-row"/>
    """

    def __init__(self, width: float) -> None:
        self.width = width
        self._shapes: list[str] = []

    def dot(self, x: float, y: float, fill: str, radius: float = 3.2, stroke: str = "") -> None:
        """Draw a dot, or a ring if it has a stroke."""
        self._add("circle", "", cx=x, cy=y, r=radius, **_paint(fill, stroke))

    def line(
        self, start: tuple[float, float], end: tuple[float, float], stroke: str, width: float = 1.0, dashes: str = ""
    ) -> None:
        """Draw a straight line."""
        dashed: dict[str, float | str] = {"stroke-dasharray": dashes} if dashes else {}
        (x1, y1), (x2, y2) = start, end
        self._add("line", "", x1=x1, y1=y1, x2=x2, y2=y2, **_paint("", stroke, width), **dashed)

    def curve(self, path: str, stroke: str, width: float = 1.0) -> None:
        """Draw a path of SVG's own letters."""
        self._add("path", "", d=path, **_paint("none", stroke, width))

    def box(
        self, corner: tuple[float, float], size: tuple[float, float], fill: str, stroke: str = "", radius: float = 3
    ) -> None:
        """Draw a rectangle with round corners."""
        (x, y), (width, height) = corner, size
        self._add("rect", "", x=x, y=y, width=max(width, 0.0), height=height, rx=radius, **_paint(fill, stroke))

    def text(
        self, place: tuple[float, float], words: str, fill: str = "text", size: float = 12, **more: float | str
    ) -> None:
        """Write words; `anchor` says which end of them is at the place, `weight` how thick they are."""
        anchor, weight = more.get("anchor", "start"), more.get("weight", "normal")
        styled: dict[str, float | str] = {"font-size": size, "text-anchor": anchor, "font-weight": weight}
        plain = {name: value for name, value in styled.items() if value not in ("start", "normal")}
        self._add("text", escape(words, quote=False), x=place[0], y=place[1], **plain, **_paint(fill))

    def picture(self, height: float, title: str) -> Picture:
        """Return what was drawn, on a panel with a frame."""
        whole = Canvas(self.width)
        whole.box((0.5, 0.5), (self.width - 1, height - 1), "paper", "frame", 8)
        sizes = f'width="{_number(self.width)}" height="{_number(height)}"'
        view = f'viewBox="0 0 {_number(self.width)} {_number(height)}"'
        lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" {sizes} {view} role="img" font-family="{FONT}">',
            f"<title>{escape(title, quote=False)}</title>",
            f"<style>@media (prefers-color-scheme: dark) {{ {_dark_style()} }}</style>",
            *whole._shapes,
            *self._shapes,
            "</svg>",
        ]
        return Picture("\n".join(lines))

    def _add(self, name: str, inside: str, **attributes: float | str) -> None:
        written = " ".join(f'{key}="{_number(value)}"' for key, value in attributes.items())
        self._shapes.append(f"<{name} {written}>{inside}</{name}>" if inside else f"<{name} {written}/>")


def width_of(words: str, size: float) -> float:
    """Return about how wide words are."""
    return len(words) * size * LETTER


def fit(words: str, room: float, size: float) -> str:
    """Return words, less those that there is no room for.

    >>> fit("odometer", 62, 11), fit("odometer_of_the_truck", 62, 11)
    ('odometer', 'odometer…')
    """
    letters = int(room / (size * LETTER))
    return words if len(words) <= letters else f"{words[: letters - 2]}…"


def _paint(fill: str = "", stroke: str = "", width: float = 1.0) -> dict[str, float | str]:
    """Return the attributes for colours by their names."""
    attributes: dict[str, float | str] = {}
    classes = []
    if fill:
        attributes["fill"] = INKS[fill][0] if fill in INKS else fill
        classes += [f"sash-fill-{fill}"] if fill in INKS else []
    if stroke:
        attributes |= {"stroke": INKS[stroke][0], "stroke-width": width}
        classes.append(f"sash-stroke-{stroke}")
    if classes:
        attributes["class"] = " ".join(classes)
    return attributes


def _dark_style() -> str:
    rules = [
        f".sash-{part}-{name} {{ {part}: {dark} }}" for name, (_, dark) in INKS.items() for part in ("fill", "stroke")
    ]
    return " ".join(rules)


def _number(value: float | str) -> str:
    return escape(value) if isinstance(value, str) else f"{round(value, 1):g}"
