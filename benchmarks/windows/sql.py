"""The windows in DuckDB's SQL: the plain ways to write them, and the fastest that was found."""

from __future__ import annotations

from benchmarks.windows.case import TimeWindow


def per_row(window: TimeWindow) -> str:
    """Return a frame per row; both of its ends are in it, so it is a microsecond shorter than the window's range.

    >>> print(per_row(TimeWindow("1h")).splitlines()[2])
    WINDOW w AS (PARTITION BY household ORDER BY ts RANGE BETWEEN INTERVAL 3599999999 MICROSECONDS PRECEDING AND CURRENT ROW)
    """
    return f"""\
SELECT household, ts, load, max(load) OVER w AS peak, avg(load) OVER w AS mean, stddev_samp(load) OVER w AS sd
FROM events
WINDOW w AS (PARTITION BY household ORDER BY ts RANGE BETWEEN INTERVAL {window.length - 1} MICROSECONDS PRECEDING AND CURRENT ROW)"""  # noqa: S608


def by_copies(window: TimeWindow) -> str:
    """Return every row copied to each of its windows, as stream processors do."""
    step = window.step
    return f"""\
WITH copies AS (
  SELECT household, load, unnest(range((epoch_us(ts) - {window.length}) // {step} + 1, epoch_us(ts) // {step} + 1)) AS number
  FROM events)
SELECT household, make_timestamp(number * {step}) AS window_start,
       max(load) AS peak, avg(load) AS mean, stddev_samp(load) AS sd
FROM copies GROUP BY household, number"""  # noqa: S608


def by_frames(window: TimeWindow) -> str:
    """Return slices first, then a frame over them."""
    slices, width = _slices(window)
    return f"""\
WITH {slices},
windows AS (
  SELECT household, slice, max(peak) OVER w AS peak, sum(n) OVER w AS n, sum(total) OVER w AS total, sum(squares) OVER w AS squares
  FROM grid
  WINDOW w AS (PARTITION BY household ORDER BY slice ROWS BETWEEN CURRENT ROW AND {width - 1} FOLLOWING))
{_answers(window, "windows")}"""  # noqa: S608


def by_doubling(window: TimeWindow) -> str:
    """Return slices first, then spans of 2, 4, … of them, each the sum of two, until they are as long as the window.

    An empty OVER reads rows as they come and keeps only those that it looks ahead to, so nothing is sorted again; between
    the last slice of a household and the first of the next are as many empty ones as a window is long.
    """
    slices, width = _slices(window)
    spans, size = ["span1 AS (FROM grid SELECT *, peak AS peak1, n AS n1, total AS total1, squares AS squares1)"], 1
    for bit in bin(width)[3:]:
        spans.append(_joined(size, size, ""))
        size *= 2
        if bit == "1":
            spans.append(_joined(size, 1, "1"))
            size += 1
    return "WITH " + ",\n".join([slices, *spans]) + "\n" + _answers(window, f"span{size}")


def _joined(size: int, more: int, which: str) -> str:
    """Return spans joined with those that follow: of the same size, or of one slice."""
    sums = ", ".join(f"{name} + lead({name}{which}, {size}, 0) OVER () AS {name}" for name in ("n", "total", "squares"))
    peak = f"greatest(peak, lead(peak{which}, {size}) OVER ()) AS peak"
    return (
        f"span{size + more} AS (FROM span{size} SELECT household, slice, {peak}, {sums}, peak1, n1, total1, squares1)"
    )


def _slices(window: TimeWindow) -> tuple[str, int]:
    """Return all slices of each household, the empty ones too and enough before its first row, and a window's number of them.

    A slide is one slice; or two, where the range is no multiple of it, cut where windows end.
    """
    step, rest = window.step, window.length % window.step
    number = f"epoch_us(ts) // {step}"
    if rest:
        number = f"{number} * 2 + (epoch_us(ts) % {step} >= {rest})::BIGINT"
    width = window.length // step * (2 if rest else 1) + bool(rest)
    return (
        f"""\
slices AS MATERIALIZED (
  SELECT household, {number} AS slice,
         max(load) AS peak, count(load)::DOUBLE AS n, sum(load) AS total, sum(load * load) AS squares
  FROM events GROUP BY ALL),
places AS (
  SELECT household, unnest(range(min(slice) - {width - 1}, max(slice) + 1)) AS slice FROM slices GROUP BY household),
grid AS (
  SELECT household, slice, peak, coalesce(n, 0) AS n, coalesce(total, 0) AS total, coalesce(squares, 0) AS squares
  FROM places LEFT JOIN slices USING (household, slice) ORDER BY household, slice)""",  # noqa: S608
        width,
    )


def _answers(window: TimeWindow, windows: str) -> str:
    is_cut = window.length % window.step != 0
    number, starts = ("slice // 2", " AND slice % 2 = 0") if is_cut else ("slice", "")
    return f"""\
SELECT household, make_timestamp({number} * {window.step}) AS window_start, peak, total / n AS mean,
       CASE WHEN n > 1 THEN sqrt(greatest(squares - total * total / n, 0) / (n - 1)) END AS sd
FROM {windows} WHERE n > 0{starts}"""  # noqa: S608
