from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from cases import AGGREGATES

import sash
from sash import aggregate, catalogue
from sash.testing import LawError, check_laws

ROOT = Path(__file__).parent.parent


def test_importing_sash_imports_nothing_heavy() -> None:
    heavy = [*("numba", "pyspark", "matplotlib", "datasketches", "_datasketches", "hypothesis", "pandas", "pyarrow")]
    heavy += ["bottleneck", "duckdb", "numbagg", "polars", "rich", "benchmarks"]
    code = f"import sash, sys; print(*[name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_the_readme_shows_the_catalogue() -> None:
    assert str(catalogue()) in (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("[0-9]*.py")), ids=lambda path: path.name)
def test_examples_run(example: Path) -> None:
    done = subprocess.run([sys.executable, str(example)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_the_readings_of_the_examples_are_what_their_script_makes() -> None:
    script = ROOT / "examples" / "data" / "make_readings.py"
    made = runpy.run_path(str(script))["make_readings"]()
    kept = pq.read_table(script.with_name("readings.parquet"))
    exactly = [name for name in made.column_names if name not in {"load", "work"}]
    assert kept.select(exactly).equals(made.select(exactly))
    for name in ("load", "work"):  # another processor may round another way
        np.testing.assert_allclose(kept[name].to_numpy(), made[name].to_numpy(), atol=0.11)
    assert 0 < kept["load"].null_count < len(kept) / 100


@pytest.mark.parametrize("name", AGGREGATES)
def test_the_laws_that_aggregates_claim_hold(name: str) -> None:
    chosen = AGGREGATES[name]
    values = [3, -1, 3, 0, 7]
    check_laws(chosen, list(zip(values, reversed(values), strict=True)) if chosen.inputs > 1 else values)


@pytest.mark.parametrize(
    ("law", "claims"),
    [
        ("associative", {"combine": lambda older, newer: older - newer}),
        ("commutative", {"combine": lambda older, _: older, "commutative": True}),
        ("selective", {"combine": lambda older, newer: older + newer, "selective": True}),
        ("invertible", {"combine": max, "inverse": lambda whole, older: whole - older}),
        ("left alone by its identity", {"combine": max, "identity": 2}),
    ],
)
def test_check_laws_shows_a_counter_example(law: str, claims: dict[str, object]) -> None:
    broken = aggregate("broken", lift=lambda x: x, **claims)  # type: ignore[arg-type]
    with pytest.raises(LawError, match=rf"broken is not {law}: \w+\("):
        check_laws(broken, [1, 2, 5])


def test_check_laws_judges_rounding_by_the_size_of_the_values() -> None:
    midpoint = aggregate("midpoint", lift=float, combine=lambda older, newer: (older + newer) / 2)
    with pytest.raises(LawError, match="midpoint is not associative"):
        check_laws(midpoint, [1e-10, 2e-10, 4e-10])


def test_check_laws_finds_an_inverse_that_is_not_exact() -> None:
    claims: Any = {"combine": lambda older, newer: older + newer, "inverse": lambda whole, older: whole - older}
    check_laws(aggregate("total", lift=float, **claims), [0.1, 0.2, 0.3])
    with pytest.raises(LawError, match="total is not exactly invertible"):
        check_laws(aggregate("total", lift=float, inverse_is_exact=True, **claims), [0.1, 0.2, 0.3])


def test_check_laws_looks_at_the_last_values_too() -> None:
    late = aggregate(
        "late", lift=int, combine=lambda older, newer: max(older, newer) if max(older, newer) < 9 else older - newer
    )
    with pytest.raises(LawError, match="late is not associative"):
        check_laws(late, range(1, 20))


def test_check_laws_finds_a_combine_that_changes_its_argument() -> None:
    def extend(older: list[int], newer: list[int]) -> list[int]:
        older.extend(newer)
        return older

    growing = aggregate("growing", lift=lambda x: [x], combine=extend)
    with pytest.raises(LawError, match="combine of growing changes an argument"):
        check_laws(growing, [1, 2])


def test_check_laws_wants_values() -> None:
    with pytest.raises(ValueError, match="no values were given"):
        check_laws(sash.agg.max(), [])
