"""Where a server listens, the address to show, and its end."""

from __future__ import annotations

import contextlib
import signal
import socket
import threading
from collections.abc import Generator
from urllib.parse import quote

import uvicorn

from sash.web.security import ANY_ADDRESS

NO_TERMINAL = 120
"""The width of output that goes to a file or a pipe."""


class Server(uvicorn.Server):
    """uvicorn that ends quietly: a signal stops it, and is not raised again."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Stop on Ctrl-C and SIGTERM."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def bind(host: str, port: int) -> socket.socket:
    """Return a socket that listens. Raise OSError if the port is in use."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio switches off the delay of small packets only where the protocol is named; without that, answers wait 40 ms
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen()
    except OSError as error:
        listening.close()
        problem = f"Cannot listen on {host}, port {port}: {error.strerror}."
        raise OSError(error.errno, f"{problem} Choose another port, or 0 for any that is free.") from error
    return listening


def address(host: str, port: int, token: str | None) -> str:
    """Return the address to open, on other machines too if the server listens on all addresses.

    >>> address("127.0.0.1", 8000, "a secret of some length")
    'http://127.0.0.1:8000/?token=a%20secret%20of%20some%20length'
    """
    shown = own_address("::" if ":" in host else "0.0.0.0") if host in ANY_ADDRESS else host  # noqa: S104 — an address to show
    name = f"[{shown}]" if ":" in shown else shown
    return f"http://{name}:{port}/" + (f"?token={quote(token, safe='')}" if token else "")


def own_address(any_address: str) -> str:
    """Return the address of this machine that others reach; that of loopback if it has no network."""
    family, other, loopback = (
        (socket.AF_INET6, "2001:db8::1", "::1") if ":" in any_address else (socket.AF_INET, "192.0.2.1", "127.0.0.1")
    )
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((other, 9))  # sends nothing: it only chooses a route, to an address of documentation
            return str(probe.getsockname()[0])
        except OSError:
            return loopback
