"""`sash explain` and `sash plot`: the plan, the windows and the results of a query, for a terminal or as a picture.

Sash's own pictures are SVG. For PNG, matplotlib draws the few shapes that they have.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pyarrow as pa

from sash.aggregates import count
from sash.cli.charts import chart_lines, format_of_picture, make_chart, save_chart
from sash.cli.display import RowProgress, console
from sash.cli.local_run import LocalRun, RunOptions, input_schema, temporary_folder
from sash.cli.outputs import check_output, opened
from sash.cli.terminal import say
from sash.cli.text_query import LastSelect, TextQuery, query_of_argument
from sash.plan.explanation import Explanation
from sash.plan.pictures.sample import Sample, make_sample
from sash.plan.sharing import make_plan
from sash.plan.slicing import length_to_text
from sash.windows import Window

LABEL = 9
"""The width of the labels on the left of a picture in text."""
RIGHT = 20
"""The room for the bounds of a window on its right."""
PANEL_HEIGHT = 10


def explanations(query: TextQuery | LastSelect, source: str | None, input_format: str | None) -> list[Explanation]:
    """Return the plan of each SELECT with windows, for the types of an input if there is one."""
    with temporary_folder() as folder:
        return query.plans(source, input_format, Path(folder))


def draw(options: RunOptions, what: str | None) -> None:
    """Draw the "results", "windows" or "plan" of a query; None for results if there is an input, otherwise windows."""
    query = query_of_argument(options.text, options.time, time_format=options.time_format)
    picture_format = None if options.target is None else format_of_picture(options.target)
    check_output(options.target)
    has_input = options.source is not None or query.path is not None
    if what == "plan":
        plan = explanations(query, options.source, options.input_format)[-1]
        if picture_format is None:
            console().print(str(plan), markup=False)
        else:
            _save(plan._repr_svg_(), options.target, picture_format)
    elif what == "results" or (what is None and has_input):
        _draw_results(query, options, picture_format)
    else:
        schema = input_schema(query, options.source, options.input_format) if has_input else None
        plan = query.explain() if schema is None else query.over_windows(schema.empty_table()).explain()
        _draw_windows([*plan.declared.windows.values()], options.target, picture_format)


def _draw_windows(windows: Sequence[Window], target: str | None, picture_format: str | None) -> None:
    if picture_format is not None:
        _save(stack([window.draw() for window in windows]), target, picture_format)
        return
    width = min(shutil.get_terminal_size((100, 30)).columns, 110)
    out = console(width)
    for window in windows:
        out.print(repr(window), style="bold", markup=False)
        for line in window_lines(window, width):
            out.print(line, markup=False, no_wrap=True, overflow="crop")


def _save(picture: str, target: str | None, picture_format: str) -> None:
    with opened(target) as file:
        if picture_format == "png":
            save_png(picture, file)
        else:
            file.write(picture.encode())


def _draw_results(query: TextQuery | LastSelect, options: RunOptions, picture_format: str | None) -> None:
    with temporary_folder() as folder, RowProgress() as progress:
        run = LocalRun(query, options, progress, Path(folder))
        results = run.results()
        table = results if isinstance(results, pa.Table) else results.read_all()
    chart = make_chart(table, run.declared, run.source.schema.names)
    if chart.left_out:
        say(f"the chart shows the first keys; {chart.left_out:,} others are left out")
    if picture_format is None:
        size = shutil.get_terminal_size((100, 40))
        height = max(4, min(PANEL_HEIGHT, (size.lines - 4) // len(chart.panels) - 2))
        out = console(size.columns)
        for line in chart_lines(chart, size.columns, height):
            out.print(line, no_wrap=True, overflow="crop")
        return
    with opened(options.target) as file:
        save_chart(chart, " ".join(query.to_sql().split()), file, picture_format)


def window_lines(window: Window, width: int) -> Iterator[str]:
    r"""Yield a picture of rows, slices and windows in text. Raise ValueError if a window has no sample rows.

    >>> from sash import window
    >>> print(*window_lines(window.tumbling("10m"), 70), sep="\n")
    rows        • •• •••  •• •••  ••• ••  ••• ••  •••
    slices     |      |      |       |      |      | |
    windows    ├──────┤  [0, 10m)
                      ├──────┤  [10m, 20m)
                             ├───────┤  [20m, 30m)
                                     ├──────┤  [30m, 40m)
                                            ├──────┤  [40m, 50m)
    """
    technique = make_plan({"": window}, {"count": count()}).technique
    sample = make_sample(window, technique, None, "time")
    if sample is None:
        problem = f"There are no sample rows for {window}."
        raise ValueError(f"{problem} Draw the results instead: --what results -i data.parquet")
    columns = max(width - LABEL - RIGHT, 20)

    def column_of(value: float) -> int:
        inside = min(max(value, sample.low), sample.high) - sample.low
        return round(inside / (sample.high - sample.low) * (columns - 1))

    def marks(values: Iterable[float], mark: str) -> str:
        marked = set(map(column_of, values))
        return "".join(mark if column in marked else " " for column in range(columns))

    yield "rows".ljust(LABEL) + marks(sample.places, "•").rstrip()
    if sample.slices:
        yield "slices".ljust(LABEL) + marks([edge for bar in sample.slices for edge in (bar.left, bar.right)], "|")
    label = "windows"
    for bar in sample.windows:
        left, right = column_of(bar.left), column_of(bar.right)
        line = "─" * max(right - left - 1, 0)
        begin, end = _time_text(sample, bar.left), _time_text(sample, bar.right)
        yield f"{label:{LABEL}}{' ' * left}├{line}┤  [{begin}, {end})"
        label = ""


def _time_text(sample: Sample, time: int) -> str:
    amount = time - sample.origin + sample.omitted * (time >= sample.gap.stop if sample.gap else 0)
    return length_to_text(amount, sample.unit) if amount else "0"


# -- SVG to PNG --------------------------------------------------------------------------------------------------------

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
            dashes: Any = tuple(map(float, shape.get("stroke-dasharray", "").split()))
            ends = [at["x1"], at["x2"]], [at["y1"] + top, at["y2"] + top]
            axes.plot(*ends, color=stroke, linewidth=0.8, linestyle=(0, dashes) if dashes else "-", zorder=order + top)
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
