"""The command `sash`: queries over files, from a shell."""

from __future__ import annotations

import sys

INSTALL = "pip install 'sash[cli]'"


def main() -> None:
    """Run the command line. Exit with 0, with 1 for an error in text or data, 2 for wrong usage, or 130 after Ctrl-C."""
    try:
        import rich  # noqa: F401, PLC0415 — optional
        import typer  # noqa: F401, PLC0415 — optional
    except ImportError as error:
        sys.exit(f"sash: the command line needs {error.name}. Install it: {INSTALL}")
    from sash.cli.app import app  # noqa: PLC0415 — it imports typer

    app(prog_name="sash")
