"""The cache of compiled kernels: names cover all sources, and processes share one folder."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from helpers.cases import SOAK, fitting
from helpers.pairwise import FULL

import sash
from sash import agg
from sash.aggregates.base import with_fields
from sash.algorithms import ALGORITHMS, Algorithm, FiBA, TwoStacks
from sash.kernels import cache, design, loops, read
from sash.kernels.design import KernelDesign
from sash.slices.open_slice import OpenSlice

PROCESSES = 6 if SOAK else 3 if FULL else 2
COMPILE = """
import sys, time
import numpy as np
import sash
spread = sash.aggregate(
    "spread", lift=lambda x: (x, x), lower=lambda ends: ends[1] - ends[0],
    combine=lambda older, newer: (min(older[0], newer[0]), max(older[1], newer[1])),
)
spreads = sash.Aggregator(spread, "two_stacks")
values = np.array([3, 1, 4, 1, 5, 9, 2, 6])
while time.time() < float(sys.argv[1]):
    time.sleep(0.001)
print(spreads.slide(values, 3).tolist())
"""
ANSWER = "[0, 2, 3, 3, 4, 8, 7, 7]"


def compile_together(processes: int) -> None:
    """Start processes that compile at the same moment, and compare what each answers."""
    at = str(time.time() + 2.5)  # until all have imported what they need
    started = [
        subprocess.Popen([sys.executable, "-c", COMPILE, at], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(processes)
    ]
    for process in started:
        said, complaint = process.communicate(timeout=120)
        assert (said.strip(), complaint) == (ANSWER, "")


def test_processes_that_compile_together_leave_one_whole_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SASH_CACHE_DIR", str(tmp_path))
    compile_together(PROCESSES)
    kept = written(tmp_path)
    assert any(path.suffix == ".object" for path in kept)
    assert not [path for path in kept if "tmp" in path.name]
    compile_together(1)
    assert written(tmp_path) == kept, "what was kept is not what was asked for"


def written(folder: Path) -> dict[Path, int]:
    """The files of the cache, and when each was written."""
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


OWN = """
import sash
spread = sash.aggregate("spread", lift=lambda x: (x, x), lower=lambda ends: ends[1] - ends[0],
                        combine=lambda older, newer: (min(older[0], newer[0]), max(older[1], newer[1])))
"""
FROM_AFAR = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("elsewhere", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)  # as functions that Spark brings from the driver: this process doesn't know their module
import numpy as np, sash
print(sash.Aggregator(module.spread, "two_stacks").slide(np.array([3, 1, 4, 1, 5, 9, 2, 6]), 3).tolist())
"""


@pytest.mark.full
def test_functions_of_a_module_that_is_not_there_are_found_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SASH_CACHE_DIR", str(tmp_path / "cache"))
    path = tmp_path / "elsewhere.py"
    path.write_text(OWN, encoding="utf-8")
    for _ in range(PROCESSES):
        done = subprocess.run(
            [sys.executable, "-c", FROM_AFAR, str(path)], capture_output=True, text=True, check=False, timeout=120
        )
        assert (done.stdout.strip(), done.stderr) == (ANSWER, "")


# -- names: a change of any source gives another one, so that a kept kernel never hides it -------------------------------

SOURCES = Path(sash.__file__).parent
NO_KERNEL = {"__init__.py", "catalogue.py"}
"""Files of algorithms/ that no kernel is generated from."""


def kernel_names() -> str:
    """The name of a kernel of every algorithm: none is compiled."""
    names = {algorithm.__name__: name_of(algorithm) for algorithm in fused_algorithms()}
    names["FiBA"] = name_of(FiBA, agg.max(), loop=loops.slide_times)
    return " ".join(f"{algorithm} {name}" for algorithm, name in names.items())


def fused_algorithms() -> list[type[Algorithm[Any]]]:
    return [algorithm for algorithm in ALGORITHMS if not algorithm.interpreted_only]


def designed(
    algorithm: type[Algorithm[Any]], chosen: sash.Aggregate[Any] | None = None, **options: Any
) -> KernelDesign:
    """A kernel that is named but not compiled."""
    if chosen is None:
        compiled = [
            one
            for one in fitting(algorithm).values()
            if algorithm.keeps_values or not (one.coding.interpreted_only or one.forms.entries)
        ]
        chosen = next(one for one in compiled if one.inputs == 1)
    return KernelDesign(algorithm, [chosen], ("float64",), options.pop("loop", loops.slide_rows), **options)


def name_of(algorithm: type[Algorithm[Any]], chosen: sash.Aggregate[Any] | None = None, **options: Any) -> str:
    return designed(algorithm, chosen, **options).name


NAMES = f"""
import sys
sys.path[:0] = {[str(Path(__file__).parent), str(Path(__file__).parents[1])]!r}
from test_cache import kernel_names
print(kernel_names())
"""


def names_from(package: Path) -> dict[str, str]:
    """The names of kernels in a process that imports Sash from another place."""
    environment = {**os.environ, "PYTHONPATH": str(package)}
    done = subprocess.run([sys.executable, "-c", NAMES], capture_output=True, text=True, check=True, env=environment)
    words = done.stdout.split()
    return dict(zip(words[::2], words[1::2], strict=True))


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the package."""
    for path in SOURCES.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            target = tmp_path / "sash" / path.relative_to(SOURCES)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    return tmp_path / "sash"


def test_code_that_generates_kernels_is_part_of_every_name(copy: Path) -> None:
    before = names_from(copy.parent)
    path = copy / "kernels" / "write.py"
    path.write_text(path.read_text(encoding="utf-8") + "\n\nUNUSED = 1\n", encoding="utf-8")
    after = names_from(copy.parent)
    assert before.keys() == after.keys()
    assert not [name for name in before if before[name] == after[name]]


def test_comments_docstrings_and_layout_are_not(copy: Path) -> None:
    """Every file is written anew from its syntax tree, without comments, with other docstrings and another layout."""
    before = names_from(copy.parent)
    called = {
        function.__name__ for function in design.CALLED
    }  # their machine code is that of their bytecode, docstring included
    for folder in ("kernels", "algorithms"):
        for path in (copy / folder).glob("*.py"):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            for node in ast.walk(tree):
                if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) or ast.get_docstring(node) is None:
                    continue
                if getattr(node, "name", "") not in called:
                    node.body[0] = ast.Expr(ast.Constant("Another docstring."))
            path.write_text("# changed\n\n" + ast.unparse(tree), encoding="utf-8")
    assert names_from(copy.parent) == before


def test_modules_that_generate_nothing_are_not(copy: Path) -> None:
    before = names_from(copy.parent)
    for file in ("numpy_kernel.py", "function_identity.py", "ranks/blocks.py"):
        path = copy / "kernels" / file
        path.write_text(path.read_text(encoding="utf-8") + "\n\nUNUSED = 1\n", encoding="utf-8")
    assert names_from(copy.parent) == before


def imports_of(module: str) -> set[str]:
    """The modules of kernels/ that a module of it imports, found in its syntax tree."""
    tree = ast.parse((SOURCES / "kernels" / f"{module}.py").read_text(encoding="utf-8"))
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "sash.kernels":
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sash.kernels."):
            found.add((node.module or "").removeprefix("sash.kernels."))
    return found


def test_every_module_that_generates_kernels_is_read() -> None:
    names = [name for name, _ in design.generating_code()]
    assert set(names) >= {"design", "fuse", "write", "infer", "bit_intrinsics", "compile_entry", "entry", "loops"}
    assert set(names) == {"design", "compile_entry"}.union(*map(imports_of, names))
    assert len(set(names)) == len(names)


def test_every_function_of_an_algorithm_is_part_of_its_name(copy: Path) -> None:
    """In a copy of the package every function of algorithms is changed: no kernel keeps its name."""
    before = names_from(copy.parent)
    assert before == names_from(SOURCES.parent)
    for path in (copy / "algorithms").glob("*.py"):
        if path.name not in NO_KERNEL | {"base.py"}:
            path.write_text(changed_methods(path.read_text(encoding="utf-8")), encoding="utf-8")
    after = names_from(copy.parent)
    assert before.keys() == after.keys()
    assert not [name for name in before if before[name] == after[name]]


def test_constants_of_a_module_are_part_of_the_names_of_the_kernels_that_read_them(copy: Path) -> None:
    before = names_from(copy.parent)
    path = copy / "algorithms" / "occurrence_table.py"
    path.write_text(path.read_text(encoding="utf-8").replace("\nFREE = -1\n", "\nFREE = -2\n"), encoding="utf-8")
    after = names_from(copy.parent)
    assert {name for name in before if before[name] != after[name]} == {"OccurrenceTable", "OccurrenceTournament"}


def changed_methods(source: str) -> str:
    """A module in which every `insert` has one statement more."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == "insert":
            node.body.append(ast.parse("unused = 1").body[0])
    return ast.unparse(ast.fix_missing_locations(tree))


@pytest.mark.parametrize("algorithm", fused_algorithms(), ids=lambda algorithm: algorithm.__name__)
def test_every_method_is_part_of_the_name(algorithm: type[Algorithm[Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    made = designed(algorithm)
    source = read.read_algorithm(algorithm)
    for name, method in source.methods.items():
        node = ast.parse(f"{ast.unparse(method.node)}\n    unused = 1").body[0]
        assert isinstance(node, ast.FunctionDef)
        methods = {**source.methods, name: read.FunctionSource(node, method.file, method.names)}
        changed = read.AlgorithmSource(source.name, source.state, methods, source.query, source.needs_inverse)
        monkeypatch.setattr(design, "read_algorithm", lambda _, changed=changed: changed)
        assert made._fingerprint() != made.name, name


def changed_constants() -> Iterator[tuple[str, type[Algorithm[Any]]]]:
    for algorithm in fused_algorithms():
        for method in read.read_algorithm(algorithm).methods.values():
            yield from ((name, algorithm) for name in method.constants)


@pytest.mark.parametrize(("name", "algorithm"), sorted(set(changed_constants()), key=str))
def test_every_constant_is_part_of_the_name(name: str, algorithm: type[Algorithm[Any]]) -> None:
    made = designed(algorithm)
    source = read.read_algorithm(algorithm)
    methods = {
        key: read.FunctionSource(method.node, method.file, {**method.names, name: -7})
        for key, method in source.methods.items()
    }
    changed = read.AlgorithmSource(source.name, source.state, methods, source.query, source.needs_inverse)
    with pytest.MonkeyPatch().context() as patch:
        patch.setattr(design, "read_algorithm", lambda _: changed)
        assert made._fingerprint() != made.name


@pytest.mark.parametrize("place", range(len(design.CALLED)), ids=[one.__name__ for one in design.CALLED])
def test_functions_that_algorithms_call_are_part_of_the_name(place: int, monkeypatch: pytest.MonkeyPatch) -> None:
    before = name_of(TwoStacks)
    other = [*design.CALLED[:place], lambda x: x, *design.CALLED[place + 1 :]]
    monkeypatch.setattr(design, "CALLED", tuple(other))
    assert name_of(TwoStacks) != before


def test_what_is_asked_of_a_kernel_is_part_of_its_name() -> None:
    total = agg.stddev().of_kind("float")
    names = [
        name_of(TwoStacks, total),
        name_of(TwoStacks, total, nullable=True),
        name_of(TwoStacks, total, tracks_row=True),
        name_of(TwoStacks, total, lanes=2),
        name_of(TwoStacks, total, loop=loops.slide_between),
        name_of(TwoStacks, with_fields(total, at_least=7)),
        name_of(TwoStacks, with_fields(total, held=0)),
        name_of(TwoStacks, with_fields(total, counts=())),
        name_of(TwoStacks, replace(total, lift=lambda x: (x, x, x))),
        name_of(TwoStacks, replace(total, combine=lambda older, _: older)),
        name_of(TwoStacks, replace(total, lower=lambda partial: partial[0])),
    ]
    assert len(set(names)) == len(names)


VARIANTS: list[dict[str, Any]] = [
    {},
    {"lanes": 2},
    {"nullable": True, "tracks_row": True},
    {"loop": loops.slide_between},
    {"loop": loops.slide_ranges},
    {"loop": loops.slide_slices, "nullable": True},
    {"loop": loops.advance},
]


def expect_same_text(made: KernelDesign) -> None:
    """Generate the text again and compare it with the text in the cache, if the kernel is there."""
    text = made.write()
    assert made.write() == text
    assert cache.find_module(made.name) in (None, text)


@pytest.mark.parametrize("algorithm", fused_algorithms(), ids=lambda algorithm: algorithm.__name__)
def test_the_text_of_a_kernel_depends_on_nothing_else(algorithm: type[Algorithm[Any]]) -> None:
    for options in VARIANTS:
        expect_same_text(designed(algorithm, **options))


def test_the_text_of_slices_and_of_several_aggregates_depends_on_nothing_else() -> None:
    several = [agg.stddev("x"), agg.max("x"), agg.mean("x")]
    for nullable in (False, True):
        expect_same_text(KernelDesign(OpenSlice, several, ("float64",), loops.cut_slices, nullable=nullable))
    for lanes in (1, 4):
        expect_same_text(KernelDesign(TwoStacks, several, ("float64",), loops.slide_rows, lanes=lanes))


def pack(package: Path, packed: Path) -> None:
    """Write a package into a zip file, as for Spark's --py-files."""
    with zipfile.ZipFile(packed, "w") as archive:
        for path in package.rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                archive.write(path, Path("sash") / path.relative_to(package))


QUERY = """
import pyarrow as pa, sash
from sash import agg, window
rows = pa.table({"t": [0, 1, 2], "x": [1.0, 2.0, 4.0]})
print(sash.Query({"mean": agg.mean("x")}, window.time(2, slide=2), time="t").run(rows, compiled=True)["mean"].to_pylist())
"""


@pytest.mark.parametrize(
    ("file", "text", "changed", "result"),
    [
        ("kernels/write.py", "\nVALIDITY", "\nUNUSED = 1\nVALIDITY", "[1.5, 4.0]"),
        ("aggregates/compensated.py", "(total[0]) / total[1]\n", "(total[0]) / total[1] + 3.0\n", "[4.5, 7.0]"),
        ("windows/time_loops.py", "stop += step\n", "stop += step + 0\n", "[1.5, 4.0]"),
    ],
)
@pytest.mark.full
def test_another_version_in_a_zip_file_runs_no_stale_kernel(
    copy: Path, file: str, text: str, changed: str, result: str
) -> None:
    folder, packed = copy.parent / "cache", copy.parent / "packed.zip"
    environment = {**os.environ, "PYTHONPATH": str(packed), "SASH_CACHE_DIR": str(folder)}

    def run() -> tuple[str, set[str]]:
        pack(copy, packed)
        done = subprocess.run(
            [sys.executable, "-c", QUERY], capture_output=True, text=True, check=True, env=environment
        )
        return done.stdout.strip(), {path.name for path in folder.rglob("*.py")}

    before, kernels = run()
    source = (copy / file).read_text(encoding="utf-8")
    assert text in source
    (copy / file).write_text(source.replace(text, changed, 1), encoding="utf-8")
    after, more_kernels = run()
    assert (before, after) == ("[1.5, 4.0]", result)
    assert kernels
    assert more_kernels > kernels


@pytest.mark.full
def test_names_are_the_same_from_a_zip_file(tmp_path: Path) -> None:
    packed = tmp_path / "packed.zip"
    pack(SOURCES, packed)
    assert names_from(packed) == names_from(SOURCES.parent)
    environment = {**os.environ, "PYTHONPATH": str(packed)}
    slide = "import sash; from sash import agg; print(sash.Aggregator(agg.max('x')).slide([3, 1, 2], 2).to_pylist())"
    done = subprocess.run([sys.executable, "-c", slide], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.strip() == "[3, 3, 2]"
