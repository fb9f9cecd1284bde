"""The look of the examples' pictures: SVG whose colours follow the setting of the reader, light or dark."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

FOLDER = Path(__file__).parents[1] / "build" / "demo"
WIDTH = 8.125
"""In inches of 72 points: 780 pixels in a browser."""
PAPER, INK, NOTE, GRID = "#ffffff", "#1f2328", "#59636e", "#e3e8ed"
BLUE, ORANGE, RED, GREEN, PURPLE, GREY = "#1a65a8", "#b45f06", "#c8302b", "#2f7d32", "#7b3fa0", "#a3adb8"
IN_THE_DARK = {
    PAPER: "#1c2026", INK: "#e6edf3", NOTE: "#9da7b3", GRID: "#343b44",
    BLUE: "#7cc0ff", ORANGE: "#f0a04b", RED: "#ff8078", GREEN: "#7fd183", PURPLE: "#cfa2ee", GREY: "#6b7683",
}  # fmt: skip
HALO = {"facecolor": PAPER, "edgecolor": "none", "alpha": 0.85, "pad": 1.2}
"""The box behind a label that crosses lines."""
FONTS = "system-ui, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif"


def new_figure(height: float, title: str, note: str) -> Figure:
    """Return an empty figure with a title, and a note below it."""
    mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "sash", "font.size": 9, "text.color": INK})
    figure = Figure(figsize=(WIDTH, height), facecolor="none", layout="constrained")
    head = 0.62 / height
    figure.get_layout_engine().set(rect=(0.012, 0.012, 0.976, 0.976 - head), h_pad=0.02, hspace=0.06)  # type: ignore[union-attr, call-arg]
    figure.text(0.024, 1 - 0.2 / height, title, fontsize=13, weight="bold", va="top")
    figure.text(0.024, 1 - 0.46 / height, note, fontsize=9, color=NOTE, va="top")
    return figure


def style(axes: Axes, title: str, unit: str) -> None:
    """Give axes a title, the unit of y in grey beside it, and a quiet grid."""
    axes.set_facecolor("none")
    axes.set_title(title, loc="left", fontsize=10, weight="bold", color=INK, pad=6)
    axes.set_ylabel(unit, color=NOTE)
    axes.spines[:].set_visible(False)
    axes.grid(axis="y", color=GRID, linewidth=0.9)
    axes.set_axisbelow(True)
    axes.tick_params(colors=NOTE, length=0)


def apart(heights: Sequence[float], least: float) -> list[float]:
    """Move labels up until each is at least so far above the one below it; return their heights in the order given.

    >>> apart([5.0, 1.0, 5.1], 1)
    [5.0, 1.0, 6.0]
    """
    placed = list(heights)
    below = -float("inf")
    for index in sorted(range(len(heights)), key=heights.__getitem__):
        below = placed[index] = max(heights[index], below + least)
    return placed


def save(figure: Figure, name: str) -> Path:
    """Write build/demo/`name`.svg, and return its path."""
    file = io.BytesIO()
    figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    text = file.getvalue().decode()
    # Matplotlib writes colours in the attribute style, which only an important rule overrides.
    rules = "".join(
        f'[style*="{part}: {light}"] {{ {part}: {dark} !important }} '
        for light, dark in IN_THE_DARK.items()
        for part in ("fill", "stroke")
    )
    width, height = (72 * size for size in figure.get_size_inches())
    card = f'<rect x="0.5" y="0.5" width="{width - 1:g}" height="{height - 1:g}" rx="6" style="fill: {PAPER}; stroke: {GRID}"/>'
    text = text.replace("</defs>", f"<style>@media (prefers-color-scheme: dark) {{ {rules}}}</style></defs>\n{card}", 1)
    text = re.sub(r"font-family: [^;\"]*", f"font-family: {FONTS}", text)
    text = re.sub(r"font: ([^;\"]*?px) [^;\"]*", rf"font: \1 {FONTS}", text)
    text = re.sub(r"(\d\.\d\d)\d+", r"\1", text)  # a hundredth of a point is enough
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{name}.svg"
    path.write_text(text, encoding="utf-8")
    return path
