"""A query on a Spark DataFrame as a whole."""
