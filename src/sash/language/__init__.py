"""SQL and CQL: text → Statement, and a query → text. The modules need sqlglot, an extra; this file does not import it."""
