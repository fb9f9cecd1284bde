"""The lookup service over real HTTP: answers, errors, and requests that must be refused."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import threading
import urllib.parse
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from helpers.shell import ROOT, environment

from sash import serve
from sash.serve import feature_server, open_store
from sash.serve.feature_server import make_app
from sash.serve.feature_service import FeatureService
from sash.web.listening import Server, bind
from sash.web.security import Access
from serve.cards import CARDS, END, SHOPS, expected, payments, write_states

TOKEN = "a-token-of-enough-length"  # noqa: S105 — of a test
ADDRESS = re.compile(r"http://127\.0\.0\.1:(\d+)/")
NOW = END.isoformat()
LONGEST = 30.0


class FeatureThread:
    """A lookup service in a thread of the tests, so that coverage sees it."""

    def __init__(self, url: str) -> None:
        self.store = open_store(url)
        for name, query in (("cards", CARDS), ("shops", SHOPS)):
            write_states(self.store, query, name, payments())
        self.listening = bind("127.0.0.1", 0)
        self.port = self.listening.getsockname()[1]
        service = FeatureService({"cards": CARDS, "shops": SHOPS}, self.store)
        app = make_app(service, Access("127.0.0.1", self.port, TOKEN, ("features.example:80",)))
        self.server = Server(uvicorn.Config(app, log_level="warning", lifespan="off"))
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self) -> None:
        """Serve until `end`."""
        asyncio.run(self.server.serve(sockets=[self.listening]))

    def end(self) -> None:
        """End it, and wait for that."""
        self.server.should_exit = True
        self.thread.join(LONGEST)
        assert not self.thread.is_alive()
        self.listening.close()
        self.store.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FeatureThread]:
    thread = FeatureThread(f"sqlite:///{tmp_path_factory.mktemp('store') / 'f.db'}")
    yield thread
    thread.end()


def ask(port: int, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
    """Return the status and the answer to a request with the token."""
    connection = HTTPConnection("127.0.0.1", port, timeout=LONGEST)
    sent = {"Authorization": f"Bearer {TOKEN}", **headers}
    try:
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        connection.request("GET" if body is None else "POST", path, data, sent)
        answer = connection.getresponse()
        text = answer.read().decode()
        is_json = answer.headers["content-type"] == "application/json"
        assert answer.headers["cache-control"] == "no-store"
        return answer.status, json.loads(text) if is_json else text
    finally:
        connection.close()


def path_of(**parameters: Any) -> str:
    return f"/features?{urllib.parse.urlencode(parameters, doseq=True)}"


def test_one_key(server: FeatureThread) -> None:
    status, answer = ask(server.port, path_of(card=7, now=NOW))
    assert status == 200
    features = expected(CARDS, payments(), {"card": 7}, END)
    assert answer == {"results": {"cards": {"known": True, "now": "2026-03-02T13:00:00Z", "features": features}}}
    status, answer = ask(server.port, path_of(card=7, shop="shop 1", now=NOW, query=["shops", "cards"]))
    assert status == 200
    assert answer["results"]["shops"]["features"] == expected(SHOPS, payments(), {"shop": "shop 1"}, END)
    assert answer["results"]["cards"]["features"] == features


def test_an_unknown_key_has_the_features_of_no_rows(server: FeatureThread) -> None:
    status, answer = ask(server.port, path_of(card=12345, now=NOW))
    assert status == 200
    found = answer["results"]["cards"]
    assert found["known"] is False
    assert found["features"] == expected(CARDS, payments(), {"card": 12345}, END)


def test_several_keys(server: FeatureThread) -> None:
    keys: list[Any] = [{"card": 7}, {"card": None}, {"shop": "shop 1"}]
    status, answer = ask(server.port, "/features", {"keys": keys, "now": NOW})
    assert status == 200
    assert [sorted(found) for found in answer["results"]] == [["cards"], ["cards"], ["shops"]]
    assert answer["results"][0]["cards"]["features"] == expected(CARDS, payments(), {"card": 7}, END)
    assert answer["results"][1]["cards"]["known"] is False
    status, answer = ask(server.port, "/features", {"keys": [{"card": 7}], "queries": ["cards"]})
    assert status == 200


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (path_of(card="x"), "The key column 'card' has the type int64, which 'x' does not fit."),
        (path_of(card=""), "which '' does not fit"),
        (path_of(card=[1, 2]), "'card' is given twice. For several keys, send them with POST."),
        (path_of(card=1, now=[NOW, NOW]), "'now' is given twice"),
        (path_of(card=1, now="x"), "now='x' is not a time"),
        (f"/features?card=1&now={NOW}", "in a URL, + is %2B"),
        (path_of(crad=1), "Did you mean 'card'"),
        ("/features", "needs the key column"),
    ],
)
def test_a_wrong_request_says_what_is_right(server: FeatureThread, path: str, message: str) -> None:
    status, answer = ask(server.port, path)
    assert status == 400
    assert message in answer["error"]


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        (b"{", 400, "The request is not JSON"),
        (b"\xff", 400, "The request is not JSON"),
        (b"[" * 200_000, 400, "The request is not JSON"),
        ([], 400, "no list of keys"),
        ({"keys": {"card": 1}}, 400, "no list of keys"),
        ({"keys": [1]}, 400, "A key is an object"),
        ({"keys": [{"card": "x"}]}, 400, "which 'x' does not fit"),
        ({"keys": [{"card": 1.5}]}, 400, "which 1.5 does not fit"),
        ({"keys": [{"card": 1}], "time": 3}, 400, "The request has 'time'"),
        ({"keys": [{"card": 1}], "queries": "cards"}, 400, "queries is a list of names"),
        ({"keys": [{"card": 1}] * 1_001}, 400, "The request has 1,001 keys, and 1,000 are allowed"),
        (b" " * (1 << 21), 413, "The request has more than 1,048,576 bytes"),
    ],
)
def test_a_wrong_post_says_what_is_right(server: FeatureThread, body: Any, status: int, message: str) -> None:
    found, answer = ask(server.port, "/features", body)
    assert found == status
    assert message in answer["error"]


def test_an_unexpected_error_is_logged_and_not_shown(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> dict[str, Any]:
        raise ZeroDivisionError("secret")

    response = feature_server.answer(fail)
    assert response.status_code == 500
    assert b"secret" not in response.body
    assert "secret" in caplog.text


def test_health_and_index(server: FeatureThread) -> None:
    assert ask(server.port, "/health") == (200, {"status": "ok", "queries": ["cards", "shops"]})
    status, answer = ask(server.port, "/")
    assert status == 200
    time_type = "timestamp[us, tz=UTC]"
    assert answer["queries"] == {
        "cards": {"keys": {"card": "int64"}, "time": time_type},
        "shops": {"keys": {"shop": "string"}, "time": time_type},
    }
    assert ask(server.port, "/nothing")[0] == 404


def test_requests_at_once(server: FeatureThread) -> None:
    cards = [*range(40)] * 5
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda card: ask(server.port, path_of(card=card, now=NOW)), cards))
    wanted = {card: expected(CARDS, payments(), {"card": card}, END) for card in range(40)}
    for card, (status, answer) in zip(cards, answers, strict=True):
        assert status == 200
        assert answer["results"]["cards"]["features"] == wanted[card]


def test_without_the_token_nothing_is_answered(server: FeatureThread) -> None:
    for path in (path_of(card=7), path_of(card=7, token=TOKEN), "/", "/health", "/nothing"):
        for header in ("", "Bearer", "Bearer ", "Bearer wrong", f"Basic {TOKEN}", TOKEN, f"Bearer {TOKEN}x"):
            status, answer = ask(server.port, path, Authorization=header)
            assert status == 401, (path, header)
            assert "Authorization: Bearer" in answer
    assert ask(server.port, "/", Authorization=f"bearer {TOKEN}")[0] == 200


def test_other_hosts_and_origins_are_refused(server: FeatureThread) -> None:
    own = f"127.0.0.1:{server.port}"
    for host in (own, f"localhost:{server.port}", "features.example:80", "FEATURES.example:80"):
        assert ask(server.port, "/", Host=host)[0] == 200, host
    for host in (f"evil.example:{server.port}", "127.0.0.1", "features.example", f"features.example:{server.port}"):
        assert ask(server.port, "/", Host=host)[0] in (400, 403), host
    assert ask(server.port, "/", Origin=f"http://{own}")[0] == 200
    for origin in ("http://evil.example", "null", f"https://{own}"):
        assert ask(server.port, "/", Origin=origin)[0] == 403, origin
        assert ask(server.port, "/features", {"keys": []}, Origin=origin)[0] == 403, origin


def test_a_store_that_loses_its_states_is_unavailable(tmp_path: Path) -> None:
    server = FeatureThread(f"sqlite:///{tmp_path / 'f.db'}")
    try:
        server.store.drop("cards")
        for path in (path_of(card=7), "/health"):
            status, answer = ask(server.port, path)
            assert status == 503
            assert "has no states of 'cards'" in answer["error"]
        assert ask(server.port, path_of(shop="shop 1", now=NOW))[0] == 200
    finally:
        server.end()


def test_arguments_are_checked_first(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'f.db'}"
    with pytest.raises(ValueError, match="at least 16"):
        serve.serve({"cards": CARDS}, url, token="short")  # noqa: S106 — it is refused
    with pytest.raises(ValueError, match="There is no query"):
        serve.serve({}, url)
    with pytest.raises(LookupError, match="has no states of 'cards'"):
        serve.serve({"cards": CARDS}, url)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_command_serves_until_a_signal(url: str, tmp_path: Path, number: int) -> None:
    rows = payments()
    with open_store(url) as store:
        write_states(store, CARDS, "cards", rows)
        write_states(store, SHOPS, "shop_peaks", rows)
    (tmp_path / "definitions.py").write_text("from serve.cards import CARDS as cards\n", encoding="utf-8")
    sql = "SELECT max(amount) AS peak FROM payments [PARTITION BY shop RANGE 1 DAY ON ts]"
    (tmp_path / "shop_peaks.sql").write_text(sql, encoding="utf-8")
    queries = ["definitions:cards", "shop_peaks.sql"]
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests")])
    command = [sys.executable, "-m", "sash", "serve", *queries, "--store", url, "--port", "0"]
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        env=environment(SASH_TOKEN=TOKEN, PYTHONPATH=paths),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = ADDRESS.search(line)
        assert found, line + process.communicate()[1]
        assert f"Authorization: Bearer {TOKEN}" in process.stdout.readline()
        status, answer = ask(int(found[1]), path_of(card=7, shop="shop 1", now=NOW))
        assert status == 200
        assert answer["results"]["cards"]["features"] == expected(CARDS, rows, {"card": 7}, END)
        assert answer["results"]["shop_peaks"]["features"] == expected(SHOPS, rows, {"shop": "shop 1"}, END)
        process.send_signal(number)
        _, errors = process.communicate(timeout=LONGEST)
        assert (process.returncode, errors) == (0, "")
    finally:
        process.kill()
