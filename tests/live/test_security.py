"""Requests that must be refused: foreign origins, other host names, missing and wrong tokens."""

from __future__ import annotations

import http.client
import socket
from collections.abc import Iterator

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from live.conftest import ServerThread
from live.decoded import decode
from sash import live
from sash.live import server
from sash.live.page_guard import cookie_secret
from sash.web import listening
from sash.web.security import Access, check_access

TOKEN = "a-token-of-enough-length"  # noqa: S105 — of a test


@pytest.fixture(scope="module")
def guarded() -> Iterator[ServerThread]:
    one = ServerThread(token=TOKEN)
    yield one
    one.kill()


@pytest.fixture(scope="module")
def plain() -> Iterator[ServerThread]:
    one = ServerThread()
    yield one
    one.kill()


def get(server: ServerThread, path: str = "/", **headers: str) -> tuple[int, dict[str, str], str]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    try:
        connection.putrequest("GET", path, skip_host="host" in headers)
        for name, value in headers.items():
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read().decode()
    finally:
        connection.close()


def try_socket(server: ServerThread, origin: str | None, path: str = "/socket", **headers: str) -> int:
    """Return the status of a WebSocket: 101 if it was accepted and has sent a message."""
    try:
        with connect(f"ws://127.0.0.1:{server.port}{path}", origin=origin, additional_headers=headers) as socket:  # type: ignore[arg-type]
            message = socket.recv(timeout=10)
            assert isinstance(message, bytes)
            assert decode(message)[0]["kind"] == "page"
            return 101
    except InvalidStatus as error:
        return error.response.status_code


def test_the_page_forbids_inline_code_and_other_sites(plain: ServerThread) -> None:
    for path in ("/", "/static/app.js", "/static/style.css", "/plan.txt", "/missing"):
        _, headers, text = get(plain, path)
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        for directive in ("base-uri", "form-action", "frame-ancestors"):  # default-src does not cover these
            assert f"{directive} 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")
        assert "https://" not in text
    status, headers, text = get(plain, "/plan.svg")
    assert status == 200
    assert headers["content-security-policy"].startswith("default-src 'none'")
    assert "script" not in text
    _, _, page = get(plain)
    assert " style=" not in page
    assert " on" not in page.split("<body>")[0]


def test_a_foreign_origin_is_refused(plain: ServerThread) -> None:
    own = f"http://127.0.0.1:{plain.port}"
    assert try_socket(plain, own) == 101
    for origin in (
        "http://evil.example",
        "null",
        "http://127.0.0.1:1",
        f"https://127.0.0.1:{plain.port}",
        own + ".evil.example",
        None,
    ):
        assert try_socket(plain, origin) == 403, origin
    assert get(plain, origin="http://evil.example")[0] == 403
    assert get(plain, origin=own)[0] == 200


def test_another_host_name_is_refused(plain: ServerThread) -> None:
    for host in (
        f"evil.example:{plain.port}",
        "127.0.0.1",
        f"127.0.0.1:{plain.port}.evil.example",
        "",
        "[::1",
        f"127.0.0.1@evil:{plain.port}",
    ):
        assert get(plain, host=host)[0] in (400, 403), host
    assert get(plain, host=f"localhost:{plain.port}")[0] == 200
    evil = f"evil.example:{plain.port}"  # the name of another site that points to this machine
    assert get(plain, host=evil, origin=f"http://{evil}")[0] == 403


def test_a_path_cannot_leave_the_folder(plain: ServerThread) -> None:
    for path in ("/static/../server.py", "/static/%2e%2e/server.py", "/static/..%2fserver.py", "//etc/passwd"):
        assert get(plain, path)[0] in (400, 404), path


def test_without_the_token_nothing_is_answered(guarded: ServerThread) -> None:
    own = f"http://127.0.0.1:{guarded.port}"
    for path in (
        "/",
        "/static/app.js",
        "/plan.txt",
        "/plan.svg",
        "/?token=",
        "/?token=wrong",
        f"/?token={TOKEN}x",
        "/?token=%ff",
    ):
        status, _, text = get(guarded, path)
        assert status == 401, path
        assert "<html" not in text
    assert try_socket(guarded, own) == 403
    assert try_socket(guarded, own, "/socket?token=wrong") == 403
    for cookie in (
        f"sash_live_{guarded.port}=wrong",
        f"sash_live_{guarded.port}={TOKEN}",
        ";;;=",
        f"sash_live_1={cookie_secret(Access('h', 1, TOKEN))}",
    ):
        assert get(guarded, cookie=cookie)[0] == 401, cookie


def test_the_token_becomes_a_cookie(guarded: ServerThread) -> None:
    status, headers, _ = get(guarded, f"/?token={TOKEN}")
    assert (status, headers["location"]) == (303, "/")
    cookie, *attributes = headers["set-cookie"].split("; ")
    assert {"HttpOnly", "SameSite=Strict"} <= set(attributes)
    assert TOKEN not in cookie
    assert get(guarded, cookie=cookie)[0] == 200
    own = f"http://127.0.0.1:{guarded.port}"
    assert try_socket(guarded, own, cookie=cookie) == 101
    assert try_socket(guarded, "http://evil.example", cookie=cookie) == 403


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.2", "example.org", ""])  # noqa: S104 — it is refused
def test_other_machines_need_a_token(host: str) -> None:
    with pytest.raises(ValueError, match="needs a token"):
        check_access(host, None)
    with pytest.raises(ValueError, match="at least 16"):
        live.serve(host=host, token="short", engine="local")  # noqa: S106 — it is refused
    check_access(host, TOKEN)


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])  # noqa: S104 — nothing is bound
def test_a_page_has_a_token_unless_one_is_given(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = []

    def serve_source(*_: object, **given: object) -> int:
        tokens.append(given["token"])
        return 0

    monkeypatch.setattr(server, "serve_source", serve_source)
    for token in (None, "", TOKEN):
        live.serve(host=host, token=token, engine="local")
    first, second, given = tokens
    assert len(str(first)) >= 16
    assert first != second
    assert given == TOKEN


def test_the_address_works_on_other_machines() -> None:
    shown = listening.address("0.0.0.0", 8000, TOKEN)  # noqa: S104 — nothing is bound
    name = shown.removeprefix("http://").partition(":")[0]
    assert name not in ("0.0.0.0", "")  # noqa: S104 — compared with
    assert Access("0.0.0.0", 8000, TOKEN).allows_host(f"{name}:8000")  # noqa: S104 — nothing is bound
    with socket.create_server((name, 0)):
        pass  # an address of this machine
    assert listening.address("example.org", 80, None) == "http://example.org:80/"


def test_which_names_a_server_for_other_machines_answers_to() -> None:
    everywhere = Access("0.0.0.0", 80, TOKEN)  # noqa: S104 — nothing is bound
    assert everywhere.allows_host("192.168.1.2:80")
    assert everywhere.allows_host("192.168.1.2")  # browsers leave port 80 out
    assert not everywhere.allows_host("evil.example:80")
    assert Access("meters.example", 8000, TOKEN).allows_host("Meters.Example:8000")
    assert not Access("meters.example", 8000, TOKEN).allows_host("localhost:8000")
