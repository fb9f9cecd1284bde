"""CUT the stream at the edges of windows: the rows between two edges become one partial. See README.md."""
