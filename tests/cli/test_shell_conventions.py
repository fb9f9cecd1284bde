"""Exit codes, messages, signals, pipes, memory and help, as a shell expects them."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
from helpers.shell import COMMAND, ROOT, environment, on_terminal, sash

import sash as library
from sash.cli.app import app

TEXT = "SELECT household, max(load) AS peak FROM t [RANGE 1 HOUR SLIDE 20 MINUTES ON ts] GROUP BY household"
STORE = "sqlite:///features.db"
UNION = f"{TEXT} UNION ALL {TEXT}"
NEAR = "SELECT max(load) AS peak FROM t [PARTITION BY household DELTA load 5 ON ts]"
AHEAD = "SELECT max(load) AS peak FROM t [PARTITION BY household RANGE BEFORE 0 AFTER 1 HOUR ON ts]"
PER_ROW = "SELECT max(load) AS peak FROM t [RANGE 1 HOUR ON ts]"
SUMS = "SELECT sum(x) AS s FROM t [RANGE 10 SLIDE 10 ON at]"
SCHEMA = pa.schema({"at": pa.int64(), "x": pa.int64()})


def start_stream(folder: Path, *options: str, **env: str) -> subprocess.Popen[bytes]:
    """Start a command that reads rows from a pipe as they arrive, and waits for more."""
    command = [*COMMAND, "run", SUMS, "-i", "-", "--lateness", "0", *options]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, cwd=folder, env=environment(**env), **pipes)  # type: ignore[call-overload,no-any-return]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", TEXT, "-i", "missing.parquet"], ["there is no file or folder 'missing.parquet'"]),
        (["run", TEXT, "-i", "*.nothing"], ["no file matches the pattern '*.nothing'"]),
        (["run", "missing.sql"], ["There is no file 'missing.sql'"]),
        (["run", TEXT], ["There is no input", "-i data.parquet"]),
        (["run", TEXT.replace("FROM t", "FROM 'a.csv'"), "-i", "readings.parquet"], ["FROM names the file 'a.csv'"]),
        (["run", TEXT.replace("load", "lod"), "-i", "readings.parquet"], ["'lod'", "Did you mean 'load'?"]),
        (["run", TEXT.replace("max(", "maxx("), "-i", "readings.parquet"], ["At line 1, column 19", "^^^^", "max"]),
        (["run", TEXT, "-i", "readings.parquet", "-o", "none/out.csv"], ["folder that does not exist"]),
        (["run", TEXT, "-i", "readings.parquet", "-o", "out.xlsx"], ["--output-format"]),
        (["run", TEXT, "-i", "readings.parquet", "--output-format", "xlsx"], ["There is no format 'xlsx'"]),
        (["run", TEXT, "-i", "text.parquet"], ["Cannot read 'text.parquet' as Parquet"]),
        (["run", TEXT, "-i", "-"], ["nothing on standard input"]),
        (["run", TEXT, "-i", "readings.parquet", "--lateness", "soon"], ["--lateness soon is not a duration"]),
        (
            ["run", TEXT.replace(" ON ts", ""), "-i", "text.csv"],
            ["No column of 'text.csv' holds times", "or with --time ts", "--time-format"],
        ),
        (["run", AHEAD, "-i", "readings.parquet", "--at", "text.csv"], ["leakage", "pass --future"]),
        (["run", NEAR, "-i", "readings.parquet", "--at", "text.csv"], ["--at does not apply to delta"]),
        (["run", PER_ROW, "-i", "readings.parquet", "--at", "text.csv"], ["have no column 'ts'", "--at-time when"]),
        (["run", f"{TEXT} EMIT CHANGES", "-i", "readings.parquet"], ["use Python, query.run(stream"]),
        (["live", TEXT, "-i", "empty", "--token", "abc"], ["The token has 3 characters", "Use a longer --token"]),
        (["serve", TEXT, "--store", STORE], ["has no name", "card_features='SELECT"]),
        (["serve", f"peaks={TEXT}", "--store", STORE], ["has no states of 'peaks'. Nothing has been written"]),
        (["serve", f"peaks={TEXT}", "--store", "f.db"], ["--store: 'f.db' is no URL", "sqlite:///features.db"]),
        (["serve", f"peaks={TEXT}", "--store", "sqlite://f.db"], ["--store: 'sqlite://f.db' names no file"]),
        (
            ["serve", f"peaks={TEXT}", "--store", "redis://localhost:1"],
            ["The store redis://localhost:1 does not answer"],
        ),
        (["serve", f"peaks={TEXT}", "--store", STORE, "--token", "abc"], ["Use a longer --token"]),
        (["serve", f"a={TEXT}", f"a={TEXT}", "--store", STORE], ["Two queries have the name 'a'"]),
        (["serve", f"a={UNION}", "--store", STORE], ["'a' has several SELECTs"]),
        (["serve", "nothing:cards", "--store", STORE], ["There is no module 'nothing'"]),
        (["serve", "json:cards", "--store", STORE], ["'json' has no variable 'cards'"]),
        (["serve", "json:loads", "--store", STORE], ["json:loads is function, not a query"]),
        (["serve", "cards.sql", "--store", STORE], ["There is no file 'cards.sql'"]),
        (["run", TEXT, "-i", "readings.parquet", "--at-time", "ts"], ["--at"]),
        (["run", TEXT, "-i", "readings.parquet", "--future"], ["--at"]),
        (["run", TEXT, "-i", "-", "--at", "-"], ["cannot both come from standard input"]),
        (["run", TEXT, "-i", "empty"], ["has no files"]),
        (["run", TEXT, "-i", "nothing.csv"], ["Cannot read 'nothing.csv': it is empty"]),
        (["plot", TEXT, "-i", "readings.parquet", "-o", "out.jpg"], [".svg or .png"]),
        (["aggregates", "maxx"], ["There is no aggregate maxx. Did you mean 'max'?"]),
        (["explain", "SELECT"], ["sash: "]),
    ],
)
def test_an_error_is_one_message_and_exit_code_1(arguments: list[str], words: list[str], folder: Path) -> None:
    (folder / "text.parquet").write_text("no parquet", "utf-8")
    (folder / "text.csv").write_text("x\n1\n", "utf-8")
    (folder / "nothing.csv").touch()
    (folder / "empty").mkdir()
    before = sorted(folder.iterdir())
    done = sash(*arguments, cwd=folder, code=1)
    message = done.stderr.decode()
    assert message.startswith("sash: ")
    assert "Traceback" not in message
    assert all(word in message for word in words), message
    assert done.stdout == b""
    assert sorted(folder.iterdir()) == before


def test_debug_shows_where_an_error_comes_from(folder: Path) -> None:
    done = sash("run", TEXT, "-i", "missing.parquet", "--debug", cwd=folder, code=1)
    assert b"Traceback" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["run"],
        ["walk"],
        ["run", TEXT, "--engine", "abacus"],
        ["run", TEXT, "--threads", "0"],
        ["run", TEXT, "--stream", "--engine", "local"],
        ["run", TEXT, "--checkpoint", "here"],
        ["run", TEXT, "--forget", "30d"],
        ["run", TEXT, "--engine", "spark", "--at", "labels.parquet"],
    ],
)
def test_wrong_usage_is_exit_code_2(arguments: list[str], folder: Path) -> None:
    done = sash(*arguments, cwd=folder, code=2)
    assert b"Usage" in done.stderr


def test_a_text_value_far_below_is_an_error_and_no_output(tmp_path: Path) -> None:
    lines = ["t,x", *(f"{number},1" for number in range(30_000)), "late,1"]
    (tmp_path / "in.csv").write_text("\n".join(lines), "utf-8")
    text = "SELECT sum(x) AS s FROM rows [RANGE 10 SLIDE 10 ON t]"
    done = sash("run", text, "-i", "in.csv", "-o", "out.csv", cwd=tmp_path, code=1)
    assert b"Cannot read 'in.csv' as csv" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_leaves_no_half_written_output(number: signal.Signals, code: int, tmp_path: Path) -> None:
    (tmp_path / "out.csv").write_text("as before", "utf-8")
    (tmp_path / "temporary").mkdir()
    process = start_stream(tmp_path, "-o", "out.csv", TMPDIR=str(tmp_path / "temporary"))
    assert process.stdin is not None
    with pa.ipc.new_stream(process.stdin, SCHEMA) as writer:
        writer.write_table(pa.table({"at": [1, 5, 12], "x": [1, 2, 3]}, SCHEMA))
        process.stdin.flush()
        deadline = time.monotonic() + 40
        while not any(path.stat().st_size for path in tmp_path.glob(".out.csv.*.part")):
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.02)
        process.send_signal(number)
        assert process.wait(30) == code
    _, errors = process.communicate()
    assert b"Traceback" not in errors
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.csv", "temporary"]
    assert (tmp_path / "out.csv").read_text("utf-8") == "as before"
    assert list((tmp_path / "temporary").iterdir()) == []


def test_a_closed_pipe_ends_a_command_quietly(tmp_path: Path) -> None:
    process = start_stream(tmp_path)
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    writer = pa.ipc.new_stream(process.stdin, SCHEMA)
    writer.write_table(pa.table({"at": [1, 5, 12], "x": [1, 2, 3]}, SCHEMA))
    process.stdin.flush()
    assert process.stdout.readline() == b'"window_start","window_end","s"\n'
    process.stdout.close()
    writer.write_table(pa.table({"at": [100, 200], "x": [1, 2]}, SCHEMA))
    writer.close()
    process.stdin.close()
    errors = process.stderr.read()
    assert process.wait(30) == 141
    assert errors == b""
    process.stderr.close()


MEASURE = """
import resource, subprocess, sys
code = subprocess.call(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(code)
"""
"""Runs a command and prints the most memory that it took. A process of its own, because Linux counts that of the parent, too."""


@pytest.mark.full
def test_an_input_larger_than_memory_runs_in_batches(tmp_path: Path) -> None:
    """The table alone takes 96 MB, the same run without batches more than 650 MB; Python and its packages take 200 MB."""
    rows = 3_000_000
    random = np.random.default_rng(1)
    data = {"t": random.permutation(rows), "k": random.integers(0, 20, rows), "x": random.random(rows)}
    pq.write_table(pa.table({**data, "y": random.random(rows)}), tmp_path / "in.parquet", row_group_size=200_000)
    text = "SELECT k, sum(x) AS s, max(y) AS m FROM rows [RANGE 1000 SLIDE 500 ON t] GROUP BY k"
    command = [*COMMAND, "run", text, "-i", "in.parquet", "-o", "out.parquet", "--memory", "256MB"]
    measured = [sys.executable, "-c", MEASURE, *command]
    done = subprocess.run(measured, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.splitlines()[-1]) < 600 * 1024  # kilobytes
    expected = library.sql(text).run(pq.read_table(tmp_path / "in.parquet"))
    found = pq.read_table(tmp_path / "out.parquet")
    order = [("k", "ascending"), ("window_start", "ascending")]
    assert found.num_rows == expected.num_rows
    np.testing.assert_allclose(found.sort_by(order)["s"], expected.sort_by(order)["s"], rtol=1e-12)


def test_help_starts_fast_and_imports_nothing_heavy() -> None:
    code = "import sys; from sash.cli.app import app\ntry: app(['--help'])\nexcept SystemExit: print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment())
    loaded = done.stdout.splitlines()[-1].split()
    assert not {"pyarrow", "numba", "duckdb", "sqlglot", "pyspark", "pandas", "matplotlib"} & set(loaded)


def test_version_and_module() -> None:
    done = subprocess.run([*COMMAND, "--version"], capture_output=True, text=True, check=True, env=environment())
    assert done.stdout == f"sash {library.__version__}\n"


def test_completion_offers_commands() -> None:
    env = environment(_SASH_COMPLETE="complete_bash", COMP_WORDS="sash ex", COMP_CWORD="1")
    done = subprocess.run([*COMMAND], capture_output=True, text=True, check=False, env=env)
    assert "explain" in done.stdout


def commands() -> dict[str, list[str]]:
    """Return the examples in the help of each command."""
    return {
        str(one.name): [line.removeprefix("$ ").replace("\\[", "[") for line in str(one.epilog).split("\n\n")[1:]]
        for one in app.registered_commands
    }


EXAMPLES = [(name, line) for name, lines in commands().items() for line in lines if name not in ("live", "serve")]
"""The others end; tests/live and tests/serve run these."""


def test_every_command_has_examples_and_shows_them(tmp_path: Path) -> None:
    assert set(commands()) == {
        "run",
        "explain",
        "size",
        "plot",
        "algorithms",
        "aggregates",
        "warm",
        "bench",
        "live",
        "sample",
        "serve",
    }
    for name, lines in commands().items():
        assert lines, name
        done = sash(name, "--help", cwd=tmp_path, env={"COLUMNS": "300"})
        shown = re.sub(r"\s+", " ", done.stdout.decode())
        assert all(line in shown for line in lines), shown


@pytest.mark.parametrize(("name", "line"), EXAMPLES)
def test_the_examples_in_the_help_run(name: str, line: str, tmp_path: Path) -> None:
    rows = pq.read_table(ROOT / "examples" / "data" / "readings.parquet").slice(0, 3000)
    pq.write_table(rows, tmp_path / "readings.parquet")
    pc.write_csv(rows, tmp_path / "readings.csv")
    (tmp_path / "readings").mkdir()
    pq.write_table(rows, tmp_path / "readings" / "first.parquet")
    (tmp_path / "query.sql").write_text(TEXT, "utf-8")
    stdin = None
    if line.startswith("cat "):
        before, _, line = line.partition(" | ")
        stdin = (tmp_path / before.removeprefix("cat ")).read_bytes()
    words = shlex.split(line.partition(" > ")[0])
    assert words[:2] == ["sash", name]
    done = sash(*words[1:], cwd=tmp_path, stdin=stdin)
    output = words[words.index("-o") + 1] if "-o" in words else None
    assert (tmp_path / output).stat().st_size if output else done.stdout


def test_live_says_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "starlette.py").write_text("raise ImportError('none', name='starlette')", "utf-8")
    env = {"PYTHONPATH": os.pathsep.join([str(tmp_path), environment()["PYTHONPATH"]])}
    command = [*COMMAND, "live", "--no-open", "--exit-when-idle", "0"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment() | env, timeout=60)
    assert done.returncode == 1
    assert "pip install 'sash[live]'" in done.stderr


def test_a_terminal_gets_charts_pictures_and_listings(folder: Path) -> None:
    code, output = on_terminal("plot", TEXT, "-i", "readings.parquet", cwd=folder)
    assert code == 0
    assert "household 1" in output
    assert any("\u2800" <= letter <= "\u28ff" for letter in output)
    code, output = on_terminal("aggregates", cwd=folder)
    assert code == 0
    assert "arg_max" in output


def test_bench_compares_with_duckdb_where_it_can(folder: Path) -> None:
    text = "SELECT max(load) OVER (PARTITION BY household ORDER BY ts RANGE BETWEEN INTERVAL 1 HOUR PRECEDING AND CURRENT ROW) AS peak FROM t"
    done = sash("bench", text, "-i", "readings.parquet", "--repeat", "1", cwd=folder)
    assert b"DuckDB" in done.stdout
    done = sash("bench", TEXT, "-i", "readings.parquet", "--repeat", "1", cwd=folder)
    assert b"DuckDB" not in done.stdout
    assert b"DuckDB cannot run this text" in done.stderr


def page_commands() -> list[tuple[str, str]]:
    """Return the commands of the page on the command line, each with the output that it shows, or ""."""
    page = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    found = []
    for code, output in re.findall(r"^```sh\n(.*?)^```$(?:\n+```text\n(.*?)^```$)?", page, re.MULTILINE | re.DOTALL):
        found += [(line, output) for line in code.splitlines() if line.startswith("sash ")]
    return found


@pytest.mark.parametrize(("line", "output"), page_commands())
def test_the_commands_of_the_page_run(line: str, output: str, tmp_path: Path) -> None:
    (tmp_path / "readings.parquet").symlink_to(ROOT / "examples" / "data" / "readings.parquet")
    (tmp_path / "labels.csv").write_text("household,seen\n1,2026-03-02 12:00:00Z\n", "utf-8")
    words = shlex.split(line)[1:]
    done = sash(*words, cwd=tmp_path)
    assert not output or done.stdout.decode() == output
    assert "-o" not in words or (tmp_path / words[words.index("-o") + 1]).stat().st_size
