"""A query on a streaming DataFrame."""
