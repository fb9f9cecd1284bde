"""Lookups: the features of single keys at a time, from the states that a stream emits. See README.md."""
