"""The server without a browser: slow readers, messages that make no sense, the end, folders, and wrong arguments."""

from __future__ import annotations

import asyncio
import json
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from rich.console import Console
from websockets.sync.client import ClientConnection, connect

from live.conftest import ServerProcess, ServerThread
from live.decoded import decode
from live.generated import GeneratedSource
from sash import live
from sash.live.client import Client, Shared
from sash.live.feed import Feed
from sash.live.local_source import POLL_SECONDS, LocalSource
from sash.live.messages import answer, run_text
from sash.live.server import serve_source
from sash.live.source import Folder, RecentRows

TEXT = "SELECT max(load) AS peak, count(*) AS n FROM meters [RANGE 10 SLIDE 5 ON t] GROUP BY home"
KEY = "house 1, household 1"


def open_socket(server: ServerProcess | ServerThread) -> ClientConnection:
    origin: Any = f"http://127.0.0.1:{server.port}"
    return connect(f"ws://127.0.0.1:{server.port}/socket", origin=origin, max_size=None, ping_interval=None)


def send_view(socket: ClientConnection, **more: Any) -> None:
    panels = {zoom: {"width": 400} for zoom in ("1 minute", "1 day")}
    socket.send(json.dumps({"type": "view", "key": KEY, "line": "", "panels": panels, **more}))


def messages(socket: ClientConnection, seconds: float, until: str = "") -> list[dict[str, Any]]:
    """Return the headers of the messages that come in some seconds, or until there is one of a kind."""
    found: list[dict[str, Any]] = []
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0 and not (found and found[-1]["kind"] == until):
        try:
            message = socket.recv(timeout=left)
        except TimeoutError:
            break
        assert isinstance(message, bytes)
        found.append(decode(message)[0])
    return found


def test_a_browser_that_does_not_draw_gets_no_more_messages_and_then_the_newest(server_thread: ServerThread) -> None:
    with open_socket(server_thread) as socket:
        send_view(socket)
        panels = [one for one in messages(socket, 2) if one["kind"] == "panels"]
        assert [one["seq"] for one in panels] == [1, 2]
        socket.send(json.dumps({"type": "ack", "seq": 2}))
        later = [one for one in messages(socket, 1) if one["kind"] == "panels"]
        assert [one["seq"] for one in later] == [3, 4]
        assert later[0]["panels"][0]["to"] > panels[-1]["panels"][0]["to"] + 120  # it did not get what it missed


def test_messages_are_limited_and_statuses_go_on(server_thread: ServerThread) -> None:
    with open_socket(server_thread) as socket:
        send_view(socket)
        count, end, kinds = 0, time.monotonic() + 2, set()
        while time.monotonic() < end:
            header = decode(socket.recv(timeout=5))[0]  # type: ignore[arg-type]
            kinds.add(header["kind"])
            if header["kind"] == "panels":
                count += 1
                socket.send(json.dumps({"type": "ack", "seq": header["seq"]}))
        assert 5 <= count <= 34  # at most 15 a second; the generator makes about 20 batches
        assert kinds == {"page", "status", "panels"}


def test_messages_that_make_no_sense_are_ignored(server_thread: ServerThread) -> None:
    with open_socket(server_thread) as socket:
        for text in (
            "",
            "{",
            "[]",
            "null",
            '{"type": 3}',
            '{"type": "view", "panels": [1]}',
            '{"type": "ack", "seq": "x"}',
            '{"type": "query"}',
        ):
            socket.send(text)
        send_view(socket, panels={"1 minute": {"width": "wide", "from": 5, "to": "x"}, "none": None})
        assert messages(socket, 10, until="panels")[-1]["kind"] == "panels"
        socket.send(json.dumps({"type": "query", "id": 4, "text": "SELECT"}))
        answers = [one for one in messages(socket, 10, until="answer") if one["kind"] == "answer"]
        assert [(one["id"], bool(one["error"])) for one in answers] == [(4, True)]


def test_a_cancel_that_arrives_together_with_its_query_is_not_lost() -> None:
    long = "SELECT count(*) AS n FROM rows [RANGE 20000000 SLIDE 1 ON ts]"
    given = [{"type": "query", "id": 7, "text": long}, {"type": "cancel"}]
    sent: asyncio.Queue[bytes] = asyncio.Queue()

    class Browser:
        """It has sent both messages before the server reads the first."""

        async def receive_text(self) -> str:
            if not given:
                await asyncio.sleep(60)
            return json.dumps(given.pop(0))

        async def send_bytes(self, message: bytes) -> None:
            await sent.put(message)

    async def first_answer() -> dict[str, Any]:
        source = GeneratedSource()
        source.recent.add(pa.table({"ts": pa.array(range(10))}))
        running = asyncio.create_task(Client(Browser(), Shared(source, Feed(), "")).run())  # type: ignore[arg-type]
        async with asyncio.timeout(20):
            while (header := decode(await sent.get())[0])["kind"] != "answer":
                pass
        running.cancel()
        return header

    header = asyncio.run(first_answer())
    assert (header["id"], header["error"]) == (7, "The query was cancelled.")


def test_the_server_ends_when_nobody_connects_and_prints_the_newest_results() -> None:
    console = Console(record=True, width=120, file=open("/dev/null", "w", encoding="utf-8"))  # noqa: SIM115, PTH123
    began = time.monotonic()
    assert serve_source(GeneratedSource(), idle_exit=1, console=console) == 0
    console.file.close()
    text = console.export_text()
    assert 1 <= time.monotonic() - began < 10
    assert "Live page: http://127.0.0.1:" in text
    assert "house 1, household 2" in text
    assert "1 day" in text


def test_a_source_that_fails_ends_the_server_with_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    class Failing(GeneratedSource):
        def run(self, feed: Feed) -> None:
            message = f"no rows for {type(feed).__name__}"
            raise RuntimeError(message)

    assert serve_source(Failing()) == 1
    assert "The stream has failed: no rows for Feed" in capsys.readouterr().err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_server_without_an_error(number: signal.Signals) -> None:
    one = ServerProcess()
    with open_socket(one) as socket:
        messages(socket, 10, until="page")
        one.process.send_signal(number)
        assert one.process.wait(timeout=20) == 0
    one.kill()


def test_a_port_in_use_is_a_clear_error(server_thread: ServerThread) -> None:
    with pytest.raises(OSError, match=f"port {server_thread.port}.*Choose another port"):
        serve_source(GeneratedSource(), port=server_thread.port)


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({"engine": "sprk"}, ValueError, "Did you mean 'spark'|spark"),
        ({"text": TEXT, "engine": "local"}, ValueError, "text needs source"),
        ({"source": "folder", "engine": "local"}, ValueError, "source needs text"),
        ({"text": TEXT, "source": "no/folder", "engine": "local"}, FileNotFoundError, "no/folder does not exist"),
    ],
)
def test_wrong_arguments_are_errors_before_anything_runs(
    arguments: dict[str, str], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        live.serve(**arguments)  # type: ignore[arg-type]


# -- files ----------------------------------------------------------------------------------------------------------------


def rows(*times: int) -> pa.Table:
    return pa.table({"home": [one % 2 for one in times], "t": list(times), "load": [float(one) for one in times]})


def wait_for(condition: Any, seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_files_that_are_added_to_a_folder_become_results(tmp_path: Path) -> None:
    pq.write_table(rows(1, 2, 3, 8), tmp_path / "a.parquet")
    source, feed = LocalSource.of_folder(TEXT, str(tmp_path)), Feed()
    thread = threading.Thread(target=source.run, args=(feed,), daemon=True)
    thread.start()
    wait_for(lambda: feed.results)
    assert set(feed.keys.values()) == {"home 0", "home 1"}
    pq.write_table(rows(14, 30, 12), tmp_path / "b.parquet")
    wait_for(lambda: source.status.rows == 7)
    pq.write_table(rows(2, 40), tmp_path / "c.parquet")  # the first row is older than all of b
    (tmp_path / "broken.parquet").write_bytes(b"no parquet")
    (tmp_path / "_hidden.parquet").write_bytes(b"not read")
    wait_for(lambda: source.status.late == 1 and source.status.rows == 8 and source.status.message)
    assert "broken.parquet was left out" in source.status.message
    source.stop()
    thread.join(10)
    (zoom,) = feed.zooms
    odd = feed.series[zoom, "home 1"]
    assert dict(zip(odd.ends.tolist(), odd.values[:, 0].tolist(), strict=True)) == {5: 3.0, 10: 3.0}
    assert len(source.recent.table() or []) == 8


def test_results_per_row_are_drawn_at_the_time_of_the_row(tmp_path: Path) -> None:
    pq.write_table(rows(1, 2, 3, 8, 9), tmp_path / "a.parquet")
    text = "SELECT *, max(load) OVER (PARTITION BY home ORDER BY t ROWS 1 PRECEDING) AS peak FROM meters"
    source, feed = LocalSource.of_folder(text, str(tmp_path)), Feed()
    thread = threading.Thread(target=source.run, args=(feed,), daemon=True)
    thread.start()
    wait_for(lambda: feed.results >= 3)
    source.stop()
    thread.join(10)
    assert source.mode == "append"
    assert feed.layout is not None
    assert feed.layout.values == ("load", "peak")
    (series,) = [one for (_, key), one in feed.series.items() if key == "home 1"]
    assert series.ends.tolist()[:2] == [1, 3]
    assert series.values[:2, 1].tolist() == [1.0, 3.0]


def test_a_folder_reads_each_kind_of_file_once_and_only_when_it_has_stopped_growing(tmp_path: Path) -> None:
    pyarrow.csv.write_csv(rows(1), tmp_path / "a.csv")
    (tmp_path / "b [1].json").write_text('{"home": 0, "t": 2, "load": 2.5}\n', encoding="utf-8")
    pyarrow.feather.write_feather(rows(3), str(tmp_path / "c.arrow"))
    with pa.OSFile(str(tmp_path / "d.ipc"), "wb") as file, pa.ipc.new_stream(file, rows(4).schema) as writer:
        writer.write_table(rows(4))
    folder = Folder(tmp_path)
    assert list(folder.poll()) == []
    with (tmp_path / "a.csv").open("a") as growing:
        growing.write("1,9,9.5\n")
    found = {path.name: table for path, table in folder.poll()}
    assert {name: table["t"].to_pylist() for name, table in found.items() if isinstance(table, pa.Table)} == {
        "b [1].json": [2],
        "c.arrow": [3],
        "d.ipc": [4],
    }
    ((path, table),) = folder.poll()
    assert path.name == "a.csv"
    assert isinstance(table, pa.Table)
    assert table["t"].to_pylist() == [1, 9]
    assert list(folder.poll()) == []


def test_a_folder_without_files_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="has no file that ends in"):
        live.serve(TEXT, str(tmp_path), engine="local")


def test_a_query_that_cannot_be_drawn_fails_before_it_runs(tmp_path: Path) -> None:
    pq.write_table(rows(1), tmp_path / "a.parquet")
    with pytest.raises(ValueError, match="lload"):
        LocalSource.of_folder(TEXT.replace("(load", "(lload"), str(tmp_path))


# -- the query box ----------------------------------------------------------------------------------------------------------


def test_an_answer_has_a_line_for_each_key_and_column() -> None:
    header, columns = run_text(TEXT, rows(1, 2, 3, 8, 14))
    assert [line["name"] for line in header["lines"]] == [
        f"{name} · home {home}" for home in (1, 0) for name in ("peak", "n")
    ]
    assert len(columns) == 4 * len(header["lines"]) == 16
    assert header["results"] == len(header["table"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT", "."),
        ("DROP TABLE rows", "."),
        ("SELECT max(load) FROM '/etc/passwd' [RANGE 5 SLIDE 5 ON t]", "FROM names the file"),
        ("SELECT max(load) FROM rows [RANGE 5 SLIDE 5 ON t] WHERE (SELECT 1 FROM read_text('/etc/passwd')) = 1", "."),
        ("SELECT max(nothing) FROM rows [RANGE 5 SLIDE 5 ON t]", "nothing"),
        ("x" * 20_000, "at most 10,000"),
    ],
)
def test_a_wrong_text_is_an_error_that_the_page_shows(text: str, message: str) -> None:
    header, columns = decode(answer(text, rows(1, 2), 3))
    assert header["id"] == 3
    assert message in header["error"]
    assert columns == []


def test_results_without_a_time_are_a_table_only() -> None:
    header, columns = run_text(
        "SELECT max(load) AS peak FROM TABLE(TUMBLE(TABLE rows, DESCRIPTOR(t), 5)) GROUP BY window_start", rows(1, 2, 8)
    )
    assert "needs the time" in header["note"]
    assert columns == []
    assert len(header["table"]) == 2


def test_recent_rows_are_the_newest() -> None:
    recent = RecentRows(most=5)
    assert recent.table() is None
    for begin in range(0, 12, 3):
        recent.add(rows(*range(begin, begin + 3)))
    table = recent.table()
    assert table is not None
    assert table["t"].to_pylist() == [7, 8, 9, 10, 11]
    recent.add(rows(*range(100)))
    table = recent.table()
    assert table is not None
    assert table["t"].to_pylist() == [95, 96, 97, 98, 99]
    assert POLL_SECONDS < 1
