"""The CSV: one line per case and contestant, each with where, when and from which commit it was measured."""

from __future__ import annotations

import csv
import os
import platform
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, distributions
from pathlib import Path

from benchmarks.case import Case, Contestant

ROOT = Path(__file__).parent.parent


def of_suite(name: str) -> Path:
    """Return where the results of a suite of cases are kept."""
    return Path(__file__).parent / "results" / f"{name}.csv"


COMPILED = of_suite("compiled")
WINDOWS = of_suite("windows")
SPARK_BATCH = of_suite("spark_batch")
SPARK_STREAMING = of_suite("spark_streaming")
STREAM_GROWTH = of_suite("stream_growth")
FIRST_ANSWER = of_suite("first_answer")
QUERY_OVERHEAD = of_suite("query_overhead")
FILTERS_AND_WEIGHTS = of_suite("filters_and_weights")
SINGLE_EVENTS = of_suite("single_events")
FEATURES = of_suite("features")
FRAMES = of_suite("frames")
AGGREGATES = of_suite("aggregates")
NEXMARK = of_suite("nexmark")
SPARK_WINDOWS = of_suite("spark_windows")
NEVER_SLOWER = of_suite("never_slower")
PAPERS = of_suite("papers")
H2O = of_suite("h2o")
FLIGHTS = of_suite("flights")
GROWTH = of_suite("growth")
CHOICE = of_suite("choice")
SIZING = of_suite("sizing")


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What was measured for one contestant of one case."""

    case: str
    aggregate: str
    dtype: str
    range: str
    contestant: str
    role: str
    algorithm: str
    measure: str
    value: float
    """The median of the repeats."""
    least: float
    repeats: int
    rows: int
    compile_seconds: float | None
    version: str
    date: str
    commit: str
    machine: str
    cores: int
    python: str


def reading(
    case: Case, contestant: Contestant, values: list[float], rows: int, compile_seconds: float | None
) -> Reading:
    """Return what was measured, with the facts of this run."""
    ordered = sorted(values)
    return Reading(
        case=case.name,
        aggregate=case.aggregate,
        dtype=case.dtype,
        range=case.range,
        contestant=contestant.name,
        role=contestant.role,
        algorithm=contestant.algorithm,
        measure=case.measure,
        value=float(f"{ordered[len(ordered) // 2]:.4g}"),
        least=float(f"{ordered[0]:.4g}"),
        repeats=len(values),
        rows=rows,
        compile_seconds=None if compile_seconds is None else round(compile_seconds, 2),
        version=versions_of(contestant.package),
        date=datetime.now(UTC).strftime("%Y-%m-%d"),
        commit=commit(),
        machine=machine(),
        cores=os.cpu_count() or 0,
        python=platform.python_version(),
    )


@cache
def versions_of(package: str) -> str:
    """Return the package and its version; for Sash, what it compiles with too."""
    names = ("sash", "numba", "numpy") if package == "sash" else (package,)
    return ", ".join(f"{name} {_version(name)}" for name in names)


def _version(package: str) -> str:
    """Return the version of a package, of this environment or of one of another engine.

    >>> import pyarrow as pa
    >>> _version("pyarrow") == pa.__version__
    True
    """
    others = map(str, ROOT.glob(".venv-*/lib/python*/site-packages"))
    found = next(iter(distributions(name=package, path=[*sys.path, *others])), None)
    if found is None:
        raise PackageNotFoundError(package)
    return found.version


@cache
def commit() -> str:
    """Return the commit of the working tree, with a + if anything but the results was changed since."""

    def ask_git(*arguments: str) -> str:
        done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=False)
        return done.stdout.strip() if done.returncode == 0 else ""

    changed = ask_git("status", "--porcelain", "--", ".", ":!benchmarks/results", ":!docs/images")
    return (ask_git("rev-parse", "--short", "HEAD") or "unknown") + ("+" if changed else "")


@cache
def machine() -> str:
    """Return the model of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()


def read(path: Path) -> list[Reading]:
    """Return all lines of the CSV; none if there is no CSV."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return [_parse(line) for line in csv.DictReader(file)]


def _parse(line: dict[str, str]) -> Reading:
    compiled = line["compile_seconds"]
    numbers = {
        "value": float(line["value"]),
        "least": float(line["least"]),
        "repeats": int(line["repeats"]),
        "rows": int(line["rows"]),
        "cores": int(line["cores"]),
        "compile_seconds": float(compiled) if compiled else None,
    }
    return Reading(**{**line, **numbers})  # type: ignore[arg-type]


def drop_others(names: Iterable[str], path: Path) -> None:
    """Remove the lines of cases with other names, which the suite had once.

    >>> drop_others(["max"], Path("no such file"))
    """
    names = set(names)
    if path.exists():
        write((one for one in read(path) if one.case in names), path)


def replace(new: Iterable[Reading], path: Path) -> None:
    """Write the lines of the cases that were run in the place of their old ones, and leave the others as they are."""
    new = list(new)
    measured = {one.case for one in new}
    kept = [one for one in read(path) if one.case not in measured]
    write([*kept, *new], path)


def write(readings: Iterable[Reading], path: Path) -> None:
    """Write the CSV."""
    readings = list(readings)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Reading)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(one) for one in readings)
