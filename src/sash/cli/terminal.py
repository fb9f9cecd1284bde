"""Errors, warnings and signals of a command: one message on standard error, and an exit code."""

from __future__ import annotations

import functools
import inspect
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn

import typer

from sash.cli.words import in_shell_words

ERROR, PIPE_CLOSED, INTERRUPTED, TERMINATED = 1, 141, 130, 143
"""Exit codes: those of a shell for a process that a signal has ended are 128 and the number of the signal."""
EXPECTED = (
    ValueError, TypeError, OverflowError, LookupError, FileNotFoundError, ImportError, ModuleNotFoundError, RuntimeError,
)  # fmt: skip
"""Errors whose messages are sentences for users; for others, messages also show the type."""
DEBUG = typer.Option(False, "--debug", help="Show where an error comes from.")
"""The option that all commands have."""


def report_errors(function: Callable[..., None]) -> Callable[..., None]:
    """Return a command that reports an error in one message, or with a traceback if --debug, and ends with an exit code."""

    @functools.wraps(function)
    def run(*args: Any, debug: bool = False, **options: Any) -> None:
        warnings.showwarning = _show_warning
        previous = signal.signal(signal.SIGTERM, _on_sigterm)
        try:
            function(*args, **options)
            sys.stdout.flush()
        except (typer.Exit, typer.BadParameter):  # typer reports wrong usage
            raise
        except KeyboardInterrupt:
            _end(INTERRUPTED)
        except BrokenPipeError:  # the reader, such as head, has read enough
            _end(PIPE_CLOSED)
        except Exception as error:  # noqa: BLE001 — any error ends a command with a message
            if debug:
                traceback.print_exc()
            else:
                say(message_of(error))
            _end(ERROR)
        finally:
            signal.signal(signal.SIGTERM, previous)

    own = inspect.signature(function)
    debug_option = inspect.Parameter("debug", inspect.Parameter.KEYWORD_ONLY, default=DEBUG)
    run.__signature__ = own.replace(parameters=[*own.parameters.values(), debug_option])  # type: ignore[attr-defined]
    run.__annotations__ = {**function.__annotations__, "debug": bool}
    return run


def message_of(error: BaseException) -> str:
    """Return the message of an error, with its notes.

    >>> message_of(ValueError("There is no column 'lod'.")), message_of(KeyError("x"))
    ("There is no column 'lod'.", "KeyError: 'x'. Run it again with --debug to see where.")
    """
    name = type(error).__name__
    if isinstance(error, MemoryError) or name == "OutOfMemoryException":
        sentence = "There is not enough memory. Run it again with --batches, or with a smaller --memory."
    elif (
        type(error) in EXPECTED
        or type(error).__module__.startswith("sash.")
        or (isinstance(error, OSError) and error.filename is None)
    ):
        sentence = str(error) or name
    elif isinstance(error, OSError):
        sentence = f"{error.filename}: {error.strerror}."
    else:
        sentence = f"{name}: {str(error).strip()}. Run it again with --debug to see where."
    return "\n".join([in_shell_words(sentence), *getattr(error, "__notes__", ())])


def say(message: str) -> None:
    """Write a message to standard error."""
    with suppress(BrokenPipeError):
        sys.stderr.write(f"sash: {message}\n")
        sys.stderr.flush()


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    say(f"warning: {message}")


def _on_sigterm(*_: Any) -> NoReturn:
    sys.exit(TERMINATED)  # an exception, so that temporary files are removed


def _end(code: int) -> NoReturn:
    try:
        sys.stdout.flush()
    except OSError:
        # The rest of the buffer cannot be written, and Python would complain about that when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)
