"""The query of the box runs in a process of its own, with limits of memory and time. Whoever wrote it may cancel it.

    browser ── text ──► server ── text, recent rows ──► process ── answer ──► server ──► browser
                          └──── ends it after SECONDS, or when it is cancelled

A text can ask for more windows than fit into memory. In the process of the server, it would take the page and the stream with it.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from contextlib import suppress
from typing import Any

import pyarrow as pa

from sash.live.messages import answer, encode

SECONDS = 30.0
"""The longest that a query may run."""
MEGABYTES = 1024
"""The memory that a query may take, besides its rows and the libraries."""
PROMPT_LENGTH = 8


class QueryProcess:
    """One query over the recent rows."""

    def __init__(self, text: str, number: int) -> None:
        self.text, self.number = text, number
        self.process: asyncio.subprocess.Process | None = None
        self.cancelled = False

    async def run(self, rows: pa.Table | None, seconds: float = SECONDS, megabytes: int = MEGABYTES) -> bytes:
        """Return the message with its answer, or with the error that the page shows."""
        if rows is None:
            return self._error("No rows have arrived yet. Try again in a few seconds.")
        prompt = json.dumps({"text": self.text, "number": self.number, "megabytes": megabytes}).encode()
        sent = len(prompt).to_bytes(PROMPT_LENGTH, "little") + prompt + as_stream(rows)
        command = [sys.executable, "-m", "sash.live.query_process"]
        hidden = {name: value for name, value in os.environ.items() if name != "SASH_TOKEN"}
        pipe = asyncio.subprocess.PIPE
        self.process = await asyncio.create_subprocess_exec(
            *command, stdin=pipe, stdout=pipe, stderr=asyncio.subprocess.DEVNULL, env=hidden
        )
        try:
            if self.cancelled:
                self.cancel()
            found, _ = await asyncio.wait_for(self.process.communicate(sent), seconds)
        except TimeoutError:
            return self._error(
                f"The query ran for {seconds:g} seconds, which is the limit, and was ended. Give a longer slide or fewer rows."
            )
        finally:
            with suppress(ProcessLookupError):
                self.process.kill()
            await self.process.wait()
        if self.cancelled:
            return self._error("The query was cancelled.")
        if self.process.returncode or not found:
            return self._error(
                f"The query needed more than {megabytes:,} MB, which is the limit. Give a longer slide, or fewer aggregates."
            )
        return found

    def cancel(self) -> None:
        """End the query; `run` then returns an error."""
        self.cancelled = True
        if self.process is not None:
            with suppress(ProcessLookupError):
                self.process.kill()

    def _error(self, text: str) -> bytes:
        return encode("answer", {"id": self.number, "error": text})


def as_stream(rows: pa.Table) -> bytes:
    """Return rows as bytes."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    return bytes(sink.getvalue())


def limit_memory(megabytes: int) -> None:
    """Let this process take so much more memory than it has. Windows has no such limit; there the time alone is limited."""
    with suppress(ImportError, OSError, ValueError):
        import resource  # noqa: PLC0415 — Windows has none

        with open("/proc/self/status", encoding="ascii") as file:  # noqa: PTH123 — Linux only
            used = {name: value for name, _, value in (line.partition(":") for line in file)}
        kilobytes = int(used["VmData"].split()[0])
        limit = 1024 * kilobytes + megabytes * 1_000_000
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def main(given: Any, answered: Any) -> None:
    """Read a query and its rows, and write the answer."""
    prompt = json.loads(given.read(int.from_bytes(given.read(PROMPT_LENGTH), "little")))
    rows = pa.ipc.open_stream(given.read()).read_all()
    import duckdb  # noqa: F401, PLC0415 — libraries do not count

    limit_memory(prompt["megabytes"])
    answered.write(answer(prompt["text"], rows, prompt["number"]))
    answered.flush()
    os._exit(0)  # a thread may still hold memory


if __name__ == "__main__":
    main(sys.stdin.buffer, sys.stdout.buffer)
