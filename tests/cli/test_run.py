"""`sash run` over files and pipes of all formats gives what the library gives."""

from __future__ import annotations

import io
import json
import subprocess
from datetime import timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.json as pj
import pyarrow.parquet as pq
import pytest
from helpers.shell import COMMAND, environment, on_terminal, sash

import sash as library

PEAKS = (
    "SELECT household, max(load) AS peak, count(*) AS n FROM t [RANGE 1 HOUR SLIDE 20 MINUTES ON ts] GROUP BY household"
)
MEANS = "SELECT *, avg(load) OVER (PARTITION BY household ORDER BY ts ROWS 4 PRECEDING) AS mean FROM t"


def peaks_of(rows: pa.Table) -> pa.Table:
    results: pa.Table = library.sql(PEAKS).run(rows)
    return results


def write(rows: pa.Table, path: Path) -> None:
    """Write rows in the format of the ending."""
    ending = path.suffix
    if ending == ".parquet":
        pq.write_table(rows, path)
    elif ending in (".arrow", ".feather"):
        with pa.ipc.new_file(path, rows.schema) as writer:
            writer.write_table(rows, 100)
    elif ending == ".arrows":
        with pa.ipc.new_stream(path, rows.schema) as writer:
            writer.write_table(rows, 100)
    elif ending in (".csv", ".tsv"):
        pc.write_csv(rows, path, pc.WriteOptions(delimiter="\t" if ending == ".tsv" else ","))
    else:
        objects = [{**row, "ts": row["ts"].strftime("%Y-%m-%dT%H:%M:%S")} for row in rows.to_pylist()]
        text = json.dumps(objects) if ending == ".json" else "\n".join(map(json.dumps, objects))
        path.write_text(text, encoding="utf-8")


def read(path: Path) -> pa.Table:
    """Read results in the format of the ending."""
    ending = path.suffix
    if ending == ".parquet":
        return pq.read_table(path)
    if ending in (".arrow", ".feather"):
        return pa.ipc.open_file(path).read_all()
    if ending == ".arrows":
        return pa.ipc.open_stream(path.read_bytes()).read_all()
    if ending in (".csv", ".tsv"):
        return pc.read_csv(path, parse_options=pc.ParseOptions(delimiter="\t" if ending == ".tsv" else ","))
    if ending == ".json":
        return pa.Table.from_pylist(json.loads(path.read_text(encoding="utf-8")))
    return pj.read_json(path)


@pytest.mark.parametrize("ending", ["csv", "tsv", "json", "ndjson", "parquet", "arrow", "feather", "arrows"])
def test_every_format_is_read_and_written(ending: str, tmp_path: Path, rows: pa.Table) -> None:
    write(rows, tmp_path / f"in.{ending}")
    sash("run", PEAKS, "-i", f"in.{ending}", "-o", f"out.{ending}", cwd=tmp_path)
    found, expected = read(tmp_path / f"out.{ending}"), peaks_of(rows)
    assert found.column_names == expected.column_names
    for name in ("household", "peak", "n"):
        assert found[name].to_pylist() == expected[name].to_pylist()
    if ending in ("parquet", "arrow", "feather", "arrows"):
        assert found.equals(expected)
    assert [path.name for path in tmp_path.iterdir() if "part" in path.name] == []


def test_from_names_the_file_and_a_file_holds_the_text(folder: Path, rows: pa.Table) -> None:
    (folder / "query.sql").write_text(
        f"-- peaks\n{PEAKS.replace('FROM t', chr(10) + 'FROM ' + chr(39) + '*.parquet' + chr(39))}", "utf-8"
    )
    sash("run", "query.sql", "-o", "out.arrow", cwd=folder)
    assert read(folder / "out.arrow").equals(peaks_of(rows))


@pytest.mark.parametrize("pattern", ["parts", "parts/", "parts/*.parquet", "parts/**/*.parquet"])
def test_a_folder_or_pattern_is_all_its_files(pattern: str, tmp_path: Path, rows: pa.Table) -> None:
    (tmp_path / "parts").mkdir()
    for number in range(4):
        pq.write_table(rows.slice(100 * number, 100), tmp_path / "parts" / f"{number}.parquet")
    (tmp_path / "parts" / "_SUCCESS").touch()
    sash("run", MEANS, "-i", pattern, "-o", "out.parquet", cwd=tmp_path)
    assert read(tmp_path / "out.parquet").equals(library.sql(MEANS).run(rows))


@pytest.mark.parametrize("ending", ["csv", "ndjson", "json", "parquet", "arrow", "arrows"])
def test_a_pipe_is_read_and_its_format_is_found(ending: str, tmp_path: Path, rows: pa.Table) -> None:
    write(rows, tmp_path / f"in.{ending}")
    data = (tmp_path / f"in.{ending}").read_bytes()
    done = sash("run", PEAKS, "-i", "-", "--output-format", "arrow", cwd=tmp_path, stdin=data)
    found = pa.ipc.open_stream(done.stdout).read_all()
    assert found["peak"].to_pylist() == peaks_of(rows)["peak"].to_pylist()


def test_a_pipe_gets_csv_and_nothing_else(folder: Path, rows: pa.Table) -> None:
    done = sash("run", PEAKS, "-i", "readings.parquet", cwd=folder)
    assert pc.read_csv(io.BytesIO(done.stdout))["n"].to_pylist() == peaks_of(rows)["n"].to_pylist()
    assert done.stderr == b""


def test_values_that_csv_and_json_do_not_have(folder: Path) -> None:
    text = "SELECT collect(plug) AS plugs, min(load / 0) AS huge, approx_count_distinct(plug) AS d FROM t [RANGE 10 HOURS SLIDE 10 HOURS ON ts]"
    done = sash("run", text, "-i", "readings.parquet", "--output-format", "ndjson", cwd=folder)
    first = json.loads(done.stdout.splitlines()[0])
    assert 'a, "b"' in first["plugs"]
    done = sash("run", text, "-i", "readings.parquet", cwd=folder)
    assert 'a, "b"' in json.loads(pc.read_csv(io.BytesIO(done.stdout))["plugs"][0].as_py())


def test_nanoseconds_survive(tmp_path: Path) -> None:
    times = pa.array([1_000_000_001, 2_000_000_003, 1_500_000_002], pa.timestamp("ns", "Europe/Berlin"))
    pq.write_table(pa.table({"t": times, "x": [1, 2, 3]}), tmp_path / "in.parquet")
    text = "SELECT *, sum(x) AS s FROM rows [ROWS 2 ON t]"
    for batches in ("--no-batches", "--batches"):
        sash("run", text, "-i", "in.parquet", "-o", "out.parquet", batches, cwd=tmp_path)
        found = read(tmp_path / "out.parquet").sort_by("t")
        assert found["t"].type == times.type
        assert found["s"].to_pylist() == [1, 4, 5]
    done = sash("run", text, "-i", "in.parquet", "--output-format", "json", cwd=tmp_path)
    assert "000000001" in json.loads(done.stdout)[0]["t"]


@pytest.mark.parametrize(
    "text",
    [
        PEAKS,
        MEANS,
        "SELECT ts, plug, load - avg(load) OVER (ORDER BY ts ROWS 3 PRECEDING) AS rise FROM t WHERE load > 100",
        "SELECT plug, last(load) AS newest FROM t [ROWS 7 SLIDE 3 ON ts] GROUP BY plug HAVING last(load) > 200 ORDER BY newest DESC LIMIT 5",
        "SELECT count(*) AS n FROM t [SESSION 10 MINUTES ON ts] GROUP BY upper(plug)",
        "SELECT max(load) OVER (ORDER BY ts ROWS 3 PRECEDING) AS a, min(load) OVER (ORDER BY ts ROWS 9 PRECEDING) AS b FROM t",
    ],
)
@pytest.mark.parametrize("ordered", [False, True])
def test_batches_give_the_results_of_a_table(text: str, folder: Path, rows: pa.Table, *, ordered: bool) -> None:
    if ordered:
        pq.write_table(rows.sort_by("ts"), folder / "readings.parquet", row_group_size=50)
    for batches in ("--no-batches", "--batches"):
        sash("run", text, "-i", "readings.parquet", "-o", f"{batches}.parquet", batches, cwd=folder)
    one, other = (read(folder / f"{name}.parquet") for name in ("--no-batches", "--batches"))
    assert one.schema == other.schema
    assert sorted(map(repr, one.to_pylist())) == sorted(map(repr, other.to_pylist()))


@pytest.mark.parametrize(
    ("text", "identify"),
    [
        ("SELECT *, sum(x) OVER (PARTITION BY k ORDER BY t ROWS 3 PRECEDING) AS s FROM rows", ["id"]),
        ("SELECT k, sum(x) AS s, last(id) AS newest FROM rows [RANGE 1000 SLIDE 500 ON t] GROUP BY k", []),
    ],
)
def test_rows_that_do_not_fit_are_sorted_on_disk(text: str, identify: list[str], tmp_path: Path) -> None:
    """The rows take 3 MB, and sorting half of one: there are many runs. Windows have the order of a run in memory, too."""
    count = 75_000
    random = np.random.default_rng(1)
    data = {"id": np.arange(count), "t": random.integers(0, 9_000, count), "k": random.integers(0, 50, count)}
    rows = pa.table({**data, "x": pa.array(random.integers(0, 9, count), mask=random.random(count) < 0.1)})
    pq.write_table(rows, tmp_path / "in.parquet", row_group_size=10_000)
    (tmp_path / "temporary").mkdir()
    for name, options in (("one", ["--no-batches"]), ("other", ["--memory", "2MB"])):
        arguments = ["run", text, "-i", "in.parquet", "-o", f"{name}.parquet", *options]
        done = sash(*arguments, cwd=tmp_path, env={"TMPDIR": str(tmp_path / "temporary")})
        assert done.stderr == b""
    expected, found = (read(tmp_path / f"{name}.parquet") for name in ("one", "other"))
    for name in identify:
        expected, found = expected.sort_by(name), found.sort_by(name)
    assert found.equals(expected)
    assert list((tmp_path / "temporary").iterdir()) == []


def test_a_full_disk_is_one_message_and_no_output(tmp_path: Path) -> None:
    rows = pa.table({"t": np.arange(100_000)[::-1], "x": np.arange(100_000.0)})
    pq.write_table(rows, tmp_path / "in.parquet")
    (tmp_path / "temporary").mkdir()
    text = "SELECT sum(x) AS s FROM rows [RANGE 10 SLIDE 5 ON t]"
    command = [*COMMAND, "run", text, "-i", "in.parquet", "-o", "out.parquet", "--memory", "2MB"]
    limited = ["bash", "-c", 'ulimit -f 64; exec "$@"', "bash", *command]  # kilobytes: a disk that fills up
    folders = {"TMPDIR": str(tmp_path / "temporary"), "SASH_CACHE_DIR": str(tmp_path / "none")}
    given = environment(**folders, COVERAGE_PROCESS_START="")  # coverage could not write its file either
    done = subprocess.run(limited, cwd=tmp_path, env=given, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "The rows do not fit the memory, and sorting them on disk failed" in done.stderr
    assert "Set TMPDIR to a folder on a larger disk" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "out.parquet").exists()
    assert list((tmp_path / "temporary").iterdir()) == []


@pytest.mark.parametrize("memory", ["much", "0", "-1GB"])
def test_a_wrong_size_of_memory_is_an_error(memory: str, folder: Path) -> None:
    done = sash("run", PEAKS, "-i", "readings.parquet", "--no-batches", f"--memory={memory}", cwd=folder, code=1)
    assert b"is not a size. Use a number and a unit, as in 300MB or 2GB." in done.stderr


def test_several_orders_need_all_rows(folder: Path, rows: pa.Table) -> None:
    text = "SELECT ts, lag(load) OVER (ORDER BY ts) AS a, max(load) OVER (PARTITION BY plug ORDER BY ts) AS b FROM t"
    sash("run", text, "-i", "readings.parquet", "-o", "out.parquet", cwd=folder)
    assert read(folder / "out.parquet").equals(library.sql(text).run(rows))
    done = sash("run", text, "-i", "readings.parquet", "--batches", cwd=folder, code=1)
    assert b"Leave --batches and --lateness out" in done.stderr


def test_labels_get_the_values_of_their_time(folder: Path, rows: pa.Table) -> None:
    labels = rows.select(["household", "ts"]).slice(0, 20).rename_columns(["household", "when"])
    pq.write_table(labels, folder / "labels.parquet")
    text = "SELECT max(load) AS peak FROM t [PARTITION BY household RANGE 1 HOUR ON ts]"
    options = ["--at", "labels.parquet", "--at-time", "when"]
    sash("run", text, "-i", "readings.parquet", *options, "-o", "out.parquet", cwd=folder)
    assert read(folder / "out.parquet").equals(library.sql(text).run(rows, at=labels, at_time="when"))


def test_targets_of_labels_need_an_option(folder: Path, rows: pa.Table) -> None:
    labels = rows.select(["household", "ts"]).slice(0, 20)
    pq.write_table(labels, folder / "labels.parquet")
    text = "SELECT max(load) AS peak FROM t [PARTITION BY household RANGE BEFORE 0 AFTER 1 HOUR ON ts]"
    options = ["--at", "labels.parquet", "--future", "-o", "out.parquet"]
    sash("run", text, "-i", "readings.parquet", *options, cwd=folder)
    assert read(folder / "out.parquet").equals(library.sql(text).run(rows, at=labels, future=True))


def test_lateness_reads_rows_as_they_come_and_counts_late_ones(folder: Path, rows: pa.Table) -> None:
    ordered = rows.sort_by("ts")
    late = ordered.slice(0, 1)
    pq.write_table(pa.concat_tables([ordered, late]), folder / "late.parquet")
    options = ["--lateness", "1h", "-o", "out.parquet"]
    done = sash("run", PEAKS, "-i", "late.parquet", *options, cwd=folder, env={"PYTHONWARNINGS": "default"})
    assert b"warning: 1 row(s) arrived after all their windows were closed" in done.stderr
    assert sorted(map(repr, read(folder / "out.parquet").to_pylist())) == sorted(map(repr, peaks_of(rows).to_pylist()))


def test_rows_of_a_pipe_are_processed_while_they_arrive(tmp_path: Path) -> None:
    text = "SELECT sum(x) AS s FROM t [RANGE 10 SLIDE 10 ON at]"
    schema = pa.schema({"at": pa.int64(), "x": pa.int64()})
    command = [*COMMAND, "run", text, "-i", "-", "--lateness", "0", "--output-format", "csv"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment()
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        with pa.ipc.new_stream(process.stdin, schema) as writer:
            writer.write_table(pa.table({"at": [1, 5, 12], "x": [1, 2, 3]}, schema))
            process.stdin.flush()
            assert process.stdout.readline().startswith(b'"window_start"')
            assert process.stdout.readline() == b"0,10,3\n"  # the pipe is still open
        process.stdin.close()
        assert process.stdout.read() == b"10,20,3\n"
        assert process.wait() == 0


def test_a_terminal_gets_a_table_and_progress(folder: Path) -> None:
    code, output = on_terminal("run", PEAKS, "-i", "readings.parquet", "--rows", "3", cwd=folder)
    assert code == 0
    assert "household" in output
    assert "┏" in output
    assert "more rows" in output
    assert "\x1b[" in output


def test_no_color_is_respected(folder: Path) -> None:
    _, output = on_terminal("run", PEAKS, "-i", "readings.parquet", cwd=folder, env={"NO_COLOR": "1"})
    colours = [code for code in ("\x1b[31m", "\x1b[32m", "\x1b[36m", "\x1b[38;") if code in output]
    assert colours == []


def test_the_time_column_can_be_named(folder: Path, rows: pa.Table) -> None:
    two = rows.append_column(
        "seen", pa.array([one + timedelta(days=1) for one in rows["ts"].to_pylist()], rows["ts"].type)
    )
    pq.write_table(two, folder / "two.parquet")
    text = "SELECT count(*) AS n FROM t [RANGE 1 DAY SLIDE 1 DAY]"
    done = sash("run", text, "-i", "two.parquet", cwd=folder, code=1)
    assert b"'ts', 'seen'" in done.stderr
    sash("run", text, "-i", "two.parquet", "--time", "seen", "--threads", "1", cwd=folder)


def test_the_output_never_replaces_an_input(folder: Path) -> None:
    before = (folder / "readings.parquet").read_bytes()
    in_text = PEAKS.replace("FROM t", "FROM 'readings.parquet'")
    for text, *given in (
        (PEAKS, "-i", "readings.par*"),
        (in_text,),
    ):
        done = sash("run", text, *given, "-o", "./readings.parquet", cwd=folder, code=1)
        assert b"is also an input, which it would replace. Name another file." in done.stderr
    assert (folder / "readings.parquet").read_bytes() == before
