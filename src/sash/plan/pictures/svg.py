"""SVG text: a few shapes in a few colours, legible on light and on dark pages.

Every colour has two values. Shapes carry the light one as an attribute, because some viewers ignore style sheets; a style
sheet replaces it on dark pages. The width of text is estimated, because the font is not known here.
"""

from __future__ import annotations

from html import escape

FONT = "system-ui, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif"
CODE = "ui-monospace, 'SF Mono', Menlo, Consolas, monospace"
LETTER = 0.56
"""The estimated width of a letter, relative to the font size: a little more than the average."""
BOLD = 1.2
"""How much wider bold letters are."""
MARGIN = 18

INKS = {
    "paper": ("#ffffff", "#1c2026"),
    "frame": ("#d0d7de", "#3d444d"),
    "text": ("#1f2328", "#e6edf3"),
    "note": ("#59636e", "#9da7b3"),
    "slice": ("#d7e8f7", "#1f3f5e"),
    "edge": ("#1a65a8", "#7cc0ff"),
    "window": ("#f6cf9a", "#7a4a12"),
    "rim": ("#b45f06", "#f0a04b"),
}
"""Colours by use: on light pages, on dark pages."""

Point = tuple[float, float]


class Picture(str):
    """The text of an SVG. Notebooks show it as a picture."""

    __slots__ = ()

    def _repr_svg_(self) -> str:
        return str(self)

    def __repr__(self) -> str:
        """Return a summary instead of the whole text."""
        return f"<Picture: {len(self):,} characters of SVG; notebooks show the picture, print() shows the text>"


class Canvas:
    """Shapes, later ones on top of earlier ones, below a title.

    >>> canvas = Canvas(40, "a dot")
    >>> canvas.dot((20, 20), "text")
    >>> print(canvas.picture(40).splitlines()[-2])
    <circle cx="20" cy="20" r="3.2" fill="#1f2328" class="sash-fill-text"/>
    """

    def __init__(self, width: float, title: str) -> None:
        self.width = width
        self.title = title
        self.shapes: list[str] = []
        self.text((MARGIN, 27), fit(title, width - 2 * MARGIN, 14 * BOLD), "text", 14, weight="bold")

    def dot(self, center: Point, fill: str, radius: float = 3.2, stroke: str = "") -> None:
        """Draw a dot, or a ring if it has a stroke."""
        self._add("circle", fill, stroke, cx=center[0], cy=center[1], r=radius)

    def line(self, start: Point, end: Point, stroke: str, dashes: str = "") -> None:
        """Draw a straight line."""
        (x1, y1), (x2, y2) = start, end
        self._add("line", "", stroke, x1=x1, y1=y1, x2=x2, y2=y2, stroke_dasharray=dashes)

    def curve(self, start: Point, end: Point, stroke: str) -> None:
        """Draw a curve that is level at both ends."""
        (x1, y1), (x2, y2), half = start, end, (start[0] + end[0]) / 2
        self._add("path", "none", stroke, d=f"M {x1:g} {y1:g} C {half:g} {y1:g} {half:g} {y2:g} {x2:g} {y2:g}")

    def box(self, corner: Point, size: Point, fill: str, stroke: str = "", radius: float = 3) -> None:
        """Draw a rectangle with round corners."""
        self._add("rect", fill, stroke, x=corner[0], y=corner[1], width=max(size[0], 0), height=size[1], rx=radius)

    def text(
        self, place: Point, text: str, fill: str = "note", size: float = 12, anchor: str = "", weight: str = ""
    ) -> None:
        """Write text; `anchor` is which end of it lies at the place: "" for the start, "middle" or "end"."""
        x, y = place
        self._add("text", fill, text=text, x=x, y=y, font_size=size, text_anchor=anchor, font_weight=weight)

    def code(self, place: Point, text: str, fill: str = "text", size: float = 11) -> None:
        """Write text in letters of equal width."""
        self._add("text", fill, text=text, x=place[0], y=place[1], font_size=size, font_family=CODE)

    def picture(self, height: float) -> Picture:
        """Return the shapes on a panel of this height."""
        dark = [f".sash-{part}-{name} {{ {part}: {INKS[name][1]} }}" for name in INKS for part in ("fill", "stroke")]
        size = f'width="{self.width:g}" height="{height:g}" viewBox="0 0 {self.width:g} {height:g}"'
        panel = Canvas(self.width, "")
        panel.box((0.5, 0.5), (self.width - 1, height - 1), "paper", "frame", 8)
        lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" font-family="{FONT}">',
            f"<title>{escape(self.title, quote=False)}</title>",
            f"<style>@media (prefers-color-scheme: dark) {{ {' '.join(dark)} }}</style>",
            panel.shapes[-1],
            *self.shapes,
            "</svg>",
        ]
        return Picture("\n".join(lines))

    def _add(self, tag: str, fill: str, stroke: str = "", text: str = "", **attributes: float | str) -> None:
        """Add an element; fill and stroke are names of colours, or "none", and empty attributes are left out."""
        inks = {part: ink for part, ink in (("fill", fill), ("stroke", stroke)) if ink}
        attributes |= {part: INKS[ink][0] if ink in INKS else ink for part, ink in inks.items()}
        attributes["class"] = " ".join(f"sash-{part}-{ink}" for part, ink in inks.items() if ink in INKS)
        written = " ".join(
            f'{name.replace("_", "-")}="{value if isinstance(value, str) else f"{round(value, 1):g}"}"'
            for name, value in attributes.items()
            if value != ""
        )
        self.shapes.append(f"<{tag} {written}>{escape(text, quote=False)}</{tag}>" if text else f"<{tag} {written}/>")


def width_of(words: str, size: float) -> float:
    """Return the estimated width of text."""
    return len(words) * size * LETTER


def fit(words: str, room: float, size: float) -> str:
    """Return text, cut off if it is wider than the room.

    >>> fit("odometer", 62, 11), fit("odometer_of_the_truck", 62, 11)
    ('odometer', 'odometer…')
    """
    letters = int(room / (size * LETTER))
    return words if len(words) <= letters else f"{words[: letters - 2]}…"
