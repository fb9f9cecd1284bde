"""A query on a streaming DataFrame. See README.md."""
