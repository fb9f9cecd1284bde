"""A query on a Spark DataFrame that is no stream. See README.md."""
