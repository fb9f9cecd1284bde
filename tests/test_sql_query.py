"""`sash.sql` over every kind of data in this process: frames, streams, files, labels; and what it must not do."""

from __future__ import annotations

import pickle
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.sql_texts import readings

import sash
from sash.algorithms.base import alike
from sash.sql_query import SqlQuery

TEXT = "SELECT house, max(load) - min(load) AS d FROM s [TUMBLE 1 HOUR ON ts] WHERE len > 2 GROUP BY house HAVING count(*) > 1 ORDER BY d, house"
PER_ROW = 'SELECT id, load - avg(load) OVER (PARTITION BY house ORDER BY id ROWS 3 PRECEDING) AS rise FROM s WHERE "my load" > 2'
FRAMES: dict[str, Any] = {
    "table": lambda rows: rows,
    "batch": lambda rows: rows.combine_chunks().to_batches()[0],
    "pandas": lambda rows: rows.to_pandas(),
    "polars": pl.from_arrow,
    "lazy": lambda rows: pl.DataFrame(rows).lazy(),
}


def listed(results: Any) -> list[dict[str, Any]]:
    if isinstance(results, pl.LazyFrame):
        results = results.collect()
    if isinstance(results, pd.DataFrame):
        results = pa.Table.from_pandas(results, preserve_index=False)
    rows: list[dict[str, Any]] = (
        results.to_arrow().to_pylist() if isinstance(results, pl.DataFrame) else results.to_pylist()
    )
    return rows


@pytest.mark.parametrize("text", [TEXT, PER_ROW])
@pytest.mark.parametrize("kind", FRAMES)
def test_every_frame_has_the_same_results_in_its_own_kind(kind: str, text: str) -> None:
    rows = readings()
    data = FRAMES[kind](rows)
    results = sash.sql(text).run(data)
    assert type(results) is type(data)
    expected = listed(sash.sql(text).run(rows))
    assert len(listed(results)) == len(expected)
    for mine, theirs in zip(listed(results), expected, strict=True):
        assert list(mine) == list(theirs)
        assert all(alike(mine[name], theirs[name]) for name in mine)
    assert list(sash.sql(text).schema(data).names) == list(expected[0])


def test_a_stream_is_selected_from_batch_by_batch() -> None:
    rows = readings()
    text = (
        "SELECT house, max(load) + 1 AS m FROM s [TUMBLE 1 HOUR ON ts] WHERE len > 2 GROUP BY house HAVING count(*) > 1"
    )
    stream = sash.sql(text).run(rows.to_reader(max_chunksize=7))
    found = stream.read_all()
    key = [("house", "ascending"), ("window_start", "ascending")]
    expected = sash.sql(text).run(rows)
    assert found.sort_by(key).to_pylist() == expected.sort_by(key).to_pylist()
    assert sash.sql(text).schema(rows.to_reader()) == found.schema


def test_changes_of_a_stream_stay_with_its_results() -> None:
    rows = readings()
    query = sash.sql("SELECT house, max(load) + 1 AS m FROM s [TUMBLE 1 HOUR ON ts] GROUP BY house")
    assert query.run(rows.to_reader(), mode="update").schema.names == [
        "house",
        "window_start",
        "window_end",
        "m",
        "change",
    ]
    with pytest.raises(ValueError, match='do not apply with mode="update"'):
        sash.sql("SELECT max(load) AS m FROM s [TUMBLE 1 HOUR ON ts] HAVING m > 3").run(rows.to_reader(), mode="update")


def test_a_stream_has_no_order_or_limit() -> None:
    with pytest.raises(ValueError, match="a stream has no end"):
        sash.sql("SELECT max(load) AS m FROM s [TUMBLE 1 HOUR ON ts] LIMIT 3").run(readings().to_reader())


@pytest.mark.parametrize("ending", ["parquet", "csv", "json"])
def test_files_are_read_by_duckdb(ending: str, tmp_path: Path) -> None:
    rows = readings().drop_columns(["ts"])
    for part in range(2):
        path = tmp_path / f"it's {part}.{ending}"
        if ending == "parquet":
            pq.write_table(rows, path)
        else:
            frame = rows.to_pandas()
            frame.to_csv(path, index=False) if ending == "csv" else frame.to_json(path, orient="records", lines=True)
    text = f"SELECT sum(len) AS n FROM '{str(tmp_path).replace(chr(39), chr(39) * 2)}/*.{ending}' [ROWS 1000 SLIDE 400]"
    assert sash.sql(text).run()["n"].to_pylist() == [2 * sum(rows["len"].to_pylist())]


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_parquet_keeps_its_zone_and_digits(unit: str, tmp_path: Path) -> None:
    ticks = {"ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    times = pa.array([1_743_291_000 * ticks + 1, 1_743_300_000 * ticks + 1]).cast(pa.timestamp(unit, "Europe/Berlin"))
    table = pa.table({"ts": times, "x": [1, 2]})
    for part in range(2):
        pq.write_table(table.slice(part, 1), tmp_path / f"{part}.parquet")
    text = "SELECT sum(x) AS n, max(ts) AS last FROM {} [TUMBLE 1 DAY ON ts]"
    expected = sash.sql(text.format("t")).run(table)
    assert expected["n"].to_pylist() == [3]  # one day in Berlin, two in UTC
    assert sash.sql(text.format(f"'{tmp_path}/*.parquet'")).run().equals(expected)


def test_missing_files_and_data_are_explained(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="Cannot read"):
        sash.sql(f"SELECT count(*) FROM '{tmp_path}/none.parquet' [ROWS 3]").run()
    with pytest.raises(ValueError, match="so its format is not known"):
        sash.sql("SELECT count(*) FROM 'data.xlsx' [ROWS 3]").run()
    with pytest.raises(TypeError, match=r"Pass it: query\.run\(s\)"):
        sash.sql("SELECT count(*) FROM s [ROWS 3]").run()
    with pytest.raises(TypeError, match="so run needs no data"):
        sash.sql("SELECT count(*) FROM 'a.csv' [ROWS 3]").run(readings())


def test_options_reach_the_query() -> None:
    rows = readings()
    labels = pa.table({"house": ["a", "b"], "ts": rows["ts"].slice(100, 2)})
    found = sash.sql("SELECT *, max(load) AS m FROM s [PARTITION BY house RANGE 1 HOUR ON ts] WHERE len > 2").run(
        rows, at=labels, threads=1
    )
    assert found.column_names == ["house", "ts", "m"]
    with pytest.raises(TypeError, match="There is no option 'thread'"):
        sash.sql(TEXT).run(rows, thread=1)


def test_the_only_time_column_is_found() -> None:
    rows = readings()
    text = "SELECT max(load) AS m FROM s [TUMBLE 1 HOUR]"
    expected = sash.sql(text, time="ts").run(rows)
    assert sash.sql(text).run(rows) == expected
    frame = rows.to_pandas().set_index("ts")
    assert sash.sql(text).run(frame)["m"].tolist() == expected["m"].to_pylist()
    with pytest.raises(ValueError, match="with times, and the query does not name one"):
        sash.sql(text).run(rows.append_column("other", rows["ts"]))
    with pytest.raises(ValueError, match="No column of the data holds times"):
        sash.sql(text).run(rows.drop_columns(["ts"]))
    assert "assumed" in str(sash.sql(text).explain())


def test_types_stay_as_they_are() -> None:
    rows = readings().append_column("nanos", pa.array(range(200), pa.timestamp("ns", tz="Europe/Berlin")))
    rows = rows.append_column("kind", rows["house"].dictionary_encode())
    found = sash.sql("SELECT nanos, kind, max(load) OVER (ORDER BY id) + 1 AS m FROM s ORDER BY id DESC").run(rows)
    assert found.schema.field("nanos").type == pa.timestamp("ns", tz="Europe/Berlin")
    assert found["nanos"].cast(pa.int64()).to_pylist() == list(range(199, -1, -1))
    assert pa.types.is_dictionary(found.schema.field("kind").type)


def test_a_query_can_be_sent_to_another_process() -> None:
    query = pickle.loads(pickle.dumps(sash.sql(TEXT)))  # noqa: S301 — our own bytes
    assert query.run(readings()) == sash.sql(TEXT).run(readings())
    assert query.to_sql() == TEXT
    assert repr(query) == f"sql({TEXT!r})"


def test_compiled_functions_are_kept_between_runs() -> None:
    query = sash.sql(TEXT)
    assert isinstance(query, SqlQuery)
    query.run(readings())
    ((kept,),) = query._queries.values()
    cache = kept._cache
    query.run(readings())
    assert kept._cache is cache is not None


@pytest.mark.parametrize(
    "text",
    [
        "SELECT max(load) AS m, read_text('/etc/hostname') AS x FROM s [TUMBLE 1 HOUR ON ts]",
        "SELECT max(load) AS m FROM s [TUMBLE 1 HOUR ON ts] WHERE getenv('HOME') = 'x'",
        "SELECT max(load) AS m FROM s [TUMBLE 1 HOUR ON ts] HAVING (FROM '/etc/hostname') = 'x'",
        "SELECT max(read_blob('/etc/hostname')) AS m FROM s [TUMBLE 1 HOUR ON ts]",
        "SELECT max(load) AS m, __import__('os') AS x FROM s [TUMBLE 1 HOUR ON ts]",
    ],
)
def test_no_text_reaches_files_or_python(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        sash.sql(text).run(readings())


def test_wrong_arguments_are_rejected() -> None:
    with pytest.raises(TypeError, match="but a query is a string"):
        sash.sql(3)  # type: ignore[arg-type]  # that is the test
    with pytest.raises(TypeError, match="is not the name of a column"):
        sash.sql("SELECT max(load) FROM s [ROWS 3]", time="")
    with pytest.raises(ValueError, match=r"There is no column 'lod'\. Did you mean 'load'"):
        sash.sql("SELECT max(lod) FROM s [ROWS 3]").run(readings())
    with pytest.raises(ValueError, match="There is no column 'idd'"):
        sash.sql("SELECT idd, max(load) OVER (ORDER BY id) AS m FROM s").run(readings())


def test_sash_imports_neither_sqlglot_nor_duckdb() -> None:
    code = "import sash, sys; sash.Query(sash.agg.max('x'), sash.window.rows(3)); print(sorted({'sqlglot', 'duckdb'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_without_sqlglot_the_message_tells_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    for call in (lambda: sash.sql("SELECT 1"), sash.Query(sash.agg.max("x"), sash.window.rows(3)).to_sql):
        with pytest.raises(ImportError, match=r"pip install 'sash\[sql\]'"):
            call()


IN_HOUR = "OVER (PARTITION BY card ORDER BY ts RANGE BETWEEN INTERVAL 1 HOUR PRECEDING AND CURRENT ROW)"
PAYMENTS = pa.table({"card": [1, 1, 2], "ts": pa.array([0, 60, 120], pa.timestamp("s")), "paid": [5.0, 7.0, 1.0]})


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT *, count(*) {IN_HOUR} AS n FROM t WHERE paid > 1",
        f"SELECT card, count(*) {IN_HOUR} AS n FROM t WHERE paid > 1",
        "SELECT card, count(*) AS n FROM t [PARTITION BY card RANGE 1 HOUR ON ts] WHERE paid > 1",
    ],
)
def test_states_of_a_text_that_selects_aggregates(text: str) -> None:
    query, now = sash.sql(text), datetime(1970, 1, 1, 1, 0, 30)  # noqa: DTZ001 — the column has no zone
    states = query.run(PAYMENTS.to_reader(), emit="state").read_all().to_pylist()
    assert [query.lookup(row["state"], now=now) for row in states] == [{"n": 1}]
    header = query.state_header(PAYMENTS.to_reader())
    assert sash.sql(text).lookup(states[0]["state"], now=now, header=header) == {"n": 1}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"SELECT card, count(*) {IN_HOUR} + 1 AS n FROM t", "without SQL around them"),
        (f"SELECT card AS c, count(*) {IN_HOUR} AS n FROM t", "without SQL around them"),
        (f"SELECT card, count(*) {IN_HOUR} AS n FROM t QUALIFY n > 1", "without SQL around them"),
        (f"SELECT card, count(*) {IN_HOUR} AS n FROM t ORDER BY n LIMIT 1", "without SQL around them"),
        (
            f"SELECT count(*) {IN_HOUR} AS n, sum(paid) OVER (ORDER BY ts ROWS 2 PRECEDING) AS s FROM t",
            "one query for each",
        ),
        (f"WITH x AS (SELECT * FROM t) SELECT card, count(*) {IN_HOUR} AS n FROM x", "text of several SELECTs"),
    ],
)
def test_a_text_whose_results_are_not_those_of_lookups_has_no_states(text: str, message: str) -> None:
    query = sash.sql(text)
    for call in (
        lambda: query.run(PAYMENTS.to_reader(), emit="state"),
        lambda: query.state_header(PAYMENTS.to_reader()),
        lambda: query.lookup(None, now=datetime(1970, 1, 2)),  # noqa: DTZ001 — the column has no zone
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_a_lookup_needs_the_time_column_in_the_text() -> None:
    query = sash.sql("SELECT count(*) AS n FROM t [PARTITION BY card RANGE 1 HOUR]")
    with pytest.raises(ValueError, match="does not name its time column"):
        query.lookup(None, now=datetime(1970, 1, 2))  # noqa: DTZ001 — the column has no zone
