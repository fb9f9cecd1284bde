"""`sash explain` and `sash plot`: the plan, the windows and the results of a query, for a terminal or as a picture."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from sash.aggregates import count
from sash.cli.charts import chart_lines, format_of_picture, make_chart, save_chart
from sash.cli.local_run import LocalRun, RunOptions, input_schema, temporary_folder
from sash.cli.outputs import check_output, opened
from sash.cli.progress import RowProgress
from sash.cli.svg_to_png import save_png, stack
from sash.cli.tables import console
from sash.cli.terminal import say
from sash.cli.text_query import TextQuery
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


def explanation(query: TextQuery, source: str | None, input_format: str | None) -> Explanation:
    """Return the plan of a query, for the types of an input if there is one."""
    if source is None and query.path is None:
        return query.explain()
    schema = input_schema(query, source, input_format)
    return query.checked(schema).explain(schema)


def draw(options: RunOptions, what: str | None) -> None:
    """Draw the "results", "windows" or "plan" of a query; None for results if there is an input, otherwise windows."""
    query = TextQuery(options.text, options.time)
    picture_format = None if options.target is None else format_of_picture(options.target)
    check_output(options.target)
    has_input = options.source is not None or query.path is not None
    if what == "plan":
        _draw_plan(explanation(query, options.source, options.input_format), options.target, picture_format)
    elif what == "results" or (what is None and has_input):
        _draw_results(query, options, picture_format)
    else:
        schema = input_schema(query, options.source, options.input_format) if has_input else None
        plan = query.explain() if schema is None else query.over_windows(schema.empty_table()).explain()
        _draw_windows([*plan.declared.windows.values()], options.target, picture_format)


def _draw_plan(plan: Explanation, target: str | None, picture_format: str | None) -> None:
    if picture_format is None:
        console().print(str(plan), markup=False)
    else:
        _save(plan._repr_svg_(), target, picture_format)


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


def _draw_results(query: TextQuery, options: RunOptions, picture_format: str | None) -> None:
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
        raise ValueError(
            f"There are no sample rows for {window}. Draw the results instead: --what results -i data.parquet"
        )
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
