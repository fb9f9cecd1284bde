"""Sends requests at a fixed rate, and prints how long each took as JSON.

    python -m benchmarks.serving.load PORT TOKEN RATE SECONDS KEYS NOW

Each request has a time at which it is due, whether the ones before it have been answered or not. Its time counts from there, so that a
server that stops for a while does not look faster than it is (coordinated omission). This process imports nothing but Python's own
modules. Several connections take turns, as those of a pool do.
"""

from __future__ import annotations

import json
import random
import socket
import sys
import threading
import time

CONNECTIONS = 8


def main(port: int, token: str, rate: float, seconds: float, keys: int, now: str) -> None:
    """Send the requests of all connections."""
    count = int(rate * seconds)
    begin = time.perf_counter() + 0.1
    taken = [0.0] * count
    failed: list[str] = []

    def send(first: int) -> None:
        dice = random.Random(first)  # noqa: S311 — which keys to ask for
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for number in range(first, count, CONNECTIONS):
                due = begin + number / rate
                time.sleep(max(due - time.perf_counter(), 0))
                path = f"/features?card={dice.randrange(keys)}&now={now}"
                lines = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n\r\n"
                connection.sendall(lines.encode())
                answer = receive(connection)
                taken[number] = time.perf_counter() - due
                if not answer.startswith(b"HTTP/1.1 200 ") or b'"known":true' not in answer:
                    failed.append(answer.decode(errors="replace"))

    threads = [threading.Thread(target=send, args=(first,)) for first in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(json.dumps({"seconds": taken, "failed": failed[:3]}))  # noqa: T201 — the parent reads it


def receive(connection: socket.socket) -> bytes:
    """Return an answer: its header, and as many bytes as that says."""
    answer = b""
    while b"\r\n\r\n" not in answer:
        answer += received(connection)
    header, _, body = answer.partition(b"\r\n\r\n")
    length = next(line for line in header.lower().split(b"\r\n") if line.startswith(b"content-length:"))
    while len(body) < int(length.partition(b":")[2]):
        part = received(connection)
        body += part
        answer += part
    return answer


def received(connection: socket.socket) -> bytes:
    """Return some bytes. Raise ConnectionError at the end."""
    part = connection.recv(1 << 16)
    if not part:
        raise ConnectionError("The server has closed the connection.")
    return part


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], float(sys.argv[3]), float(sys.argv[4]), int(sys.argv[5]), sys.argv[6])
