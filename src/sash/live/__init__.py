"""The live page: the results of a stream in a browser, at all zooms at once. The command `sash live` calls `serve`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sash.hints import did_you_mean

if TYPE_CHECKING:
    from sash.live.source import Source

# Starlette and uvicorn are optional, so that each function imports what it needs.
# ruff: noqa: PLC0415

__all__ = ["serve"]

ENGINES = ("spark", "local")


def serve(
    text: str | None = None,
    source: str | None = None,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    token: str | None = None,
    open_browser: bool = False,
    idle_exit: float | None = None,
    engine: str = "spark",
) -> int:
    """Serve the live page, and block until Ctrl-C.

    Without arguments the page shows a demo: smart-plug readings with late rows, at four zooms. `text` is a query in the language of
    `sash.sql`, and `source` the folder whose files it reads; files may be added while the page runs. `engine` is "spark" for a
    Spark stream, or "local" for a stream in this process.

    The server listens on `host` and `port`; 0 is any free port. Other machines reach it only with another `host`, such as "0.0.0.0".
    A browser must present the `token`, of at least 16 characters: the printed address contains it. Default: a new one. `open_browser` opens the page. With `idle_exit` the server
    ends when nobody has been connected for that many seconds; if nobody ever was, it prints the newest results.

    Nulls and NaN: gaps in the lines.
    Result: 0, or 1 if the stream failed while it ran.
    Errors: ValueError if an argument is wrong, SqlError if the text is. FileNotFoundError if the folder does not exist or has no file
    yet. ImportError if a package is missing. OSError if the port is in use.

    >>> from sash import live
    >>> live.serve("SELECT max(load) FROM meters [RANGE 5 SLIDE 5 ON t]", "no/such/folder", engine="local")
    Traceback (most recent call last):
    FileNotFoundError: no/such/folder does not exist.
    """
    try:
        from sash.live import server
        from sash.web import security
    except ImportError as error:
        raise ImportError(
            f"The live page needs {error.name}. Install it: pip install 'sash[live]'.", name=error.name
        ) from error
    token = token or security.new_token()
    security.check_access(host, token)
    stream = _source(text, source, engine)
    return server.serve_source(
        stream, host=host, port=port, token=token, open_browser=open_browser, idle_exit=idle_exit
    )


def _source(text: str | None, source: str | None, engine: str) -> Source:
    """Return the source of the page. Raise ValueError if the arguments do not fit together."""
    if engine not in ENGINES:
        raise ValueError(f"There is no engine {engine!r}.{did_you_mean(engine, ENGINES)} Use 'spark' or 'local'.")
    if (text is None) != (source is None):
        problem = "text needs source" if source is None else "source needs text"
        raise ValueError(f"{problem}: a query runs over the files of a folder. Leave both out for the demo.")
    if engine == "spark":
        from sash.live.spark_source import SparkSource

        return SparkSource.of_demo() if text is None or source is None else SparkSource.of_folder(text, source)
    from sash.live.local_source import LocalSource

    return LocalSource.of_demo() if text is None or source is None else LocalSource.of_folder(text, source)
