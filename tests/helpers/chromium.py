"""A headless Chromium, driven over the DevTools protocol."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from websockets.sync.client import connect

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
MISSING = "The tests of the live page need Chromium, and none was found. Install it (Debian: apt-get install chromium; 350 MB on disk), or run tools/setup.sh."
WAIT_SECONDS = 30.0


def find_chromium() -> str:
    """Return the path of Chromium. Raise RuntimeError if there is none: the page must not go untested in silence."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        raise RuntimeError(MISSING)
    return found


class Tab:
    """A tab of a browser, and all that its console has said."""

    def __init__(self, socket: Any) -> None:
        self.socket = socket
        self.number = 0
        self.problems: list[str] = []

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol and return its result."""
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self.socket.recv(timeout=WAIT_SECONDS))
            if message.get("id") == self.number:
                assert "error" not in message, message["error"]
                result: dict[str, Any] = message["result"]
                return result
            self._note(message)

    def _note(self, message: dict[str, Any]) -> None:
        """Keep errors of scripts, of the console and of the security policy."""
        method, found = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.problems.append(json.dumps(found["exceptionDetails"])[:500])
        elif method == "Runtime.consoleAPICalled" and found["type"] in ("error", "warning", "assert"):
            self.problems.append(json.dumps(found["args"])[:500])
        elif method == "Log.entryAdded" and found["entry"]["level"] in ("error", "warning"):
            self.problems.append(found["entry"]["text"])

    def run(self, script: str) -> Any:
        """Return the value of an expression."""
        found = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def wait(self, script: str, seconds: float = WAIT_SECONDS) -> Any:
        """Wait until an expression is true, and return it."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            value = self.run(script)
            if value:
                return value
            time.sleep(0.05)
        text = self.run("document.body.innerText")
        message = f"This did not become true in {seconds} s: {script}\nThe console said: {self.problems}\nThe page says: {text[:1500]}"
        raise AssertionError(message)

    def open(self, url: str) -> None:
        """Open a page."""
        self.call("Page.navigate", url=url)
        self.wait("document.readyState === 'complete'")

    def press(self, key: str) -> None:
        """Press a key on the element that has the focus."""
        text = {"text": key} if len(key) == 1 else {}
        code = {"Tab": 9, "Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowRight": 39, "ArrowDown": 40}.get(key, 0)
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **text)

    def screen(self, width: int, height: int, scheme: str = "light") -> None:
        """Set the size of the screen and the colours that the reader prefers."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def screenshot(self, path: Path, **options: Any) -> bytes:
        """Write a picture of the page."""
        data = base64.b64decode(self.call("Page.captureScreenshot", format="png", **options)["data"])
        path.write_bytes(data)
        return data


@contextmanager
def chromium() -> Iterator[Tab]:
    """Start Chromium with an empty tab, and end it."""
    folder = tempfile.mkdtemp(prefix="sash-chromium-")
    options = [
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--no-first-run",
        "--mute-audio",
    ]
    options += [
        "--disable-background-networking",
        "--disable-extensions",
        "--remote-debugging-port=0",
        f"--user-data-dir={folder}",
    ]
    command = [find_chromium(), *options, "about:blank"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        port = _port(Path(folder) / "DevToolsActivePort", process)
        with urlopen(
            Request(f"http://127.0.0.1:{port}/json/new?about:blank", method="PUT"), timeout=WAIT_SECONDS
        ) as answer:
            url = json.load(answer)["webSocketDebuggerUrl"]
        with connect(url, max_size=None, ping_interval=None) as socket:  # pings draw from `random`, from a thread
            tab = Tab(socket)
            for domain in ("Page", "Runtime", "Log"):
                tab.call(f"{domain}.enable")
            yield tab
    finally:
        process.terminate()
        process.wait(timeout=WAIT_SECONDS)
        shutil.rmtree(folder, ignore_errors=True)


def _port(file: Path, process: subprocess.Popen[bytes]) -> int:
    """Return the port of the protocol, which Chromium writes into a file."""
    end = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < end and process.poll() is None:
        if file.exists() and "\n" in (text := file.read_text()):
            return int(text.split()[0])
        time.sleep(0.05)
    message = f"Chromium did not start (exit code {process.poll()})."
    raise RuntimeError(message)
