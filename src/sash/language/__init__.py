"""SQL and CQL: text → Statement, and a query → text. The modules need sqlglot, an extra; this file does not import it."""

from __future__ import annotations


def require_sqlglot() -> None:
    """Raise ImportError with the command that installs sqlglot if it is missing."""
    try:
        import sqlglot  # noqa: F401, PLC0415 — optional
    except ImportError as error:
        raise ImportError("Queries as text need sqlglot. Install it: pip install 'sash[sql]'.") from error
