"""The kinds of data that a query runs on, behind one interface. See README.md."""
