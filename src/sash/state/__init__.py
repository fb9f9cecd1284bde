"""The state of a stream."""
