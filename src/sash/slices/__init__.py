"""CUT: the stream at the edges of windows, so that the rows between two edges are kept as one partial. See README.md."""
