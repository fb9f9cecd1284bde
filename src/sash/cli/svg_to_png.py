"""Sash's own pictures, which are SVG, as PNG: matplotlib draws the few shapes that they have."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate
from typing import Any
from xml.etree import ElementTree as ET

SCALE = 2
"""Dots of the PNG per unit of the SVG."""
UNITS_PER_INCH = 100
POINTS_PER_UNIT = 72 / UNITS_PER_INCH
SVG = "{http://www.w3.org/2000/svg}"
ANCHORS = {"middle": "center", "end": "right"}


def stack(pictures: Sequence[str]) -> str:
    """Return pictures below each other in one SVG.

    >>> stack(['<svg width="10" height="5"></svg>'] * 2).count("<svg")
    3
    """
    if len(pictures) == 1:
        return pictures[0]
    widths, heights = zip(*map(_size, pictures), strict=True)
    width, height = max(widths), sum(heights)
    tops = [0.0, *accumulate(heights[:-1])]
    inner = [picture.replace("<svg ", f'<svg y="{top:g}" ', 1) for picture, top in zip(pictures, tops, strict=True)]
    size = f'width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}"'
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" {size}>', *inner, "</svg>"])


def _size(picture: str) -> tuple[float, float]:
    head = picture[: picture.index(">")]
    width, height = (float(re.search(rf' {name}="([\d.]+)"', head)[1]) for name in ("width", "height"))  # type: ignore[index]
    return width, height


def save_png(picture: str, file: Any) -> None:
    """Draw a picture of Sash, or several that are stacked, as PNG."""
    import matplotlib as mpl  # noqa: PLC0415 — it takes long to import

    mpl.use("agg")
    from matplotlib import pyplot as plt  # noqa: PLC0415 — as above

    width, height = _size(picture)
    figure = plt.figure(figsize=(width / UNITS_PER_INCH, height / UNITS_PER_INCH))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    axes.axis("off")
    _draw(axes, ET.fromstring(picture), 0.0)  # noqa: S314 — Sash has made it
    figure.savefig(file, format="png", dpi=SCALE * UNITS_PER_INCH)
    plt.close(figure)


def _draw(axes: Any, group: Any, top: float) -> None:
    from matplotlib import patches, path  # noqa: PLC0415 — as above

    for order, shape in enumerate(group):
        at = {name: float(value) for name, value in shape.attrib.items() if re.fullmatch(r"-?[\d.]+", value)}
        fill, stroke = (None if shape.get(name, "none") == "none" else shape.get(name) for name in ("fill", "stroke"))
        colours = {"facecolor": fill or "none", "edgecolor": stroke or "none"}
        inks: dict[str, Any] = {**colours, "linewidth": 0.8, "zorder": order + top}
        tag = shape.tag.removeprefix(SVG)
        if tag == "svg":
            _draw(axes, shape, top + at.get("y", 0.0))
        elif tag == "rect":
            radius = min(at.get("rx", 0.0), at["width"] / 2, at["height"] / 2)
            style = f"round,pad=0,rounding_size={radius}" if radius else "square,pad=0"
            corner = at["x"], at["y"] + top
            axes.add_patch(patches.FancyBboxPatch(corner, at["width"], at["height"], boxstyle=style, **inks))
        elif tag == "circle":
            axes.add_patch(patches.Circle((at["cx"], at["cy"] + top), at["r"], **inks))
        elif tag == "line":
            dashes = (
                (0, tuple(map(float, shape.get("stroke-dasharray").split()))) if shape.get("stroke-dasharray") else "-"
            )
            ends = [at["x1"], at["x2"]], [at["y1"] + top, at["y2"] + top]
            axes.plot(*ends, color=stroke, linewidth=0.8, linestyle=dashes, zorder=order + top)
        elif tag == "path":
            numbers = [float(number) for number in re.findall(r"-?[\d.]+", shape.get("d"))]
            points = [(x, y + top) for x, y in zip(numbers[::2], numbers[1::2], strict=True)]
            codes = [path.Path.MOVETO] + [path.Path.CURVE4] * (len(points) - 1)
            axes.add_patch(patches.PathPatch(path.Path(points, codes), **inks))
        elif tag == "text":
            size = at.get("font-size", 12.0) * POINTS_PER_UNIT
            align = ANCHORS.get(shape.get("text-anchor", ""), "left")
            weight = shape.get("font-weight") or "normal"
            font = {"color": fill, "fontsize": size, "weight": weight}
            axes.text(at["x"], at["y"] + top, shape.text, ha=align, va="baseline", zorder=order + top, **font)
