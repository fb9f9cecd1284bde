"""Draw the pictures of the documentation from the CSVs: `python -m benchmarks.plots`."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from benchmarks.plots.dots import draw_latencies, draw_queries, draw_workloads
from benchmarks.plots.lines import SWEEPS, draw_columns, draw_engines, draw_streams, draw_sweep
from benchmarks.results import COMPILED, GROWTH, NEXMARK, ROOT, STREAM_GROWTH, of_suite, read

FOLDER = ROOT / "docs" / "images"
PICTURES: Mapping[str, tuple[Path, Callable[..., None]]] = {
    "workloads": (of_suite("workloads"), draw_workloads),
    "ns_per_row": (COMPILED, draw_columns),
    "stream_growth": (STREAM_GROWTH, draw_streams),
    "nexmark": (NEXMARK, draw_queries),
    "engines": (of_suite("engines"), draw_engines),
    "latency": (of_suite("latency"), draw_latencies),
    **{f"growth/{sweep}": (GROWTH, partial(draw_sweep, sweep=sweep)) for sweep in SWEEPS},
}
"""By the name of the picture: its CSV, and what draws it."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Draw all pictures, or those that are named."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.plots", description="Draw the CSVs.")
    parser.add_argument("pictures", nargs="*", metavar="PICTURE", help=f"of {', '.join(PICTURES)}; by default all")
    parser.add_argument("--to", type=Path, default=FOLDER, help="a folder")
    parser.add_argument("--png", action="store_true", help="PNG instead of SVG")
    options = parser.parse_args(arguments)
    if unknown := set(options.pictures) - set(PICTURES):
        parser.error(f"no picture {', '.join(sorted(unknown))}; there are {', '.join(PICTURES)}")
    for name in options.pictures or [name for name, (csv, _) in PICTURES.items() if csv.exists()]:
        csv, draw = PICTURES[name]
        draw(read(csv), path=options.to / f"{name}.{'png' if options.png else 'svg'}")


if __name__ == "__main__":
    main()
