"""Random queries over random data, compared with the naive oracle: see README.md."""
