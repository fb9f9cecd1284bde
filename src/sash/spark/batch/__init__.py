"""A query on a batch DataFrame of Spark. See README.md."""
