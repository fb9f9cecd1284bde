"""`sash explain` and `sash plot`: the plan, the windows and the results of a query, for a terminal or as a picture."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pyarrow as pa

from sash.cli.charts import chart_lines, form_of_picture, make_chart, save_chart
from sash.cli.inputs import open_input
from sash.cli.local_run import RunOptions, input_of, results_of, temporary_folder
from sash.cli.outputs import check_output, opened
from sash.cli.svg_to_png import save_png, stack
from sash.cli.terminal import Progress, console, say
from sash.cli.text_query import TextQuery
from sash.plan.explanation import Explanation
from sash.plan.pictures.sample import Sample, make_sample
from sash.plan.sharing import make_plan
from sash.plan.slicing import length_to_text
from sash.query import Query
from sash.windows import Window

LABEL = 9
"""The width of the words on the left of a picture in text."""
RIGHT = 20
"""The room for the bounds of a window on its right."""
PANEL_HEIGHT = 10


def explain_text(text: str, source: str | None, input_format: str | None, time: str | None) -> str:
    """Return the plan of a query, for the types of an input if there is one."""
    return str(explanation(TextQuery(text, time), source, input_format))


def explanation(query: TextQuery, source: str | None, input_format: str | None) -> Explanation:
    """Return the plan of a query."""
    schema = _schema(query, source, input_format)
    if schema is None:
        return query.explain()
    query.declared(schema)
    return query.plain(schema).explain(schema)


def _schema(query: TextQuery, source: str | None, input_format: str | None) -> pa.Schema | None:
    """Return the schema of the input; None if there is none."""
    if source is None and query.path is None:
        return None
    with temporary_folder() as temporary:
        return open_input(input_of(query, source), input_format, temporary).schema


def plot(
    text: str, source: str | None, target: str | None, what: str | None, input_format: str | None, time: str | None
) -> None:
    """Draw the results, the windows or the plan of a query."""
    query = TextQuery(text, time)
    form = None if target is None else form_of_picture(target)
    check_output(target)
    if what is None:
        what = "windows" if source is None and query.path is None else "results"
    if what == "results":
        _plot_results(RunOptions(text, source, target, input_format, time=time), query, form)
        return
    if form is None:
        if what == "plan":
            console().print(str(explanation(query, source, input_format)), markup=False)
        else:
            _print_windows(query, source, input_format)
        return
    if what == "plan":
        picture = explanation(query, source, input_format)._repr_svg_()
    else:
        picture = stack([window.draw() for window in _windows(query, source, input_format).values()])
    with opened(target) as file:
        if form == "png":
            save_png(picture, file)
        else:
            file.write(picture.encode())


def _windows(query: TextQuery, source: str | None, input_format: str | None) -> dict[str, Window]:
    schema = _schema(query, source, input_format)
    plain: Query | None = None if schema is None else query.plain(schema)
    declared = explanation(query, None, None).declared if plain is None else plain._declared  # noqa: SLF001 — a part of Query
    return dict(declared.windows)


# -- results -----------------------------------------------------------------------------------------------------------


def _plot_results(options: RunOptions, query: TextQuery, form: str | None) -> None:
    progress = Progress()
    with temporary_folder() as temporary, progress.shown():
        results, declared, inputs = results_of(query, options, progress, temporary)
        table = results if isinstance(results, pa.Table) else results.read_all()
    chart = make_chart(table, declared, inputs)
    if chart.left_out:
        say(f"the chart shows the first keys; {chart.left_out:,} others are left out")
    if form is None:
        size = shutil.get_terminal_size((100, 40))
        height = max(4, min(PANEL_HEIGHT, (size.lines - 4) // len(chart.panels) - 2))
        out = console(size.columns)
        for line in chart_lines(chart, size.columns, height):
            out.print(line, no_wrap=True, overflow="crop")
        return
    with opened(options.target) as file:
        save_chart(chart, " ".join(options.text.split()), file, form)


# -- windows in text ---------------------------------------------------------------------------------------------------


def _print_windows(query: TextQuery, source: str | None, input_format: str | None) -> None:
    width = min(shutil.get_terminal_size((100, 30)).columns, 110)
    out = console(width)
    for window in _windows(query, source, input_format).values():
        out.print(repr(window), style="bold", markup=False)
        for line in window_lines(window, width):
            out.print(line, markup=False, no_wrap=True, overflow="crop")


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
    from sash.aggregates import count  # noqa: PLC0415 — only here

    technique = make_plan({"": window}, {"count": count()}).technique
    sample = make_sample(window, technique, None, "time")
    if sample is None:
        message = f"There are no sample rows for {window}. Draw the results instead: --what results -i data.parquet"
        raise ValueError(message)
    columns = max(width - LABEL - RIGHT, 20)

    def place(value: float) -> int:
        inside = min(max(value, sample.low), sample.high) - sample.low
        return round(inside / (sample.high - sample.low) * (columns - 1))

    rows = [" "] * columns
    for one in sample.places:
        rows[place(one)] = "•"
    yield "rows".ljust(LABEL) + "".join(rows).rstrip()
    if sample.slices:
        edges = [" "] * columns
        for bar in sample.slices:
            for edge in (bar.left, bar.right):
                edges[place(edge)] = "|"
        yield "slices".ljust(LABEL) + "".join(edges)
    for number, bar in enumerate(sample.windows):
        left, right = place(bar.left), place(bar.right)
        middle = max(right - left - 1, 0)
        label = "windows" if number == 0 else ""
        yield label.ljust(LABEL) + " " * left + "├" + "─" * middle + "┤" + f"  {_bounds(sample, bar.left, bar.right)}"


def _bounds(sample: Sample, left: int, right: int) -> str:
    """Return where a window begins and ends."""

    def words(place: int) -> str:
        amount = place - sample.origin + sample.omitted * (place >= sample.gap.stop if sample.gap else 0)
        return length_to_text(amount, sample.unit) if amount else "0"

    return f"[{words(left)}, {words(right)})"
